"""The checker: verdicts on documents written for the test, and an answer to whatever is asked of whatever documents."""

import itertools
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offscript.factcheck.almanac import almanac_facts, draw_claims
from offscript.factcheck.batch import evidence_of
from offscript.factcheck.checked import Check, Verdict
from offscript.factcheck.checking import CLAIM_CHARACTERS, Checker, build_checker, in_context, query_words
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.factcheck.sources import Found, Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.statistics import proportion_interval


class Shelf:
    """Gives the same documents whatever is asked."""

    def __init__(self, documents: Sequence[Document], kind: Kind = Kind.unrated) -> None:
        self._found = [Found(document, 1.0 / (place + 1), kind) for place, document in enumerate(documents)]

    def find(self, query: str, k: int) -> list[Found]:
        return self._found[:k]


@pytest.fixture(scope="module")
def checker() -> Checker:
    """The fast one; `test_shipped.py` holds the default to its figures."""
    return build_checker(stance="lexical")


def _evidence(check: Check) -> list[str]:
    return [check.documents[each.document].sentences[each.sentence].text for each in check.evidence]


@pytest.mark.parametrize(
    ("claim", "verdict", "sentence"),
    [
        ("The capital of Australia is Sydney", Verdict.refuted, "The capital of Australia is Canberra."),
        ("The capital of Australia is Canberra", Verdict.supported, "The capital of Australia is Canberra."),
        ("Lyon is a city in Germany.", Verdict.refuted, "Lyon is a city in France."),
        ("Germany borders France.", Verdict.supported, None),
        ("The chemical symbol of iron is Fe.", Verdict.supported, "The chemical symbol of iron is Fe."),
        ("Colourless green ideas sleep furiously.", Verdict.unknown, None),
    ],
)
def test_the_almanac_decides(checker: Checker, claim: str, verdict: Verdict, sentence: str | None) -> None:
    check = checker.check(claim)
    assert check.verdict == verdict
    assert check.confidence == check.probabilities[verdict]
    if sentence is not None:
        assert _evidence(check)[0] == sentence


def test_almanac_claims_are_judged_right_mostly(checker: Checker) -> None:
    """Of subjects that no weight was fitted on; the figure for 1,000 such claims is in `benchmarks/checking.py`."""
    others = [fact for fact in almanac_facts() if zlib.crc32(fact.subject.encode()) % 2]
    claims = draw_claims(others, 150, seed=7)
    right = sum(
        checker.check(claim.text).verdict == (Verdict.supported if claim.true else Verdict.refuted) for claim in claims
    )
    assert proportion_interval(right, len(claims)).interval.lower > 0.8


@pytest.mark.parametrize("claim", ["", "   \n", "\0", "...", "\ud800", "the", "🙂", "x" * 1_000_000, "word " * 200_000])
def test_odd_claims_get_an_answer(checker: Checker, claim: str) -> None:
    check = checker.check(claim)
    assert check.verdict == Verdict.unknown
    assert len(check.claim) <= CLAIM_CHARACTERS
    json.dumps(check.to_json()).encode()
    check.claim.encode()


@pytest.mark.parametrize("claim", ["The capital of France is Paris.", "Is it?", "x"])
def test_a_check_as_json_has_every_field_of_it(checker: Checker, claim: str) -> None:
    check = checker.check(claim)
    assert json.dumps(check.to_json()) == json.dumps(asdict(check))


def test_where_nothing_is_found_there_is_not_enough_information() -> None:
    check = Checker([]).check("The capital of Australia is Canberra.")
    assert (check.verdict, check.documents, check.evidence, check.by_kind) == (Verdict.unknown, (), (), {})
    assert check.confidence > 0.9


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "<script>alert(1)</script>", "a" * 1_000_000, "No. " * 20_000, "\ud800 broken", "\0"]
)
def test_odd_documents_do_no_harm(text: str) -> None:
    documents = [Document("odd", text=text), Document("good", "Australia", "The capital of Australia is Canberra.")]
    check = Checker([Shelf(documents)]).check("The capital of Australia is Canberra.")
    assert check.verdict == Verdict.supported
    assert _evidence(check)[0] == "The capital of Australia is Canberra."


def test_sentences_stand_where_they_say() -> None:
    text = "  Canberra grew. The capital of Australia is Canberra!  It has a lake."
    [document] = Checker([Shelf([Document("a", "Australia", text)])]).check("Canberra is the capital.").documents
    assert [text[each.start : each.end] for each in document.sentences] == [each.text for each in document.sentences]
    assert [each.number for each in document.sentences] == [0, 1, 2]


def test_a_document_found_twice_is_read_once() -> None:
    document = Document("a", "Australia", "The capital of Australia is Canberra.")
    check = Checker([Shelf([document]), Shelf([document])]).check("The capital of Australia is Canberra.")
    assert len(check.documents) == 1


def test_stances_are_averaged_by_kind_of_source() -> None:
    yes, no = (Document(name, name, f"The capital of Australia is {name}.") for name in ("Canberra", "Sydney"))
    lexical = stance_model("lexical")
    checker = Checker([Shelf([yes], Kind.high), Shelf([no], Kind.low)], stance=lexical)
    check = checker.check("The capital of Australia is Canberra.")
    assert list(check.by_kind) == [Kind.high, Kind.low]
    assert check.by_kind[Kind.high].agree > check.by_kind[Kind.low].agree
    assert check.by_kind[Kind.low].disagree > check.by_kind[Kind.high].disagree
    assert check.verdict == Verdict.supported


def test_the_words_that_are_not_judged_are_unrelated() -> None:
    text = "The capital of Australia is Canberra. Tin melts. Iron rusts."
    check = Checker([Shelf([Document("a", "Australia", text)])], sentences=1).check(
        "The capital of Australia is Canberra."
    )
    assert [each.stance.label for each in check.documents[0].sentences][1:] == ["unrelated", "unrelated"]


def test_queries_are_the_telling_words_of_a_claim() -> None:
    assert query_words("The capital of the Republic is the capital") == ["capital", "Republic"]
    assert query_words("Who is it?") == ["Who", "is", "it"]
    assert query_words("") == []


def test_a_sentence_that_names_nothing_of_its_title_is_read_after_it() -> None:
    assert in_context("Telemundo", "It is a network.") == "Telemundo: It is a network."
    assert in_context("Telemundo", "Telemundo is a network.") == "Telemundo is a network."
    assert in_context("", "It is a network.") == "It is a network."


def test_an_index_of_ones_own(tmp_path: Path) -> None:
    documents = [
        Document(str(number), f"Town {number}", f"Town {number} lies in Land {number}.") for number in range(40)
    ]
    checker = Checker([LocalIndex(build_index(documents, tmp_path))])
    check = checker.check("Town 17 lies in Land 17.")
    assert check.verdict == Verdict.supported
    assert check.documents[check.evidence[0].document].document.id == "17"


@settings(max_examples=25)
@given(st.text(max_size=200), st.lists(st.tuples(st.text(max_size=20), st.text(max_size=300)), max_size=3))
def test_whatever_is_asked_of_whatever_there_is_an_answer(claim: str, written: list[tuple[str, str]]) -> None:
    documents = [Document(str(number), title, text) for number, (title, text) in enumerate(written)]
    check = Checker([Shelf(documents)]).check(claim)
    np.testing.assert_allclose(sum(check.probabilities.values()), 1)
    assert check.verdict in Verdict
    for each in check.evidence:
        assert check.documents[each.document].sentences[each.sentence].stance.unrelated <= 0.5


@pytest.mark.parametrize("stance", ["offscript/inference", "lexical"])
def test_every_verdict_that_decides_marks_its_sentence(tmp_path: Path, stance: str) -> None:
    towns = {"Velden": ("Ada Lindholm", 1911, "Tamsin"), "Orsk": ("Ivo Brandl", 1850, "Carrow")}
    documents = [
        Document(
            name.lower(),
            name,
            f"{name} is a town on the {river}. Its mayor is {mayor}. The town was founded in {year}. It has two ports.",
        )
        for name, (mayor, year, river) in towns.items()
    ]
    checker = Checker([LocalIndex(build_index(documents, tmp_path / "index"))], stance=stance_model(stance))
    decided = 0
    for name, wording, values in itertools.product(
        towns,
        ("Its mayor is {}.", "The mayor of {name} is {}.", "{name} was founded in {}.", "{name} lies on the {}."),
        zip(*towns.values(), strict=True),
    ):
        for value in values:
            check = checker.check(wording.format(value, name=name))
            assert (check.deciding is None) == (check.verdict is Verdict.unknown)
            assert check.deciding is None or check.deciding in check.evidence
            marked = [quote["deciding"] for quote in evidence_of(check)]
            assert sum(marked) == (check.deciding is not None)
            assert (check.to_json()["deciding"] is None) == (check.deciding is None)
            decided += check.deciding is not None
    assert decided >= 8
