"""Lists of words: those with a sentiment, and those of a language with their frequencies."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from offscript.corpora.lines import Lines
from offscript.errors import OffscriptError

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_COUNT = re.compile(r"[0-9]{1,18}")
_POSITIVE, _NEGATIVE = "positive-words.txt", "negative-words.txt"


@dataclass(frozen=True)
class SentimentWords:
    """Positive and negative words, in lower case."""

    positive: frozenset[str]
    negative: frozenset[str]

    def polarity(self, words: Sequence[str]) -> float:
        """Share of positive words minus share of negative ones, from -1 to 1; 0 where there are no words."""
        positive = sum(word in self.positive for word in words)
        negative = sum(word in self.negative for word in words)
        return (positive - negative) / max(1, len(words))


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without figures and punctuation."""
    return WORD.findall(text.lower())


def read_sentiment_words(folder: str | Path) -> SentimentWords:
    """A folder with `positive-words.txt` and `negative-words.txt`, a word a line, `;` before comments.

    So does the opinion lexicon of Hu and Liu come.
    """
    positive, negative = (_read_list(Path(folder) / name) for name in (_POSITIVE, _NEGATIVE))
    return SentimentWords(positive, negative)


def read_frequencies(path: str | Path) -> Counter[str]:
    """Counts of words from a file of `word count` lines, divided by a tab, a comma or blanks."""
    counts: Counter[str] = Counter()
    lines = Lines(path)
    for line in lines:
        parts = re.split(r"[\t,]|\s+", line.strip())
        if not line.strip():
            continue
        if len(parts) != 2 or not _COUNT.fullmatch(parts[1]):
            raise lines.fault(f"{line.strip()!r} is not a word and its count", next="write e.g. the 22038615")
        counts[parts[0].lower()] += int(parts[1])
    if not counts.total():
        raise OffscriptError(f"{path} counts no word", next="give a file of words and their counts")
    return counts


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Counts of the words of a corpus."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(words_of(text))
    return counts


def _read_list(path: Path) -> frozenset[str]:
    words = frozenset(line.strip().lower() for line in Lines(path) if line.strip() and not line.startswith(";"))
    if not words:
        raise OffscriptError(f"{path} lists no word", next="put one word on a line")
    return words
