"""Vocabularies: text to ids and back, the same vocabulary from its description, a fingerprint that tells them apart."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from offscript.corpora import CharacterVocabulary, HubVocabulary, Vocabulary, WordVocabulary, vocabulary_from
from offscript.errors import OffscriptError

WORD = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1).filter(
    lambda word: word.split() == [word] and word not in ("<unk>", "<eos>")
)
WORDS = st.lists(WORD, min_size=1, unique=True)
CHARACTERS = st.lists(st.characters(exclude_categories=["Cs"]), min_size=1, unique=True)


def tokenizer(**special: str) -> PreTrainedTokenizerFast:
    symbols = ["<unk>", "<end>", "<begin>", "a", "b", "c"]
    model = models.WordLevel({symbol: index for index, symbol in enumerate(symbols)}, unk_token="<unk>")
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, **special)


@pytest.fixture
def hub(tmp_path: Path) -> HubVocabulary:
    made = tokenizer(unk_token="<unk>", eos_token="<end>", bos_token="<begin>")
    made.save_pretrained(tmp_path / "tokenizer")
    return HubVocabulary.load(str(tmp_path / "tokenizer"))


def test_words_by_hand() -> None:
    vocabulary = WordVocabulary.count(["b a b", "c b <unk> a", "A"], 5)
    assert vocabulary.symbols() == ["<unk>", "<eos>", "b", "a", "A"]  # 3, 2, then A and c with 1 each, A first
    assert vocabulary.encode("b c  A\tz") == [2, 0, 4, 0]
    assert vocabulary.decode([2, 0, 4, 1, 5]) == "b <unk> A"
    assert (vocabulary.size, vocabulary.start, vocabulary.end, vocabulary.unknown, vocabulary.inputs) == (5, 5, 1, 0, 6)


def test_lower_case_counts_and_encodes_alike() -> None:
    vocabulary = WordVocabulary.count(["B b", "a"], 10, lower=True)
    assert vocabulary.symbols() == ["<unk>", "<eos>", "b", "a"]
    assert vocabulary.encode("A B") == [3, 2]


def test_characters_by_hand() -> None:
    vocabulary = CharacterVocabulary()
    assert vocabulary.size == 27
    assert vocabulary.encode("a z") == [1, 0, 26]
    assert vocabulary.decode([1, 0, 26, vocabulary.start]) == "a z"
    assert CharacterVocabulary.count(["ba", "ca"]).symbols() == ["a", "b", "c"]


@given(words=WORDS, data=st.data())
def test_known_words_come_back(words: list[str], data: st.DataObject) -> None:
    vocabulary = WordVocabulary(["<unk>", "<eos>", *words])
    text = " ".join(data.draw(st.lists(st.sampled_from(words))))
    ids = vocabulary.encode(text)
    assert vocabulary.decode([vocabulary.start, *ids, 1]) == text
    assert [vocabulary.symbols()[index] for index in ids] == text.split()


@given(sentences=st.lists(st.text()), size=st.integers(3, 20), lower=st.booleans())
def test_counted_words_are_the_most_frequent(sentences: list[str], size: int, lower: bool) -> None:
    vocabulary = WordVocabulary.count(sentences, size, lower=lower)
    cased = [sentence.lower() if lower else sentence for sentence in sentences]
    words = [word for sentence in cased for word in sentence.split() if word not in ("<unk>", "<eos>")]
    known = list(vocabulary.symbols())[2:]
    assert len(known) == min(size - 2, len(set(words)))
    least = min((words.count(word) for word in known), default=0)
    assert all(words.count(word) <= least for word in set(words) - set(known))
    assert all(0 <= index < vocabulary.size for sentence in sentences for index in vocabulary.encode(sentence))


@given(characters=CHARACTERS, data=st.data())
def test_known_characters_come_back(characters: list[str], data: st.DataObject) -> None:
    vocabulary = CharacterVocabulary(characters)
    text = "".join(data.draw(st.lists(st.sampled_from(characters))))
    assert vocabulary.decode(vocabulary.encode(text)) == text


@given(words=WORDS, lower=st.booleans(), special=st.booleans())
def test_a_described_word_vocabulary_is_made_again(words: list[str], lower: bool, special: bool) -> None:
    listed = ["<unk>", "<eos>", *words] if special else words
    ends = {} if special else {"end": None, "unknown": None}
    assert_made_again(WordVocabulary(listed, lower=lower, **ends))


@given(characters=CHARACTERS, special=st.booleans())
def test_a_described_character_vocabulary_is_made_again(characters: list[str], special: bool) -> None:
    if special:
        assert_made_again(CharacterVocabulary([*characters, "<end>", "<?>"], end="<end>", unknown="<?>"))
    else:
        assert_made_again(CharacterVocabulary(characters))


def assert_made_again(vocabulary: Vocabulary) -> None:
    again = vocabulary_from(json.loads(json.dumps(vocabulary.describe())))
    assert type(again) is type(vocabulary)
    assert again.describe() == vocabulary.describe()
    assert again.fingerprint == vocabulary.fingerprint
    for name in ("size", "start", "end", "unknown", "inputs"):
        assert getattr(again, name) == getattr(vocabulary, name)


@given(words=WORDS, others=WORDS)
def test_fingerprints_are_equal_exactly_when_the_ids_are(words: list[str], others: list[str]) -> None:
    first, second = (WordVocabulary(["<unk>", "<eos>", *listed]) for listed in (words, others))
    assert (first.fingerprint == second.fingerprint) == (words == others)
    assert first.fingerprint != WordVocabulary(["<unk>", "<eos>", *words], end=None).fingerprint


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: WordVocabulary([]), "an empty vocabulary"),
        (lambda: WordVocabulary(["<unk>", "<eos>", "a", "a"]), "'a' stands twice"),
        (lambda: WordVocabulary(["a"]), "has no '<eos>'"),
        (lambda: WordVocabulary.count(["a"], 2), "a vocabulary of 2 words"),
        (lambda: CharacterVocabulary().encode("É"), "'É' is not in the vocabulary of 27 symbols"),
        (lambda: CharacterVocabulary.count([]), "an empty vocabulary"),
        (lambda: vocabulary_from({"kind": "other"}), "unknown kind of vocabulary 'other'"),
        (lambda: vocabulary_from({"kind": "word"}), "a word vocabulary cannot be made from its description"),
        (lambda: vocabulary_from({"kind": "hub"}), "a hub vocabulary cannot be made from its description"),
        (lambda: HubVocabulary(tokenizer(unk_token="<unk>")), "neither a start nor an end token"),
    ],
)
def test_what_cannot_be_a_vocabulary_is_refused(make, expected: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OffscriptError, match=expected):
        make()


def test_a_hub_tokenizer_is_a_vocabulary(hub: HubVocabulary) -> None:
    assert (hub.size, hub.start, hub.end, hub.unknown) == (6, 2, 1, 0)
    assert hub.encode("a c b z") == [3, 5, 4, 0]
    assert hub.decode([hub.start, 3, 5, 4, 1]) == "a c b"
    assert list(hub.symbols()) == ["<unk>", "<end>", "<begin>", "a", "b", "c"]
    assert_made_again(hub)


def test_a_network_wider_than_its_tokenizer_has_unused_symbols(hub: HubVocabulary) -> None:
    wide = HubVocabulary(hub.tokenizer, size=8, name=hub.name, revision=hub.revision)
    assert list(wide.symbols())[6:] == ["<unused 6>", "<unused 7>"]
    assert wide.decode([3, 7, 4]) == "a b"
    assert wide.fingerprint != hub.fingerprint
    assert_made_again(wide)


def test_a_hub_tokenizer_without_a_start_begins_with_its_end() -> None:
    assert HubVocabulary(tokenizer(unk_token="<unk>", eos_token="<end>")).start == 1


def test_a_saved_hub_vocabulary_loads_from_its_folder(hub: HubVocabulary, tmp_path: Path) -> None:
    hub.save(tmp_path / "copy")
    assert HubVocabulary.load(str(tmp_path / "copy")).fingerprint == hub.fingerprint


def test_the_revision_is_part_of_the_description(hub: HubVocabulary) -> None:
    assert HubVocabulary.load(hub.name, revision="main").describe()["revision"] == "main"


def test_a_missing_tokenizer_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OffscriptError, match="cannot be loaded"):
        HubVocabulary.load(str(tmp_path / "none"))
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(OffscriptError, match="pip install transformers"):
        HubVocabulary.load("gpt2")
