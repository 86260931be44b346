"""Encoded corpora: the same ids in memory and on disk, whole or absent, and no damage goes unnoticed."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora import CharacterVocabulary, EncodedCorpus, WordVocabulary, encode_corpus, read_sentences
from offscript.corpora.encoded import BLOCK
from offscript.errors import OffscriptError

WORDS = WordVocabulary(["<unk>", "<eos>", "a", "b", "c"])
SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1).map(" ".join), min_size=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("encoded")


def listed(corpus: EncodedCorpus) -> list[list[int]]:
    return [corpus[index].tolist() for index in range(len(corpus))]


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_hand_worked_corpus(tmp_path: Path, on_disk: bool) -> None:
    sentences = ["a b", "c", "zebra a"]
    corpus = encode_corpus(iter(sentences), WORDS, end=True, folder=tmp_path / "new" if on_disk else None)
    assert listed(corpus) == [[2, 3, 1], [4, 1], [0, 2, 1]]
    assert (len(corpus), corpus.tokens) == (3, 8)
    assert corpus.lengths(np.array([2, 0, 1])).tolist() == [3, 3, 2]
    assert corpus.lengths_between(1, 3).tolist() == [2, 3]
    prefixed = b"".join(len(text).to_bytes(8, "little") + text.encode() for text in sentences)
    assert corpus.data_hash == hashlib.sha256(prefixed).hexdigest()
    assert listed(encode_corpus(sentences, WORDS, end=False)) == [[2, 3], [4], [0, 2]]


@given(sentences=SENTENCES, end=st.booleans())
def test_disk_and_memory_agree_and_every_sentence_decodes(folder: Path, sentences: list[str], end: bool) -> None:
    in_memory = encode_corpus(sentences, WORDS, end=end)
    on_disk = encode_corpus(sentences, WORDS, end=end, folder=folder)
    reopened = EncodedCorpus.open(folder, vocabulary=WORDS)
    assert listed(in_memory) == listed(on_disk) == listed(reopened)
    assert in_memory.description == on_disk.description == reopened.description
    assert [WORDS.decode(ids) for ids in listed(reopened)] == [text.replace("d", "<unk>") for text in sentences]
    assert sum(map(len, listed(reopened))) == reopened.tokens


def test_a_corpus_of_many_blocks(tmp_path: Path) -> None:
    sentences = [" ".join("abc"[: 1 + index % 3]) for index in range(BLOCK + 7)]
    corpus = encode_corpus(sentences, WORDS, end=True, folder=tmp_path)
    assert corpus.lengths_between(0, len(corpus)).tolist() == [2 + index % 3 for index in range(BLOCK + 7)]
    assert corpus[BLOCK].tolist() == encode_corpus([sentences[BLOCK]], WORDS, end=True)[0].tolist()


@pytest.mark.parametrize(("size", "width"), [(2**16 - 1, 2), (2**16, 4)])
def test_ids_take_two_bytes_while_the_start_symbol_fits(tmp_path: Path, size: int, width: int) -> None:
    vocabulary = WordVocabulary([str(index) for index in range(size)], end=None, unknown=None)
    corpus = encode_corpus([f"0 {size - 1}"], vocabulary, end=False, folder=tmp_path)
    assert corpus[0].tolist() == [0, size - 1]
    assert corpus[0].dtype.itemsize == width


def test_different_sentence_boundaries_have_different_hashes() -> None:
    hashes = [encode_corpus(sentences, WORDS, end=False).data_hash for sentences in (["a\nb"], ["a", "b"], ["ab"])]
    assert len(set(hashes)) == 3


def test_sentences_without_a_token_are_left_out() -> None:
    assert listed(encode_corpus(["a", " ", "b"], WORDS, end=True)) == [[2, 1], [3, 1]]


def test_what_cannot_be_encoded_is_told_with_its_number() -> None:
    with pytest.raises(OffscriptError, match="sentence 2: 'É' is not in the vocabulary"):
        encode_corpus(["abc", "É"], CharacterVocabulary(), end=False)
    with pytest.raises(OffscriptError, match="no end token"):
        encode_corpus(["abc"], CharacterVocabulary(), end=True)
    with pytest.raises(OffscriptError, match="no sentence to encode"):
        encode_corpus([], WORDS, end=True)


def test_a_failed_encoding_leaves_the_old_corpus_as_it_was(tmp_path: Path) -> None:
    def breaks_off() -> Iterator[str]:
        yield "c c"
        raise OffscriptError("the source broke off")

    with pytest.raises(OffscriptError, match="broke off"):
        encode_corpus(breaks_off(), WORDS, end=True, folder=tmp_path)
    with pytest.raises(OffscriptError, match="no encoded corpus"):
        EncodedCorpus.open(tmp_path)
    encode_corpus(["a b"], WORDS, end=True, folder=tmp_path)
    with pytest.raises(OffscriptError, match="broke off"):
        encode_corpus(breaks_off(), WORDS, end=True, folder=tmp_path)
    assert listed(EncodedCorpus.open(tmp_path)) == [[2, 3, 1]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.json", "offsets.bin", "tokens.bin"]


def test_a_crash_between_the_files_leaves_no_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    encode_corpus(["a b"], WORDS, end=True, folder=tmp_path)
    monkeypatch.setattr("offscript.corpora.encoded.write_json", crash)
    with pytest.raises(KeyboardInterrupt):
        encode_corpus(["b a"], WORDS, end=True, folder=tmp_path)
    with pytest.raises(OffscriptError, match="no encoded corpus"):
        EncodedCorpus.open(tmp_path)


def test_a_corpus_that_is_open_survives_its_replacement(tmp_path: Path) -> None:
    first = encode_corpus(["a b"], WORDS, end=True, folder=tmp_path)
    second = encode_corpus(["c", "c"], WORDS, end=True, folder=tmp_path)
    assert listed(first) == [[2, 3, 1]]
    assert listed(second) == [[4, 1], [4, 1]]


@pytest.mark.parametrize("name", ["tokens.bin", "offsets.bin"])
@pytest.mark.parametrize("damage", ["cut", "changed", "longer", "missing"])
def test_damaged_files_are_refused(tmp_path: Path, name: str, damage: str) -> None:
    encode_corpus(["a b", "c"], WORDS, end=True, folder=tmp_path)
    path = tmp_path / name
    content = path.read_bytes()
    path.write_bytes({"cut": content[:-1], "changed": b"\7" + content[1:], "longer": content + b"\0"}.get(damage, b""))
    if damage == "missing":
        path.unlink()
    with pytest.raises(OffscriptError, match=f"{name} is not the file that was written"):
        EncodedCorpus.open(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"sentences": 1}', "null"])
def test_a_damaged_description_is_refused(tmp_path: Path, content: str) -> None:
    encode_corpus(["a b"], WORDS, end=True, folder=tmp_path)
    (tmp_path / "corpus.json").write_text(content)
    with pytest.raises(OffscriptError, match=r"corpus\.json.*not the description of an encoded corpus"):
        EncodedCorpus.open(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"), [("sentences", 1), ("tokens", 4), ("token_type", "<u4"), ("token_type", "|O"), ("tokens", "5")]
)
def test_a_description_that_does_not_fit_the_files_is_refused(tmp_path: Path, key: str, value: object) -> None:
    encode_corpus(["a b", "c"], WORDS, end=True, folder=tmp_path)
    path = tmp_path / "corpus.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(OffscriptError, match="encode the corpus again"):
        EncodedCorpus.open(tmp_path)


def test_a_file_cut_off_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    corpus = encode_corpus(["a b", "c"], WORDS, end=True, folder=tmp_path)
    (tmp_path / "tokens.bin").write_bytes(b"")
    with pytest.raises(OffscriptError, match="cut off while it was read"):
        corpus[1]


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    encode_corpus(["a b"], WORDS, end=True, folder=tmp_path)
    with pytest.raises(OffscriptError, match="another vocabulary"):
        EncodedCorpus.open(tmp_path, vocabulary=WordVocabulary(["<unk>", "<eos>", "b", "a", "c"]))
    assert json.loads((tmp_path / "corpus.json").read_text())["vocabulary"] == WORDS.fingerprint


@pytest.mark.parametrize("index", [-1, 2])
def test_sentences_outside_are_refused(index: int) -> None:
    with pytest.raises(IndexError):
        encode_corpus(["a", "b"], WORDS, end=True)[index]


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_a_corpus_gives_cannot_be_written_to(tmp_path: Path, on_disk: bool) -> None:
    corpus = encode_corpus(["a b"], WORDS, end=True, folder=tmp_path if on_disk else None)
    with pytest.raises(ValueError, match="read-only"):
        corpus[0][0] = 3


def test_wikitext_2_encodes_to_its_published_token_count(data_folder: Path) -> None:
    sources = data_folder / "wikitext-2"
    sentences = list(read_sentences(sources / "train.txt.xz", format="wikitext", headings=True))
    vocabulary = WordVocabulary.count(sentences, 50_000)
    corpus = encode_corpus(sentences, vocabulary, end=True)
    blank_lines = 36_718 - len(corpus)
    assert vocabulary.size == 33_278
    assert corpus.tokens + blank_lines == 2_088_628
