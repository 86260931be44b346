"""Labelled pairs of a claim and its evidence, read from the public inference sets."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from offscript.corpora.lines import Lines
from offscript.corpora.prose import decode_brackets
from offscript.corpora.records import read_objects

LABELS = ("supports", "refutes", "neither")
"""In the order of every array of inference probabilities."""

NAMES = {
    "entailment": 0,
    "SUPPORTS": 0,
    "contradiction": 1,
    "REFUTES": 1,
    "neutral": 2,
    "NOT ENOUGH INFO": 2,
}
"""What the sets call the labels; pairs with any other label are left out."""

_BEFORE = re.compile(r"\s+([,.;:!?%)\]}]|'s\b|n't\b|'(?:re|ve|ll|d|m)\b)")
_AFTER = re.compile(r"([(\[{$£€])\s+")
# Runs of white space are one blank by then, and no pronunciation is so long: neither takes quadratic time.
_QUOTED = re.compile(r'"\s?([^"]*?)\s?"')
_PRONUNCIATION = re.compile(r"\s?\(\s?(?:\[[^\]]{0,200}\][;,\s]*)+\)")
_SPACE = re.compile(r"\s+")


class Example(NamedTuple):
    """A claim, its evidence sentences in reading order, and the number of its label in `LABELS`.

    `title` is that of the document that the sentences are from, where it is known and not in the sentences already.
    """

    claim: str
    evidence: tuple[str, ...]
    label: int
    source: str
    title: str = ""


def plain_text(text: str) -> str:
    """Without treebank marks and the spaces that tokenisation left, nor pronunciations in brackets."""
    text = decode_brackets(_SPACE.sub(" ", text)).replace(" -- ", " – ")
    text = _PRONUNCIATION.sub("", text)
    text = _AFTER.sub(r"\1", _BEFORE.sub(r"\1", text))
    return _SPACE.sub(" ", _QUOTED.sub(r'"\1"', text)).strip()


def read_records(path: Path) -> Iterator[dict[str, object]]:
    """The records of a file with one JSON object per line, compressed or not."""
    return read_objects(Lines(path))


def read_pairs(path: Path, source: str) -> Iterator[Example]:
    """Pairs of `premise` and `hypothesis`, or `evidence` and `claim`, whose label is one of `NAMES`."""
    for record in read_records(path):
        label = NAMES.get(str(record["label"]))
        claim = plain_text(str(record.get("hypothesis") or record.get("claim") or ""))
        evidence = plain_text(str(record.get("premise") or record.get("evidence") or ""))
        if label is not None and claim and evidence:
            yield Example(claim, (evidence,), label, source)
