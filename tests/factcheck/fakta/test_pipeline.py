"""FAKTA on documents written for the test, by name, and from the command line."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from offscript._types import FloatArray
from offscript.cli.app import app
from offscript.errors import OffscriptError
from offscript.factcheck import Fakta, build_pipeline
from offscript.factcheck.checked import Verdict
from offscript.factcheck.documents import Document
from offscript.factcheck.fakta.aggregation import Rule
from offscript.factcheck.fakta.baseline import SentenceBaseline
from offscript.factcheck.index import build_index
from offscript.factcheck.sources import Kind, Scale
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.sources.ratings import Ratings

CLAIM = "The capital of Australia is Canberra."
ANY = Rule(dict.fromkeys(Scale, 0.0))


class ByWord:
    """Agrees by the word yes, disagrees by no."""

    name = "by word"

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        return np.array([_row(" ".join(sentences)) for sentences in documents])

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        return np.array([_row(sentence) for sentence in sentences])


def _row(text: str) -> list[float]:
    if "yes" in text.lower().split():
        return [0.7, 0.1, 0.1, 0.1]
    return [0.1, 0.7, 0.1, 0.1] if "no" in text.lower().split() else [0.0, 0.0, 0.1, 0.9]


@pytest.fixture
def source(tmp_path: Path) -> LocalIndex:
    texts = {
        "good.org": "Yes says Australia of Canberra . It rained.",
        "bad.org": "No says Australia of Canberra .",
        "worse.org": "no Canberra , no Australia .",
    }
    documents = [Document(site, "Canberra", text, f"https://{site}/a") for site, text in texts.items()]
    ratings = Ratings({"good.org": Kind.high, "bad.org": Kind.low, "worse.org": Kind.low})
    return LocalIndex(build_index(documents, tmp_path / "index"), ratings=ratings)


def test_documents_are_listed_and_averaged_by_kind(source: LocalIndex) -> None:
    check = Fakta([source], stance=ByWord(), rule=ANY).check(CLAIM)
    assert [document.kind for document in check.documents] == [Kind.high, Kind.low, Kind.low]
    assert list(check.by_kind) == [Kind.high, Kind.low]
    assert check.by_kind[Kind.high].agree == pytest.approx(0.7)
    assert check.by_kind[Kind.low].disagree == pytest.approx(0.7)
    assert check.verdict is Verdict.refuted  # two of three documents
    assert check.query[:3] == ("Australia", "Canberra", "capital")


def test_k_documents_are_read_of_each_kind(source: LocalIndex) -> None:
    check = Fakta([source], stance=ByWord(), rule=ANY, documents=1).check(CLAIM)
    assert [document.kind for document in check.documents] == [Kind.high, Kind.low]
    only = Fakta([source], stance=ByWord(), rule=ANY, kinds=[Kind.high]).check(CLAIM)
    assert (only.verdict, len(only.documents)) == (Verdict.supported, 1)


def test_every_sentence_has_its_stance_and_place(source: LocalIndex) -> None:
    document = Fakta([source], stance=ByWord(), rule=ANY).check(CLAIM).documents[0]
    assert [sentence.stance.label for sentence in document.sentences] == ["agree", "unrelated"]
    assert [document.document.text[each.start : each.end] for each in document.sentences] == [
        each.text for each in document.sentences
    ]


def test_evidence_speaks_for_the_verdict_first(source: LocalIndex) -> None:
    check = Fakta([source], stance=ByWord(), rule=ANY).check(CLAIM)
    first = check.evidence[0]
    assert check.documents[first.document].sentences[first.sentence].stance.label == "disagree"


def test_a_low_retrieval_score_is_not_enough(source: LocalIndex) -> None:
    strict = Rule(dict.fromkeys(Scale, 1e9))
    check = Fakta([source], stance=ByWord(), rule=strict).check(CLAIM)
    assert (check.verdict, len(check.documents)) == (Verdict.unknown, 3)


@pytest.mark.parametrize("claim", ["", "\0", "...", "\ud800", "x" * 100_000, "word " * 20_000])
def test_odd_claims_get_an_answer(source: LocalIndex, claim: str) -> None:
    json.dumps(Fakta([source], stance=ByWord()).check(claim).to_json()).encode()


def test_weighing_is_what_a_check_decides_by(source: LocalIndex) -> None:
    checker = Fakta([source], stance=ByWord(), rule=ANY)
    weighed, check = checker.weigh(CLAIM), checker.check(CLAIM)
    stances = np.array([document.stance.probabilities for document in check.documents])
    assert weighed.stance.probabilities == pytest.approx(stances.mean(axis=0))
    assert weighed.best[Scale.scores] == max(document.score for document in check.documents)


def test_the_baseline_reads_the_best_sentences_at_once(source: LocalIndex) -> None:
    check = SentenceBaseline([source], ByWord()).check(CLAIM)
    assert check.verdict is Verdict.supported  # the word yes is among the sentences
    assert len(check.evidence) == 4
    assert check.probabilities[Verdict.unknown] == pytest.approx(0.2)
    decided = SentenceBaseline([source], ByWord(), compelled=True).check(CLAIM)
    assert decided.probabilities == pytest.approx(
        {Verdict.supported: 7 / 8, Verdict.refuted: 1 / 8, Verdict.unknown: 0}
    )
    assert SentenceBaseline([], ByWord()).check(CLAIM).verdict is Verdict.unknown


def test_the_shipped_pipeline_by_name() -> None:
    check = build_pipeline("fakta").check("The capital of Australia is Canberra")
    kinds = [document.kind for document in check.documents]
    assert set(kinds) <= {Kind.high, Kind.wikipedia}  # the almanac's people and films are Wikipedia's
    assert kinds.count(Kind.high) == 3
    assert check.confidence == check.probabilities[check.verdict]


def test_risk_is_not_for_fakta() -> None:
    with pytest.raises(OffscriptError, match="--risk does not work with --pipeline fakta"):
        build_pipeline("fakta", risk=0.1)


def test_the_command_line_takes_a_pipeline(tmp_path: Path) -> None:
    build_index([Document("a", "Canberra", "Canberra is the capital of Australia.")], tmp_path / "index")
    arguments = ["check", CLAIM, "--index", str(tmp_path / "index"), "--pipeline", "fakta", "--json"]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["documents"][0]["kind"] == "unrated"
