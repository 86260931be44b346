"""A document: what is indexed, and what evidence is cited from."""

import itertools
from dataclasses import dataclass

from offscript.corpora.prose import sentence_starts


@dataclass(frozen=True)
class Document:
    """A text with a name of its own. `starts` are the positions in `text` where its sentences begin.

    Readers of collections that come in sentences give `starts`; of other texts they are found when needed.
    """

    id: str
    title: str = ""
    text: str = ""
    url: str = ""
    date: str = ""
    starts: tuple[int, ...] | None = None

    @property
    def searched(self) -> str:
        """What the document is found by: its title and its text."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    def sentence_starts(self) -> tuple[int, ...]:
        """Where the sentences begin."""
        return self.starts if self.starts is not None else sentence_starts(self.text)

    def sentences(self) -> list[str]:
        """The sentences of the text, in order, without the white space around them."""
        ends = (*self.sentence_starts(), len(self.text))
        return [self.text[start:end].strip() for start, end in itertools.pairwise(ends)]


def document_of_sentences(id: str, title: str, sentences: list[str], *, url: str = "", date: str = "") -> Document:
    """A document whose sentences are given; they are joined by spaces, empty ones keep their number."""
    lengths = [len(sentence) + 1 for sentence in sentences]
    starts = (0, *itertools.accumulate(lengths))[: len(sentences)]
    return Document(id, title, " ".join(sentences), url, date, starts)
