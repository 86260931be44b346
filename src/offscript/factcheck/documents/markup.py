"""Markup taken away in time that grows with its length, whatever it holds: wiki markup and the tags of TREC."""

import html
import re
from collections.abc import Iterator

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BRACES = re.compile(r"\{\{|\}\}|\{\||\|\}")
_BRACKETS = re.compile(r"\[\[|\]\]")
_EXTERNAL = re.compile(r"\[(?:https?:|ftp:)?//[^\s\]]+\s*([^\]]*)\]")
_EMPHASIS = re.compile(r"'{2,5}")
_MAGIC_WORD = re.compile(r"__[A-Z]+__")
_LIST_MARK = re.compile(r"^[*#:;]+[^\S\n]*", re.MULTILINE)
_EMPTY_BRACKETS = re.compile(r"\(\s*(?:[,;]+\s*)?\)")
_SPACES = re.compile(r"[^\S\n]+")
_SPACE_BEFORE_STOP = re.compile(r"[^\S\n]+([,.;])")
_EMPTY_LINES = re.compile(r"\s*\n\s*\n\s*")
_PAIRS = {"}}": "{{", "|}": "{|"}
_PREFIX = re.compile(r":?[A-Za-z-]+:")
_SHOWN_PREFIXES = ("wikt:", "wiktionary:", "w:", "s:")
_DEEPEST_LINK = 16
_DEEPEST_HEADING = 6
# `html.unescape` gives such a number to `int`, which refuses it.
_LONG_NUMBER = re.compile(r"&#[0-9]{1000,};?")


class Elements:
    """Finds elements by name (several as `a|b`), case aside: `<name …>content</name>` and `<name …/>`.

    What begins and does not end is no element.
    """

    def __init__(self, names: str) -> None:
        self._tags = re.compile(rf"<(/?)({names})\b([^<>]*)>", re.IGNORECASE)

    def spans(self, text: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
        """First and last tag of each element in turn; an element within another is not looked for."""
        tags = list(self._tags.finditer(text))
        ends: list[re.Match[str] | None] = []
        nearest: dict[str, re.Match[str]] = {}
        for tag in reversed(tags):
            if tag[1] and not tag[3].strip():
                nearest[tag[2].lower()] = tag
            ends.append(None if tag[1] else tag if tag[3].endswith("/") else nearest.get(tag[2].lower()))
        position = 0
        for tag, end in zip(tags, reversed(ends), strict=True):
            if end is not None and tag.start() >= position:
                yield tag, end
                position = end.end()

    def contents(self, text: str) -> list[str]:
        """What stands in each element."""
        return [text[tag.end() : end.start()] for tag, end in self.spans(text) if tag is not end]

    def removed(self, text: str) -> str:
        """The text without them."""
        return "".join(_outside(text, [(tag.start(), end.end()) for tag, end in self.spans(text)]))


_REFERENCES = Elements("ref")
# Elements whose content is no prose.
_OBJECTS = Elements(
    r"math|gallery|timeline|syntaxhighlight|source|score|imagemap|chem|hiero|graph|table|code|pre",
)


def plain_text(markup: str) -> str:
    """The text of wiki markup without templates, tables, references, files and categories; paragraphs stay apart."""
    text = _OBJECTS.removed(_REFERENCES.removed(_COMMENT.sub("", markup)))
    text = _with_external_labels(_with_link_labels(_without_braces(text)))
    text = without_tags(_MAGIC_WORD.sub("", _EMPHASIS.sub("", text))).replace("\xa0", " ")
    text = _LIST_MARK.sub("", "\n".join(map(_without_heading_marks, text.split("\n"))))
    text = _SPACE_BEFORE_STOP.sub(r"\1", _SPACES.sub(" ", _EMPTY_BRACKETS.sub("", text)))
    return _EMPTY_LINES.sub("\n\n", text).strip()


def without_tags(text: str, instead: str = "") -> str:
    """Tags replaced, and entities such as `&amp;` by their characters."""
    return html.unescape(_LONG_NUMBER.sub("\ufffd", _TAG.sub(instead, text)))


def _without_heading_marks(line: str) -> str:
    """A line `== Title ==` becomes a paragraph `Title.`; others stay."""
    title = line.strip()
    before, after = (len(title) - len(stripped) for stripped in (title.lstrip("="), title.rstrip("=")))
    level = min(before, after, _DEEPEST_HEADING, (len(title) - 1) // 2)
    return f"\n{title[level:-level].strip()}.\n" if level > 0 else line


def _without_braces(text: str) -> str:
    """Templates and tables removed, nested ones too; braces without a partner stay."""
    waiting: list[tuple[str, int]] = []
    closed: list[tuple[int, int]] = []
    for brace in _BRACES.finditer(text):
        opening = _PAIRS.get(brace[0])
        if opening is None:
            waiting.append((brace[0], brace.start()))
        elif waiting and waiting[-1][0] == opening:
            closed.append((waiting.pop()[1], brace.end()))
    return "".join(_outside(text, closed))


def _outside(text: str, spans: list[tuple[int, int]]) -> Iterator[str]:
    position = 0
    for start, end in sorted(spans):
        if end > position:
            yield text[position:start]
            position = end
    yield text[position:]


def _with_external_labels(text: str) -> str:
    """`[https://… label]` replaced by its label. After the last bracket the pattern would search in vain."""
    end = text.rfind("]") + 1
    return _EXTERNAL.sub(r"\1", text[:end]) + text[end:]


def _with_link_labels(text: str) -> str:
    """Links replaced by what a reader sees of them; files and categories, with all they hold, by nothing."""
    shown: list[list[str]] = [[]]
    position, too_deep = 0, 0
    for bracket in _BRACKETS.finditer(text):
        shown[-1].append(text[position : bracket.start()])
        position = bracket.end()
        if bracket[0] == "[[":
            if len(shown) > _DEEPEST_LINK:
                too_deep += 1
            else:
                shown.append([])
        elif too_deep:
            too_deep -= 1
        elif len(shown) > 1:
            label = _label("".join(shown.pop()))
            shown[-1].append(label)
    shown[-1].append(text[position:])
    return "".join(part for parts in shown for part in parts)


def _label(link: str) -> str:
    target, _, label = link.partition("|")
    prefix = _PREFIX.match(target)
    if prefix and not prefix[0].startswith(":") and target[prefix.end() :][:1] != " ":
        return (label or target) if prefix[0].lower() in _SHOWN_PREFIXES else ""
    return label or target.removeprefix(":").partition("#")[0] or target
