"""Verdicts measured: figures by hand, a peer as second opinion, and the score that asks for proof."""

from collections.abc import Sequence

import numpy as np
import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check, CheckedDocument, CheckedSentence, Evidence, Verdict
from offscript.factcheck.checking import Checker
from offscript.factcheck.claims import JudgedClaim
from offscript.factcheck.documents import Document
from offscript.factcheck.sources import Found, Kind
from offscript.factcheck.stance.stance import Stance
from offscript.measures.charts import reliability_chart
from offscript.measures.verdicts.estimation import VERDICTS, VerdictRun, check_claims, is_proven, measure_verdicts
from offscript.statistics import reliability

SUPPORTED, REFUTED, UNKNOWN = range(3)


def _judged(
    gold: Sequence[int], said: Sequence[int], confidence: Sequence[float], proven: Sequence[bool]
) -> VerdictRun:
    probabilities = np.repeat((1 - np.array(confidence))[:, None] / 2, 3, axis=1)
    probabilities[np.arange(len(gold)), said] = confidence
    return VerdictRun(
        labels=tuple(verdict.value for verdict in VERDICTS),
        gold=np.array(gold),
        predicted=np.array(said),
        probabilities=probabilities,
        proven=np.array(proven),
        seconds=np.zeros(len(gold)),
    )


@pytest.fixture
def four() -> VerdictRun:
    """Three of four are right; of the two that are supported or refuted and right, one is proven."""
    return _judged([0, 1, 2, 0], [0, 1, 2, 1], [0.95, 0.55, 0.75, 0.65], [True, False, False, True])


def _values(found: VerdictRun) -> dict[str, float]:
    return {entry.name: entry.value for entry in measure_verdicts(found, recipe={}, resamples=200)}


def test_figures_by_hand(four: VerdictRun) -> None:
    assert _values(four) == pytest.approx(
        {
            "accuracy": 3 / 4,
            "f1.SUPPORTED": 2 / 3,
            "f1.REFUTED": 2 / 3,
            "f1.NOT ENOUGH INFO": 1,
            "macro_f1": 7 / 9,
            "fever_score": 2 / 4,
        }
    )


def test_many_claims_have_a_calibration_error_by_hand() -> None:
    run = _judged([0, 0, 0, 1] * 25, [0] * 100, [0.95, 0.55, 0.75, 0.65] * 25, [True] * 100)
    assert _values(run)["calibration_error"] == pytest.approx((0.05 + 0.45 + 0.25 + 0.65) / 4)


def test_with_claims_of_two_labels_the_macro_average_is_over_two() -> None:
    found = _values(_judged([0, 0, 1, 1], [0, 1, 1, 1], [0.5] * 4, [True] * 4))
    assert "f1.NOT ENOUGH INFO" not in found
    assert found["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_scores_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(1)
    gold, said = generator.integers(3, size=(2, 300))
    found = _values(_judged(gold, said, generator.random(300), [False] * 300))
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(gold, said, average="macro"))
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(gold, said))


def test_every_figure_has_an_interval_around_it(four: VerdictRun) -> None:
    for entry in measure_verdicts(four, recipe={"stance": "lexical"}, resamples=200):
        assert 0 <= entry.interval.lower <= entry.value <= entry.interval.upper <= 1
        assert entry.recipe["stance"] == "lexical"
        assert entry.higher_is_better == (entry.name != "calibration_error")


def test_the_calibration_error_of_a_calibrated_checker_is_small() -> None:
    generator = np.random.default_rng(2)
    confidence = generator.uniform(0.3, 1, size=20_000)
    right = generator.random(20_000) < confidence
    gold = np.zeros(20_000, dtype=np.int64)
    found = _judged(gold, np.where(right, 0, 1), confidence, right)
    assert _values(found)["calibration_error"] < 0.02
    assert all(each.confidence in each.right.interval or each.claims < 5000 for each in reliability(found))


def _check(*places: tuple[int, int]) -> Check:
    stance = Stance(1, 0, 0, 0)
    sentences = tuple(CheckedSentence(number, 0, 0, "", stance) for number in range(5))
    documents = tuple(CheckedDocument(Document(id), Kind.high, 1.0, stance, sentences, {}) for id in ("a", "b"))
    evidence = tuple(Evidence(*place) for place in places)
    return Check("c", (), Verdict.supported, 1.0, {}, documents, evidence, {}, 0.0)


@pytest.mark.parametrize(
    ("sets", "proven"),
    [
        ([{("a", 1)}], True),
        ([{("a", 2)}], False),
        ([{("a", None)}], True),
        ([{("a", 1), ("b", 0)}], True),
        ([{("a", 1), ("b", 3)}], False),
        ([{("c", None)}, {("b", None)}], True),
        ([], False),
    ],
)
def test_a_whole_set_of_evidence_must_be_shown(sets: list[set[tuple[str, int | None]]], proven: bool) -> None:
    assert is_proven([frozenset(places) for places in sets], _check((0, 1), (1, 0))) == proven


class Shelf:
    """Gives one document whatever is asked."""

    def find(self, query: str, k: int) -> list[Found]:
        return [Found(Document("a", "Australia", "The capital of Australia is Canberra."), 1.0, Kind.high)]


def test_claims_are_checked_and_counted() -> None:
    done: list[int] = []
    claims = [
        JudgedClaim("1", "The capital of Australia is Canberra.", Verdict.supported, (frozenset([("a", 0)]),)),
        JudgedClaim("2", "The capital of Australia is Sydney.", Verdict.refuted, (frozenset([("a", None)]),)),
        JudgedClaim("3", "Colourless green ideas sleep furiously.", Verdict.unknown),
    ]
    found = check_claims(Checker([Shelf()]), claims, progress=done.append)
    assert found.confusion.tolist() == np.eye(3).tolist()
    assert found.fever.all()
    assert sum(done) == 3
    with pytest.raises(OffscriptError, match="no claim"):
        check_claims(Checker([]), [])


def test_the_reliability_plot_holds_every_bin_with_its_interval(four: VerdictRun) -> None:
    bins = reliability(four)
    assert [each.confidence for each in bins] == pytest.approx([0.55, 0.65, 0.75, 0.95])
    points = reliability_chart(bins)["data"]["values"]
    assert [point["right"] for point in points] == [1, 0, 1, 1]
    assert all(point["lower"] <= point["right"] <= point["upper"] for point in points)
    assert reliability_chart([])["data"]["values"] == []
