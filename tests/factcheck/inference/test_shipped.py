"""The inference model that ships, on pairs that nothing was trained on."""

import difflib
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict
from offscript.factcheck.checking import Checker, build_checker
from offscript.factcheck.documents import Document
from offscript.factcheck.inference.examples import LABELS
from offscript.factcheck.inference.model import ASSET, GRAPH
from offscript.factcheck.inference.verdict import inference_verdicts
from offscript.factcheck.sources import Found, Kind
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import StanceModel
from offscript.factcheck.verdict import verdict_model

PROBES = [
    json.loads(line) for line in (Path(__file__).parent / "probes.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS = {"negation", "antonyms", "numbers", "roles", "hedging", "time", "quantifiers"}


@pytest.fixture(scope="module")
def inference() -> StanceModel:
    return stance_model("offscript/inference")


def _accuracy(stance: StanceModel) -> float:
    rows = [stance.of_sentences(probe["claim"], [probe["evidence"]])[0] for probe in PROBES]
    said = [LABELS[int(np.argmax([agree, disagree, sum(rest)]))] for agree, disagree, *rest in rows]
    return float(np.mean([label == probe["label"] for label, probe in zip(said, PROBES, strict=True)]))


def _differ_by_a_word(one: str, other: str) -> bool:
    left, right = one.lower().split(), other.lower().split()
    changes = [each for each in difflib.SequenceMatcher(None, left, right).get_opcodes() if each[0] != "equal"]
    return len(changes) == 1 and max(changes[0][2] - changes[0][1], changes[0][4] - changes[0][3]) == 1


def test_the_probes_are_many_of_each_kind_and_turn_on_a_word() -> None:
    assert len(PROBES) == len({(probe["claim"], probe["evidence"]) for probe in PROBES}) == 200
    assert {probe["label"] for probe in PROBES} == set(LABELS)
    kinds = Counter(probe["kind"] for probe in PROBES)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 25
    turning = set()
    for one, other in itertools.combinations(PROBES, 2):
        opposed = {one["label"], other["label"]} == {"supports", "refutes"}
        if opposed and one["evidence"] == other["evidence"] and _differ_by_a_word(one["claim"], other["claim"]):
            turning |= {one["claim"], other["claim"]}
    assert len(turning) >= 80


def test_the_model_is_small_and_reads_better_than_words_alone(inference: StanceModel) -> None:
    assert (ASSET / GRAPH).stat().st_size < 30e6
    assert _accuracy(inference) > max(0.5, _accuracy(stance_model("lexical")))


class Shelf:
    """Gives one document whatever is asked."""

    def __init__(self, document: Document) -> None:
        self._found = [Found(document, 1.0, Kind.unrated)]

    def find(self, query: str, k: int) -> list[Found]:
        return self._found[:k]


def test_a_title_that_the_claim_does_not_name_does_not_hide_the_evidence(inference: StanceModel) -> None:
    briefing = Document("1", "Morning briefing", "The bridge in Velden was closed on Monday.")
    check = Checker([Shelf(briefing)], stance=inference).check("The bridge in Velden was closed on Monday.")
    assert check.verdict == Verdict.supported
    assert len(check.evidence) == 1


@pytest.mark.parametrize(
    ("claim", "verdicts"),
    [
        ("Japan uses the yen", {Verdict.supported}),
        ("The capital of Australia is Canberra", {Verdict.supported}),
        ("The capital of Australia is Sydney", {Verdict.refuted, Verdict.unknown}),
        ("Portugal does not border France", {Verdict.supported, Verdict.unknown}),
        ("The minister resigned on Tuesday", {Verdict.unknown}),
    ],
)
def test_the_default_is_never_sure_of_what_is_wrong(claim: str, verdicts: set[Verdict]) -> None:
    check = build_checker().check(claim)
    assert check.verdict in verdicts
    assert (check.deciding is None) == (check.verdict is Verdict.unknown)
    assert check.by_kind == {}


def test_a_question_is_not_judged(inference: StanceModel) -> None:
    document = Document("1", "", "The bridge in Velden was closed on Monday.")
    check = Checker([Shelf(document)], stance=inference).check("Was the bridge in Velden closed on Monday?")
    assert (check.verdict, check.confidence, check.not_judged) == (Verdict.unknown, 1.0, "question")


def test_less_risk_asks_for_more_confidence() -> None:
    verdicts = inference_verdicts()
    thresholds = [verdicts.at_risk(risk).threshold for risk in (0.2, 0.15, 0.1, 0.05)]
    assert thresholds == sorted(thresholds)
    with pytest.raises(OffscriptError, match="0.07"):
        verdicts.at_risk(0.07)
    with pytest.raises(OffscriptError, match="has none"):
        verdict_model("lexical").at_risk(0.1)
