"""Wiki markup taken away: what is left is the prose of an article."""

import html
import re
from collections.abc import Iterator

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"<ref\b[^>]*/>|<ref\b[^>]*>.*?</ref\s*>", re.DOTALL | re.IGNORECASE)
# Elements whose content is no prose.
_OBJECT = re.compile(
    r"<(math|gallery|timeline|syntaxhighlight|source|score|imagemap|chem|hiero|graph|table|code|pre)\b[^>]*>.*?</\1\s*>",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BRACES = re.compile(r"\{\{|\}\}|\{\||\|\}")
_BRACKETS = re.compile(r"\[\[|\]\]")
_EXTERNAL = re.compile(r"\[(?:https?:|ftp:)?//[^\s\]]+\s*([^\]]*)\]")
_EMPHASIS = re.compile(r"'{2,5}")
_MAGIC_WORD = re.compile(r"__[A-Z]+__")
_HEADING = re.compile(r"^[^\S\n]*(={1,6})[^\S\n]*(.+?)[^\S\n]*\1[^\S\n]*$", re.MULTILINE)
_LIST_MARK = re.compile(r"^[*#:;]+[^\S\n]*", re.MULTILINE)
_EMPTY_BRACKETS = re.compile(r"\(\s*[,;]*\s*\)")
_SPACES = re.compile(r"[^\S\n]+")
_SPACE_BEFORE_STOP = re.compile(r"[^\S\n]+([,.;])")
_EMPTY_LINES = re.compile(r"\s*\n\s*\n\s*")
_PAIRS = {"}}": "{{", "|}": "{|"}
_PREFIX = re.compile(r":?[A-Za-z-]+:")
_SHOWN_PREFIXES = ("wikt:", "wiktionary:", "w:", "s:")


def plain_text(markup: str) -> str:
    """The text of wiki markup without templates, tables, references, files and categories; paragraphs stay apart."""
    text = _REFERENCE.sub("", _COMMENT.sub("", markup))
    text = _without_braces(_OBJECT.sub("", text))
    text = _EXTERNAL.sub(r"\1", _with_link_labels(text))
    text = html.unescape(_TAG.sub("", _MAGIC_WORD.sub("", _EMPHASIS.sub("", text)))).replace("\xa0", " ")
    text = _LIST_MARK.sub("", _HEADING.sub(r"\n\2.\n", text))
    text = _SPACE_BEFORE_STOP.sub(r"\1", _SPACES.sub(" ", _EMPTY_BRACKETS.sub("", text)))
    return _EMPTY_LINES.sub("\n\n", text).strip()


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


def _with_link_labels(text: str) -> str:
    """Links replaced by what a reader sees of them; files and categories, with all they hold, by nothing."""
    shown: list[list[str]] = [[]]
    position = 0
    for bracket in _BRACKETS.finditer(text):
        shown[-1].append(text[position : bracket.start()])
        position = bracket.end()
        if bracket[0] == "[[":
            shown.append([])
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
