"""Words, their parts of speech and the names among them."""

import json
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.queries import query_of
from offscript.factcheck.tagging import default_tagger
from offscript.factcheck.tagging.tagger import (
    CARD,
    SHIPPED,
    TAGS,
    WEIGHTS,
    PerceptronTagger,
    SpacyTagger,
    TaggedSentence,
    Token,
    installed_pipeline,
    named_entities,
    read_treebank,
    spans,
)

TEXT = st.text(max_size=200)


@pytest.fixture(scope="module")
def tagger() -> PerceptronTagger:
    return PerceptronTagger.load(SHIPPED)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It won't.", ["It", "wo", "n't", "."]),
        ("Oxford's board", ["Oxford", "'s", "board"]),
        ("In the U.S. 1,000.5 people", ["In", "the", "U.S.", "1,000.5", "people"]),
        ("Coster-Waldau", ["Coster", "-", "Waldau"]),
        ("Mr. Smith... (see www.a.org)", ["Mr.", "Smith", "...", "(", "see", "www.a.org)"]),
        ("", []),
    ],
)
def test_words_are_cut_as_the_treebank_cuts_them(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in spans(text)] == words


@given(text=TEXT)
def test_every_character_that_is_no_white_space_is_in_exactly_one_word(text: str) -> None:
    covered = [place for start, end in spans(text) for place in range(start, end)]
    assert covered == sorted(set(covered))
    assert {place for place, character in enumerate(text) if not character.isspace()} <= set(covered)


@given(texts=st.lists(TEXT, max_size=4))
def test_any_text_is_tagged_and_texts_do_not_touch_each_other(tagger: PerceptronTagger, texts: list[str]) -> None:
    tagged = tagger.tag(texts)
    assert tagged == [tagger.tag([text])[0] for text in texts]
    for text, tokens in zip(texts, tagged, strict=True):
        assert all(text[token.start : token.end] == token.text and token.tag in TAGS for token in tokens)
        assert all(name in text for name in tagger.entities(text))


def test_half_characters_do_no_harm(tagger: PerceptronTagger) -> None:
    assert [token.text for token in tagger.tag(["\ud800 Paris"])[0]] == ["\ud800", "Paris"]


def test_a_plain_claim_is_tagged_right(tagger: PerceptronTagger) -> None:
    tokens = tagger.tag(["The capital of Australia is not Sydney."])[0]
    assert [token.tag for token in tokens] == ["DET", "NOUN", "ADP", "PROPN", "AUX", "PART", "PROPN", "PUNCT"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Nikolaj Coster-Waldau worked with the Fox Broadcasting Company.",
            ["Nikolaj Coster-Waldau", "Fox Broadcasting Company"],
        ),
        ("ISIS infiltrates the United States.", ["ISIS", "United States"]),
        ("She left the University of Oxford.", ["University of Oxford"]),
        ("Brad Pitt met France and Spain", ["Brad Pitt", "France", "Spain"]),
        ("nothing here", []),
    ],
)
def test_names_are_runs_of_proper_nouns(tagger: PerceptronTagger, text: str, names: list[str]) -> None:
    assert tagger.entities(text) == names


def test_links_join_names_but_do_not_begin_or_end_them() -> None:
    words = ["of", "Bank", "of", "the", "West", "of"]
    places = [(0, 2), (3, 7), (8, 10), (11, 14), (15, 19), (20, 22)]
    tags = ["ADP", "PROPN", "ADP", "DET", "PROPN", "ADP"]
    tokens = [Token(word, tag, *place) for word, tag, place in zip(words, tags, places, strict=True)]
    assert named_entities("of Bank of the West of", tokens) == ["Bank of the West"]


def test_accuracy_on_the_test_split_is_what_the_card_of_the_field_knows(
    tagger: PerceptronTagger, data_folder: Path
) -> None:
    sentences = list(read_treebank(data_folder / "ud-english-ewt" / "test.conllu.xz"))
    found = tagger.tag_words([sentence.words for sentence in sentences])
    gold = [tag for sentence in sentences for tag in sentence.tags]
    assert len(gold) == 25094
    assert np.mean([one == other for one, other in zip(gold, chain.from_iterable(found), strict=True)]) >= 0.94


TINY = [
    TaggedSentence(("Dogs", "bark"), ("NOUN", "VERB")),
    TaggedSentence(("the", "dog", "barks"), ("DET", "NOUN", "VERB")),
    TaggedSentence(("a", "cat", "sleeps", "."), ("DET", "NOUN", "VERB", "PUNCT")),
]


def test_training_learns_its_sentences_and_repeats(tmp_path: Path) -> None:
    first, second = (PerceptronTagger.train(TINY, seed=3, rows=512, epochs=5) for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    assert first.tag_words([sentence.words for sentence in TINY]) == [list(sentence.tags) for sentence in TINY]
    first.save(tmp_path, {"kind": "tagger"})
    assert np.array_equal(PerceptronTagger.load(tmp_path).weights, first.weights)
    (tmp_path / WEIGHTS).write_bytes((tmp_path / WEIGHTS).read_bytes()[:-1] + b"\x55")
    with pytest.raises(OffscriptError, match="not what its card describes"):
        PerceptronTagger.load(tmp_path)
    with pytest.raises(OffscriptError, match="no sentence"):
        PerceptronTagger.train([], seed=1)


def test_one_tag_alone_can_be_learned() -> None:
    tagger = PerceptronTagger.train([TaggedSentence(("a",), ("ADJ",))], seed=1, rows=64, epochs=1)
    assert tagger.tag_words([["b"], []]) == [["ADJ"], []]


def test_a_folder_without_a_tagger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="holds no tagger"):
        PerceptronTagger.load(tmp_path)
    (tmp_path / CARD).write_text(json.dumps([]))
    with pytest.raises(OffscriptError, match="holds no tagger"):
        PerceptronTagger.load(tmp_path)


def test_the_shipped_card_names_licence_and_source() -> None:
    card = json.loads((SHIPPED / CARD).read_text(encoding="utf-8"))
    assert "CC BY-SA 4.0" in card["licence"]
    assert "EWT" in card["data"]["train"]
    assert card["held_out"]["right"] / card["held_out"]["words"] > 0.94


def test_treebanks_are_read_without_ranges_and_empty_words(tmp_path: Path) -> None:
    rows = ["# text = I don't", "1\tI\tI\tPRON\t_\t_\t_\t_\t_\t_", "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_"]
    rows += [
        "2\tdo\tdo\tAUX\t_\t_\t_\t_\t_\t_",
        "2.1\tx\tx\tVERB\t_\t_\t_\t_\t_\t_",
        "3\tn't\tnot\tPART\t_\t_\t_\t_\t_\t_",
    ]
    (tmp_path / "a.conllu").write_text("\n".join(rows), encoding="utf-8")
    assert list(read_treebank(tmp_path / "a.conllu")) == [TaggedSentence(("I", "do", "n't"), ("PRON", "AUX", "PART"))]
    (tmp_path / "b.conllu").write_text("1\tI\tI\tNOPE\t_\t_\t_\t_\t_\t_\n", encoding="utf-8")
    with pytest.raises(OffscriptError, match="line 1: not a word of CoNLL-U"):
        list(read_treebank(tmp_path / "b.conllu"))


@pytest.fixture
def spacy_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spaCy pipeline of two rules, installed as the package of spaCy's small English model, which no registry has."""
    spacy = pytest.importorskip("spacy", reason="no spaCy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("attribute_ruler").add([[{"LOWER": "paris"}]], {"POS": "PROPN"})
    patterns = [{"label": "GPE", "pattern": "Paris"}, {"label": "DATE", "pattern": "1999"}]
    pipeline.add_pipe("entity_ruler").add_patterns(patterns)
    package = tmp_path / "en_core_web_sm"
    package.mkdir()
    pipeline.to_disk(package / "en_core_web_sm-3.8.0")
    (package / "__init__.py").write_text(
        "from pathlib import Path\nfrom spacy.util import load_model_from_path\n\n\n"
        "def load(**options):\n"
        "    return load_model_from_path(Path(__file__).parent / 'en_core_web_sm-3.8.0', **options)\n"
    )
    information = tmp_path / "en_core_web_sm-3.8.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: en_core_web_sm\nVersion: 3.8.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "en_core_web_sm", raising=False)
    return package


@pytest.mark.usefixtures("spacy_model")
def test_an_installed_spacy_model_takes_the_place_of_the_shipped_tagger() -> None:
    default_tagger.cache_clear()
    tagger = default_tagger()
    default_tagger.cache_clear()
    assert isinstance(tagger, SpacyTagger)
    assert tagger.tag(["in  Paris", ""]) == [[Token("in", "X", 0, 2), Token("Paris", "PROPN", 4, 9)], []]
    assert tagger.entities("Paris in 1999") == ["Paris"]
    assert query_of("Paris in 1999", tagger)[0] == "Paris"


def test_without_spacy_the_shipped_tagger_serves() -> None:
    if installed_pipeline() is not None:
        pytest.skip("a spaCy model is installed")
    assert isinstance(default_tagger(), PerceptronTagger)
