"""Splits: a sentence's own hash decides which part of the corpus it belongs to."""

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

from offscript._specification import nearest
from offscript.errors import OffscriptError

TRAIN_VALIDATION_TEST = {"train": 0.9, "validation": 0.05, "test": 0.05}


class Split:
    """Divides sentences into named parts of given fractions.

    Equal sentences always fall into the same part, whatever stands around them; another `salt` divides otherwise.
    """

    def __init__(self, fractions: Mapping[str, float] = TRAIN_VALIDATION_TEST, *, salt: str = "") -> None:
        shares = list(fractions.values())
        if any(share < 0 for share in shares) or not math.isclose(sum(shares), 1):
            raise OffscriptError(f"the fractions {dict(fractions)} do not add up to 1", next="give parts of 1")
        self.fractions, self.salt = dict(fractions), salt
        self._stops = [round(stop * 2**64) for stop in itertools.accumulate(shares)]
        self._stops[-1] = 2**64
        self._key = hashlib.blake2b(salt.encode("utf-8")).digest()

    def part(self, sentence: str) -> str:
        """The part this sentence belongs to."""
        keyed = hashlib.blake2b(sentence.encode("utf-8"), digest_size=8, key=self._key)
        place = int.from_bytes(keyed.digest(), "little")
        return next(part for part, stop in zip(self.fractions, self._stops, strict=True) if place < stop)

    def select(self, sentences: Iterable[str], part: str) -> Iterator[str]:
        """The sentences of one part, in their order."""
        if part not in self.fractions:
            raise OffscriptError(f"the split has no part {part!r}", next=nearest(part, self.fractions))
        return (sentence for sentence in sentences if self.part(sentence) == part)


HALVES = Split({"first": 0.5, "second": 0.5}, salt="halves")
"""How a corpus is halved where one half trains a model and the other evaluates it."""
