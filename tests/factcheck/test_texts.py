"""Whole texts: which sentences are claims, how they are made to stand alone, and what the check of a text gives."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.batch import GivenClaim, check_batch
from offscript.factcheck.checked import Verdict
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents import Document
from offscript.factcheck.fakta import Fakta
from offscript.factcheck.index import build_index
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.texts.checking import between, check_text, find_claims
from offscript.factcheck.texts.clauses import without_comment
from offscript.factcheck.texts.english import NOT_ENGLISH, is_english
from offscript.factcheck.texts.reading import read_text
from offscript.factcheck.texts.splitting import split_claims
from offscript.factcheck.texts.standing import stand_alone
from offscript.factcheck.texts.worthiness import is_worth_checking, worthiness
from offscript.factcheck.tools import Tools
from offscript.report.text import text_page

TEXT = (
    "Marie Curie was a Polish physicist born in Warsaw in 1867. She won two Nobel Prizes and died in 1934. "
    "What a life! I think we should all read more about her.\n\n"
    "Acme Corporation is a company founded in 1990 in Boston. The company employs 300 people, and its headquarters are "
    "in Denver. Curie moved to Paris in 1891."
)


def test_pronouns_nouns_and_surnames_become_names() -> None:
    sentences = Document("a", text=TEXT).sentences()
    assert stand_alone(sentences) == [
        "Marie Curie was a Polish physicist born in Warsaw in 1867.",
        "Marie Curie won two Nobel Prizes and died in 1934.",
        "What a life!",
        "I think we should all read more about her.",
        "Acme Corporation is a company founded in 1990 in Boston.",
        "Acme Corporation employs 300 people, and its headquarters are in Denver.",
        "Marie Curie moved to Paris in 1891.",
    ]


def test_who_is_a_person_is_told_by_the_words_around_the_name() -> None:
    sentences = ["Ann Lee was born in Rome.", "The physicist Leon Berg taught in Oslo.", "He won the Kessler Prize."]
    assert stand_alone(sentences)[2] == "Leon Berg won the Kessler Prize."


@pytest.mark.parametrize(
    ("sentences", "last"),
    [
        (["Ann Lee is a poet born in Rome.", "In 1902 she moved to Oslo."], "In 1902 Ann Lee moved to Oslo."),
        (["Oslo is a city.", "According to the census it has 7 parks."], "According to the census Oslo has 7 parks."),
        (["Oslo is a city.", "It is a cold morning."], "It is a cold morning."),
        (["Oslo is a city.", "The harbour was built in 1900."], "The harbour was built in 1900."),
        (["Oslo is a city.", "The company was sold."], "The company was sold."),
        (["Marta Keller spoke in Oslo.", "She is 50 years old."], "Marta Keller is 50 years old."),
        (["Oslo is a city.", "The Skarn Dam is no beauty.", "It was built in 1961."], "Skarn Dam was built in 1961."),
        (["Oslo is a city.", "A Swiss man came on Monday in May.", "It lies inland."], "Oslo lies inland."),
        (["The Bank of Oslo was sold.", "It was closed."], "Bank of Oslo was closed."),
        (["Oslo is a city.", "It is illegal to sell fish."], "It is illegal to sell fish."),
        (["Greyfins live here.", "Fewer than 90 of them are left."], "Fewer than 90 Greyfins are left."),
        (["Oslo is a city.", "Queen Ada loved the city.", "The city lies inland."], "Oslo lies inland."),
    ],
)
def test_names_are_put_where_they_are_meant(sentences: list[str], last: str) -> None:
    assert stand_alone(sentences)[-1] == last


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        (
            "Ann Lee won the prize in 1933 and, if you ask me, she should have had it twice.",
            "Ann Lee won the prize in 1933.",
        ),
        (
            "The largest island is Pell Island, and I could not take my eyes off it.",
            "The largest island is Pell Island.",
        ),
        ("Oslo, they say, has 7 parks.", "Oslo has 7 parks."),
        (
            "Water boils at 100 degrees, if the pressure is normal.",
            "Water boils at 100 degrees, if the pressure is normal.",
        ),
        ("Oslo, and I mean Oslo.", "Oslo, and I mean Oslo."),
    ],
)
def test_comments_are_left_out(sentence: str, stated: str) -> None:
    assert without_comment(sentence) == stated


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("Ann Lee was born in Rome and died in Oslo.", ["Ann Lee was born in Rome.", "Ann Lee died in Oslo."]),
        ("Paris and London are large cities.", ["Paris and London are large cities."]),
        ("Ann Lee studied law and economics in Berlin.", ["Ann Lee studied law and economics in Berlin."]),
        (
            "Acme employs 300 people, and its headquarters are in Denver.",
            ["Acme employs 300 people.", "Acme's headquarters are in Denver."],
        ),
        (
            "The Treaty of Rome, which was signed in 1957, created the EEC and entered into force in 1958.",
            [
                "The Treaty of Rome created the EEC.",
                "The Treaty of Rome entered into force in 1958.",
                "The Treaty of Rome was signed in 1957.",
            ],
        ),
        (
            "Ann Lee crossed the Carrow Viaduct, which has nineteen arches.",
            ["Ann Lee crossed the Carrow Viaduct.", "The Carrow Viaduct has nineteen arches."],
        ),
        ('He said "it was good and was cheap" in May.', ['He said "it was good and was cheap" in May.']),
        ("Dunmore sank in 1936, and dozens of people died.", ["Dunmore sank in 1936.", "Dozens of people died."]),
        ("Ann Lee met Acme, a Danish firm.", ["Ann Lee met Acme.", "Acme is a Danish firm."]),
    ],
)
def test_conjunctions_are_split(sentence: str, claims: list[str]) -> None:
    assert split_claims(sentence) == claims


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        (
            "The pact was signed in 1748, on board a ship, since neither side would land.",
            ["The pact was signed in 1748."],
        ),
        ("A single ride costs 4.20 euros, which he thinks is robbery.", ["A single ride costs 4.20 euros."]),
        (
            "The hill rises to 2,134 metres, high enough for snow and low enough for trips.",
            ["The hill rises to 2,134 metres."],
        ),
        ("The hall was designed by Jan Wick in a style that nobody can name.", ["The hall was designed by Jan Wick."]),
        (
            "The line was closed in 1953, after two accidents near Oslo.",
            ["The line was closed in 1953.", "The line was closed in 1953, after two accidents near Oslo."],
        ),
        *(
            (sentence, [sentence])
            for sentence in (
                "The flag of the town is red, white and blue.",
                "Ann won gold, silver and bronze in Rome.",
                "He lived for years in Paris, Texas.",
                "It was a cold, dark place in the north.",
                "Water boils at 100 degrees, if the pressure is normal.",
                "The house was sold for 3 million, not 5 million.",
                "He was born on May 4, 1961 in Rome.",
                "After she left in 1990, the club was closed.",
            )
        ),
    ],
)
def test_loose_parts_are_left_out(sentence: str, claims: list[str]) -> None:
    assert split_claims(sentence) == claims


@given(st.text(max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_text_is_taken(text: str) -> None:
    document = Document("a", text=text)
    for found in find_claims(document):
        assert document.text[found.start :].startswith(found.text)
        assert bool(found.claims) != bool(found.not_checked)


@pytest.mark.parametrize(
    ("sentence", "worthy"),
    [
        ("The bridge was opened in 1932 and cost 6 million pounds.", True),
        ("Canberra is the capital of Australia.", True),
        ("Germany borders Denmark.", True),
        ("Kenya exports tea.", True),
        ("Shakespeare wrote Hamlet.", True),
        ("The Rhine flows through Cologne.", True),
        ("Thanks, Anna.", False),
        ("Dear Mr Smith, hello.", False),
        ("Is Canberra the capital of Australia?", False),
        ("I love this place!", False),
        ("You should really try the soup.", False),
        ("Thanks a lot.", False),
    ],
)
def test_what_states_something_is_worth_checking(sentence: str, worthy: bool) -> None:
    assert is_worth_checking(sentence, float(worthiness([sentence])[0])) is worthy


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("The capital of Australia is Canberra, which lies inland between Sydney and Melbourne.", True),
        (
            "Die Hauptstadt von Australien ist Canberra, und sie liegt im Landesinneren zwischen Sydney und Melbourne.",
            False,
        ),
        (
            "La capitale de l'Australie est Canberra, une ville qui se trouve entre Sydney et Melbourne.",
            False,
        ),
        (
            "La capital de Australia es Canberra, una ciudad que se encuentra entre Sydney y Melbourne en el interior.",
            False,
        ),
        ("Столица Австралии - Канберра.", False),
        ("澳大利亚的首都是堪培拉。", False),
        ("Ankara, Türkiye'nin başkentidir ve ülkenin en kalabalık ikinci ilidir. " * 4, False),
        ("Stand on the left, drink tea, wear dry socks, wave to boats and hug an old friend.", True),
        ("Canberra, 1913.", True),
        ("", True),
    ],
)
def test_english_is_told_from_other_languages(text: str, english: bool) -> None:
    assert is_english(text) is english


def test_short_sentences_of_ten_languages_are_mostly_told() -> None:
    languages = json.loads((Path(__file__).parent / "ten_languages.json").read_text(encoding="utf-8"))
    missed = {name: sum(map(is_english, sentences)) for name, sentences in languages.items()}
    assert sum(missed.values()) <= 0.15 * sum(map(len, languages.values()))
    assert max(missed.values()) <= 4


@pytest.mark.parametrize(
    "claim",
    [
        "El Salvador borders Honduras.",
        "Brad Wilk co-founded Nintendo in 1991.",
        "Los Angeles is a city.",
        "Gilles de la Tourette died in Paris.",
        "L'Oréal sells cosmetics.",
        "Kim Jong-il died in 2011.",
    ],
)
def test_foreign_names_do_not_make_a_claim_foreign(claim: str) -> None:
    assert is_english(claim)


@pytest.fixture
def checker(tmp_path: Path) -> Checker:
    documents = [
        Document("curie", "Marie Curie", "Marie Curie was born in Warsaw in 1867. Marie Curie died in 1934."),
        Document("acme", "Acme Corporation", "Acme Corporation was founded in 1990 in Boston."),
    ]
    return Checker([LocalIndex(build_index(documents, tmp_path / "index"))], stance=stance_model("lexical"))


def test_a_text_is_checked_claim_by_claim(checker: Checker) -> None:
    done: list[tuple[int, int]] = []
    checked = check_text(checker, Document("a", "Lives", TEXT), progress=lambda *counts: done.append(counts))
    assert [claim.claim for claim in checked.claims][1:3] == [
        "Marie Curie won two Nobel Prizes.",
        "Marie Curie died in 1934.",
    ]
    assert done[-1] == (len(checked.claims), len(checked.claims))
    assert sum(total.count for total in checked.totals()) == len(checked.claims)
    assert all(total.lower <= total.share <= total.upper for total in checked.totals())
    whole = "".join(
        gap + (checked.sentences[place].text if place < len(checked.sentences) else "")
        for place, gap in enumerate(between(checked.text, checked.sentences))
    )
    assert whole == TEXT
    page = text_page(checked)
    assert page.count('class="claim ') == sum(sentence.verdict is not None for sentence in checked.sentences)
    assert all(word in page for word in ("Supported", "95 % intervals", "What a life!"))
    decided = [claim for claim in checked.claims if claim.check.verdict is not Verdict.unknown]
    assert decided
    assert page.count("<b>decides</b>") == len(decided)
    json.dumps(checked.to_json())


def test_a_text_in_another_language_is_not_checked(checker: Checker) -> None:
    german = (
        "Die Hauptstadt von Australien ist Canberra, und sie liegt zwischen Sydney und Melbourne im Inneren des Landes."
    )
    checked = check_text(checker, Document("a", "t", german))
    assert (checked.not_checked, checked.claims, checked.totals()) == (NOT_ENGLISH, [], [])
    assert "Not English: not checked" in text_page(checked)
    mixed = check_text(checker, Document("a", "t", f"{TEXT}\n\n{german}"))
    assert [sentence.not_checked for sentence in mixed.sentences][-1] == NOT_ENGLISH


def test_a_page_shows_markup_as_text(checker: Checker) -> None:
    text = "<script>alert(1)</script> was born in Warsaw in 1867. Marie Curie & Co was born in 1868 in <b>Rome</b>."
    page = text_page(check_text(checker, Document("a", "<i>t</i>", text)))
    assert "<script>alert" not in page
    assert "<b>Rome" not in page
    assert "&lt;i&gt;t" in page


def test_texts_are_read(tmp_path: Path) -> None:
    assert read_text("-", stdin=io.BytesIO(b"# Head\n\nA *text*.")).text == "Head\n\nA text."
    with pytest.raises(OffscriptError, match="standard input is empty"):
        read_text("-", stdin=io.BytesIO(b" "))
    (tmp_path / "a.csv").write_text("text\na\nb\n", encoding="utf-8")
    with pytest.raises(OffscriptError, match="several documents"):
        read_text(str(tmp_path / "a.csv"))


def test_verdicts_of_a_sentence_are_joined(checker: Checker) -> None:
    checked = check_text(checker, Document("a", "t", "Marie Curie was born in Warsaw in 1867 and died in 1950."))
    (sentence,) = checked.sentences
    verdicts = [claim.check.verdict for claim in sentence.claims]
    assert len(verdicts) == 2
    if Verdict.refuted in verdicts:
        assert sentence.verdict is Verdict.refuted


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Die Hauptstadt von Frankreich ist Paris.", False),
        ("Madrid es la capital de España.", False),
        ("Der Rhein fließt durch Köln.", False),
        ("Stockholm är Sveriges huvudstad.", False),
        ("Georges Gilles de la Tourette described symptoms.", True),
        ("La La Land won six Oscars.", True),
        ("Los Angeles borders Long Beach.", True),
    ],
)
def test_short_claims_are_told_by_their_function_words(text: str, english: bool) -> None:
    assert is_english(text) is english


def test_what_is_not_english_is_not_checked_by_any_pipeline(checker: Checker, tmp_path: Path) -> None:
    claim = "Die Hauptstadt von Frankreich ist Paris."
    for pipeline in (checker, Fakta(checker.providers, stance=stance_model("lexical"))):
        check = pipeline.check(claim)
        assert (check.verdict, check.not_judged, check.documents) == (Verdict.unknown, NOT_ENGLISH, ())
    assert Tools(checker).check(claim)["not_judged"] == NOT_ENGLISH
    check_batch(checker, [GivenClaim("1", claim)], tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text())["not_judged"] == NOT_ENGLISH


def test_a_model_may_split_sentences(checker: Checker) -> None:
    def halves(sentence: str) -> list[str]:
        words = sentence.rstrip(".").split()
        return [" ".join(words[:5]) + ".", " ".join(words[5:]) + "."]

    document = Document("text", "", "Marie Curie was born in Warsaw in the year 1867.")
    [sentence] = check_text(checker, document, decompose=halves).sentences
    assert [claim.claim for claim in sentence.claims] == ["Marie Curie was born in.", "Warsaw in the year 1867."]
