"""Files of every kind that the tests of documents make: whole ones, and ones that cannot be read."""

import io
import json
import zipfile
from pathlib import Path

import pypdf

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
CORE = (
    '<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>{title}</dc:title>'
    "<dcterms:modified>2021-05-06T07:08:09Z</dcterms:modified></cp:coreProperties>"
)
CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
OPF = (
    '<package xmlns:dc="d"><metadata><dc:title>{title}</dc:title><dc:date>2001</dc:date></metadata>'
    '<manifest><item id="b" href="two.xhtml"/><item id="a" href="one.xhtml"/></manifest>'
    '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
)


def zipped(members: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in members.items():
            package.writestr(name, content)
    return stream.getvalue()


def docx(paragraphs: list[str], title: str = "") -> bytes:
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    members: dict[str, str | bytes] = {
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    }
    if title:
        members["docProps/core.xml"] = CORE.format(title=title)
    return zipped(members)


def epub(title: str, first: str, second: str) -> bytes:
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OEBPS/content.opf": OPF.format(title=title),
            "OEBPS/one.xhtml": f"<html><head><title>x</title></head><body><h1>One</h1><p>{first}</p></body></html>",
            "OEBPS/two.xhtml": f"<html><body><h1>Two</h1><p>{second}</p><script>no</script></body></html>",
        }
    )


def pdf(lines: list[str], title: str = "", password: str = "") -> bytes:
    """A PDF file of one page, written by hand: a page of text is a stream of operators."""
    shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
    stream = f"BT /F1 12 Tf 72 720 Td {shown} ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    content += b"".join(b"%010d 00000 n \n" % place for place in places)
    content += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    if not title and not password:
        return content
    writer, out = pypdf.PdfWriter(clone_from=io.BytesIO(content)), io.BytesIO()
    writer.add_metadata({"/Title": title, "/ModDate": "D:20200304050607Z"})
    if password:
        writer.encrypt(password)
    writer.write(out)
    return out.getvalue()


def html(title: str, text: str) -> str:
    paragraphs = "".join(
        f"<p>{text} This paragraph is long enough to be read as content, number {n}.</p>" for n in "123"
    )
    return (
        f"<!doctype html><html><head><title>{title}</title><style>p {{}}</style><script>var a = 'script';</script>"
        f"</head><body><nav><a href='/'>Navigation home</a></nav><article><h1>{title}</h1>{paragraphs}</article>"
        "</body></html>"
    )


def mbox(*messages: tuple[str, str]) -> str:
    return "\n".join(
        f"From someone@example.org Mon Jan  6 10:00:00 2020\nSubject: {subject}\n"
        f"Date: Mon, 06 Jan 2020 10:00:00 +0000\n\n{text}\n"
        for subject, text in messages
    )


def make_whole(folder: Path, number: int) -> None:
    """File `number` of a folder, its kind by its number; it says `fact NUMBER`."""
    text = f"The capital of country {number} is town {number}. This is fact {number} of the folder."
    rows = f"id;headline;body\n1;Row {number};{text}\n"
    made: list[tuple[str, str | bytes]] = [
        ("txt", f"Note {number}\n\n{text}\n"),
        ("md", f"---\ntitle: Page {number}\ndate: 2019-01-02\n---\n# Head\n\nA [link](http://a.b) and **{text}**\n"),
        ("html", html(f"Site {number}", text)),
        ("pdf", pdf([text], f"Paper {number}")),
        ("docx", docx([text], f"Letter {number}")),
        ("csv", rows.encode("utf-16") if number % 2 else rows),
        ("jsonl", json.dumps({"id": f"record-{number}", "title": "Record", "text": text})),
        ("json", json.dumps([{"id": f"item-{number}", "content": text}])),
        ("epub", epub(f"Book {number}", text, "The second chapter.")),
        ("mbox", mbox((f"Mail {number}", text))),
        ("txt", f"Caf\xe9 {number}\n\n{text} Le caf\xe9 est tr\xe8s bon.\n".encode("cp1252")),
    ]
    suffix, content = made[number % len(made)]
    path = folder / f"part-{number % 7}" / f"file-{number:03d}.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def broken_files() -> dict[str, bytes]:
    """25 files that cannot be read, each for a reason of its own kind."""
    bomb = docx(["x" * (1 << 25)])
    made = {
        "password.pdf": pdf(["secret"], password="p"),
        "cut.pdf": pdf(["cut"], "Title")[:200],
        "noise.pdf": bytes(range(256)) * 8,
        "empty.pdf": b"",
        "scan.pdf": pdf([]),
        "bomb.docx": bomb,
        "cut.docx": docx(["text"])[:-40],
        "old.docx": b"\xd0\xcf\x11\xe0" + bytes(500),
        "other.docx": zipped({"a.txt": "no Word file"}),
        "entity.docx": zipped({"word/document.xml": '<!DOCTYPE d [<!ENTITY a "b">]><d>&a;</d>'}),
        "empty.docx": b"",
        "empty.txt": b"",
        "blank.txt": b" \n\n \t\n",
        "binary.txt": bytes(range(256)) * 40,
        "program": b"\x7fELF" + bytes(3000),
        "cut.jsonl": b'{"id": "half", "text": "a',
        "fields.jsonl": b'{"name": "no text"}',
        "cut.json": b'[{"id": 1, "text": "a"',
        "number.json": b"17",
        "ragged.csv": b"id,text\n1,a,b,c\n",
        "twice.csv": b"text,text\n1,2\n",
        "cut.epub": epub("t", "a", "b")[:100],
        "other.epub": zipped({"mimetype": "application/epub+zip"}),
        "prose.mbox": b"This is no mailbox at all.\n",
        "cut.xml": b"<mediawiki><page><title>a</title>",
    }
    assert len(made) == 25
    return made
