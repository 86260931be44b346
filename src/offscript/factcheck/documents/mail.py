"""Mail: the messages of an mbox file, or one message, each a document with its subject and its date."""

import email.header
import email.message
import email.utils
from collections.abc import Iterator
from pathlib import Path

from offscript.corpora.lines import MAX_LINE_BYTES, open_bytes
from offscript.errors import OffscriptError
from offscript.factcheck.documents.decoding import read_bytes
from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.packages import markup_text

_START = b"From "
_QUOTED_START = b">From "


def read_mbox(path: Path, id: str) -> Iterator[Document]:
    """The messages of a mailbox, one at a time; they begin with `From ` after an empty line."""
    number = 0
    for number, content in enumerate(_messages(path), start=1):
        yield _document(email.message_from_bytes(content), f"{id}#{number}", Path(id).stem)
    if not number:
        raise OffscriptError(f"{path} holds no message", why="no line begins with From", next="give an mbox file")


def read_message(path: Path, id: str) -> Document:
    """A message that is a file of its own (.eml)."""
    return _document(email.message_from_bytes(read_bytes(path)), id, Path(id).stem)


def _messages(path: Path) -> Iterator[bytes]:
    lines: list[bytes] = []
    size, inside, blank = 0, False, True
    try:
        with open_bytes(path) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                if blank and line.startswith(_START):
                    if inside:
                        yield b"".join(lines)
                    lines, size, inside = [], 0, True
                elif inside:
                    lines.append(line[1:] if line.startswith(_QUOTED_START) else line)
                    size += len(line)
                if size > MAX_LINE_BYTES:
                    raise OffscriptError(f"{path} holds a message longer than {MAX_LINE_BYTES:,} bytes")
                blank = not line.strip()
    except OSError as error:
        raise OffscriptError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    if inside:
        yield b"".join(lines)


def _document(message: email.message.Message, id: str, name: str) -> Document:
    try:
        date = email.utils.parsedate_to_datetime(str(message["date"])).date().isoformat()
    except (TypeError, ValueError, IndexError, OverflowError):
        date = ""
    return Document(id, _header(message, "subject") or name, _text(message), date=date)


def _header(message: email.message.Message, name: str) -> str:
    """A header with its encoded words decoded."""
    parts = []
    try:
        for part, encoding in email.header.decode_header(str(message[name] or "")):
            parts.append(part if isinstance(part, str) else part.decode(encoding or "ascii", "replace"))
    except (email.errors.HeaderParseError, LookupError, ValueError):
        return " ".join(str(message[name]).split())
    return " ".join("".join(parts).split())


def _text(message: email.message.Message) -> str:
    """The plain text of a message, else the text of its HTML; attachments are left out."""
    texts: dict[str, list[str]] = {"text/plain": [], "text/html": []}
    for part in message.walk():
        if part.get_content_type() in texts and part.get_content_disposition() != "attachment":
            content = part.get_payload(decode=True)
            if isinstance(content, bytes):
                texts[part.get_content_type()].append(_decoded(content, part.get_content_charset() or "utf-8"))
    if any(text.strip() for text in texts["text/plain"]):
        return "\n\n".join(texts["text/plain"]).replace("\r\n", "\n").strip()
    return "\n\n".join(markup_text(text)[1] for text in texts["text/html"])


def _decoded(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding, "replace")
    except (LookupError, ValueError):  # no such encoding, or nothing that could be the name of one
        return content.decode("utf-8", "replace")
