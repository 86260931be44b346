"""Plain text and Markdown as documents: what a reader sees, with the title and the date that the text itself gives."""

import re
from pathlib import Path

from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.markup import without_tags

LONGEST_TITLE = 160
_FRONT_MATTER = re.compile(r"---[^\S\n]*\n(.{0,8192}?)\n(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(title|date)[^\S\n]*:[^\S\n]*(.+)$", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^[^\S\n]{0,3}(```|~~~)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[^\S\n]+(.*?)[^\S\n]*#*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})[^\S\n]*$")
_RULE = re.compile(r"^ {0,3}(?:[-*_][^\S\n]*){3,}$")
_BLOCK = re.compile(r"^\s*(?:>[^\S\n]?|[-*+][^\S\n]+|\d{1,9}[.)][^\S\n]+)+")
_TABLE_RULE = re.compile(r"^[\s|:-]+$")
_IMAGE = re.compile(r"!\[[^\[\]]{0,1000}\]\([^()\s]{0,2000}(?:\s[^()]{0,1000})?\)")
_LINK = re.compile(r"\[([^\[\]]{1,1000})\](?:\([^()\s]{0,2000}(?:\s[^()]{0,1000})?\)|\[[^\[\]]{0,200}\])")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]]{1,200}\]:")
_CODE = re.compile(r"`{1,3}([^`\n]{1,1000})`{1,3}")
_STRONG = re.compile(r"(\*\*|__)(?=\S)([^*_\n]{1,1000}?)(?<=\S)\1")
_EMPHASIS = re.compile(
    r"(?<![\w*])\*(?=\S)([^*\n]{1,1000}?)(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]{1,1000}?)(?<=\S)_(?!\w)"
)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])")
_PRIVATE = 0xE000  # where Unicode has no characters: escaped marks wait there
_ESCAPED = re.compile("[\ue000-\ue07f]")
_EMPTY_LINES = re.compile(r"\n\s*\n\s*")


def plain_document(id: str, text: str) -> Document:
    """A text as it is; its first line is its title where it stands alone and does not end like a sentence."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    first, _, rest = text.strip().partition("\n")
    alone = rest[:1] in ("\n", "\r") or not rest.partition("\n")[0].strip()
    title = first.strip() if rest.strip() and alone else ""
    return Document(id, title if is_title(title) else Path(id).stem, text)


def is_title(line: str) -> bool:
    """Whether a line can be the name of what follows it."""
    return 0 < len(line) <= LONGEST_TITLE and line[-1] not in ".!?:;," and any(letter.isalpha() for letter in line)


def markdown_document(id: str, markdown: str) -> Document:
    """What a reader sees of Markdown; title and date are those of its front matter, else the first heading."""
    text = markdown.replace("\r\n", "\n").replace("\r", "\n")
    fields: dict[str, str] = {}
    if matter := _FRONT_MATTER.match(text):
        fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(matter[1])}
        text = text[matter.end() :]
    text, heading = markdown_text(text)
    return Document(id, fields.get("title") or heading or Path(id).stem, text, date=fields.get("date", ""))


def markdown_text(markdown: str) -> tuple[str, str]:
    """The text without marks, and its first heading; headings, list items and table rows are paragraphs."""
    lines: list[str] = []
    heading, fence = "", ""
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        if fence or mark:
            if mark:
                fence = "" if fence == mark[1] else fence or mark[1]
            continue
        if named := _heading(line, lines):
            heading = heading or named
        elif not (_RULE.match(line) or _DEFINITION.match(line)):
            lines.extend(_block(line))
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip(), heading


def _heading(line: str, lines: list[str]) -> str:
    """The heading that a line is, or that it underlines; put behind the lines as a paragraph."""
    if found := _HEADING.match(line):
        title = _inline(found[2])
    elif lines and lines[-1].strip() and _UNDERLINE.match(line) and (len(lines) == 1 or not lines[-2].strip()):
        title = lines.pop()
    else:
        return ""
    lines.extend(("", title, ""))
    return title


def _block(line: str) -> list[str]:
    if line.lstrip().startswith("|"):
        return [] if _TABLE_RULE.match(line) else ["", _inline(line.strip().strip("|").replace("|", ", ")), ""]
    mark = _BLOCK.match(line)
    item = mark is not None and mark[0].strip() != ">"
    return [*([""] if item else []), _inline(line[mark.end() :] if mark else line)]


def _inline(line: str) -> str:
    """A line without links, emphasis, code marks and tags; an escaped mark is a character like others."""
    line = _ESCAPE.sub(lambda escape: chr(_PRIVATE + ord(escape[1])), line)
    line = _LINK.sub(r"\1", _IMAGE.sub("", line))
    line = _STRONG.sub(r"\2", _CODE.sub(r"\1", line))
    line = _EMPHASIS.sub(lambda found: found[1] or found[2], line)
    return _ESCAPED.sub(lambda hidden: chr(ord(hidden[0]) - _PRIVATE), without_tags(line)).rstrip()
