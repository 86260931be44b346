"""The index on disk: what goes in comes out, changes equal a rebuild, and damage is refused."""

import dataclasses
import json
import re
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import filelock
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.documents import Document
from offscript.factcheck.index import (
    Index,
    add_documents,
    build_index,
    check_index,
    delete_documents,
    merge_index,
    open_index,
)
from offscript.factcheck.index.files import (
    DELETIONS,
    MANIFEST,
    SEGMENT,
    File,
    SegmentFiles,
    map_arrays,
    read_manifest,
    write_arrays,
)
from offscript.factcheck.index.writing import LOCK, MERGE_FACTOR
from offscript.factcheck.retrieval import Searcher

QUERY = "the quick lazy dog of Canberra sleeps"
WORDS = st.lists(st.sampled_from(["a", "b", "c", "dd", "É", "x1"]), max_size=8).map(" ".join)


def answers(index: Index, query: str = QUERY) -> list[tuple[str, float]]:
    searcher = Searcher(index)
    return [tuple(hit) for model in ("bm25", "dfr-be-b-z") for hit in searcher.search(query, 100, model=model)]


def test_documents_come_out_as_they_went_in(tmp_path: Path) -> None:
    documents = [
        Document("1", "Title", "One. Two? Three!", "https://example.org/1", "2019-06-02"),
        Document("ü/2", "", "", "", ""),
        Document("3", "日本", "A line\nthat wraps. Next.", starts=(0, 19)),
    ]
    index = build_index(documents, tmp_path / "index")
    assert (len(index), "ü/2" in index, "4" in index) == (3, True, False)
    for document in documents:
        stored = index.document(document.id)
        assert stored == Document(*[*document.__dict__.values()][:5], starts=document.sentence_starts())
        assert stored.sentences() == document.sentences()
    with pytest.raises(OffscriptError, match="no document '4'"):
        index.document("4")


def test_half_characters_do_no_harm(tmp_path: Path) -> None:
    index = build_index([Document("a\ud800", text="broken \udfff text")], tmp_path / "index")
    assert index.document("a\ufffd").text == "broken \ufffd text"
    assert [hit.document_id for hit in Searcher(index).search("text \ud800")] == ["a\ufffd"]


def test_an_empty_index_answers(tmp_path: Path) -> None:
    index = build_index([], tmp_path / "index")
    assert (len(index), Searcher(index).search("anything")) == (0, [])
    assert len(add_documents(tmp_path / "index", [Document("1", text="anything")])) == 1


def test_segments_are_safetensors_files(tmp_path: Path, sayings: list[Document]) -> None:
    index = build_index(sayings, tmp_path / "index")
    (path,) = (tmp_path / "index").glob("*.safetensors")
    arrays = load_file(path)
    np.testing.assert_array_equal(arrays["lengths"], index.segments[0].lengths)
    np.testing.assert_array_equal(arrays["postings.documents"], index.segments[0].postings.documents)


def test_blocks_merge_into_what_one_block_gives(tmp_path: Path, sayings: list[Document]) -> None:
    progress: list[int] = []
    whole = build_index(sayings, tmp_path / "whole", progress=progress.append)
    blocks = build_index(sayings, tmp_path / "blocks", block_tokens=1)
    assert progress == [6]
    assert len(blocks.segments) == 1
    assert answers(blocks) == answers(whole)


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(st.integers(0, 9), WORDS), min_size=1, max_size=3)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("merge"), st.none()),
    ),
    max_size=6,
)


@given(first=st.lists(WORDS, max_size=5), changes=CHANGES)
def test_changes_equal_a_rebuild(tmp_path_factory: pytest.TempPathFactory, first: list[str], changes: list) -> None:
    folder = tmp_path_factory.mktemp("changes")
    held = {str(number): text for number, text in enumerate(first)}
    build_index([Document(id, text=text) for id, text in held.items()], folder / "index")
    for kind, value in changes:
        if kind == "add":
            added = {str(number): text for number, text in value}
            held = {id: text for id, text in held.items() if id not in added} | added
            add_documents(folder / "index", [Document(id, text=text) for id, text in added.items()])
        elif kind == "merge":
            merge_index(folder / "index")
        elif str(value) in held:
            del held[str(value)]
            delete_documents(folder / "index", [str(value)])
    rebuilt = build_index([Document(id, text=text) for id, text in held.items()], folder / "rebuilt")
    changed = open_index(folder / "index")
    assert (len(changed), changed.tokens) == (len(rebuilt), rebuilt.tokens)
    assert answers(changed, "a b c É") == answers(rebuilt, "a b c É")
    assert {id: changed.document(id).text for id in held} == held


def test_many_small_additions_keep_few_segments(tmp_path: Path) -> None:
    build_index([], tmp_path)
    for number in range(3 * MERGE_FACTOR):
        index = add_documents(tmp_path, [Document(str(number), text=f"word {number}")])
    assert len(index) == 3 * MERGE_FACTOR
    assert len(index.segments) < MERGE_FACTOR + 3
    assert len(list(tmp_path.glob("segment-*"))) == len(index.segments)


def test_a_snapshot_stays_as_it_was_opened(tmp_path: Path, sayings: list[Document]) -> None:
    before = build_index(sayings, tmp_path)
    expected = answers(before)
    delete_documents(tmp_path, ["d0", "d1"])
    merge_index(tmp_path)
    assert answers(before) == expected
    assert "d0" in before
    assert "d0" not in open_index(tmp_path)


def test_the_analyzer_is_kept_with_the_index(tmp_path: Path) -> None:
    build_index([Document("1", text="running dogs")], tmp_path, analyzer=Analyzer("english", "porter"))
    index = add_documents(tmp_path, [Document("2", text="the dog runs")])
    assert index.analyzer == Analyzer("english", "porter")
    assert {hit.document_id for hit in Searcher(index).search("a dog ran, runs")} == {"1", "2"}


@pytest.mark.parametrize("block_tokens", [1, 1000])
def test_an_id_given_twice_is_refused_and_the_old_index_stays(tmp_path: Path, block_tokens: int) -> None:
    expected = answers(build_index([Document("1", text="dog")], tmp_path))
    twice = [Document("7", text="x " * (1 << 18)), Document("7", text="y")]
    with pytest.raises(OffscriptError, match="id '7' occurs twice"):
        build_index(twice, tmp_path, block_tokens=block_tokens)
    assert answers(open_index(tmp_path)) == expected


def test_deleting_what_is_not_there_deletes_nothing(tmp_path: Path, sayings: list[Document]) -> None:
    build_index(sayings, tmp_path)
    with pytest.raises(OffscriptError, match="no document 'nine'"):
        delete_documents(tmp_path, ["d0", "nine"])
    assert "d0" in open_index(tmp_path)


def test_folders_that_are_no_index_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="holds no index"):
        open_index(tmp_path / "nowhere")
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(OffscriptError, match=r"is not an index; it holds thesis\.tex"):
        build_index([], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OffscriptError, match="cannot be made"):
        build_index([], tmp_path / "file")


def test_a_second_writer_is_turned_away(tmp_path: Path, sayings: list[Document]) -> None:
    build_index(sayings, tmp_path)
    refused: list[str] = []

    def write() -> None:
        try:
            merge_index(tmp_path)
        except OffscriptError as error:
            refused.append(str(error))

    with filelock.FileLock(tmp_path / LOCK):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert refused == [f"{tmp_path} is being written by another process; wait until it is done"]


def damaged_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != LOCK)


@pytest.fixture
def index_with_deletions(tmp_path: Path, sayings: list[Document]) -> Path:
    build_index(sayings, tmp_path / "index")
    delete_documents(tmp_path / "index", ["d2"])
    return tmp_path / "index"


def test_every_flipped_bit_is_refused_in_one_line(index_with_deletions: Path) -> None:
    generator = np.random.default_rng(0)
    files = damaged_files(index_with_deletions)
    assert [path.name.partition("-")[0] for path in files] == ["deletions", MANIFEST, "segment"]
    for path in files:
        whole = path.read_bytes()
        for _ in range(100):
            flipped = bytearray(whole)
            place = int(generator.integers(8 * len(whole)))
            flipped[place // 8] ^= 1 << place % 8
            path.write_bytes(flipped)
            with pytest.raises(OffscriptError, match="is damaged|another version") as caught:
                open_index(index_with_deletions)
            assert "\n" not in str(caught.value)
            assert path.name in str(caught.value)
        path.write_bytes(whole)
    assert len(open_index(index_with_deletions)) == 5


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_every_truncated_file_is_refused_even_unverified(index_with_deletions: Path, share: float) -> None:
    for path in damaged_files(index_with_deletions):
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(OffscriptError, match="is damaged"):
            open_index(index_with_deletions, verify=False)
        path.write_bytes(whole)


def test_a_missing_file_is_named(index_with_deletions: Path) -> None:
    segment = next(index_with_deletions.glob("segment-*"))
    segment.unlink()
    with pytest.raises(OffscriptError, match=f"{segment.name} is missing"):
        open_index(index_with_deletions)


def test_damage_does_not_pass_into_merged_segments(index_with_deletions: Path) -> None:
    segment = next(index_with_deletions.glob("segment-*"))
    flipped = bytearray(segment.read_bytes())
    flipped[-3] ^= 4
    segment.write_bytes(flipped)
    for change in (merge_index, lambda folder: delete_documents(folder, ["d0"])):
        with pytest.raises(OffscriptError, match="is damaged"):
            change(index_with_deletions)


def test_manifests_of_other_versions_and_kinds_are_refused(tmp_path: Path) -> None:
    build_index([], tmp_path)
    (tmp_path / MANIFEST).write_text(json.dumps({"format": "another"}))
    with pytest.raises(OffscriptError, match="is damaged"):
        open_index(tmp_path)
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(OffscriptError, match="is damaged"):
        open_index(tmp_path)


def forge(folder: Path, name: str, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    """Change arrays of the index's file whose name begins so, and give the manifest sizes and checksums that fit."""
    manifest = read_manifest(folder)
    (path,) = folder.glob(f"{name}-*")
    arrays = {key: array.copy() for key, array in map_arrays(path, SEGMENT if name == "segment" else DELETIONS).items()}
    change(arrays)
    write_arrays(path, arrays)
    ((files,),) = (manifest.segments,)
    forged = dataclasses.replace(files, **{name: File.of(path)})
    dataclasses.replace(manifest, segments=(forged,)).write(folder)


def put(name: str, place: int, value: int) -> Callable[[dict[str, np.ndarray]], None]:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name][place] = value

    return change


def cut(name: str, size: int) -> Callable[[dict[str, np.ndarray]], None]:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = arrays[name][:size]

    return change


def fill(name: str, value: int) -> Callable[[dict[str, np.ndarray]], None]:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name][:] = value

    return change


FAR = 1 << 30
FORGERIES = [
    *((f"{lexicon}.slots", fill(f"{lexicon}.slots", FAR)) for lexicon in ("terms", "ids")),
    *((f"{lexicon}.slots", fill(f"{lexicon}.slots", -7)) for lexicon in ("terms", "ids")),
    ("terms.slots", fill("terms.slots", 1)),  # no free slot: a search for an unknown term would not end
    ("terms.slots", cut("terms.slots", 3)),
    ("terms.slots", cut("terms.slots", 0)),
    *((f"{lexicon}.offsets", put(f"{lexicon}.offsets", 1, FAR)) for lexicon in ("terms", "ids")),
    *((f"{lexicon}.offsets", put(f"{lexicon}.offsets", 1, -FAR)) for lexicon in ("terms", "ids")),
    *((f"{lexicon}.offsets", put(f"{lexicon}.offsets", -1, FAR)) for lexicon in ("terms", "ids")),
    *((f"{lexicon}.hashes", cut(f"{lexicon}.hashes", 1)) for lexicon in ("terms", "ids")),
    ("postings.starts", put("postings.starts", 1, FAR)),
    ("postings.starts", put("postings.starts", 2, -1)),
    ("postings.starts", put("postings.starts", -1, FAR)),
    ("postings.starts", cut("postings.starts", -1)),
    ("postings.documents", put("postings.documents", 0, FAR)),
    ("postings.documents", put("postings.documents", -1, 6)),
    ("postings.documents", put("postings.documents", 3, -1)),
    ("postings.documents", fill("postings.documents", 2)),
    ("postings.frequencies", cut("postings.frequencies", 1)),
    ("postings.frequencies", put("postings.frequencies", 0, 0)),
    ("stored.offsets", put("stored.offsets", 1, FAR)),
    ("stored.offsets", put("stored.offsets", -1, FAR)),
    ("stored.offsets", cut("stored.offsets", 5)),
    ("sentences.offsets", put("sentences.offsets", 1, FAR)),
    ("lengths", put("lengths", 0, -1)),
    ("ids.offsets", cut("lengths", 2)),
    ("terms.offsets", cut("total_frequencies", 2)),
    ("total_frequencies", put("total_frequencies", 0, -1)),
]


@pytest.mark.parametrize(("named", "change"), FORGERIES)
def test_offsets_that_do_not_fit_are_refused_though_the_checksum_does(
    tmp_path: Path, sayings: list[Document], named: str, change: Callable[[dict[str, np.ndarray]], None]
) -> None:
    build_index(sayings, tmp_path)
    forge(tmp_path, "segment", change)
    with pytest.raises(OffscriptError, match=rf"segment-\S+ is damaged; {re.escape(named)} does not fit the rest"):
        open_index(tmp_path)
    with pytest.raises(OffscriptError, match="is damaged"):
        add_documents(tmp_path, [Document("new", text="dog")])


@pytest.mark.parametrize(
    ("named", "change"),
    [
        ("deleted", cut("deleted", 2)),
        ("deleted", lambda arrays: arrays.update(deleted=np.full(6, 3, np.uint8).view(np.bool_))),
        ("document_frequencies", fill("document_frequencies", FAR)),
        ("document_frequencies", fill("document_frequencies", 0)),
        ("document_frequencies", cut("document_frequencies", 1)),
        ("total_frequencies", fill("total_frequencies", 0)),
    ],
)
def test_deletions_that_do_not_fit_their_segment_are_refused(
    index_with_deletions: Path, named: str, change: Callable[[dict[str, np.ndarray]], None]
) -> None:
    forge(index_with_deletions, "deletions", change)
    with pytest.raises(OffscriptError, match=rf"deletions-\S+ is damaged; {named} does not fit the segment"):
        open_index(index_with_deletions)
    with pytest.raises(OffscriptError, match="is damaged"):
        merge_index(index_with_deletions)


@pytest.mark.parametrize(
    ("named", "change"),
    [
        ("terms.slots", lambda arrays: arrays["terms.slots"].sort()),
        ("ids.slots", lambda arrays: arrays["ids.hashes"].sort()),
        ("lengths", fill("lengths", 3)),
        ("total_frequencies", fill("total_frequencies", 3)),
    ],
)
def test_a_check_finds_what_would_be_answered_wrongly(
    tmp_path: Path, sayings: list[Document], named: str, change: Callable[[dict[str, np.ndarray]], None]
) -> None:
    build_index(sayings, tmp_path)
    assert len(check_index(tmp_path)) == 6
    forge(tmp_path, "segment", change)
    open_index(tmp_path)
    with pytest.raises(OffscriptError, match=rf"is damaged; {re.escape(named)} does not fit the rest"):
        check_index(tmp_path)


def test_text_that_is_no_text_does_no_harm(tmp_path: Path, sayings: list[Document]) -> None:
    build_index(sayings, tmp_path)
    forge(tmp_path, "segment", fill("stored.values", 0xFF))
    assert set(open_index(tmp_path).document("d0").text) == {"\ufffd"}


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.pop("lengths"),
        lambda arrays: arrays.update(lengths=arrays["lengths"].astype(np.int64)),
        lambda arrays: arrays.update(more=arrays["lengths"]),
    ],
)
def test_arrays_of_another_layout_are_refused(
    tmp_path: Path, sayings: list[Document], change: Callable[[dict[str, np.ndarray]], None]
) -> None:
    build_index(sayings, tmp_path)
    forge(tmp_path, "segment", change)
    with pytest.raises(OffscriptError, match="is damaged; its header does not describe it"):
        open_index(tmp_path, verify=False)


def rewrite_header(path: Path, header: bytes, *, length: int | None = None) -> None:
    path.write_bytes((len(header) if length is None else length).to_bytes(8, "little") + header)


@pytest.mark.parametrize(
    ("header", "length"),
    [
        (b"{}", 1 << 62),
        (b"[" * 100_000, None),
        (b"[]", None),
        (b'{"lengths": 3}', None),
        (b'{"lengths": {}}', None),
        (b'{"lengths": {"dtype": "I32", "shape": [-4], "data_offsets": [0, -16]}}', None),
        (b'{"lengths": {"dtype": "I32", "shape": [4], "data_offsets": [0, 16]}}', None),
        (b'{"lengths": {"dtype": "F99", "shape": [0], "data_offsets": [0, 0]}}', None),
        (b'{"lengths": {"dtype": "I32", "shape": [1, 1], "data_offsets": [0, 4]}}    ', None),
        (b'{"lengths": {"dtype": "I32", "shape": [1.5], "data_offsets": [0, 6]}}      ', None),
        (b'{"lengths": {"dtype": "I32", "shape": ["a"], "data_offsets": ["b", "c"]}}', None),
    ],
)
def test_headers_that_do_not_describe_their_file_are_refused(
    tmp_path: Path, sayings: list[Document], header: bytes, length: int | None
) -> None:
    build_index(sayings, tmp_path)
    manifest = read_manifest(tmp_path)
    (path,) = tmp_path.glob("segment-*")
    rewrite_header(path, header, length=length)
    dataclasses.replace(manifest, segments=(SegmentFiles(File.of(path)),)).write(tmp_path)
    for verify in (True, False):
        with pytest.raises(OffscriptError, match="is damaged; its header does not describe it"):
            open_index(tmp_path, verify=verify)


@pytest.mark.parametrize(
    "change",
    [
        {"analyzer": {"stemmer": 3}},
        {"analyzer": {"colour": "red"}},
        {"analyzer": None},
        {"segments": 3},
        {"segments": [{"segment": {"name": "../../secret", "bytes": 1, "crc32": 1}, "deletions": None}]},
        {"segments": [{"segment": {"name": "/etc/passwd", "bytes": 1, "crc32": 1}, "deletions": None}]},
        {"segments": [{"segment": None, "deletions": None}]},
        {"segments": [{}]},
    ],
)
def test_forged_manifests_are_refused_in_one_line(tmp_path: Path, change: dict[str, object]) -> None:
    build_index([], tmp_path)
    content = {**json.loads((tmp_path / MANIFEST).read_bytes()), **change}
    del content["crc32"]
    crc32 = zlib.crc32(json.dumps(content, sort_keys=True).encode())
    (tmp_path / MANIFEST).write_text(json.dumps({**content, "crc32": crc32}))
    with pytest.raises(OffscriptError, match="is damaged|unknown stemmer"):
        open_index(tmp_path)
