"""From stances to verdicts: features by hand, a fit that is calibrated where it can be, and what ships."""

import json
from importlib import resources

import numpy as np
import pytest

from offscript.errors import OffscriptError
from offscript.factcheck._logistic import Logistic, fit_logistic
from offscript.factcheck.checked import CheckedDocument, CheckedSentence, Evidence, Reading, Verdict
from offscript.factcheck.documents import Document
from offscript.factcheck.sources import Kind
from offscript.factcheck.stance.stance import Stance
from offscript.factcheck.verdict import (
    FEATURES,
    VerdictModel,
    document_weights,
    fit_verdict_model,
    stance_by_kind,
    telling_sentences,
    verdict_features,
    verdict_model,
)

AGREES, DISAGREES, UNRELATED = Stance(0.8, 0.1, 0.1, 0), Stance(0.1, 0.7, 0.2, 0), Stance(0, 0, 0, 1)


def _document(*stances: Stance, kind: Kind = Kind.high, title: str = "") -> CheckedDocument:
    sentences = tuple(CheckedSentence(number, 0, 0, "", stance) for number, stance in enumerate(stances))
    return CheckedDocument(Document("d", title), kind, 1.0, stances[0] if stances else UNRELATED, sentences, {})


def test_features_by_hand() -> None:
    found = dict(zip(FEATURES, verdict_features("c", [_document(AGREES, DISAGREES, UNRELATED)]), strict=True))
    assert found["best agree"] == 0.8
    assert found["second agree"] == 0.1
    assert found["best disagree"] == 0.7
    assert found["agree − disagree of the most telling"] == pytest.approx(0.7)
    assert found["agree − disagree of the three most telling"] == pytest.approx((0.7 - 0.6) / 3)
    assert found["most related"] == 1
    assert found["documents agree"] == 0.8


def test_without_sentences_all_features_are_zero() -> None:
    assert not verdict_features("c", []).any()
    assert not verdict_features("c", [_document()]).any()


def test_a_document_counts_by_its_source_and_by_how_much_of_its_title_the_claim_names() -> None:
    kinds = [_document(AGREES, kind=Kind.high), _document(AGREES, kind=Kind.low)]
    assert document_weights("c", kinds).tolist() == [1.0, 0.2]
    titles = ["Will County", "Cook County", "Paris", "Will (name)", "", "How counties rule themselves in Ohio today"]
    found = document_weights("Will County is in Ohio.", [_document(AGREES, title=title) for title in titles])
    assert found.tolist() == [1, 0.5, 0, 1, 1, 1]


def test_stances_are_averaged_over_the_documents_of_a_kind() -> None:
    documents = [_document(AGREES), _document(DISAGREES), _document(DISAGREES, kind=Kind.low)]
    averaged = stance_by_kind(documents)
    assert averaged[Kind.high].probabilities == pytest.approx((0.45, 0.4, 0.15, 0))
    assert averaged[Kind.low].probabilities == pytest.approx(DISAGREES.probabilities)


def test_evidence_is_what_speaks_for_the_verdict() -> None:
    documents, weights = [_document(AGREES, UNRELATED), _document(DISAGREES)], np.ones(2)
    assert telling_sentences(documents, weights, leaning=1) == (Evidence(0, 0), Evidence(1, 0))
    assert telling_sentences(documents, weights, leaning=-1) == (Evidence(1, 0), Evidence(0, 0))
    assert telling_sentences(documents, np.array([0.0, 1.0])) == (Evidence(1, 0),)
    assert telling_sentences(documents, weights, most=1, leaning=1) == (Evidence(0, 0),)
    assert telling_sentences([], np.ones(0)) == ()


def test_a_fit_finds_the_weights_that_made_the_data() -> None:
    generator = np.random.default_rng(1)
    table = generator.random((20_000, 2))
    scores = np.stack([3 * table[:, 0], 2 - 4 * table[:, 1], np.zeros(len(table))], axis=1)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    answers = (generator.random((len(table), 1)) > shares.cumsum(axis=1)).sum(axis=1)
    found = fit_logistic(table, answers, "abc", ["x", "y"], penalty=1e-6)
    np.testing.assert_allclose(found.weights[0] - found.weights[2], [3, 0, 0], atol=0.25)
    np.testing.assert_allclose(found.weights[1] - found.weights[2], [0, -4, 2], atol=0.25)
    np.testing.assert_allclose(found.probabilities(table).mean(axis=0), np.bincount(answers) / len(answers), atol=1e-3)


def test_a_row_of_weight_two_counts_as_two_rows() -> None:
    table, answers = np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 0])
    weighted = fit_logistic(table, answers, "ab", ["x"], row_weights=np.array([1.0, 2.0, 1.0]))
    repeated = fit_logistic(table[[0, 1, 1, 2]], answers[[0, 1, 1, 2]], "ab", ["x"])
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-3)


def test_a_logistic_reads_back_and_refuses_what_was_fitted_to_other_features() -> None:
    model = Logistic(("a", "b"), ("x",), np.array([[1.0, 2.0], [3.0, 4.0]]))
    read = Logistic.from_json(json.loads(json.dumps(model.to_json())), ["a", "b"], ["x"])
    assert read.weights.tolist() == model.weights.tolist()
    with pytest.raises(ValueError, match="other features"):
        Logistic.from_json(model.to_json(), ["a", "b"], ["y"])


def test_the_threshold_is_the_one_with_most_right_answers() -> None:
    generator = np.random.default_rng(2)
    table = generator.random((600, len(FEATURES)))
    answers = [list(Verdict)[place] for place in generator.integers(3, size=600)]
    fitted = fit_verdict_model(table, answers)
    probabilities = [dict(zip(Verdict, row, strict=True)) for row in fitted.weights.probabilities(table)]

    def right(threshold: float) -> int:
        model = VerdictModel(fitted.weights, threshold)
        return sum(model.decide(each) == answer for each, answer in zip(probabilities, answers, strict=True))

    assert right(fitted.threshold) == max(right(threshold) for threshold in np.linspace(0.2, 0.8, 61).round(3))


@pytest.mark.parametrize(
    ("supported", "refuted", "verdict"),
    [(0.6, 0.1, Verdict.supported), (0.1, 0.6, Verdict.refuted), (0.3, 0.3, Verdict.unknown)],
)
def test_decisions(supported: float, refuted: float, verdict: Verdict) -> None:
    probabilities = dict(zip(Verdict, (supported, refuted, 1 - supported - refuted), strict=True))
    assert VerdictModel(verdict_model("lexical").weights, 0.5).decide(probabilities) == verdict


def test_a_compelled_model_shares_out_what_it_gave_to_not_knowing() -> None:
    documents = [_document(AGREES, DISAGREES)]
    free, compelled = verdict_model("lexical"), verdict_model("lexical").compelled()
    before, after = (model.probabilities("c", Reading(tuple(documents))) for model in (free, compelled))
    decided = before[Verdict.supported] + before[Verdict.refuted]
    assert after[Verdict.unknown] == pytest.approx(0, abs=1e-12)
    assert after[Verdict.supported] == pytest.approx(before[Verdict.supported] / decided)
    assert compelled.decide(after) != Verdict.unknown


def test_what_ships_says_how_it_was_made() -> None:
    for name in ("verdicts/lexical.json", "stance-lexical/weights.json"):
        card = json.loads((resources.files("offscript.assets") / name).read_text(encoding="utf-8"))["card"]
        assert card["command"].startswith("python tools/fit_checker.py")
        assert "CC BY-SA" in card["data"]


def test_a_stance_model_nobody_fitted_verdicts_for_has_the_lexical_ones() -> None:
    assert verdict_model("my/own") == verdict_model("my/own")
    assert verdict_model("my/own").threshold == verdict_model("lexical").threshold


def test_a_damaged_verdict_model_is_refused() -> None:
    with pytest.raises(OffscriptError, match="not a verdict model"):
        VerdictModel.from_json({"threshold": 0.5})
