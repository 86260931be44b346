"""The ancestral loop: exact distributions, batch sizes, prefixes and ends."""

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models import LanguageModel
from offscript.models.language_model import State
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.tabular import Tabular
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings
from offscript.sampling import generate, generate_each, generation, texts
from offscript.sampling.generation import lengths_until
from offscript.sampling.transforms import parse_transform

LENGTH = 6
WORDS = ["<eos>", *(f"w{index}" for index in range(19))]


def _vocabulary() -> WordVocabulary:
    return WordVocabulary(WORDS, unknown=None)


def _network(kind: str) -> LanguageModel:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        if kind == "lstm":
            return LSTMLanguageModel(_vocabulary(), LSTMSettings(hidden=24, embedding=16, layers=2)).eval()
        settings = TransformerSettings(width=16, layers=2, heads=2, context=LENGTH)
        return TransformerLanguageModel(_vocabulary(), settings).eval()


@pytest.fixture(scope="module", params=["lstm", "transformer"])
def network(request: pytest.FixtureRequest) -> LanguageModel:
    return _network(request.param)


def _table(*rows: tuple[str, list[float]]) -> Tabular:
    """A table over <eos>, A, B for sequences of up to three tokens."""
    vocabulary = WordVocabulary(["<eos>", "A", "B"], unknown=None)
    return Tabular(vocabulary, 3, {tuple(vocabulary.encode(history)): row for history, row in rows})


CLOSING = [
    ("", [0.2, 0.5, 0.3]),
    ("A", [0.5, 0.25, 0.25]),
    ("B", [0.0, 0.1, 0.9]),
    ("A A", [0.3, 0.3, 0.4]),
    ("A B", [1.0, 0.0, 0.0]),
    ("B A", [0.0, 1.0, 0.0]),
    ("B B", [0.6, 0.2, 0.2]),
]


def _enumerated(rows: list[tuple[str, list[float]]]) -> dict[tuple[int, ...], float]:
    """Every sequence of three tokens, filled up with end tokens, and its probability."""
    names = {"A": 1, "B": 2}
    following = {tuple(names[word] for word in history.split()): row for history, row in rows}
    found: dict[tuple[int, ...], float] = {}

    def extend(history: tuple[int, ...], probability: float) -> None:
        if probability == 0:
            return
        if len(history) == 3 or history[-1:] == (0,):
            found[(*history, 0, 0, 0)[:3]] = probability
            return
        for token, share in enumerate(following[history]):
            extend((*history, token), probability * share)

    extend((), 1.0)
    return found


def _chi_square(counts: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    assert set(counts) <= set(expected)
    total = counts.total()
    outcomes = sorted(expected)
    frequencies = [counts[outcome] for outcome in outcomes]
    return float(stats.chisquare(frequencies, [total * expected[outcome] for outcome in outcomes]).pvalue)


def test_sequences_come_as_often_as_enumeration_says() -> None:
    drawn = generate(_table(*CLOSING), 100_000, 3, seed=8, batch_size=20_000)
    counts = Counter(map(tuple, drawn.tokens.tolist()))
    assert _chi_square(counts, _enumerated(CLOSING)) > 0.001


def test_a_row_holds_nothing_but_end_tokens_after_its_first() -> None:
    drawn = generate(_table(*CLOSING), 2_000, 3, seed=9)
    for row, length in zip(drawn.tokens.tolist(), drawn.lengths.tolist(), strict=True):
        assert 0 not in row[: length - 1]
        assert row[length - 1] == 0 or length == 3
        assert set(row[length:]) <= {0}


def test_without_stopping_every_row_goes_on(network: LanguageModel) -> None:
    drawn = generate(network, 400, LENGTH, seed=1, stop_at_end=False)
    ended = (drawn.tokens[:, 0] == 0).nonzero().squeeze(1)
    assert len(ended) > 5
    assert set(drawn.lengths.tolist()) == {LENGTH}
    assert (drawn.tokens[ended, 1:] != 0).any()


def test_rows_that_end_do_not_change_those_that_go_on(network: LanguageModel) -> None:
    stopped = generate(network, 300, LENGTH, seed=2)
    going = generate(network, 300, LENGTH, seed=2, stop_at_end=False)
    for stops, goes, length in zip(stopped.tokens, going.tokens, stopped.lengths.tolist(), strict=True):
        assert torch.equal(stops[:length], goes[:length])


TRANSFORMS = [None, "nucleus,p=0.8", "random-mask,rate=0.5"]


@pytest.mark.parametrize("sampler", TRANSFORMS)
@pytest.mark.parametrize("batch_size", [1, 7, 33])
def test_batch_size_changes_nothing(network: LanguageModel, sampler: str | None, batch_size: int) -> None:
    transform = None if sampler is None else parse_transform(sampler)
    prefixes = torch.randint(len(WORDS), (40, 2), generator=torch.Generator().manual_seed(3))
    for prefix in (None, prefixes):
        whole, parts = (
            generate(network, 40, LENGTH, seed=(4, 5), transform=transform, prefixes=prefix, batch_size=size)
            for size in (40, batch_size)
        )
        assert torch.equal(whole.tokens, parts.tokens)
        assert torch.equal(whole.lengths, parts.lengths)


def test_a_row_depends_on_the_seed_and_its_number_alone(network: LanguageModel) -> None:
    whole = generate(network, 60, LENGTH, seed=6)
    tail = generate(network, 25, LENGTH, seed=6, first_row=35, batch_size=4)
    assert torch.equal(whole.tokens[35:], tail.tokens)
    assert not torch.equal(whole.tokens, generate(network, 60, LENGTH, seed=7).tokens)


class _Counting(LanguageModel):
    """Remembers with how many rows a model is run."""

    def __init__(self, model: LanguageModel) -> None:
        self.model, self.vocabulary, self.rows = model, model.vocabulary, []

    device = property(lambda self: self.model.device)
    weight_hash = property(lambda self: self.model.weight_hash)

    def begin(self, rows: int) -> State:
        return self.model.begin(rows)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        self.rows.append(len(tokens))
        return self.model.advance(state, tokens)

    def score(self, tokens: Tensor, positions: range | None = None) -> Any:
        return self.model.score(tokens, positions)


@pytest.mark.parametrize("rows", [1, 5, 16, 40])
def test_the_model_is_never_run_with_so_few_rows_that_rounding_differs(rows: int) -> None:
    counting = _Counting(_network("lstm"))
    generate(counting, rows, LENGTH, seed=1)
    generate_each(counting, [None, None], rows, LENGTH, seed=1)
    assert min(counting.rows) >= 16
    assert max(counting.rows) <= max(16, 2 * rows)


def test_ended_rows_leave_the_batch() -> None:
    counting = _Counting(_table(("", [0.7, 0.3, 0]), ("A", [0.2, 0.8, 0]), ("A A", [0, 0, 1])))
    generate(counting, 1000, 3, seed=1, batch_size=1000)
    assert counting.rows[0] == 1000
    assert 250 < counting.rows[1] < 350
    assert counting.rows[2] == counting.rows[1]


@settings(max_examples=15)
@given(
    prefix=st.lists(st.lists(st.integers(0, 19), min_size=3, max_size=3), min_size=1, max_size=8), seed=st.integers(0)
)
def test_sequences_begin_with_their_prefix(prefix: list[list[int]], seed: int) -> None:
    prefixes = torch.tensor(prefix)
    drawn = generate(_network("lstm"), len(prefix), LENGTH, seed=seed, prefixes=prefixes)
    assert torch.equal(drawn.tokens[:, :3], prefixes)
    ended = (prefixes == 0).any(dim=1)
    assert set(drawn.tokens[ended, 3:].flatten().tolist()) <= {0}
    assert torch.equal(drawn.lengths[ended], (prefixes[ended] == 0).int().argmax(dim=1) + 1)


def test_what_follows_a_prefix_has_the_models_distribution() -> None:
    prefixes = torch.tensor([[1]]).expand(50_000, -1)
    drawn = generate(_table(*CLOSING), 50_000, 2, seed=3, prefixes=prefixes)
    counts = torch.bincount(drawn.tokens[:, 1], minlength=3).tolist()
    assert stats.chisquare(counts, [25_000, 12_500, 12_500]).pvalue > 0.001


def test_a_prefix_of_full_length_is_the_sequence(network: LanguageModel) -> None:
    prefixes = torch.randint(1, 20, (3, LENGTH), generator=torch.Generator().manual_seed(1))
    assert torch.equal(generate(network, 3, LENGTH, seed=1, prefixes=prefixes).tokens, prefixes)


def test_each_transform_draws_as_it_would_alone(network: LanguageModel) -> None:
    transforms = [None if text is None else parse_transform(text) for text in TRANSFORMS]
    together = generate_each(network, transforms, 30, LENGTH, seed=2, batch_size=50)
    for transform, drawn in zip(transforms, together, strict=True):
        assert torch.equal(drawn.tokens, generate(network, 30, LENGTH, seed=2, transform=transform).tokens)


def test_progress_counts_every_row() -> None:
    finished: list[int] = []
    generate(_table(*CLOSING), 25, 3, seed=1, batch_size=10, progress=finished.append)
    assert finished == [10, 10, 5]


def test_texts_leave_the_end_out() -> None:
    model = _table(("", [0, 1, 0]), ("A", [0, 0, 1]), ("A B", [1, 0, 0]))
    assert list(texts(model, generate(model, 2, 3, seed=1))) == ["A B", "A B"]


@pytest.mark.parametrize(
    ("end", "lengths"),
    [(0, [1, 3, 3]), (2, [3, 1, 2]), (None, [3, 3, 3])],
)
def test_lengths_count_the_end_token(end: int | None, lengths: list[int]) -> None:
    tokens = torch.tensor([[0, 1, 0], [2, 1, 1], [1, 2, 2]])
    assert lengths_until(tokens, end).tolist() == lengths


@pytest.mark.parametrize(
    ("rows", "length", "prefixes", "message"),
    [
        (0, 3, None, "0 sequences of 3 tokens"),
        (3, 0, None, "3 sequences of 0 tokens"),
        (2, 3, [[1], [1], [1]], r"prefixes of shape \(3, 1\) for 2 sequences"),
        (1, 2, [[1, 1, 1]], "no longer than the sequence"),
        (1, 3, [[20]], "outside the vocabulary"),
        (1, 3, [[-1]], "outside the vocabulary"),
    ],
)
def test_senseless_requests_are_refused(
    network: LanguageModel, rows: int, length: int, prefixes: list[list[int]] | None, message: str
) -> None:
    with pytest.raises(OffscriptError, match=message):
        generate(network, rows, length, seed=1, prefixes=None if prefixes is None else torch.tensor(prefixes))


def test_no_transform_at_all_is_refused(network: LanguageModel) -> None:
    with pytest.raises(OffscriptError, match="no transform"):
        generate_each(network, [], 1, 1, seed=1)


def test_more_tokens_than_fit_in_memory_are_refused_before_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _network("lstm")
    with pytest.raises(OffscriptError, match="cannot draw 21474836472 sequences of 3 tokens at once"):
        generate(model, 21474836472, 3, seed=1)
    monkeypatch.setattr(generation, "MOST_TOKENS", 30)
    assert generate(model, 10, 3, seed=1).tokens.shape == (10, 3)
    with pytest.raises(OffscriptError, match="cannot draw 11 sequences"):
        generate(model, 11, 3, seed=1)
