from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models.tabular import Tabular
from offscript.sampling import generate
from offscript.sampling import histories as module
from offscript.sampling.histories import (
    corrupted_histories,
    data_histories,
    random_histories,
    shuffled_histories,
    unrelated_histories,
)

SEEDS = st.integers(0, 2**32)
SIZES = st.integers(1, 12)


def _numbered(rows: int, length: int) -> Tensor:
    """Histories in which no token stands twice, so that every one of them can be told from the others."""
    return torch.arange(rows * length).view(rows, length)


def _closing_model() -> Tabular:
    vocabulary = WordVocabulary(["A", "<eos>"], unknown=None)
    histories = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    return Tabular(vocabulary, 3, dict.fromkeys(histories, (0.5, 0.5)))


def test_model_histories_are_ancestral_samples_that_do_not_stop() -> None:
    model = _closing_model()
    histories = generate(model, 500, 3, seed=4, stop_at_end=False, batch_size=100).tokens
    assert torch.equal(histories, generate(model, 500, 3, seed=4, stop_at_end=False).tokens)
    after_end = histories[histories[:, 0] == 1, 1]
    assert set(after_end.tolist()) == {0, 1}


@given(seed=SEEDS, rows=SIZES, more=st.integers(0, 9), length=SIZES, longer=st.integers(0, 3))
def test_data_histories_are_beginnings_of_different_sequences(
    seed: int, rows: int, more: int, length: int, longer: int
) -> None:
    data = _numbered(rows + more, length + longer)
    histories = data_histories(data, rows, length, seed=seed)
    assert histories.shape == (rows, length)
    sources = histories[:, 0] // (length + longer)
    assert len(set(sources.tolist())) == rows
    assert torch.equal(histories, data[sources, :length])


def test_data_histories_are_chosen_evenly() -> None:
    data = _numbered(6, 1)
    chosen = torch.cat([data_histories(data, 2, 1, seed=seed) for seed in range(3000)])
    assert stats.chisquare(torch.bincount(chosen.flatten()).numpy()).pvalue > 0.001


def test_data_histories_are_a_copy() -> None:
    data = _numbered(4, 2)
    data_histories(data, 4, 2, seed=1).zero_()
    assert torch.equal(data, _numbered(4, 2))


@pytest.mark.parametrize(("rows", "length"), [(5, 2), (4, 3)])
def test_too_little_data_is_refused(rows: int, length: int) -> None:
    with pytest.raises(OffscriptError, match=rf"4 data sequences of 2 tokens .* {rows} of {length} tokens"):
        data_histories(_numbered(4, 2), rows, length, seed=1)


@given(seed=SEEDS, rows=SIZES, length=SIZES)
def test_shuffled_histories_keep_each_rows_tokens(seed: int, rows: int, length: int) -> None:
    histories = _numbered(rows, length)
    shuffled = shuffled_histories(histories, seed=seed)
    assert torch.equal(shuffled.sort(dim=1).values, histories)


def test_all_orders_of_a_shuffled_history_are_equally_likely() -> None:
    shuffled = shuffled_histories(torch.tensor([[0, 1, 2]]).expand(6000, -1), seed=2)
    counts = torch.bincount(shuffled @ torch.tensor([9, 3, 1]), minlength=27)
    assert stats.chisquare(counts[counts > 0].numpy()).pvalue > 0.001
    assert int((counts > 0).sum()) == 6


def test_random_histories_are_uniform_over_the_vocabulary() -> None:
    histories = random_histories(7, 2000, 5, seed=3)
    assert histories.shape == (2000, 5)
    assert stats.chisquare(torch.bincount(histories.flatten(), minlength=7).numpy()).pvalue > 0.001


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 1.0])
def test_tokens_are_corrupted_at_the_rate(rate: float) -> None:
    # No token of the histories is in the vocabulary of the noise, so that every replacement shows.
    histories = 100 + _numbered(1000, 20)
    corrupted = corrupted_histories(histories, rate, 100, seed=5)
    replaced = corrupted < 100
    assert torch.equal(corrupted[~replaced], histories[~replaced])
    assert stats.binomtest(int(replaced.sum()), replaced.numel(), rate).pvalue > 0.001
    if rate:
        assert stats.chisquare(torch.bincount(corrupted[replaced], minlength=100).numpy()).pvalue > 0.001


def test_more_corruption_keeps_what_less_corruption_replaced() -> None:
    histories = 100 + _numbered(50, 20)
    little, much = (corrupted_histories(histories, rate, 100, seed=6) for rate in (0.2, 0.6))
    assert torch.equal(much[little < 100], little[little < 100])


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_rate_outside_zero_and_one_is_refused(rate: float) -> None:
    with pytest.raises(OffscriptError, match="between 0 and 1"):
        corrupted_histories(_numbered(2, 2), rate, 5, seed=1)


@given(seed=SEEDS, rows=st.integers(2, 30))
def test_unrelated_histories_are_a_derangement(seed: int, rows: int) -> None:
    histories = _numbered(rows, 3)
    exchanged = unrelated_histories(histories, seed=seed)
    assert not (exchanged[:, 0] == histories[:, 0]).any()
    assert torch.equal(exchanged[exchanged[:, 0].argsort()], histories)


def test_one_history_cannot_be_exchanged() -> None:
    with pytest.raises(OffscriptError, match="1 histories cannot be exchanged"):
        unrelated_histories(_numbered(1, 3), seed=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: data_histories(_numbered(50, 3), 20, 3, seed=seed),
        lambda seed: shuffled_histories(_numbered(50, 3), seed=seed),
        lambda seed: random_histories(9, 50, 3, seed=seed),
        lambda seed: corrupted_histories(_numbered(50, 3), 0.5, 9, seed=seed),
        lambda seed: unrelated_histories(_numbered(50, 3), seed=seed),
        lambda seed: generate(_closing_model(), 50, 3, seed=seed, stop_at_end=False).tokens,
    ],
    ids=["data", "shuffled", "random", "corrupted", "unrelated", "model"],
)
def test_the_seed_decides(make: Callable[[int], Tensor]) -> None:
    assert torch.equal(make(1), make(1))
    assert not torch.equal(make(1), make(2))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: data_histories(_numbered(8, 1), 8, 1, seed=7), [[6], [7], [4], [2], [3], [0], [1], [5]]),
        (lambda: shuffled_histories(_numbered(2, 5), seed=7), [[4, 0, 3, 1, 2], [7, 8, 5, 9, 6]]),
        (lambda: shuffled_histories(_numbered(2, 5), seed=7, first_row=3), [[1, 3, 2, 4, 0], [7, 5, 6, 9, 8]]),
        (lambda: random_histories(100, 2, 4, seed=7), [[64, 40, 78, 63], [61, 10, 74, 42]]),
        (
            lambda: corrupted_histories(100 + _numbered(2, 6), 0.5, 100, seed=7),
            [[37, 101, 102, 61, 104, 105], [106, 107, 65, 109, 97, 111]],
        ),
        (lambda: unrelated_histories(_numbered(8, 1), seed=7), [[4], [2], [0], [1], [7], [3], [5], [6]]),
    ],
    ids=["data", "shuffled", "shuffled from row 3", "random", "corrupted", "unrelated"],
)
def test_histories_stay_the_same_from_version_to_version(make: Callable[[], Tensor], expected: list[list[int]]) -> None:
    """Stored figures can be made again only if a seed keeps its meaning, the streams of random numbers included."""
    assert make().tolist() == expected


def test_each_purpose_has_random_numbers_of_its_own() -> None:
    """Streams 0, 3 and 11 choose tokens, transforms and first states."""
    streams = [module._WHERE, module._WHAT, module._CHOICE, module._ORDER, module._TOKENS, module._EXCHANGE]
    assert len({*streams, 0, 3, 11}) == len(streams) + 3


@given(rate=st.floats(0, 1), first=st.integers(0, 9), cut=st.integers(1, 5))
def test_parts_drawn_apart_make_up_the_whole(rate: float, first: int, cut: int) -> None:
    histories = 100 + _numbered(6, 4)
    for make in (
        lambda rows, start: shuffled_histories(rows, seed=3, first_row=start),
        lambda rows, start: random_histories(9, len(rows), 4, seed=3, first_row=start),
        lambda rows, start: corrupted_histories(rows, rate, 50, seed=3, first_row=start),
    ):
        whole = make(histories, first)
        assert torch.equal(torch.cat([make(histories[:cut], first), make(histories[cut:], first + cut)]), whole)


def test_every_purpose_has_a_stream_of_its_own_and_keeps_it() -> None:
    """Another stream would give other figures for the recipe of a stored answer; 0 draws tokens, 3 transforms them."""
    streams = (module._WHERE, module._WHAT, module._CHOICE, module._ORDER, module._TOKENS, module._EXCHANGE)
    assert streams == (1, 2, 4, 5, 6, 7)
