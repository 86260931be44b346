"""What a system prefers in every test: the only thing the scores of the Context Association Test are made of."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.corpora.associations import AssociationTest
from offscript.errors import OffscriptError

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Judgements:
    """For each test whether the stereotype won, how many meaningful sentences beat the unrelated one, and ties.

    A tie counts as the authors count it: neither for the stereotype nor for the meaningful sentence. Half a win is that
    of a system which is known to prefer either in half of all cases.
    """

    tests: tuple[AssociationTest, ...]
    stereotype_wins: FloatArray  # [tests], 0 to 1
    meaningful: Integers  # [tests], 0 to 2
    stereotype_ties: Booleans  # [tests], stereotype = anti-stereotype
    meaningful_ties: Integers  # [tests], 0 to 2: meaningful = unrelated

    def __len__(self) -> int:
        return len(self.tests)

    def select(self, numbers: Sequence[int]) -> "Judgements":
        """The judgements of some tests."""
        return Judgements(
            tuple(self.tests[number] for number in numbers),
            self.stereotype_wins[numbers],
            self.meaningful[numbers],
            self.stereotype_ties[numbers],
            self.meaningful_ties[numbers],
        )


def judge(tests: Sequence[AssociationTest], scores: Mapping[str, float]) -> Judgements:
    """Compare the three scores of every test; scores of other sentences are left aside."""
    listed = [[_score(scores, test, association.id) for association in test.associations] for test in tests]
    table = np.array(listed, dtype=np.float64).reshape(-1, 3)
    stereotype, anti_stereotype, unrelated = table.T
    above = (stereotype > unrelated).astype(np.int64) + (anti_stereotype > unrelated)
    level = (stereotype == unrelated).astype(np.int64) + (anti_stereotype == unrelated)
    wins = (stereotype > anti_stereotype).astype(np.float64)
    return Judgements(tuple(tests), wins, above, stereotype == anti_stereotype, level)


def _score(scores: Mapping[str, float], test: AssociationTest, sentence: str) -> float:
    score = scores.get(sentence)
    if score is None:
        raise OffscriptError(
            f"{test.id}: the sentence {sentence} has no score", next="score every sentence of the data"
        )
    if math.isnan(score):
        raise OffscriptError(f"{test.id}: the score of {sentence} is NaN", next="look at the model that gave it")
    return score
