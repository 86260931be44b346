"""Names as documents know them: what `the town` and `she` mean where a text is checked against documents."""

from pathlib import Path

import pytest

from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.texts.naming import Describe, Described, described, descriptions, titled
from offscript.factcheck.texts.splitting import split_claims
from offscript.factcheck.texts.standing import stand_alone

DOCUMENTS = [
    Document("1", "Oldmere", "Oldmere is a market town on the river Tess. It has 9,000 inhabitants."),
    Document("2", "Ilse Brand", "Ilse Brand is a museum director. She studied in Leiden. Her book came out in 2011."),
    Document("3", "Paul Orr", "Paul Orr was a chemist from Oldmere. He died in 1950."),
    Document("4", "Oldmere Rovers F.C.", "Oldmere Rovers are a football club founded in 1889."),
    Document("5", "Tess Observatory", "Tess Observatory is an observatory above the valley."),
    Document("6", "Oldmere Lantern Festival", "The festival is held each year in October."),
    Document("7", "Oldmere–Tess line", "The Oldmere–Tess line is a railway opened in 1871."),
]


@pytest.fixture(scope="module")
def describe(tmp_path_factory: pytest.TempPathFactory) -> Describe:
    folder: Path = tmp_path_factory.mktemp("names")
    return descriptions([LocalIndex(build_index(DOCUMENTS, folder / "index")), "an engine, which is not asked"])


def test_the_first_sentence_says_what_a_title_is() -> None:
    assert described(DOCUMENTS[0]) == Described("Oldmere", "town", "")
    assert described(DOCUMENTS[1]) == Described("Ilse Brand", "director", "she")
    assert described(DOCUMENTS[2]) == Described("Paul Orr", "chemist", "he")
    assert described(Document("8", "Flood of 1931", "")) == Described("Flood of 1931", "flood", "")
    assert described(Document("9", "Mercury (planet)", "Mercury is a planet.")).name == "Mercury"


def test_a_name_is_that_of_one_document_or_of_none(describe: Describe) -> None:
    assert titled("Oldmere", DOCUMENTS) is DOCUMENTS[0]
    assert titled("Rovers", DOCUMENTS) is DOCUMENTS[3]
    assert titled("Tess", DOCUMENTS) is None  # an observatory or a line
    assert titled("Nowhere", DOCUMENTS) is None
    assert describe("Brand") == Described("Ilse Brand", "director", "she")
    assert describe("Nowhere") is None


@pytest.mark.parametrize(
    ("sentences", "last"),
    [
        (["I came to Oldmere.", "Geography tells much.", "The town lies low."], "Oldmere lies low."),
        (["I came to Oldmere.", '"My nan stood here," he said.', "The town lies low."], "Oldmere lies low."),
        (["I came to Oldmere.", "The town hall is old."], "The town hall is old."),
        (["Ilse Brand met Paul Orr.", "He laughed."], "Paul Orr laughed."),
        (["Ilse Brand met Paul Orr.", "She laughed."], "Ilse Brand laughed."),
        (
            ["I came to Oldmere.", "Rovers are liked.", "The club's ground is small."],
            "Oldmere Rovers F.C.'s ground is small.",
        ),
        (["The Tess is high.", "The observatory closed in 1990."], "Tess Observatory closed in 1990."),
        (["It is dark.", "The observatory closed in 1990."], "The observatory closed in 1990."),
        (["I came to Oldmere.", "The lantern festival began in 1920."], "Oldmere Lantern Festival began in 1920."),
        (
            ["I came to Oldmere.", "The lantern festival began in 1920.", "It was started by weavers."],
            "Oldmere Lantern Festival was started by weavers.",
        ),
        (["Paul Orr met Oldmere's mayor.", "From 1930 the chemist lived there."], "From 1930 Paul Orr lived there."),
        (["I came to Oldmere.", "It was Ilse Brand who bought it."], "Ilse Brand bought it."),
        (["I came to Oldmere.", "It was the council that paid."], "The council paid."),
        (["I came to Oldmere.", "It is thanks to her that it stands."], "It is thanks to her that it stands."),
        (["Ask Berit Aas.", "Several of them died."], "Several of them died."),
    ],
)
def test_names_of_documents_are_put_where_they_are_meant(sentences: list[str], last: str, describe: Describe) -> None:
    assert stand_alone(sentences, describe=describe)[-1] == last


def test_a_person_of_whom_nothing_is_known_is_who_the_sentence_before_began_with() -> None:
    sentences = ["The engineer Josiah Trew drew it.", "Ilse Marten meets me at the door.", "She talks fast."]
    assert stand_alone(sentences)[-1] == "Ilse Marten talks fast."


@pytest.mark.parametrize("name", ["Sony", "France"])
def test_a_name_of_one_word_that_begins_a_sentence_is_one(name: str) -> None:
    assert stand_alone([f"{name} lost much in 1999.", "It was sold."])[-1] == f"{name} was sold."


def test_a_second_clause_with_its_year_gets_the_subject() -> None:
    claims = split_claims("Ann Lee shared the prize with a Finn; in 1979 she became a Dame.")
    assert claims == ["Ann Lee shared the prize with a Finn.", "In 1979 Ann Lee became a Dame."]


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("The figures give an answer: the busiest stop was Mill Lane.", ["The busiest stop was Mill Lane."]),
        (
            "Oslo has two answers: the busiest stop was Mill Lane.",
            ["Oslo has two answers.", "The busiest stop was Mill Lane."],
        ),
        (
            "Night owls are well served, since a tram comes every eight minutes.",
            ["Night owls are well served.", "A tram comes every eight minutes."],
        ),
        ("The pact was signed in 1748, since neither side would land.", ["The pact was signed in 1748."]),
        ("As for the bridge, the crews replaced all 96 cables.", ["The crews replaced all 96 cables."]),
        (
            "The institute is young, having been founded in 1998 by Ed Parr.",
            ["The institute is young.", "The institute was founded in 1998 by Ed Parr."],
        ),
        (
            "It replaced a swing bridge that had stood since 1891, and the boys of the town crossed it.",
            ["It replaced a swing bridge that had stood since 1891.", "The boys of the town crossed it."],
        ),
        ("Ann Lee built forty bridges, but this one is loved.", ["Ann Lee built forty bridges.", "This one is loved."]),
        ("The shop opens at 8:30 every day.", ["The shop opens at 8:30 every day."]),
        ("It has stood here since 1979.", ["It has stood here since 1979."]),
    ],
)
def test_statements_inside_sentences_stand_by_themselves(sentence: str, claims: list[str]) -> None:
    assert split_claims(sentence) == claims
