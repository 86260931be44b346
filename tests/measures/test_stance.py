from pathlib import Path

import numpy as np
import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.stance.pairs import EVIDENCE, Pair, PairSet, read_pairs
from offscript.factcheck.stance.stance import STANCES
from offscript.measures.stance.estimation import (
    StanceRun,
    as_labels,
    classify_pairs,
    compare,
    measure_stance,
    read_predictions,
    run_of,
)


@pytest.mark.parametrize(("name", "points"), [("talos", 9556.50), ("athene", 9550.75), ("ucl", 9521.50)])
def test_published_totals(data_folder: Path, name: str, points: float) -> None:
    pairs = read_pairs(str(data_folder / "fnc-1"))
    found = read_predictions(data_folder / f"fnc-1/submissions/{name}.csv", pairs)
    assert found.points == (points, 11651.25)


def test_published_scores_of_talos(data_folder: Path) -> None:
    pairs = read_pairs(str(data_folder / "fnc-1"))
    found = read_predictions(data_folder / "fnc-1/submissions/talos.csv", pairs)
    figures = {entry.name: entry.value for entry in measure_stance(found, recipe={}, resamples=100)}
    assert round(figures["fnc_score"] * 100, 1) == 82.0  # Table 3.1, row 2
    assert round(figures["accuracy"] * 100, 1) == 89.1
    assert round(figures["macro_f1"] * 100, 1) == 57.8


def _judged(gold: list[int], said: list[int], groups: list[int]) -> StanceRun:
    return StanceRun(labels=STANCES, gold=np.array(gold), predicted=np.array(said), groups=np.array(groups))


def test_scores_of_a_worked_example() -> None:
    found = _judged([0, 1, 2, 3, 3], [0, 0, 2, 3, 2], [0, 1, 2, 3, 4])
    assert found.points == (1 + 0.25 + 1 + 0.25, 3.5)
    figures = {entry.name: entry for entry in measure_stance(found, recipe={"model": "m"}, seed=1)}
    assert figures["accuracy"].value == pytest.approx(3 / 5)
    assert figures["f1.agree"].value == pytest.approx(2 / 3)
    assert figures["f1.disagree"].value == 0
    assert figures["macro_f1"].value == pytest.approx((2 / 3 + 0 + 2 / 3 + 2 / 3) / 4)
    assert figures["fnc_score"].value == pytest.approx(2.5 / 3.5)
    assert figures["accuracy"].interval.lower <= 3 / 5 <= figures["accuracy"].interval.upper
    assert "calibration_error" not in figures


def test_groups_are_resampled_whole() -> None:
    rng = np.random.default_rng(1)
    right = rng.random(40) < 0.5
    said = np.where(np.repeat(right, 25), 0, 1)  # bodies that are right or wrong as a whole
    found = _judged([0] * 1000, said.tolist(), np.repeat(np.arange(40), 25).tolist())
    alone = _judged([0] * 1000, said.tolist(), list(range(1000)))
    wide, narrow = (measure_stance(each, recipe={}, seed=1)[0].interval.width for each in (found, alone))
    assert wide > 3 * narrow  # 5 times as wide in the limit


def test_paired_differences_of_equal_and_of_different_models() -> None:
    gold = [0, 1, 2, 3] * 30
    groups = list(range(120))
    best, worse = _judged(gold, gold, groups), _judged(gold, [0, 0, 2, 3] * 30, groups)
    same, lower = compare(best, best)["accuracy"], compare(worse, best)["accuracy"]
    assert (same.value, same.p_value) == (0, 1)
    assert lower.value == pytest.approx(-0.25)
    assert lower.p_value < 0.01
    with pytest.raises(OffscriptError, match="different pairs"):
        compare(best, _judged(gold[::-1], gold, groups))


def test_calibration_of_a_worked_example() -> None:
    labels = ("agree", "discuss") * 50
    pairs = PairSet("p", STANCES, tuple(Pair("c", (), label, str(n)) for n, label in enumerate(labels)))
    found = run_of(pairs, np.array([[0.8, 0.1, 0.05, 0.05], [0.6, 0.2, 0.1, 0.1]] * 50))
    figures = {entry.name: entry for entry in measure_stance(found, recipe={})}
    assert figures["calibration_error"].value == pytest.approx((0.2 + 0.6) / 2)
    assert figures["calibration_error"].higher_is_better is False


class Reader:
    """Says agree when the text holds the claim, and refuses to read without one."""

    name = "reader"

    def of_documents(self, claim: str, documents: list[list[str]]) -> np.ndarray:
        return self.of_sentences(claim, [" ".join(sentences) for sentences in documents])

    def of_sentences(self, claim: str, sentences: list[str]) -> np.ndarray:
        return np.array([[0.7, 0.1, 0.1, 0.1] if claim in sentence else [0.1, 0.1, 0.1, 0.7] for sentence in sentences])


def test_a_model_is_asked_with_the_text_and_with_the_claim_alone() -> None:
    pairs = PairSet("p", EVIDENCE, tuple(Pair(c, (f"{c} x",), "supported", c) for c in "abc"))
    assert classify_pairs(Reader(), pairs).predicted.tolist() == [0, 0, 0]
    assert classify_pairs(Reader(), pairs, claim_alone=True).predicted.tolist() == [2, 2, 2]


def test_stances_of_sentences_become_a_sets_labels() -> None:
    stances = np.array([[0.2, 0.3, 0.4, 0.1]])
    np.testing.assert_allclose(as_labels(stances, EVIDENCE), [[0.2, 0.3, 0.5]], atol=1e-9)
    np.testing.assert_allclose(as_labels(stances, EVIDENCE[:2]), [[0.4, 0.6]], atol=1e-9)
    assert as_labels(stances, STANCES) is stances


def test_a_submission_must_cover_the_pairs(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text("Headline,Body ID,Stance\na,1,agree\n")
    pairs = PairSet("p", STANCES, (Pair("a", (), "agree", "1"), Pair("b", (), "agree", "2")))
    with pytest.raises(OffscriptError, match=r"does not fit p; no stance for \('b', '2'\)"):
        read_predictions(path, pairs)
