"""Words of translations: which carry content, which were copied from the source, which are repeated."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

COMMON = 0.05
"""A word that stands in a larger share of the references, such as an article, carries no content."""

RICH = 3

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Words in lower case, punctuation left out."""
    return _WORD.findall(text.casefold())


@dataclass(frozen=True)
class Content:
    """The content words of every reference, after its first tokens."""

    wanted: list[set[str]]

    @classmethod
    def of(cls, references: Sequence[str], rests: Sequence[str]) -> "Content":
        """Of the rests; how common a word is, the whole references say."""
        counts = Counter(word for text in references for word in set(words_of(text)))
        most = max(1.0, COMMON * len(references))
        return cls([{word for word in words_of(rest) if counts[word] <= most} for rest in rests])

    @property
    def rich(self) -> NDArray[np.bool_]:
        """Which references have so many content words that a translation without any of them is no accident."""
        return np.array([len(words) >= RICH for words in self.wanted])

    def kept(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The share of each reference's content words that its text has; NaN where the reference has none."""
        shares = [
            len(wanted & set(words_of(text))) / len(wanted) if wanted else np.nan
            for wanted, text in zip(self.wanted, texts, strict=True)
        ]
        return np.array(shares, dtype=np.float64)


def repeated_share(text: str) -> float:
    """The share of a text's word pairs that stood in it before."""
    words = words_of(text)
    pairs = list(pairwise(words))
    return 1 - len(set(pairs)) / len(pairs) if pairs else 0.0


def copied_share(text: str, source: str, reference: str) -> float:
    """The share of a text's words that stand in the source and not in the reference: left untranslated."""
    words, foreign = words_of(text), set(words_of(source)) - set(words_of(reference))
    return sum(word in foreign for word in words) / len(words) if words else 0.0
