"""Parallel corpora: every layout gives the same pairs, and sides that do not belong together are refused."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora.parallel import SentencePair, keep_pairs, read_pairs, read_sources
from offscript.corpora.pieces import PieceVocabulary
from offscript.corpora.vocabularies import vocabulary_from
from offscript.errors import OffscriptError

PAIRS = [SentencePair("Ein Hund .", "A dog ."), SentencePair('Er sagt "ja" .', 'He says "yes" .')]


def _write(folder: Path, layout: str) -> tuple[str, str | None]:
    sources, targets = ("\n".join(side) + "\n" for side in zip(*PAIRS, strict=True))
    path = folder / f"pairs.{layout}"
    if layout == "two":
        (folder / "a.de").write_text(sources, encoding="utf-8")
        (folder / "b.en.gz").write_bytes(gzip.compress(targets.encode()))
        return str(folder / "a.de"), str(folder / "b.en.gz")
    if layout == "jsonl":
        path.write_text("\n".join(json.dumps(pair._asdict()) for pair in PAIRS))
    elif layout == "csv":
        rows = [",".join('"' + side.replace('"', '""') + '"' for side in pair) for pair in PAIRS]
        path.write_text("\n".join(["source,target", *rows]))
    else:
        path.write_text("\n".join("\t".join(pair) for pair in PAIRS))
    return str(path), None


@pytest.mark.parametrize("layout", ["two", "tsv", "csv", "jsonl"])
def test_every_layout_gives_the_same_pairs(layout: str, tmp_path: Path) -> None:
    assert list(read_pairs(*_write(tmp_path, layout))) == PAIRS


def test_a_table_may_name_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("id\tde\ten\n1\trot\tred\n")
    assert list(read_pairs(path, fields=("de", "en"))) == [("rot", "red")]


def test_sources_stand_alone_or_in_pairs(tmp_path: Path) -> None:
    path, _ = _write(tmp_path, "two")
    assert list(read_sources(path)) == [pair.source for pair in PAIRS]
    assert list(read_sources(_write(tmp_path, "tsv")[0])) == [pair.source for pair in PAIRS]


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        ("a\nb\n", "c\n", "ends before"),
        ("a\n", "c\nd\n", "ends before"),
        ("a\n\n", "c\nd\n", "line 2: a pair without a source"),
        ("\n", "\n", "holds no pair"),
    ],
)
def test_sides_that_do_not_belong_together_are_refused(
    sources: str, targets: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text(sources)
    (tmp_path / "b").write_text(targets)
    with pytest.raises(OffscriptError, match=message):
        list(read_pairs(tmp_path / "a", tmp_path / "b"))


def test_one_text_file_is_one_side(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(OffscriptError, match="one side"):
        read_pairs(tmp_path / "a.txt")


def test_a_pair_stays_or_goes_as_a_whole() -> None:
    pairs = [SentencePair("a b", "c"), SentencePair("a b c", "d"), SentencePair("a b", "c"), SentencePair("a b", "d")]
    assert list(keep_pairs(pairs, longest=2)) == [pairs[0], pairs[2], pairs[3]]
    assert list(keep_pairs(pairs, ratio=2.0, repeats=False)) == [pairs[0], pairs[3]]


@given(st.text(st.characters(blacklist_categories=["Cs"])).map(str.strip))
def test_pieces_give_every_text_back(text: str) -> None:
    assert _VOCABULARY.decode(_VOCABULARY.encode(text)) == text


def test_pieces_are_described_in_full() -> None:
    again = vocabulary_from(json.loads(json.dumps(_VOCABULARY.describe())))
    assert again.fingerprint == _VOCABULARY.fingerprint
    assert again.encode("Ein Hund läuft.") == _VOCABULARY.encode("Ein Hund läuft.")


def test_broken_pieces_are_refused() -> None:
    with pytest.raises(OffscriptError, match="pieces"):
        vocabulary_from({"kind": "pieces", "tokenizer": {"model": "what"}})


_VOCABULARY = PieceVocabulary.learn(["Ein Hund läuft.", "A dog runs.", "Eine Frau läuft."] * 4, 300)
