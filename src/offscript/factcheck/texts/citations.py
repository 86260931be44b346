"""Citations: does the document that a sentence cites support it?"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from offscript.corpora.prose import sentence_starts
from offscript.factcheck.batch import evidence_of
from offscript.factcheck.checked import Check
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents.document import Document
from offscript.factcheck.index import Index
from offscript.factcheck.sources import Found, Kind

_DEFINITION = re.compile(r"^ {0,3}\[\^?([^\[\]\n]{1,200})\]:?[^\S\n]+(\S[^\n]*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]\n]{1,500})\]\(\s*<?([^()\s<>]{1,2000})>?[^()\n]{0,200}\)")
_MARK = re.compile(r"\[\^?([^\[\]\n]{1,200})\](?![(:])")
_SPACE = re.compile(r"\s+([.,;:!?])")


@dataclass(frozen=True)
class Citation:
    """A sentence at text[start:end] with what it cites; `check` is None where no such document is in the indexes."""

    sentence: str
    start: int
    end: int
    cited: str
    document: Document | None = None
    check: Check | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "sentence": self.sentence,
            "start": self.start,
            "end": self.end,
            "cited": self.cited,
            "document": self.document.id if self.document else None,
            "verdict": self.check.verdict.value if self.check else "no such document",
            "confidence": round(self.check.confidence, 4) if self.check else None,
            "evidence": evidence_of(self.check) if self.check else [],
        }


class OneDocument:
    """A provider that knows one document, and finds it for every query."""

    def __init__(self, document: Document) -> None:
        self._found = Found(document, 1.0, Kind.unrated)

    def find(self, query: str, k: int) -> list[Found]:
        return [self._found][:k]


class Library:
    """Documents of indexes by what a citation may call them: their id, address or title."""

    def __init__(self, indexes: Sequence[Index]) -> None:
        self._indexes = indexes
        self._names: dict[str, tuple[int, str]] | None = None

    def find(self, name: str) -> Document | None:
        """The document of this name; None where there is none."""
        for index in self._indexes:
            if name in index:
                return index.document(name)
        if self._names is None:
            self._names = dict(self._other_names())
        place = self._names.get(_name(name))
        return None if place is None else self._indexes[place[0]].document(place[1])

    def _other_names(self) -> Iterator[tuple[str, tuple[int, str]]]:
        for number, index in enumerate(self._indexes):
            for segment in index.segments:
                for place in segment.live.tolist():
                    document = segment.document(place)
                    for name in filter(None, (document.title, document.url)):
                        yield _name(name), (number, document.id)


def check_citations(markdown: str, checker: Checker, indexes: Sequence[Index]) -> list[Citation]:
    """Check every sentence that cites a document against that document alone.

    Args:
        markdown: A text that cites by `[id]`, `[1]` or `[^1]` with a list `[1]: …` at its end, or `[words](address)`.
        checker: Judges; its stance model and verdicts are used, its providers are not.
        indexes: Where cited documents are looked for, by id, address or title.

    Returns:
        The citations in order.
    """
    targets = {label.strip(): target.strip() for label, target in _DEFINITION.findall(markdown)}
    library = Library(indexes)
    citations = []
    for start, sentence in _sentences(markdown):
        if _DEFINITION.match(sentence):
            continue
        plain = _SPACE.sub(r"\1", " ".join(_MARK.sub("", _LINK.sub(r"\1", sentence)).split()))
        for cited in _cited(sentence):
            document = _document(cited, targets, library)
            if document is None and cited not in targets and _MARK.search(f"[{cited}]") and " " in cited:
                continue  # brackets of another use
            check = _alone(checker, document).check(plain) if document else None
            citations.append(Citation(plain, start, start + len(sentence), targets.get(cited, cited), document, check))
    return citations


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    starts = (*sentence_starts(text), len(text))
    for start, end in itertools.pairwise(starts):
        for line in re.finditer(r"(?:(?!\n {0,3}\[\^?[^\[\]\n]+\]:).)+", text[start:end], re.DOTALL):
            if line[0].strip():
                lead = len(line[0]) - len(line[0].lstrip())
                yield start + line.start() + lead, line[0].strip()


def _cited(sentence: str) -> list[str]:
    """What a sentence cites, in order."""
    links = [(found.start(), found[2]) for found in _LINK.finditer(sentence)]
    marks = [(found.start(), found[1].strip()) for found in _MARK.finditer(_LINK.sub(_blank, sentence))]
    return [cited for _, cited in sorted([*links, *marks])]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _document(cited: str, targets: dict[str, str], library: Library) -> Document | None:
    target = targets.get(cited, cited)
    address = re.search(r"https?://\S+", target)
    names = [target, *([address[0].rstrip(".,;)>")] if address else []), target.rstrip(".")]
    return next((found for name in names if (found := library.find(name)) is not None), None)


def _name(name: str) -> str:
    return " ".join(name.split()).casefold().rstrip("/")


def _alone(checker: Checker, document: Document) -> Checker:
    return Checker([OneDocument(document)], stance=checker.stance, verdicts=checker.verdicts)
