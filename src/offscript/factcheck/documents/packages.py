"""Documents that are zip files: Word's .docx and .epub, read with bounds on what they unpack to."""

import contextlib
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.parsers import expat

from offscript.corpora.lines import MAX_LINE_BYTES, MAX_RATIO, check_file
from offscript.errors import OffscriptError
from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.markup import Elements, without_tags
from offscript.factcheck.documents.prose import LONGEST_TITLE, is_title

FREE_OF_RATIO = 1 << 22  # bytes; XML of a short text in a template shrinks to little
_OLE = b"\xd0\xcf\x11\xe0"  # how Word's files of before 2007 begin, and those with a password
_CHAPTER = (".xhtml", ".html", ".htm", ".xml")
_UNSHOWN = Elements("head|script|style|nav|svg|math")
_HEADINGS, _TITLE = Elements("h1|h2|h3"), Elements("title")
_PARAGRAPH = re.compile(
    r"</?(?:p|div|h[1-6]|li|tr|blockquote|section|article|table|ul|ol|dl|dt|dd|pre|br|hr)\b[^<>]*>", re.I
)
_EMPTY_LINES = re.compile(r"\s*\n\s*\n\s*")
Attributes = dict[str, str]


class Package:
    """The members of a zip file, each read whole within bounds; whatever is wrong is one line with the file's name."""

    def __init__(self, path: Path) -> None:
        self.path = check_file(path)
        with self._faults():
            with path.open("rb") as stream:
                if stream.read(len(_OLE)) == _OLE:
                    raise OffscriptError(
                        f"{path} cannot be read", why="it has a password or is an old .doc", next="save it as .docx"
                    )
            self._zip = zipfile.ZipFile(path)

    def __enter__(self) -> "Package":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def names(self) -> set[str]:
        """The names of the members."""
        return set(self._zip.namelist())

    def read(self, name: str) -> bytes:
        """The bytes of a member."""
        with self._faults():
            member = self._zip.getinfo(name)
            if member.flag_bits & 1:
                raise OffscriptError(f"{self.path} has a password", next="save it without one")
            most = min(MAX_LINE_BYTES, max(FREE_OF_RATIO, MAX_RATIO * member.compress_size))
            with self._zip.open(member) as stream:
                content = stream.read(most + 1)
        if len(content) > most:
            raise OffscriptError(f"{self.path} unpacks to more than {most:,} bytes", why=f"that is what {name} holds")
        return content

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, NotImplementedError, ValueError) as error:
            raise OffscriptError(f"{self.path} is damaged", why=str(error) or type(error).__name__) from error


class XmlReader:
    """Told the elements and the text of XML, names without their prefix; entities of its own are refused."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(
        self,
        content: bytes,
        start: Callable[[str, Attributes], None],
        end: Callable[[str], None],
        characters: Callable[[str], None],
    ) -> None:
        """Parse a whole document."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = lambda name, values: start(
            name.rpartition(":")[2], {key.rpartition(":")[2]: value for key, value in values.items()}
        )
        parser.EndElementHandler = lambda name: end(name.rpartition(":")[2])
        parser.CharacterDataHandler = characters
        parser.EntityDeclHandler = self._refuse
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            raise OffscriptError(f"{self._path} is damaged", why=f"its XML is not valid: {error}") from error

    def _refuse(self, name: str, *_: object) -> None:
        raise OffscriptError(f"{self._path} declares the entity {name!r}", why="it may unpack to anything")


def fields_of(content: bytes, path: Path) -> dict[str, str]:
    """The text of each element, the first of its name; attributes are left out."""
    fields: dict[str, str] = {}
    open_names: list[str] = []
    texts: list[list[str]] = []

    def start(name: str, _: Attributes) -> None:
        open_names.append(name)
        texts.append([])

    def end(name: str) -> None:
        open_names.pop()
        fields.setdefault(name, " ".join("".join(texts.pop()).split()))

    XmlReader(path).read(content, start, end, lambda text: texts[-1].append(text) if texts else None)
    return fields


def read_docx(path: Path, id: str) -> Document:
    """The paragraphs and table rows of a Word file; its title is that of its properties, else its first heading."""
    with Package(path) as package:
        if "word/document.xml" not in package.names():
            raise OffscriptError(f"{path} is not a Word file", why="it has no word/document.xml")
        body = _WordBody()
        XmlReader(path).read(package.read("word/document.xml"), body.start, body.end, body.characters)
        core = "docProps/core.xml"
        properties = fields_of(package.read(core), path) if core in package.names() else {}
    text = "\n\n".join(body.paragraphs)
    if not text:
        raise OffscriptError(f"{path} holds no text")
    first = body.paragraphs[0]
    title = properties.get("title") or body.heading or (first if is_title(first) else Path(id).stem)
    return Document(id, title[:LONGEST_TITLE], text, date=properties.get("modified") or properties.get("created", ""))


class _WordBody:
    """Gathers the paragraphs of word/document.xml; the cells of a table row are one paragraph."""

    def __init__(self) -> None:
        self.paragraphs: list[str] = []
        self.heading = ""
        self._text: list[str] = []
        self._shown, self._rows, self._style = False, 0, ""

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "tr":
            self._rows += 1
        elif name == "pStyle":
            self._style = attributes.get("val", "")
        elif name in ("tab", "br", "cr") and not self._shown:
            self._text.append(" ")
        self._shown = name == "t"

    def characters(self, text: str) -> None:
        if self._shown:
            self._text.append(text)

    def end(self, name: str) -> None:
        self._shown = False
        if name == "tr":
            self._rows -= 1
        if name == "tc" and self._text:
            self._text.append(", ")
        if (name == "p" and not self._rows) or (name == "tr" and not self._rows):
            self._finish()

    def _finish(self) -> None:
        text = " ".join("".join(self._text).split()).strip(" ,")
        if text:
            self.paragraphs.append(text)
            if not self.heading and self._style.lower().startswith(("title", "heading")):
                self.heading = text
        self._text, self._style = [], ""


def read_epub(path: Path, id: str) -> Iterator[Document]:
    """One document per chapter of a book, in reading order."""
    with Package(path) as package:
        names = package.names()
        if "META-INF/encryption.xml" in names and "META-INF/rights.xml" in names:
            raise OffscriptError(f"{path} is copy-protected", why="its chapters are encrypted")
        book = _Book()
        opf = _root_file(package)
        XmlReader(path).read(package.read(opf), book.start, book.end, book.characters)
        title, date = (" ".join("".join(book.fields.get(name, ())).split()) for name in ("title", "date"))
        found = False
        for number, href in enumerate(book.chapters(), start=1):
            member = posixpath.normpath(posixpath.join(posixpath.dirname(opf), unquote(href)))
            if member in names and member.lower().endswith(_CHAPTER):
                heading, text = markup_text(package.read(member).decode("utf-8", "replace"))
                if text:
                    found = True
                    named = f"{title}: {heading}" if title and heading and heading != title else title or heading
                    yield Document(f"{id}#{number}", named[:LONGEST_TITLE] or Path(id).stem, text, date=date)
        if not found:
            raise OffscriptError(f"{path} holds no text")


def _root_file(package: Package) -> str:
    """The name of a book's list of contents."""
    places: list[str] = []

    def start(name: str, attributes: Attributes) -> None:
        if name == "rootfile":
            places.append(attributes.get("full-path", ""))

    content = package.read("META-INF/container.xml")
    XmlReader(package.path).read(content, start, lambda name: None, lambda text: None)
    if not places:
        raise OffscriptError(f"{package.path} is not an EPUB book", why="its container names no content")
    return places[0]


class _Book:
    """Title, date and chapters of a book's list of contents."""

    def __init__(self) -> None:
        self.fields: dict[str, list[str]] = {}
        self._files: dict[str, str] = {}
        self._order: list[str] = []
        self._field: list[str] | None = None

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "item":
            self._files[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self._order.append(attributes.get("idref", ""))
        elif name in ("title", "date") and name not in self.fields:
            self._field = self.fields[name] = []

    def characters(self, text: str) -> None:
        if self._field is not None:
            self._field.append(text)

    def end(self, _: str) -> None:
        self._field = None

    def chapters(self) -> list[str]:
        """The files of the chapters in reading order."""
        return [self._files[id] for id in self._order if self._files.get(id)]


def markup_text(markup: str) -> tuple[str, str]:
    """First heading and text of a page that is all content, such as a chapter or a message; in linear time."""
    headings = [
        " ".join(without_tags(each, " ").split()) for found in (_HEADINGS, _TITLE) for each in found.contents(markup)
    ]
    text = _PARAGRAPH.sub("\n\n", " ".join(_UNSHOWN.removed(markup).split()))
    text = _EMPTY_LINES.sub("\n\n", without_tags(text)).strip()
    return next(filter(None, headings), ""), text
