"""What is read for a claim, what it is about, and what decides."""

from collections.abc import Sequence

import numpy as np
import pytest

from offscript._types import FloatArray
from offscript.factcheck.almanac import almanac_index
from offscript.factcheck.checked import Evidence, Reading, Verdict
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents import Document
from offscript.factcheck.documents.document import document_of_sentences
from offscript.factcheck.inference.entities import named_shares, names_of, title_shares
from offscript.factcheck.inference.model import InferenceModel
from offscript.factcheck.inference.reading import TOGETHER, InferenceReader
from offscript.factcheck.inference.stance import InferenceStance
from offscript.factcheck.inference.verdict import FEATURES, fit_inference_verdicts, verdict_features
from offscript.factcheck.retrieval.reranking import prefer_titles, rerank_by_title, with_named
from offscript.factcheck.sources import Found, Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.verdict import evidence_of_verdict


class Scripted(InferenceModel):
    """Refutes where the evidence says `not`, supports elsewhere; remembers what it read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        self.read += [evidence for _, evidence in pairs]
        return np.array([[0.1, 0.8, 0.1] if " not " in text else [0.8, 0.1, 0.1] for _, text in pairs]).reshape(-1, 3)


def _found(*documents: Document) -> list[Found]:
    return [Found(document, 1.0 / (1 + place), Kind.high) for place, document in enumerate(documents)]


def _read(claim: str, *documents: Document, sentences: int = 8) -> tuple[Reading, Scripted]:
    model = Scripted()
    reader = InferenceReader(InferenceStance(model), language=lambda _: {}, sentences=sentences)
    return reader.read(claim, _found(*documents)), model


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The mayor of Riverton is Ann Lee.", {"rivert", "ann", "lee"}),
        ("There were floods in Peru", {"peru"}),
        ("gold is a metal", set()),
        ("Germany's borders", {"german"}),
        ("", set()),
    ],
)
def test_names(text: str, names: set[str]) -> None:
    assert names_of(text) == names


def test_shares_of_names_and_titles() -> None:
    assert named_shares("Ann Lee lives in Peru.", ["Ann Lee", "Peru", "Chile"]).tolist() == [2 / 3, 1 / 3, 0.0]
    assert named_shares("gold is a metal", ["anything"]).tolist() == [1.0]
    assert title_shares("Ann Lee lives.", ["Ann Lee (singer)", "Morning briefing", "", "Ann Gray"]).tolist() == [
        1.0,
        0.0,
        1.0,
        0.5,
    ]


def test_another_towns_mayor_settles_nothing() -> None:
    other = Document("1", "Hillside", "The mayor of Hillside is not a farmer.")
    reading, _ = _read("The mayor of Riverton is a farmer.", other)
    stance = reading.documents[0].sentences[0].stance
    assert (stance.agree, stance.disagree) == (0.0, 0.0)
    assert sum(stance.probabilities) == pytest.approx(1.0)


def test_a_title_is_read_only_where_the_sentence_does_not_name_it() -> None:
    town = document_of_sentences("1", "Riverton", ["It is a large town.", "Riverton has a large bridge."])
    _, model = _read("Riverton is large.", town)
    assert model.read[:2] == ["Riverton: It is a large town.", "Riverton has a large bridge."]


def test_each_text_is_read_once_and_the_best_together() -> None:
    texts = [f"Riverton has {number} large bridges." for number in range(6)]
    documents = [document_of_sentences("1", "", texts), document_of_sentences("2", "", texts[:3])]
    reading, model = _read("Riverton has large bridges.", *documents, sentences=5)
    assert (reading.together.agree, len(model.read)) == (0.8, 5 + 1)
    assert len(set(model.read)) == len(model.read)
    assert sum(model.read[-1].count(text) for text in texts) == TOGETHER
    assert reading.documents[1].sentences[0].stance == reading.documents[0].sentences[0].stance


@pytest.mark.parametrize(("last", "together"), [("a new town", 0), ("not a town", 1)])
def test_sentences_are_read_together_only_where_none_or_both_sides_are_settled(last: str, together: int) -> None:
    texts = ["Riverton is large.", "The town of Riverton has large bridges.", f"Riverton is {last}."]
    reading, model = _read("Riverton is large.", document_of_sentences("1", "", texts))
    verdict_features("Riverton is large.", reading)
    assert len(model.read) == len(texts) + together


def test_nothing_found_is_nothing_read() -> None:
    reading, model = _read("Riverton is large.")
    assert (reading, model.read) == (Reading(()), [])
    assert verdict_features("Riverton is large.", reading).tolist() == [0.0] * len(FEATURES)


def test_the_deciding_sentence_speaks_for_the_verdict() -> None:
    town = document_of_sentences("1", "", ["Riverton is large.", "Riverton is not large."])
    reading, _ = _read("Riverton is large.", town)
    for leaning, verdict, sentence in ((1.0, Verdict.supported, 0), (-1.0, Verdict.refuted, 1)):
        evidence, deciding = evidence_of_verdict(reading.documents, np.ones(1), verdict, leaning=leaning)
        assert deciding == Evidence(0, sentence)
        assert deciding in evidence
    assert evidence_of_verdict(reading.documents, np.ones(1), Verdict.unknown)[1] is None


def test_a_foreign_title_keeps_its_place_where_the_old_order_puts_it_last() -> None:
    briefing = Found(Document("1", "Morning briefing", "text"), 2.0, Kind.high)
    named = Found(Document("2", "Velden", "text"), 1.0, Kind.high)
    claim = "The bridge in Velden was closed."
    assert [each.document.id for each in prefer_titles(claim, [briefing, named])] == ["1", "2"]
    assert [each.document.id for each in rerank_by_title(claim, [briefing, named])] == ["2", "1"]


def test_confidence_is_drawn_together_where_other_collections_disagree() -> None:
    random = np.random.default_rng(1)
    answers = random.integers(3, size=600)
    table = np.zeros((600, len(FEATURES)))
    table[np.arange(600), answers] = 1.0
    owners = np.repeat(["one", "two", "three"], 200)
    clear = fit_inference_verdicts(table, answers.tolist(), owners.tolist())
    shuffled = np.where(owners == "three", random.permutation(answers), answers)
    torn = fit_inference_verdicts(table, shuffled.tolist(), owners.tolist())
    assert clear.weights.probabilities(table).max(axis=1).mean() > torn.weights.probabilities(table).max(axis=1).mean()
    assert clear.risks["0.1"] <= 1.0 < torn.risks["0.05"]
    assert clear.calibrated_on == ("one", "three", "two")
    assert sum(point["count"] for point in clear.curve) == 600


def found(titles: list[str]) -> list[Found]:
    return [Found(Document(str(place), title, "text"), -float(place), Kind.high) for place, title in enumerate(titles)]


@pytest.mark.parametrize(
    ("titles", "kept", "expected"),
    [
        (["Paris", "Paris 15", "Paris 20", "France"], 3, ["Paris", "Paris 15", "France"]),
        (["France", "Paris", "Lyon"], 2, ["France", "Paris"]),
        (["a", "The", "Franc", "capital"], 1, ["a"]),
        (["a", "b", *["France"] * 5], 4, ["a", *["France"] * 3]),
        (["France"], 3, ["France"]),
        ([], 3, []),
        (["a", "France", "Paris"], 1, ["France"]),
    ],
)
def test_documents_that_the_claim_names_are_read(titles: list[str], kept: int, expected: list[str]) -> None:
    read = with_named("The capital of France is Paris.", found(titles), kept)
    assert [each.document.title for each in read] == expected
    assert len(read) <= kept


def test_a_country_with_a_long_document_gives_its_capital() -> None:
    checked = Checker([LocalIndex(almanac_index(), kind=Kind.high)]).check("The capital of France is Paris.")
    assert checked.verdict is Verdict.supported
    assert "France" in {each.document.title for each in checked.documents}
