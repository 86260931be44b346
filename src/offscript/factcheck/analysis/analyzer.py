"""The analyzer: which terms a text is found by."""

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from offscript._specification import nearest
from offscript.errors import OffscriptError, missing_package
from offscript.factcheck.analysis.lexicon import ABSENT, Lexicon, LexiconBuilder
from offscript.factcheck.analysis.words import number_surfaces

NONE = "none"
STOP_WORDS = {
    NONE: frozenset[bytes](),
    # Lucene's English set, which its StandardAnalyzer dropped words by until version 7.
    "english": frozenset(
        b"a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
        b"this to was will with".split()
    ),
}


@dataclass(frozen=True)
class Analyzer:
    """Words by UAX #29 in lower case, then optionally without stop words ("english") and reduced to stems.

    A stemmer is "porter" or one of Snowball's languages ("english", "german", …). The default keeps every word as it
    is, like Lucene's StandardAnalyzer from version 8 on.
    """

    stop_words: str = NONE
    stemmer: str = NONE

    def __post_init__(self) -> None:
        if self.stop_words not in STOP_WORDS:
            raise OffscriptError(f"unknown stop words {self.stop_words!r}", next=nearest(self.stop_words, STOP_WORDS))
        if self.stemmer != NONE:
            stem_function(self.stemmer)

    def terms(self, text: str) -> list[str]:
        """The terms of a text in order."""
        numbers, _, lexicon = self.analyze([text])
        entries = [entry.decode("utf-8") for entry in lexicon.entries()]
        return [entries[number] for number in numbers]

    def analyze(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64], Lexicon]:
        """The terms of all texts one after the other as numbers of a lexicon, and how many each text has."""
        builder = LexiconBuilder()
        surfaces, counts = number_surfaces(texts, builder)
        terms_of, lexicon = self.filter(builder.finished())
        return (*drop_absent(terms_of[surfaces], counts), lexicon)

    def filter(self, surfaces: Lexicon) -> tuple[NDArray[np.int32], Lexicon]:
        """For every surface the number of its term in a new lexicon, ABSENT for a stop word."""
        if self == Analyzer():
            return np.arange(surfaces.size, dtype=np.int32), surfaces
        stop_words = STOP_WORDS[self.stop_words]
        kept = [entry not in stop_words for entry in surfaces.entries()]
        entries = [entry for entry, keep in zip(surfaces.entries(), kept, strict=True) if keep]
        builder = LexiconBuilder()
        terms_of = np.full(surfaces.size, ABSENT, dtype=np.int32)
        terms_of[kept] = builder.insert(entries if self.stemmer == NONE else _stems(entries, self.stemmer))
        return terms_of, builder.finished()

    def settings(self) -> dict[str, str]:
        """What `Analyzer(**settings)` makes this analyzer again from."""
        return asdict(self)


def drop_absent(numbers: NDArray[np.int32], counts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Leave out the tokens numbered ABSENT and count each text's tokens again."""
    kept = numbers != ABSENT
    if kept.all():
        return numbers, counts
    totals = np.concatenate([[0], np.cumsum(kept)])
    ends = np.cumsum(counts)
    return numbers[kept], totals[ends] - totals[ends - counts]


def _stems(entries: Sequence[bytes], stemmer: str) -> list[bytes]:
    stem = stem_function(stemmer)
    return [stem(entry.decode("utf-8")).encode("utf-8") for entry in entries]


@functools.cache
def stem_function(name: str) -> Callable[[str], str]:
    """What reduces a word in lower case to its stem, in any thread: "porter", or one of Snowball's languages."""
    try:
        import snowballstemmer
    except ImportError as error:
        raise missing_package(f"stemmer {name!r}", "snowballstemmer") from error
    if name not in snowballstemmer.algorithms():
        raise OffscriptError(f"unknown stemmer {name!r}", next=nearest(name, [NONE, *snowballstemmer.algorithms()]))
    stemmers = _StemmerOfThread(name)
    return lambda word: stemmers.stem(word)


class _StemmerOfThread(threading.local):
    """One stemmer a thread: Snowball's hold the word that they work on."""

    def __init__(self, name: str) -> None:
        import snowballstemmer

        self.stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
