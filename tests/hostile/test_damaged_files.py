"""Every reader against damaged files: records, or one line that names the file."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzzing.kinds import PACK, Kind, check_line
from fuzzing.texts import TEXTS_READ as KINDS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offscript.corpora import EncodedCorpus, WordVocabulary, encode_corpus
from offscript.errors import OffscriptError

NUMBERS = st.integers() | st.just(10**400) | st.floats() | st.just(2**63)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just("\ud800") | st.just("a\0b")
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "a", ""]), inner, max_size=2)
    ),
    max_leaves=5,
)
PIECES = [
    b"",
    b"\0",
    b"\xff",
    b"\r",
    b"\n",
    b"\t",
    b",",
    b'"',
    b"'",
    b"[",
    b"{",
    b"<",
    b"</",
    b"&#99999999999;",
    b"\\u",
    b"1e999",
    b"9" * 5000,
]
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 8), st.binary(max_size=4) | st.sampled_from(PIECES)),
    min_size=1,
    max_size=4,
)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _edited(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for place, length, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + length :]
    return content


def _replaced(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """A JSON value with another one somewhere in it, or with a key gone."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(VALUES)
    if isinstance(value, list):
        place = draw(st.integers(0, len(value) - 1))
        return [_replaced(each, draw) if index == place else each for index, each in enumerate(value)]
    key = draw(st.sampled_from(sorted(value)))
    if draw(st.integers(0, 5)) == 0:
        return {name: each for name, each in value.items() if name != key}
    return {name: _replaced(each, draw) if name == key else each for name, each in value.items()}


@pytest.mark.parametrize("name", KINDS)
def test_examples_are_read(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    root = kind.folder(tmp_path / "files")
    assert kind.outcome(root, kind.content) == ""


@pytest.mark.parametrize("name", KINDS)
@given(content=st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")))
@QUICK
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    kind = KINDS[name]
    root = kind.folder(tmp_path / "files")
    kind.outcome(root, content)


@pytest.mark.parametrize("name", KINDS)
@given(edits=EDITS)
@QUICK
def test_damaged_examples_are_read_or_refused_in_one_line(
    tmp_path: Path, name: str, edits: list[tuple[float, int, bytes]]
) -> None:
    kind = KINDS[name]
    root = kind.folder(tmp_path / "files")
    kind.outcome(root, _edited(kind.content, edits))


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.content[:1] in b"{["])
@given(data=st.data())
@QUICK
def test_json_of_wrong_types_is_read_or_refused_in_one_line(tmp_path: Path, name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    root = kind.folder(tmp_path / "files")
    whole = Path(kind.name).suffix == ".json"
    documents = [json.loads(text) for text in ([kind.content] if whole else kind.content.splitlines())]
    place = data.draw(st.integers(0, len(documents) - 1))
    documents[place] = _replaced(documents[place], data.draw)
    kind.outcome(root, "\n".join(map(json.dumps, documents)).encode())


@pytest.mark.parametrize("suffix", PACK)
@given(edits=EDITS)
@QUICK
def test_damaged_compressed_files_are_read_or_refused_in_one_line(
    tmp_path: Path, suffix: str, edits: list[tuple[float, int, bytes]]
) -> None:
    packed = PACK[suffix](b"One sentence .\n" * 50)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(_edited(packed, edits))
    check_line(lambda: KINDS["sentences"].read(path))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_deep_nesting_is_refused(tmp_path: Path, kind: Kind) -> None:
    root = kind.folder(tmp_path / "files")
    for content in (b"[" * 100_000, b'{"a":' * 100_000, b"<a>" * 100_000, b"[[" * 50_000 + b"]]" * 50_000):
        kind.outcome(root, content)


def test_a_damaged_corpus_description_is_refused(tmp_path: Path) -> None:
    encode_corpus(["a b"], WordVocabulary(["<unk>", "<eos>", "a", "b"]), end=True, folder=tmp_path)
    path = tmp_path / "corpus.json"
    written = json.loads(path.read_text())
    for key in written:
        for value in (None, -1, 10**400, "x", [], {}):
            path.write_text(json.dumps({**written, key: value}))
            with contextlib.suppress(OffscriptError):
                EncodedCorpus.open(tmp_path)
