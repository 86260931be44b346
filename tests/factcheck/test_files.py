"""Folders of one's own files: every kind is read, what cannot be read is named, and an index follows its folder."""

import io
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.factcheck.made_files import broken_files, docx, epub, html, make_whole, mbox, pdf, zipped

from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document, read_documents
from offscript.factcheck.documents.dates import day_of
from offscript.factcheck.documents.decoding import decode
from offscript.factcheck.documents.prose import markdown_text
from offscript.factcheck.documents.tables import Columns, read_columns
from offscript.factcheck.index import Index, index_files, open_index, update_index

FACT = "The capital of Atlantis is Poseidonis."


def read_one(path: Path, content: bytes | str, **options: object) -> list[Document]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_documents(path, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "content", "documents"),
    [
        ("a.txt", f"Atlantis\n\n{FACT}\n", [("a.txt", "Atlantis", FACT, "")]),
        ("a.txt", f"{FACT}\n\nMore.", [("a.txt", "a", FACT, "")]),
        ("a.md", f"# Atlantis\n\n{FACT}\n", [("a.md", "Atlantis", FACT, "")]),
        ("a.md", f"---\ntitle: 'My page'\ndate: 2020-01-01\n---\n{FACT}", [("a.md", "My page", FACT, "2020-01-01")]),
        ("a.pdf", pdf([FACT], "Atlas"), [("a.pdf", "Atlas", FACT, "2020-03-04")]),
        ("renamed", pdf([FACT], "Atlas"), [("renamed", "Atlas", FACT, "2020-03-04")]),
        ("a.docx", docx(["Heading", FACT], "Letter"), [("a.docx", "Letter", FACT, "2021-05-06T07:08:09Z")]),
        ("a.docx", docx(["Heading", FACT]), [("a.docx", "Heading", FACT, "")]),
        ("a.html", html("Atlantis today", FACT), [("a.html", "Atlantis today", FACT, "")]),
        (
            "a.epub",
            epub("Book", "x", FACT),
            [("a.epub#1", "Book: One", "x", "2001"), ("a.epub#2", "Book: Two", FACT, "2001")],
        ),
        ("a.mbox", mbox(("=?utf-8?q?Caf=C3=A9?=", FACT)), [("a.mbox#1", "Café", FACT, "2020-01-06")]),
        ("a.csv", f"id,title,text,date\n7,T,{FACT},2020\n", [("a.csv#7", "T", FACT, "2020")]),
        ("a.tsv", f"headline\tbody\nT\t{FACT}\n", [("a.tsv#1", "T", FACT, "")]),
        (
            "a.csv",
            "country;capital\nAtlantis;Poseidonis\n",
            [("a.csv#1", "Atlantis", "country: Atlantis; capital: Poseidonis", "")],
        ),
        ("a.json", json.dumps({"articles": [{"id": 3, "content": FACT}]}), [("3", "", FACT, "")]),
        (
            "a.json",
            f'{{"id": "x", "text": "{FACT}"}}\n{{"id": "y", "text": "b"}}\n',
            [("x", "", FACT, ""), ("y", "", "b", "")],
        ),
    ],
)
def test_every_kind_gives_title_text_and_date(
    tmp_path: Path, name: str, content: bytes | str, documents: list[tuple[str, str, str, str]]
) -> None:
    found = read_one(tmp_path / name, content)
    assert [(each.id, each.title, each.date) for each in found] == [
        (id, title, date) for id, title, _, date in documents
    ]
    for each, (_, _, text, _) in zip(found, documents, strict=True):
        assert text in each.text


def test_pages_lose_script_style_and_navigation(tmp_path: Path) -> None:
    text = read_one(tmp_path / "a.html", html("T", FACT))[0].text
    assert not any(word in text for word in ("script", "Navigation", "{"))
    chapter = read_one(tmp_path / "a.epub", epub("Book", "x", FACT))[1].text
    assert chapter == f"Two\n\n{FACT}"


def test_markdown_is_what_a_reader_sees() -> None:
    text, heading = markdown_text(
        "Title\n=====\n\nA [link](http://x.y 'z'), *stress*, `code` and snake_case_name.\n\n- one\n- two\n\n"
        "```\nx = 1\n```\n"
        "> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![picture](a.png)\n\\*star\\*"
    )
    assert heading == "Title"
    assert text.split("\n\n") == [
        "Title", "A link, stress, code and snake_case_name.", "one", "two", "said", "a ,  b", "1 ,  2", "*star*",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "cp1251", "shift_jis", "gb18030"]
)
def test_encodings_are_detected(encoding: str) -> None:
    text = {
        "cp1252": "Le café de la Paix se trouve à Paris. “Fondé” en 1862, c’est très connu.",
        "cp1251": "Москва является столицей России и крупнейшим городом страны.",
        "shift_jis": "東京は日本の首都です。人口は約千四百万人である。",
        "gb18030": "北京是中华人民共和国的首都,也是政治文化中心。",
    }.get(encoding, "Zürich, 東京, Москва")
    assert decode(text.encode(encoding), Path("a.txt")) == text


@given(st.binary(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_text_or_one_line(content: bytes) -> None:
    try:
        text, fault = decode(content, Path("a.txt")), ""
    except OffscriptError as error:
        text, fault = "", str(error)
    assert "\0" not in text
    assert not fault or fault.startswith("a.txt")


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_markdown_gives_a_text(text: str) -> None:
    shown, heading = markdown_text(text)
    assert shown == shown.strip()
    assert len(heading) <= len(text)


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    columns = read_columns(["text=note", "title=who"])
    rows = read_one(tmp_path / "a.csv", "who,text,note\nAnn,no,yes\n", columns=columns)
    assert (rows[0].title, rows[0].text) == ("Ann", "yes")
    records = read_one(tmp_path / "a.jsonl", '{"who": "Ann", "note": "yes"}', columns=columns)
    assert (records[0].id, records[0].text) == ("a.jsonl#1", "yes")
    with pytest.raises(OffscriptError, match="no column 'noet' for text; did you mean 'note'"):
        read_one(tmp_path / "a.csv", "who,note\nAnn,yes\n", columns=Columns({"text": "noet"}))
    with pytest.raises(OffscriptError, match="write ROLE=NAME"):
        read_columns(["note"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pdf", pdf(["secret"], password="p"), "it has a password"),
        ("a.docx", docx(["x" * (1 << 25)]), "unpacks to more than"),
        ("a.txt", b"", "is empty"),
        ("a.txt", bytes(range(256)) * 40, "is not text; it holds binary data"),
        ("a.docx", b"\xd0\xcf\x11\xe0" + bytes(99), "it has a password or is an old .doc"),
    ],
)
def test_bad_files_get_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(OffscriptError, match=message) as caught:
        read_one(tmp_path / name, content)
    assert len(str(caught.value).splitlines()) == 1


def test_a_huge_text_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.txt").open("wb") as stream:
        stream.truncate(500_000_000)
    begun = time.process_time()
    with pytest.raises(OffscriptError, match=r"huge\.txt is longer than 134,217,728 bytes; split it"):
        list(read_documents(tmp_path / "huge.txt"))
    assert time.process_time() - begun < 1


def test_a_zip_that_lies_about_its_sizes_is_bounded(tmp_path: Path) -> None:
    content = bytearray(docx(["x" * (1 << 25)]))
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as package:
        assert package.getinfo("word/document.xml").file_size > 1 << 24
    place = content.rindex(b"PK\x01\x02") + 24
    content[place : place + 4] = (100).to_bytes(4, "little")
    with pytest.raises(OffscriptError, match="damaged|unpacks"):
        read_one(tmp_path / "a.docx", bytes(content))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """500 files, 25 of which cannot be read."""
    folder = tmp_path_factory.mktemp("mixed")
    for number in range(475):
        make_whole(folder, number)
    (folder / "broken").mkdir()
    for name, content in broken_files().items():
        (folder / "broken" / name).write_bytes(content)
    assert sum(path.is_file() for path in folder.rglob("*")) == 500
    return folder


def test_a_folder_of_500_files_is_indexed_named_and_followed(mixed: Path, tmp_path: Path) -> None:
    made = index_files([mixed], tmp_path / "index")
    broken = {f"broken/{name}" for name in broken_files()}
    assert {state.name for state in made.skipped} == broken
    assert all(state.fault and "\n" not in state.fault for state in made.skipped)
    assert (made.added, len(made.index)) == (475, 475 + len(list(mixed.glob("part-*/*.epub"))))

    names = [path for path in sorted(mixed.rglob("*.txt")) if path.parent.name != "broken"]
    for path in names[:4]:
        path.write_text(f"Changed\n\nThis is the new text of {path.name}.", encoding="utf-8")
    for path in names[4:7]:
        path.unlink()
    for number in range(3):
        (mixed / f"new-{number}.txt").write_text(f"A new file, number {number}.", encoding="utf-8")
    os.utime(names[8], ns=(1, 1))  # touched, and not changed
    segments = {path.name for path in (tmp_path / "index").glob("segment-*")}
    after = update_index(tmp_path / "index")
    assert (after.changed, after.removed, after.added, after.unchanged) == (4, 3, 3, 468)
    assert {state.name for state in after.skipped} == broken
    assert segments <= {path.name for path in (tmp_path / "index").glob("segment-*")}  # what is as before stays
    assert "new text" in after.index.document(names[0].relative_to(mixed).as_posix()).text
    assert names[5].relative_to(mixed).as_posix() not in after.index
    again = update_index(tmp_path / "index")
    assert (again.changed, again.removed, again.added, again.unchanged) == (0, 0, 0, 475)


def test_two_documents_of_one_id_are_both_kept(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_text(json.dumps({"id": "1", "text": f"from {name}"}), encoding="utf-8")
    made = index_files([folder], tmp_path / "index")
    assert made.index.document("files/b.jsonl#1").text == "from b"
    (folder / "b.jsonl").write_text(json.dumps({"id": "1", "text": "again"}), encoding="utf-8")
    after = update_index(tmp_path / "index").index
    assert (after.document("1").text, after.document("files/b.jsonl#1").text) == ("from a", "again")


def test_a_document_that_is_added_takes_the_place_of_one_of_its_id(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "1", "text": f"from {name}"}), encoding="utf-8")
    index_files([tmp_path / "a.jsonl"], tmp_path / "index")
    added = index_files([tmp_path / "b.jsonl"], tmp_path / "index", add=True).index
    assert (len(added), added.document("1").text) == (1, "from b")
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "2", "text": "other"}), encoding="utf-8")
    after = update_index(tmp_path / "index").index
    assert (len(after), after.document("1").text, after.document("2").text) == (2, "from b", "other")


def test_what_cannot_be_updated_says_so(tmp_path: Path) -> None:
    from offscript.factcheck.index import build_index

    build_index([Document("a", text="b")], tmp_path / "index")
    with pytest.raises(OffscriptError, match="does not know the files"):
        update_index(tmp_path / "index")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("Text.", encoding="utf-8")
    index_files([folder], tmp_path / "other")
    folder.rename(tmp_path / "away")
    with pytest.raises(OffscriptError, match="is not there"):
        update_index(tmp_path / "other")
    assert len(open_index(tmp_path / "other")) == 1


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2020", "2020-01-01"), ("2020-05", "2020-05-01"), ("2021-05-06T07:08:09Z", "2021-05-06"),
        ("20200102", "2020-01-02"), ("12345", None),
        ("Mon, 06 Jan 2020 10:00:00 +0000", "2020-01-06"), ("", None), ("soon", None), ("2020-13-01", None),
    ],
)  # fmt: skip
def test_dates_are_read(written: str, day: str | None) -> None:
    found = day_of(written)
    assert (found.isoformat() if found else None) == day


def test_zim_files_are_read(tmp_path: Path) -> None:
    libzim = pytest.importorskip("libzim.writer")

    class Page(libzim.Item):  # type: ignore[misc]
        def get_path(self) -> str:
            return "Atlantis"

        def get_title(self) -> str:
            return "Atlantis"

        def get_mimetype(self) -> str:
            return "text/html"

        def get_contentprovider(self) -> object:
            return libzim.StringProvider(html("Atlantis", FACT))

        def get_hints(self) -> dict[object, object]:
            return {libzim.Hint.FRONT_ARTICLE: True}

    with libzim.Creator(tmp_path / "a.zim") as creator:
        creator.add_item(Page())
    (found,) = read_documents(tmp_path / "a.zim")
    assert (found.id, found.title) == ("a.zim#Atlantis", "Atlantis")
    assert FACT in found.text


UPDATER = """
import os, signal, sys, time
from pathlib import Path
from offscript.factcheck.index import update_index
for line in sys.stdin:
    place, kill_after = line.split()
    if kill_after == "here":  # loads and compiles, for all processes that follow
        update_index(Path(place), block_tokens=2000)
        print(0.0, flush=True)
        continue
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        update_index(Path(place), block_tokens=2000)
        os._exit(0)
    if kill_after != "never":
        time.sleep(float(kill_after))
        os.kill(child, signal.SIGKILL)  # the child is not waited for yet, so that its number is still its own
    os.waitpid(child, 0)
    print(time.perf_counter() - begun, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork")
def test_50_kills_of_an_update_leave_the_index_from_before_or_after(tmp_path: Path) -> None:
    folder, place = tmp_path / "files", tmp_path / "index"
    folder.mkdir()

    def write(word: str) -> None:
        for number in range(40):
            (folder / f"{number}.txt").write_text(f"{word} text {number}. " * 20, encoding="utf-8")

    def state(index: Index) -> set[str]:
        return {index.document(f"{number}.txt").text.split()[0] for number in range(40)}

    write("old")
    index_files([folder], place)
    process = subprocess.Popen(
        [sys.executable, "-c", UPDATER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def run(kill_after: float | str) -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{place} {kill_after}\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    write("warm")
    run("here")
    write("first")
    seconds = run("never")
    generator, seen, last = np.random.default_rng(3), [], "first"
    for number in range(50):
        write(f"word{number}")
        run(float(generator.uniform(0, 1.2)) * seconds)
        (found,) = state(open_index(place))  # all of one time, never a mixture
        assert found in (last, f"word{number}")
        seen.append(found == last)
        last = found
    process.communicate()
    assert set(seen) == {True, False}
    assert state(update_index(place).index) == {"word49"}
    assert not list(place.glob(".*"))
    assert len(list(place.glob("files-*"))) == 1


def test_the_command_names_what_it_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from offscript.cli.app import app

    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("Text.", encoding="utf-8")
    (folder / "b.docx").write_bytes(zipped({"a": "b"}))
    (folder / "c.png").write_bytes(b"\x89PNG")
    app(["index", str(folder), "--out", str(tmp_path / "index")], standalone_mode=False)
    shown = capsys.readouterr()
    assert "1 document, " in shown.out
    assert "files: 1 new, 1 skipped" in shown.out
    assert shown.err.splitlines() == [
        "skipped b.docx: is not a Word file; it has no word/document.xml", "not documents: 1 .png",
    ]  # fmt: skip
    (folder / "a.txt").write_text("Other text.", encoding="utf-8")
    app(["index", "--update", "--out", str(tmp_path / "index"), "--json"], standalone_mode=False)
    report = json.loads(capsys.readouterr().out)
    assert report["files"] == {"added": 0, "changed": 1, "removed": 0, "unchanged": 0}
    assert [each["reason"] for each in report["skipped"]] == ["is not a Word file; it has no word/document.xml"]
