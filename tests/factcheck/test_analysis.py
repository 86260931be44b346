"""Words, lexicons and analyzers."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.analysis.analyzer import stem_function
from offscript.factcheck.analysis.lexicon import ABSENT, LexiconBuilder
from offscript.factcheck.analysis.words import CLASS_NAMES, EMOJI, EXTEND, MAX_WORD_LENGTH, word_break_classes

ANY_TEXT = st.text(st.characters(), max_size=60)  # halves of surrogate pairs included
WORDY_TEXT = st.text("aBé1'.,:_ -\u0301日カひ한🇨❤\u200d\n", max_size=40)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        (" \t\n.,;!? ", []),
        ("The U.S.A. can't pay $1,000.50!", ["the", "u.s.a", "can't", "pay", "1,000.50"]),
        ("foo_bar __x__ ___ x-y a.1 1.e", ["foo_bar", "__x__", "x", "y", "a", "1", "1", "e"]),
        ("日本語カタカナひら 한국어", ["日", "本", "語", "カタカナ", "ひ", "ら", "한국어"]),
        ("👨‍👩‍👧 🇨🇦🇺🇸 🇨", ["👨‍👩‍👧", "🇨🇦", "🇺🇸"]),
        ("İSTANBUL ΣΑΣ", ["istanbul", "σασ"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("half \ud800 pair", ["half", "pair"]),
    ],
)
def test_known_texts_fall_into_known_terms(text: str, terms: list[str]) -> None:
    assert Analyzer().terms(text) == terms


@given(st.one_of(ANY_TEXT, WORDY_TEXT), st.one_of(ANY_TEXT, WORDY_TEXT))
def test_a_line_break_parts_words_and_nothing_else_changes(first: str, second: str) -> None:
    analyzer = Analyzer()
    assert analyzer.terms(f"{first}\n{second}") == analyzer.terms(first) + analyzer.terms(second)


@given(st.one_of(ANY_TEXT, WORDY_TEXT))
def test_terms_are_lower_case_pieces_of_the_text_in_order(text: str) -> None:
    position, lower = 0, "".join(character.lower()[0] for character in text)
    for term in Analyzer().terms(text):
        assert 0 < len(term) <= MAX_WORD_LENGTH
        position = lower.index(term, position) + len(term)


@given(st.lists(WORDY_TEXT, max_size=5))
def test_many_texts_at_once_are_analyzed_as_one_by_one(texts: list[str]) -> None:
    numbers, counts, lexicon = Analyzer().analyze(texts)
    terms = [lexicon.entry(int(number)).decode() for number in numbers]
    ends = np.cumsum(counts)
    for text, start, end in zip(texts, ends - counts, ends, strict=True):
        assert terms[start:end] == Analyzer().terms(text)


def test_the_word_break_table_is_unicodes() -> None:
    regex = pytest.importorskip("regex", reason="no regex (pip install regex)")
    classes = word_break_classes()
    points = np.array([point for point in range(0x110000) if not 0xD800 <= point < 0xE000])
    everything = "".join(map(chr, points))
    for name, number in CLASS_NAMES.items():
        if name in ("Han", "Hiragana", "Complex_Context", "Emoji", "Extend"):
            continue
        members = {ord(match[0]) for match in regex.finditer(rf"\p{{Word_Break={name}}}", everything)}
        assert set(np.flatnonzero(classes == number)) == members, name
    for point, number in ((0x301, EXTEND), (0x200D, EXTEND), (0x2764, EMOJI), (ord("#"), 0), (ord(" "), 0)):
        assert classes[point] == number


@given(st.lists(st.binary(max_size=12), max_size=80), st.lists(st.binary(max_size=12), max_size=20))
def test_a_lexicon_numbers_strings_as_a_dictionary_would(entries: list[bytes], others: list[bytes]) -> None:
    builder, expected = LexiconBuilder(), {}
    numbers = [expected.setdefault(entry, len(expected)) for entry in entries]
    half = len(entries) // 2
    assert [*builder.insert(entries[:half]), *builder.insert(entries[half:])] == numbers
    lexicon = builder.finished()
    assert list(lexicon.entries()) == list(expected)
    assert [lexicon.find(entry) for entry in entries + others] == [expected.get(e, ABSENT) for e in entries + others]


def test_a_lexicon_grows_past_its_first_tables() -> None:
    entries = [f"entry {number}".encode() for number in range(5000)]
    builder = LexiconBuilder()
    assert builder.insert(entries).tolist() == list(range(5000))
    assert builder.finished().find_all(builder.finished()).tolist() == list(range(5000))


def test_stop_words_go_and_stems_meet() -> None:
    text = "The runners were running to the houses"
    assert Analyzer(stop_words="english").terms(text) == ["runners", "were", "running", "houses"]
    assert Analyzer(stemmer="porter").terms(text) == ["the", "runner", "were", "run", "to", "the", "hous"]
    assert Analyzer("english", "porter").terms("to be or not to be") == []


def test_stems_do_not_depend_on_what_other_threads_stem() -> None:
    endings = ("e", "es", "ing", "ingly", "ness", "fulness", "ational", "ization", "ers", "edly")
    words = [f"{beginning}{ending}" for beginning in ("hous", "runn", "nation", "relat") for ending in endings]
    alone = [stem_function("english")(word) for word in words]

    with ThreadPoolExecutor(4) as threads:
        together = threads.map(lambda _: [stem_function("english")(word) for word in words], range(60))

    assert all(stems == alone for stems in together)


@pytest.mark.parametrize("settings", [{"stop_words": "englsh"}, {"stemmer": "portr"}])
def test_unknown_settings_are_refused_with_a_hint(settings: dict[str, str]) -> None:
    with pytest.raises(OffscriptError, match="did you mean"):
        Analyzer(**settings)
