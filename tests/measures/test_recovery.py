import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.bleu import sentence_bleu
from offscript.measures.measurement import Measurement
from offscript.measures.question import Silent
from offscript.measures.recovery import Recovery, RecoverySettings
from offscript.measures.recovery import estimation as recovery
from offscript.measures.recovery.estimation import PAPER_SOURCES, continuations, measure_recovery, side_by_side
from offscript.measures.subject import Subject
from offscript.models.language_model import LanguageModel, Scored, State, checked_positions, preceded_by_start


def by_name(measurements: list[Measurement]) -> dict[str, Measurement]:
    return {entry.name: entry for entry in measurements}


@dataclass(frozen=True)
class Last(State):
    """The token read last."""

    tokens: Tensor | None

    def select(self, rows: Tensor) -> "Last":
        return Last(None if self.tokens is None else self.tokens[rows])


class Chain(LanguageModel):
    """A Markov chain: row t of the table follows token t, its last row follows the start."""

    def __init__(self, table: list[list[float]], name: str = "chain") -> None:
        self.vocabulary = WordVocabulary([f"w{token}" for token in range(len(table[0]))], end=None, unknown=None)
        self.table, self.name = torch.tensor(table, dtype=torch.float64).log(), name

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def weight_hash(self) -> str:
        return str(self.table.tolist())

    def begin(self, rows: int) -> Last:
        return Last(None)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, Last]:
        return self.table[tokens], Last(tokens)

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        asked = checked_positions(tokens, positions)
        read = preceded_by_start(tokens, self.vocabulary.start)[:, asked.start : asked.stop]
        yield Scored(asked, self.table[read])


ORACLE = Chain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4], [0.9, 0.05, 0.05]], "oracle")
MODEL = Chain([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.2, 0.7], [0.9, 0.05, 0.05]], "model")
SETTINGS: dict[str, Any] = {"samples": 4000, "length": 12, "prefix": 4, "seed": 1, "window": 4}


def expected_surprise(first: np.ndarray[Any, np.dtype[np.float64]], steps: int) -> list[float]:
    """-log o of what the model draws 1, 2, … tokens after a token of the given distribution."""
    ours, theirs = (chain.table.exp().numpy()[:3] for chain in (MODEL, ORACLE))
    found = []
    for _ in range(steps):
        found.append(float(-(first[:, None] * ours * np.log(theirs)).sum()))
        first = first @ ours
    return found


def last_of_prefix(chain: Chain) -> np.ndarray[Any, np.dtype[np.float64]]:
    table = chain.table.exp().numpy()
    return np.asarray(table[3] @ np.linalg.matrix_power(table[:3], SETTINGS["prefix"] - 1))


def test_curves_are_those_of_the_chain() -> None:
    found = by_name(measure_recovery(MODEL, ORACLE, **SETTINGS))
    firsts = {"model": last_of_prefix(MODEL), "data": last_of_prefix(ORACLE), "random": np.full(3, 1 / 3)}
    for source, first in firsts.items():
        measured = found[f"nll_oracle.{source}"]
        curve = expected_surprise(first, SETTINGS["length"] - SETTINGS["prefix"])
        assert measured.by_position is not None
        assert measured.value == pytest.approx(np.mean(curve), abs=4 * measured.standard_error)
        assert measured.by_position.values == pytest.approx(curve, abs=0.06)
    assert set(found) == {
        *(f"nll_oracle.{source}" for source in PAPER_SOURCES),
        *(f"corpus_bleu_4.{source}" for source in PAPER_SOURCES),
        *(f"{kind}.{source}" for kind in ("nll_gap", "bleu_gap") for source in PAPER_SOURCES if source != "data"),
    }
    lost = found["corpus_bleu_4.data"].value - found["corpus_bleu_4.random"].value
    assert found["bleu_gap.random"].value == pytest.approx(lost)


def test_leaving_what_it_does_not_know_a_chain_recovers() -> None:
    """The third token is rare in the data, and the model wrong after it; from random prefixes it meets it often."""
    known = [[0.9, 0.09, 0.01], [0.3, 0.69, 0.01]]
    model, oracle = (Chain([*known, third, known[0]]) for third in ([0.45, 0.45, 0.1], [0.01, 0.01, 0.98]))
    gap = by_name(measure_recovery(model, oracle, **SETTINGS))["nll_gap.random"].by_position
    assert gap is not None
    assert gap.lower[0] > 1
    assert gap.upper[-1] < 0.2


def test_who_does_not_look_back_has_nothing_to_recover_from() -> None:
    deaf = Chain([[0.5, 0.3, 0.2]] * 4)
    found = by_name(measure_recovery(deaf, Chain([[0.2, 0.3, 0.5]] * 4), **{**SETTINGS, "samples": 50}))
    for source in ("model", "shuffled", "random"):
        gap = found[f"nll_gap.{source}"]
        assert (gap.value, gap.interval.width) == (0.0, 0.0)


def test_prefixes_are_what_they_are_called() -> None:
    drawn = continuations(
        MODEL, ORACLE, samples=300, length=8, prefix=4, seed=1, sources=["data", "shuffled", "unrelated"]
    )
    prefixes = {source: rows[:, :4] for source, rows in drawn.items()}
    assert torch.equal(prefixes["shuffled"].sort(dim=1).values, prefixes["data"].sort(dim=1).values)
    assert not torch.equal(prefixes["shuffled"], prefixes["data"])
    assert sorted(prefixes["unrelated"].tolist()) == sorted(prefixes["data"].tolist())


def test_prefixes_and_references_come_from_different_sentences() -> None:
    data = torch.tensor([[0] * 12, [1] * 12] * 40)
    drawn = continuations(MODEL, samples=20, length=12, prefix=4, seed=1, data=data, sources=["data"])["data"]
    assert (drawn[:, :4] == 0).all()
    found = by_name(measure_recovery(MODEL, **{**SETTINGS, "samples": 40}, data=data, sources=["data"], order=1))
    assert set(found) == {"corpus_bleu_1.data"}
    generated = continuations(MODEL, samples=40, length=12, prefix=4, seed=1, data=data, sources=["data"])["data"]
    against_ones = sentence_bleu(generated[:, 4:8].tolist(), [[1, 1, 1, 1]], highest_order=1).corpus(1)
    assert found["corpus_bleu_1.data"].by_position is not None
    assert found["corpus_bleu_1.data"].by_position.values[0] == pytest.approx(against_ones)


@pytest.mark.parametrize("samples", [5, 50])
def test_the_first_rows_do_not_depend_on_how_many_there_are(samples: int) -> None:
    settings: dict[str, Any] = {"length": 8, "prefix": 3, "seed": 1}
    few = continuations(MODEL, ORACLE, samples=5, **settings)
    some = continuations(MODEL, ORACLE, samples=samples, batch_size=3, **settings)
    for source, rows in few.items():
        assert torch.equal(some[source][:5], rows)


def test_bleu_is_against_real_text_at_the_same_places() -> None:
    data = torch.tensor([list(row) for row in product(range(3), repeat=3)]).repeat(1, 4)  # [27, 12]
    found = by_name(
        measure_recovery(MODEL, samples=13, length=12, prefix=4, seed=1, window=4, data=data, sources=["random"])
    )["corpus_bleu_4.random"]
    drawn = continuations(MODEL, samples=13, length=12, prefix=4, seed=1, data=data, sources=["random"])["random"]
    references = data[1::2]
    windows = [
        sentence_bleu(drawn[:, start : start + 4].tolist(), references[:, start : start + 4].tolist(), highest_order=4)
        for start in (4, 8)
    ]
    assert found.by_position is not None
    assert found.by_position.values == pytest.approx([window.corpus(4) for window in windows])
    assert found.higher_is_better


def test_side_by_side() -> None:
    rows = {"data": torch.tensor([[0, 1, 2, 0]]), "random": torch.tensor([[2, 2, 1, 1]])}
    assert side_by_side(MODEL, rows, prefix=2) == [{"data": "w0 w1 → w2 w0", "random": "w2 w2 → w1 w1"}]


def test_an_oracle_that_excludes_a_token_is_infinitely_surprised() -> None:
    strict = Chain([[0.5, 0.5, 0.0]] * 4)
    found = by_name(measure_recovery(MODEL, strict, **{**SETTINGS, "samples": 50}))
    assert found["nll_oracle.data"].value == math.inf


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"oracle": Chain([[0.5, 0.5]] * 3)}, "different vocabularies"),
        ({"samples": 1}, "1 sample"),
        ({"length": 0}, "sequences of 0 tokens"),
        ({"prefix": 0}, "prefix of 0"),
        ({"length": 6}, "BLEU-4 needs 4 tokens"),
        ({"window": 3}, "windows of 3"),
        ({"sources": ["shuffle"]}, "did you mean 'shuffled'"),
        ({"sources": []}, "no source"),
        ({"oracle": None}, "neither an oracle nor data"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    settings = {"oracle": ORACLE, **SETTINGS, "samples": 10, **changes}
    with pytest.raises(OffscriptError, match=message):
        measure_recovery(MODEL, **settings)


class Closing(Chain):
    """A chain whose second token ends a sequence; what follows the end is known as well."""

    def __init__(self, table: list[list[float]], name: str = "closing") -> None:
        super().__init__(table, name)
        self.vocabulary = WordVocabulary(["w0", "w1", "w2"], end="w1", unknown=None)


def test_sequences_go_on_after_an_end() -> None:
    """Prefixes, continuations and references are as long as they are asked for: what follows an end counts too."""
    table = [[0.4, 0.4, 0.2]] * 4
    drawn = continuations(
        Closing(table), Closing(table), samples=200, length=6, prefix=3, seed=1, sources=["model", "data"]
    )
    references = recovery._references(
        Closing(table), None, samples=200, length=6, seed=1, batch_size=256, progress=None
    )
    for rows in (drawn["model"], drawn["data"], references):
        for place in range(5):
            assert set(rows[rows[:, place] == 1, place + 1].tolist()) == {0, 1, 2}


def test_the_shortest_prefix_and_the_shortest_sequence_are_measured() -> None:
    shortest: dict[str, Any] = {"samples": 20, "length": 3, "prefix": 1, "seed": 1, "window": 2, "order": 2}
    found = by_name(measure_recovery(MODEL, ORACLE, sources=["data"], **shortest))
    assert len(found) > 0
    with pytest.raises(OffscriptError, match="sequences of 2 tokens with a prefix of 1"):
        measure_recovery(MODEL, ORACLE, sources=["data"], **{**shortest, "length": 2})


@pytest.mark.parametrize("show", [1, 2, 3])
def test_four_sentences_give_two_prefixes_to_measure_and_to_show(show: int, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(["w2 " * 12] * 4), encoding="utf-8")
    subject = Subject(Chain([[1.0, 0.0, 0.0]] * 4), corpus=[str(text)])
    settings = RecoverySettings(samples=10, length=12, prefix=4, show=show, sources=("data", "shuffled"))
    answer = Recovery().measure(subject, settings, Silent())
    row = "w2 w2 w2 w2 → w0 w0 w0 w0 w0 w0 w0 w0"
    assert answer.details["continuations"] == [{"data": row, "shuffled": row}] * min(show, 2)
    assert {entry.name: entry.value for entry in answer.measurements} == {
        "bleu_gap.shuffled": 0.0, "corpus_bleu_4.data": 0.0, "corpus_bleu_4.shuffled": 0.0,
    }  # fmt: skip
