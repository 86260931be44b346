"""Treebanks in the CoNLL-U layout: sentences of words with universal parts of speech."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from offscript.corpora.lines import Lines
from offscript.factcheck.tagging.token import TAGS

COLUMNS = 10


class TaggedSentence(NamedTuple):
    """Words and the part of speech of each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_treebank(path: Path | str) -> Iterator[TaggedSentence]:
    """Sentences of a .conllu file, plain or compressed; of its ten columns the word (2) and the tag (4) count.

    Ranges such as `3-4 don't`, whose parts follow, and words that are only understood (`8.1`) are left out.
    """
    lines = Lines(Path(path))
    words: list[str] = []
    tags: list[str] = []
    for line in lines:
        columns = line.rstrip("\n").split("\t")
        if not line.strip():
            if words:
                yield TaggedSentence(tuple(words), tuple(tags))
            words, tags = [], []
        elif not line.startswith("#") and columns[0].isdecimal():
            if len(columns) != COLUMNS or columns[3] not in TAGS or not columns[1]:
                raise lines.fault("not a word of CoNLL-U", next="write ten columns, the fourth a universal tag")
            words.append(columns[1])
            tags.append(columns[3])
    if words:
        yield TaggedSentence(tuple(words), tuple(tags))
