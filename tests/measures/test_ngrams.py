from collections import Counter
from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.measures import ngrams
from offscript.measures.ngrams import NgramCounter, NgramCounts, tabulate

tokens = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b", "a b", ""]))
corpora = st.lists(st.lists(tokens, max_size=7), max_size=6)


def counted(sentences: list[list[Hashable]], order: int) -> Counter[tuple[int, int]]:
    """(sentence, count) of every n-gram in every sentence, by brute force."""
    found: Counter[tuple[int, int]] = Counter()
    for number, sentence in enumerate(sentences):
        grams = Counter(tuple(sentence[i : i + order]) for i in range(len(sentence) - order + 1))
        found.update((number, count) for count in grams.values())
    return found


def shared_by(sentences: list[list[Hashable]], order: int) -> list[tuple[int, ...]]:
    """For every n-gram the sentences that have it."""
    where: dict[tuple[Hashable, ...], set[int]] = {}
    for number, sentence in enumerate(sentences):
        for i in range(len(sentence) - order + 1):
            where.setdefault(tuple(sentence[i : i + order]), set()).add(number)
    return sorted(tuple(sorted(numbers)) for numbers in where.values())


def holders(counts: NgramCounts) -> list[tuple[int, ...]]:
    return sorted(tuple(part.tolist()) for part in np.split(counts.sentence, counts.first[1:]) if len(part))


@given(corpora)
def test_counts_equal_those_of_brute_force(sentences: list[list[Hashable]]) -> None:
    counter = NgramCounter(tabulate(sentences)[0])
    for order in range(1, 6):
        counts = counter.next_order()
        pairs = zip(counts.sentence.tolist(), counts.count.tolist(), strict=True)
        assert Counter(pairs) == counted(sentences, order)
        assert holders(counts) == shared_by(sentences, order)


@given(corpora)
def test_numbers_too_large_to_pack_are_sorted_all_the_same(sentences: list[list[Hashable]]) -> None:
    (table,) = tabulate(sentences)
    wide = ngrams.TokenTable(table.tokens, table.lengths, vocabulary=2**62)
    packed, unpacked = NgramCounter(table), NgramCounter(wide)
    first, second = packed.next_order(), unpacked.next_order()
    for name in ("gram", "sentence", "count", "first"):
        assert getattr(first, name).tolist() == getattr(second, name).tolist()


def test_setting_an_ngram_aside_takes_the_longer_ones_along() -> None:
    counter = NgramCounter(tabulate([["a", "b", "c"], ["a", "b", "d"]])[0])
    unigrams = counter.next_order()
    assert unigrams.total(unigrams.count).tolist() == [2, 2, 1, 1]
    counter.keep(np.array([True, True, True, False]))
    bigrams = counter.next_order()
    assert bigrams.total(bigrams.count).tolist() == [2, 1]  # a b twice, b c once; b d is gone
    trigrams = counter.next_order()
    assert trigrams.sentence.tolist() == [0]


def test_token_ids_in_arrays_give_what_lists_give() -> None:
    generator = np.random.default_rng(0)
    for low, high in ((0, 5), (-3, 3), (10**12, 10**12 + 4)):
        left, right = generator.integers(low, high, (7, 4)), generator.integers(low, high, (3, 5))
        from_arrays, from_lists = tabulate(left, right), tabulate(left.tolist(), right)
        for array, listed in zip(from_arrays, from_lists, strict=True):
            assert array.lengths.tolist() == listed.lengths.tolist()
        assert same_partition(from_arrays[0].tokens, from_lists[0].tokens)
        joint = np.concatenate([table.tokens for table in from_arrays])
        assert same_partition(joint, np.concatenate([table.tokens for table in from_lists]))


def same_partition(left: np.ndarray, right: np.ndarray) -> bool:
    return bool(((left[:, None] == left) == (right[:, None] == right)).all())


def test_what_is_not_tokenised_is_refused() -> None:
    with pytest.raises(OffscriptError, match="a sentence that is one string; split it into tokens"):
        tabulate(["a cat"])
    with pytest.raises(OffscriptError, match=r"an array of float64 of shape \(2, 2\); give token ids"):
        tabulate(np.zeros((2, 2)))


@pytest.mark.parametrize("bits", [61, 62])
def test_keys_that_just_fit_and_just_do_not_are_sorted_alike(bits: int) -> None:
    """With 62 bits a key and a position need 64, and one number of 64 bits has a sign."""
    bound = (1 << bits) + 2
    keys, positions = np.array([bound - 1, 5, bound - 2]), np.array([0, 0, 1])
    in_order, places = ngrams._sort_together(keys, positions, bound)
    assert in_order.tolist() == [5, bound - 2, bound - 1]
    assert places.tolist() == [0, 1, 0]
