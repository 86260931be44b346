"""A model written down: the papers' examples, exact, and every way to write one wrongly."""

import json
import math
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from offscript.errors import OffscriptError
from offscript.models import language_model as contract
from offscript.models.tabular import Tabular
from offscript.sampling import generate

A, B = 0, 1
EXAMPLE_1_DATA = {"": [0.5, 0.5], "A": [1.0, 0.0], "B": [0.0, 1.0]}
EXAMPLE_1_MODEL = {"": [1.0, 0.0], "A": [1.0, 0.0], "B": [0.0, 1.0]}
EXAMPLE_2_DATA = {"": [0.5, 0.5], "A": [0.5, 0.5], "B": [0.5, 0.5]}
EXAMPLE_2_MODEL = {"": [0.9, 0.1], "A": [0.9, 0.1], "B": [0.5, 0.5]}
SEQUENCES = list(product([A, B], repeat=2))


def _described(following: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"kind": "tabular", "vocabulary": ["A", "B"], "length": 2, "next": following, **others}


def _table(following: dict[str, Any], **others: Any) -> Tabular:
    return Tabular.from_json(_described(following, **others))


@pytest.mark.parametrize(
    ("following", "expected"),
    [
        (EXAMPLE_1_DATA, [0.5, 0.0, 0.0, 0.5]),
        (EXAMPLE_1_MODEL, [1.0, 0.0, 0.0, 0.0]),
        (EXAMPLE_2_DATA, [0.25, 0.25, 0.25, 0.25]),
        (EXAMPLE_2_MODEL, [0.9 * 0.9, 0.9 * 0.1, 0.1 * 0.5, 0.1 * 0.5]),
    ],
    ids=["example 1, data", "example 1, model", "example 2, data", "example 2, model"],
)
class TestExamples:
    """The crafted distributions of the exposure-bias paper; sequences in the order AA, AB, BA, BB."""

    def test_probabilities_are_exact(self, following: dict[str, Any], expected: list[float]) -> None:
        found = _table(following).log_likelihoods(torch.tensor(SEQUENCES)).sum(dim=1).exp()
        assert found.dtype == torch.float64
        assert found.tolist() == pytest.approx(expected, abs=1e-15)

    def test_samples_are_exact(self, following: dict[str, Any], expected: list[float]) -> None:
        drawn = generate(_table(following), 100_000, 2, seed=1, batch_size=10_000)
        counts = Counter(map(tuple, drawn.tokens.tolist()))
        possible = [index for index, probability in enumerate(expected) if probability]
        assert set(counts) <= {SEQUENCES[index] for index in possible}
        frequencies = [counts[SEQUENCES[index]] for index in possible]
        statistic = stats.chisquare(frequencies, [100_000 * expected[index] for index in possible]).statistic
        assert statistic <= stats.chi2.ppf(0.999, max(1, len(possible) - 1))

    def test_steps_and_scores_agree(self, following: dict[str, Any], expected: list[float]) -> None:
        model, tokens = _table(following), torch.tensor(SEQUENCES)
        [scored] = model.score(tokens)
        assert scored.positions == range(2)
        first, state = model.start(len(tokens))
        second, _ = model.advance(state, tokens[:, 0])
        assert torch.equal(scored.log_probs, torch.stack([first, second], dim=1))
        assert torch.equal(model.start(len(tokens), tokens[:, :1])[0], second)


def test_every_row_is_a_distribution() -> None:
    [scored] = _table(EXAMPLE_2_MODEL).score(torch.tensor(SEQUENCES))
    assert scored.log_probs.exp().sum(dim=-1).tolist() == [[1.0, 1.0]] * 4


@given(order=st.permutations(sorted(EXAMPLE_2_MODEL)))
def test_the_order_of_the_histories_says_nothing(order: list[str]) -> None:
    table = _table({history: EXAMPLE_2_MODEL[history] for history in order})
    straight = _table(EXAMPLE_2_MODEL)
    tokens = torch.tensor(SEQUENCES)
    assert torch.equal(table.log_likelihoods(tokens), straight.log_likelihoods(tokens))
    assert table.weight_hash == straight.weight_hash


def test_other_probabilities_have_another_hash() -> None:
    assert _table(EXAMPLE_2_MODEL).weight_hash != _table(EXAMPLE_2_DATA).weight_hash


def test_positions_pick_from_all(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokens = _table(EXAMPLE_2_MODEL), torch.tensor(SEQUENCES)
    [whole] = model.score(tokens)
    [second] = model.score(tokens, range(1, 2))
    assert torch.equal(second.log_probs, whole.log_probs[:, 1:])
    monkeypatch.setattr(contract, "FEWEST_AT_ONCE", 1)
    monkeypatch.setattr(contract, "SCORE_BUDGET", 1)
    chunks = list(model.score(tokens))
    assert [chunk.positions for chunk in chunks] == [range(1), range(1, 2)]
    assert torch.equal(torch.cat([chunk.log_probs for chunk in chunks], dim=1), whole.log_probs)


@pytest.mark.parametrize(
    ("rows", "width", "longest"),
    [(1, 262_144, 32), (10, 262_144, 4), (32, 262_144, 1), (64, 262_144, 1), (64, 5_000, 13), (1, 3, 100)],
)
def test_chunks_of_large_vocabularies_still_fill_a_matrix(rows: int, width: int, longest: int) -> None:
    chunks = list(contract.chunks_of(range(7, 107), rows, width))
    assert [place for chunk in chunks for place in chunk] == list(range(7, 107))
    assert max(map(len, chunks)) == longest


def test_a_state_goes_on_in_several_ways() -> None:
    model = _table(EXAMPLE_2_MODEL)
    _, state = model.start(2, torch.tensor([[A], [B]]))
    chosen = state.select(torch.tensor([1, 0, 1]))
    assert chosen.nodes is not None
    assert [model._histories[node] for node in chosen.nodes.tolist()] == [(B,), (A,), (B,)]


def test_nothing_but_the_end_follows_an_end() -> None:
    model = _table({"": [0.5, 0.5], "A": [0.2, 0.8]}, end="B")
    scored = model.log_likelihoods(torch.tensor([[B, B], [A, B], [B, A]])).sum(dim=1)
    assert scored.exp().tolist() == pytest.approx([0.5, 0.4, 0.0], abs=1e-15)


def test_a_file_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(_described(EXAMPLE_2_MODEL)), encoding="utf-8")
    loaded = Tabular.load(path)
    assert loaded.name == "toy"
    assert loaded.weight_hash == _table(EXAMPLE_2_MODEL).weight_hash


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"next": {"": [0.9, 0.2], "A": [1, 0], "B": [1, 0]}}, "after '' are not a distribution; they sum to 1.1"),
        ({"next": {"": [1.5, -0.5], "A": [1, 0]}}, "after '' are not a distribution"),
        ({"next": {"": [math.nan, 1.0]}}, "after '' are not a distribution"),
        ({"next": {"": [1.0]}}, "1 probabilities after '' for 2 symbols"),
        ({"next": {"": "often"}}, "what follows '' is not a list of probabilities"),
        ({"next": {"": 1.0}}, "what follows '' is not a list of probabilities"),
        ({"next": {"": [None, 1.0]}}, "what follows '' is not a list of probabilities"),
        ({"next": {"A": [0.5, 0.5]}}, "no distribution for the empty history"),
        ({"next": {"": [0.5, 0.5], "A": [0.5, 0.5]}}, "no distribution after 'B'; sequences of 2 tokens can begin so"),
        ({"next": {"": [1, 0], "A": [1, 0], "B A": [1, 0]}}, "a distribution after 'B A' but none after 'B'"),
        ({"next": {"": [1, 0], "A": [1, 0], " A ": [1, 0]}}, "two distributions after ' A '"),
        ({"next": {"": [1, 0], "C": [1, 0]}}, "'C' is not in the vocabulary"),
        ({"next": [0.5, 0.5]}, "'next' is missing or not a dict"),
        ({"vocabulary": "AB"}, "'vocabulary' is missing or not a list"),
        ({"vocabulary": []}, "an empty vocabulary"),
        ({"vocabulary": ["A", "A"]}, "'A' stands twice"),
        ({"vocabulary": ["A", 2]}, "2 is not a symbol"),
        ({"vocabulary": ["A", "New York"]}, "'New York' is not a symbol"),
        ({"vocabulary": ["A", ""]}, "'' is not a symbol"),
        ({"length": 0}, "a tabular model of length 0"),
        ({"length": "2"}, "'length' is missing or not a int"),
        ({"end": "C"}, "the vocabulary has no 'C'"),
        ({"end": ["C"]}, "'end' is not a symbol"),
        ({"next": {"": [10**400, 1]}}, "what follows '' is not a list of probabilities"),
    ],
)
def test_a_table_that_is_wrong_gets_one_clear_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OffscriptError) as caught:
        Tabular.from_json({**_described(EXAMPLE_2_MODEL), **changes})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"wrong\.json, line 1: not valid JSON"),
        ('{"kind": "tabular", "kind": "tabular"}', "field 'kind' is given twice"),
        ("[1, 2]", 'no "kind": "tabular"'),
        ('{"kind": "lstm"}', 'no "kind": "tabular"'),
        ("\udcff", r"wrong\.json, line 1: byte 1 is not UTF-8"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    with pytest.raises(OffscriptError, match=message):
        Tabular.load(path)


def test_longer_than_the_table_is_refused() -> None:
    with pytest.raises(OffscriptError, match="at most 2 tokens"):
        generate(_table(EXAMPLE_2_MODEL), 5, 3, seed=1)


@pytest.mark.parametrize("positions", [range(3), range(-1, 1), range(0, 2, 2), range(1, 1)])
def test_positions_outside_the_tokens_are_refused(positions: range) -> None:
    with pytest.raises(OffscriptError, match="sequences with 2 tokens"):
        list(_table(EXAMPLE_2_MODEL).score(torch.tensor(SEQUENCES), positions))
