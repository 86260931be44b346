"""Batches: hand-worked rows, every sentence once an epoch, and the same batch whenever it is asked for."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora import (
    Batch,
    Batches,
    BucketedBatches,
    EncodedCorpus,
    FixedBatches,
    PackedBatches,
    WordVocabulary,
    encode_corpus,
)
from offscript.corpora.batching import SELECTION_BLOCK, Selection
from offscript.errors import OffscriptError

END = 1
# A sentence of this corpus is its own number, repeated: every token tells where it comes from.
VOCABULARY = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(500))])
LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=60)
QUESTIONS = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)))  # an epoch, and how far into it
KINDS: dict[str, Callable[..., Batches]] = {
    "fixed": lambda corpus, **settings: FixedBatches(corpus, 2, **settings),
    "packed": lambda corpus, **settings: PackedBatches(corpus, 7, **settings),
    "bucketed": lambda corpus, **settings: BucketedBatches(corpus, **settings),
    "budgeted": lambda corpus, **settings: BucketedBatches(corpus, tokens_per_batch=40, **settings),
}


def numbered(lengths: list[int], folder: Path | None = None) -> EncodedCorpus:
    """A corpus whose sentence i is word i, lengths[i] times, and the end token."""
    sentences = (" ".join([f"w{index}"] * length) for index, length in enumerate(lengths))
    return encode_corpus(sentences, VOCABULARY, end=True, folder=folder)


def rows(batch: Batch) -> list[list[int]]:
    assert batch.tokens.dtype == batch.lengths.dtype == np.int64
    assert (batch.tokens[np.arange(batch.tokens.shape[1]) >= batch.lengths[:, None]] == 0).all()
    assert batch.tokens.shape[1] == batch.lengths.max()
    return [row[:length].tolist() for row, length in zip(batch.tokens, batch.lengths, strict=True)]


def epoch_rows(batches: Batches, epoch: int) -> list[list[int]]:
    return [row for batch in batches.epoch(epoch) for row in rows(batch)]


def sentence(corpus: EncodedCorpus, index: int) -> list[int]:
    return corpus[index].tolist()


def test_fixed_rows_by_hand() -> None:
    corpus = numbered([1, 3, 2, 5])
    batches = FixedBatches(corpus, 3, size=2, seed=0, shuffle=False)
    assert len(batches) == 2
    assert [rows(batch) for batch in batches.epoch(0)] == [[[3, 3, 3], [4, 4, END]], [[5, 5, 5]]]


def test_packed_rows_by_hand() -> None:
    corpus = numbered([1, 3, 2, 5, 1, 1, 2])
    batches = PackedBatches(corpus, 4, size=2, seed=0, shuffle=False)
    assert [rows(batch) for batch in batches.epoch(0)] == [
        [[2, END, 3, 3], [4, 4, END, 5]],
        [[6, END, 7, END]],  # the last sentence does not fill a row
    ]


def test_a_sentence_longer_than_a_row_gives_one_row() -> None:
    batches = PackedBatches(numbered([9, 1, 9]), 4, size=5, seed=0, shuffle=False)
    assert epoch_rows(batches, 0) == [[2, 2, 2, 2], [3, END, 4, 4]]


def test_bucketed_rows_by_hand() -> None:
    corpus = numbered([3, 1, 2])
    in_order = BucketedBatches(corpus, 2, seed=0, shuffle=False)
    assert [rows(batch) for batch in in_order.epoch(0)] == [[[2, 2, 2, END], [3, END]], [[4, 4, END]]]
    by_length = BucketedBatches(corpus, 2, seed=0)
    found = sorted(rows(batch) for batch in by_length.epoch(0))
    assert found == [[[2, 2, 2, END]], [[3, END], [4, 4, END]]]
    cut = BucketedBatches(corpus, 3, seed=0, max_length=2, shuffle=False)
    assert epoch_rows(cut, 0) == [[2, 2], [3, END], [4, 4]]


def test_a_token_budget_counts_the_padding() -> None:
    corpus = numbered([1, 1, 1, 3, 3])
    batches = BucketedBatches(corpus, 100, seed=0, tokens_per_batch=8, shuffle=False)
    assert [batch.tokens.shape for batch in batches.epoch(0)] == [(3, 2), (2, 4)]
    long_in_the_middle = BucketedBatches(numbered([1, 4, 1]), 100, seed=0, tokens_per_batch=8, shuffle=False)
    assert [batch.tokens.shape for batch in long_in_the_middle.epoch(0)] == [(1, 2), (1, 5), (1, 2)]


@given(lengths=LENGTHS, size=st.integers(1, 9), length=st.integers(1, 6), seed=st.integers(), epoch=st.integers(0, 9))
def test_fixed_batches_hold_every_long_sentence_once(
    lengths: list[int], size: int, length: int, seed: int, epoch: int
) -> None:
    corpus = numbered([*lengths, 6])
    expected = [ids[:length] for ids in map(corpus.__getitem__, range(len(corpus))) if len(ids) >= length]
    batches = FixedBatches(corpus, length, size, seed)
    assert sorted(epoch_rows(batches, epoch)) == sorted(ids.tolist() for ids in expected)
    assert len(batches) == -(-len(expected) // size)


@given(
    lengths=LENGTHS,
    size=st.integers(1, 9),
    seed=st.integers(),
    epoch=st.integers(0, 9),
    budget=st.none() | st.integers(13, 60),
    max_length=st.none() | st.integers(1, 13),
    shuffle=st.booleans(),
)
def test_bucketed_batches_hold_every_sentence_once(
    lengths: list[int],
    size: int,
    seed: int,
    epoch: int,
    budget: int | None,
    max_length: int | None,
    shuffle: bool,
) -> None:
    corpus = numbered(lengths)
    batches = BucketedBatches(corpus, size, seed, max_length=max_length, tokens_per_batch=budget, shuffle=shuffle)
    expected = [sentence(corpus, index)[:max_length] for index in range(len(corpus))]
    found = epoch_rows(batches, epoch)
    assert sorted(found) == sorted(expected)
    assert shuffle or found == expected
    for batch in batches.epoch(epoch):
        assert len(batch.lengths) <= size
        assert batch.tokens.size <= (budget or np.inf)


@given(lengths=LENGTHS, size=st.integers(1, 9), length=st.integers(1, 20), seed=st.integers(), epoch=st.integers(0, 9))
def test_packed_rows_are_whole_sentences_but_for_the_last(
    lengths: list[int], size: int, length: int, seed: int, epoch: int
) -> None:
    corpus = numbered([*lengths, 20])
    batches = PackedBatches(corpus, length, size, seed)
    found = epoch_rows(batches, epoch)
    assert all(len(row) == length for row in found)
    for row in found:
        while row:
            whole = sentence(corpus, row[0] - 2)
            assert row[: len(whole)] == whole[: len(row)]
            row = row[len(whole) :]
    in_order = PackedBatches(corpus, length, size, seed, shuffle=False)
    assert len(found) == len(epoch_rows(in_order, epoch))


@given(lengths=LENGTHS, seed=st.integers())
def test_packed_rows_follow_the_epochs_order_without_a_gap(lengths: list[int], seed: int) -> None:
    corpus = numbered(lengths)
    found = epoch_rows(PackedBatches(corpus, 2, size=3, seed=seed), 1)  # two tokens: a row is one sentence
    uses = Counter(row[0] - 2 for row in found)
    assert len(found) == len(lengths)
    assert set(uses) == set(range(len(lengths)))


@pytest.mark.parametrize("kind", KINDS)
@given(
    lengths=LENGTHS,
    size=st.integers(1, 9),
    seed=st.integers(),
    asked=st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1))),
)
def test_a_batch_is_the_same_whatever_was_asked_before(
    kind: str, lengths: list[int], size: int, seed: int, asked: list[tuple[int, float]]
) -> None:
    corpus = numbered([*lengths, 6])
    asked_before = KINDS[kind](corpus, size=size, seed=seed)
    for epoch, share in asked:
        index = min(int(share * len(asked_before)), len(asked_before) - 1)
        fresh = KINDS[kind](corpus, size=size, seed=seed)
        assert rows(asked_before.batch(epoch, index)) == rows(fresh.batch(epoch, index))
        assert len(fresh) == len(asked_before)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_asked_in_any_order_are_those_of_epochs_in_turn(kind: str) -> None:
    corpus = numbered([1 + index * 7 % 12 for index in range(50)])
    in_turn = KINDS[kind](corpus, size=4, seed=3)
    expected = {(epoch, index): rows(batch) for epoch in range(3) for index, batch in enumerate(in_turn.epoch(epoch))}
    shuffled = random.Random(0).sample(list(expected), len(expected))
    asked = KINDS[kind](corpus, size=4, seed=3)
    assert {(epoch, index): rows(asked.batch(epoch, index)) for epoch, index in shuffled} == expected


@pytest.mark.parametrize("kind", KINDS)
def test_memory_and_disk_give_the_same_batches(tmp_path: Path, kind: str) -> None:
    lengths = [1 + index * 7 % 12 for index in range(300)]
    in_memory, on_disk = (KINDS[kind](numbered(lengths, folder), size=4, seed=3) for folder in (None, tmp_path))
    assert epoch_rows(in_memory, 2) == epoch_rows(on_disk, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_epochs_and_seeds_differ_unless_shuffling_is_off(kind: str) -> None:
    corpus = numbered([1 + index * 7 % 12 for index in range(300)])
    batches, other_seed = (KINDS[kind](corpus, size=4, seed=seed) for seed in (1, 2))
    orders = [epoch_rows(batches, 0), epoch_rows(batches, 1), epoch_rows(other_seed, 0)]
    assert len({str(order) for order in orders}) == 3
    in_order = KINDS[kind](corpus, size=4, seed=1, shuffle=False)
    first_words = [row[0] for row in epoch_rows(in_order, 0)]
    assert epoch_rows(in_order, 0) == epoch_rows(in_order, 5)
    assert first_words == sorted(first_words)


def test_bucketing_pads_far_less_than_corpus_order() -> None:
    corpus = numbered([1 + index * 7 % 12 for index in range(500)])
    filled = {
        shuffle: np.mean([np.mean(batch.lengths) / batch.tokens.shape[1] for batch in batches.epoch(0)])
        for shuffle in (True, False)
        if (batches := BucketedBatches(corpus, 16, seed=0, shuffle=shuffle))
    }
    assert filled[True] > 0.95 > 0.75 > filled[False]


@pytest.mark.parametrize("budget", [None, 20])
def test_many_windows_hold_every_sentence_once_in_every_epoch(budget: int | None) -> None:
    corpus = numbered([1 + index * index % 12 for index in range(500)])
    batches = BucketedBatches(corpus, 3, seed=5, tokens_per_batch=budget)
    for epoch in range(5):
        assert sorted(row[0] for row in epoch_rows(batches, epoch)) == [index + 2 for index in range(500)]


def test_batches_of_different_lengths_do_not_come_in_order_of_length() -> None:
    batches = BucketedBatches(numbered([1 + index % 12 for index in range(480)]), 4, seed=0)
    widths = [batch.tokens.shape[1] for batch in batches.epoch(0)]
    assert abs(np.corrcoef(widths, np.arange(len(widths)))[0, 1]) < 0.25


def test_sentences_meet_other_sentences_in_every_epoch() -> None:
    batches = BucketedBatches(numbered([1 + index % 3 for index in range(480)]), 4, seed=0, tokens_per_batch=1000)
    companions = [{frozenset(row[0] for row in rows(batch)) for batch in batches.epoch(epoch)} for epoch in range(2)]
    assert len(companions[0] & companions[1]) < 5


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda corpus: FixedBatches(corpus, 9, 2, seed=0), "no sentence has 9 tokens"),
        (lambda corpus: FixedBatches(corpus, 0, 2, seed=0), "length is 0"),
        (lambda corpus: PackedBatches(corpus, 9, 2, seed=0), "9 tokens from a corpus of 7"),
        (lambda corpus: PackedBatches(corpus, 0, 2, seed=0), "length is 0"),
        (lambda corpus: BucketedBatches(corpus, 0, seed=0), "size is 0"),
        (lambda corpus: BucketedBatches(corpus, 2, seed=0, max_length=0), "max_length is 0"),
        (lambda corpus: BucketedBatches(corpus, 2, seed=0, tokens_per_batch=3), "4 tokens in batches of 3"),
    ],
)
def test_impossible_settings_are_refused(make: Callable[[EncodedCorpus], Batches], expected: str) -> None:
    with pytest.raises(OffscriptError, match=expected):
        make(numbered([2, 3]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("past", [-1, 0])
def test_batches_outside_the_epoch_are_refused(kind: str, past: int) -> None:
    batches = KINDS[kind](numbered([2, 3]), size=1, seed=0)
    with pytest.raises(IndexError):
        batches.batch(0, past if past < 0 else len(batches))


@given(
    size=st.integers(1, 5 * SELECTION_BLOCK), share=st.floats(0, 1), seed=st.integers(0, 2**32), piece=st.integers(1, 4)
)
def test_ranks_find_what_flatnonzero_finds(size: int, share: float, seed: int, piece: int) -> None:
    truths = np.random.default_rng(seed).random(size) < share
    selection = Selection(
        truths[start : start + piece * SELECTION_BLOCK] for start in range(0, size, piece * SELECTION_BLOCK)
    )
    expected = np.flatnonzero(truths)
    assert len(selection) == len(expected)
    assert selection(np.arange(len(expected))).tolist() == expected.tolist()


def test_ranks_may_come_in_any_order() -> None:
    selection = Selection([np.array([False, True, True, False, True])])
    assert selection(np.array([2, 0, 1, 2])).tolist() == [4, 1, 2, 4]
