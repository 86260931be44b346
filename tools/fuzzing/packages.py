"""Kinds of documents that come as packages and mail: Word, EPUB, PDF, ZIM, Markdown, mailboxes, tables, JSON."""

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fuzzing.kinds import Kind
from offscript.factcheck.documents import read_documents
from offscript.factcheck.sources.extraction import PDF, ExtractionError, page_of

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DOCX = {
    "word/document.xml": (
        f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>One sentence.</w:t><w:tab/><w:br/></w:r></w:p>'
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>"
    ),
    "docProps/core.xml": (
        '<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>T</dc:title>'
        "<dcterms:modified>2021-05-06T07:08:09Z</dcterms:modified></cp:coreProperties>"
    ),
}
EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="O/content.opf"/></rootfiles></container>',
    "O/content.opf": (
        '<package xmlns:dc="d"><metadata><dc:title>T</dc:title><dc:date>2001</dc:date></metadata>'
        '<manifest><item id="b" href="two.xhtml"/><item id="a" href="one.xhtml"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    ),
    "O/one.xhtml": "<html><head><title>x</title></head><body><h1>One</h1><p>First &amp; best.</p></body></html>",
    "O/two.xhtml": "<html><body><h1>Two</h1><p>Second.</p><script>no</script></body></html>",
}
MAIL = (
    "From a@example.org Mon Jan  6 10:00:00 2020\nFrom: a@example.org\nSubject: =?utf-8?q?caf=C3=A9?=\n"
    "Date: Mon, 06 Jan 2020 10:00:00 +0000\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n"
    "--b\nContent-Type: text/plain; charset=latin-1\nContent-Transfer-Encoding: quoted-printable\n\nOne =E9.\n"
    "--b\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\nPHA+T25lLjwvcD4=\n--b--\n"
)
MARKDOWN = (
    "---\ntitle: T\ndate: 2019-01-02\n---\n# Head\n\nA [link](http://a.b) and **text**\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n"
)
PAGE = (
    b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    b"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\n"
    b"endobj\n3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>\nendobj\n4 0 obj\n"
    b"<< /Length 33 >>\nstream\nBT 72 720 Td (One sentence.) Tj ET\nendstream\nendobj\n"
    b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n0\n%%EOF"
)


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """A zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in members.items():
            package.writestr(name, content)
    return stream.getvalue()


def _read(path: Path) -> object:
    return [document.sentences() for document in read_documents(path)]


def _packed(suffix: str, members: Mapping[str, str]) -> Callable[[Path], None]:
    """Puts the members of a folder, one of them damaged, into the package that is read."""

    def pack(folder: Path) -> None:
        contents = {name: (folder / "members" / name).read_bytes() for name in members}
        (folder / f"d{suffix}").write_bytes(zipped(contents))

    return pack


def _members(label: str, suffix: str, members: Mapping[str, str]) -> dict[str, Kind]:
    """The package as a file, and a kind for each of its members."""
    beside = {f"members/{name}": content for name, content in members.items()}
    kinds = {label: Kind(f"d{suffix}", zipped(members), _read, format="binary")}
    for name, content in members.items():
        kinds[f"{label}: {name}"] = Kind(
            f"members/{name}",
            content,
            lambda folder: _read(folder / f"d{suffix}"),
            beside,
            whole_folder=True,
            format="xml",
            repair=_packed(suffix, members),
        )
    return kinds


def _read_pdf(path: Path) -> object:
    """As the process that reads PDF files does; that process has limits of its own."""
    try:
        return page_of(path.read_bytes(), PDF, "https://a.org/b")
    except ExtractionError:
        return None


def package_kinds() -> dict[str, Kind]:
    """Every kind of document that is a package, mail or a table."""
    return {
        **_members("Word", ".docx", DOCX),
        **_members("EPUB", ".epub", EPUB),
        "PDF": Kind("d.pdf", PAGE, _read_pdf, format="markup"),
        "mailbox": Kind("d.mbox", MAIL, _read, format="markup"),
        "message": Kind("d.eml", MAIL.partition("\n")[2], _read, format="markup"),
        "Markdown": Kind("d.md", MARKDOWN, _read, format="markup"),
        "table of documents": Kind("d.csv", "id;headline;body;date\n1;Row;One. Two.;2020\n", _read, format="csv"),
        "documents in a list": Kind("d.json", json.dumps([{"id": 1, "content": "One.", "date": "2020"}]), _read),
    }


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what libzim says on standard output, past Python."""
    kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)


def zim_kinds(place: Path) -> dict[str, Kind]:
    """A ZIM file of one page, where libzim is installed."""
    try:
        from libzim.writer import Creator, Hint, Item, StringProvider
    except ImportError:
        return {}

    class Article(Item):  # type: ignore[misc]
        def get_path(self) -> str:
            return "A"

        def get_title(self) -> str:
            return "T"

        def get_mimetype(self) -> str:
            return "text/html"

        def get_contentprovider(self) -> object:
            return StringProvider("<html><body><p>One sentence of text.</p></body></html>")

        def get_hints(self) -> dict[object, bool]:
            return {Hint.FRONT_ARTICLE: True}

    path = place / "d.zim"
    with _quiet(), Creator(str(path)).config_indexing(False, "eng") as creator:
        creator.set_mainpath("A")
        creator.add_item(Article())
    return {"ZIM": Kind("d.zim", path.read_bytes(), _read, format="binary")}
