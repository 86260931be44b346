"""A sentiment classifier that learns from labelled reviews in seconds, for SentimentLM (§4.5.3, appendix B.2.4)."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from offscript.corpora.associations import AssociationTest
from offscript.corpora.wordlists import words_of
from offscript.errors import OffscriptError
from offscript.factcheck.stance.teaching.tasks import read_task

TASKS = ("sst", "imdb")
"""Where the labelled texts come from, below the folder of data sets."""

Features = set[tuple[str, ...]]


@dataclass(frozen=True)
class SentimentClassifier:
    """Naive Bayes over the words and pairs of neighbours that a text has, however often, with add-one smoothing.

    The thesis fine-tunes BERT on reviews; what is kept of it is that the scale is learnt from reviews, not made of a
    list of words, and that a text without any feeling falls on one side.

    Attributes:
        prior: The log-odds of negative before anything is read.
        odds: Those that a word, or a pair of neighbours, adds.
    """

    prior: float
    odds: dict[tuple[str, ...], float]

    @classmethod
    def learn(cls, examples: Iterable[tuple[str, bool]]) -> "SentimentClassifier":
        """From texts and whether each is negative.

        Args:
            examples: Both kinds must be among them.

        Returns:
            The classifier.
        """
        counts, texts = {True: Counter[tuple[str, ...]](), False: Counter[tuple[str, ...]]()}, Counter[bool]()
        for text, negative in examples:
            counts[negative].update(_features(text))
            texts[negative] += 1
        if len(texts) < 2:
            raise OffscriptError("the reviews are all of one kind", next="give positive and negative ones")
        known = counts[True].keys() | counts[False].keys()
        shift = math.log(counts[False].total() + len(known)) - math.log(counts[True].total() + len(known))
        odds = {one: math.log(counts[True][one] + 1) - math.log(counts[False][one] + 1) + shift for one in known}
        return cls(math.log(texts[True]) - math.log(texts[False]), odds)

    def negative(self, text: str) -> float:
        """The log-odds of negative; it rises with P(negative), and what was never read counts for nothing.

        Args:
            text: A sentence.

        Returns:
            log P(negative) - log P(positive).
        """
        return self.prior + math.fsum(self.odds.get(one, 0.0) for one in _features(text))


def trained_on_reviews(folder: Path) -> SentimentClassifier:
    """Learn from SST-2 and IMDB.

    Args:
        folder: Of the data sets, with `aux-sentiment` below it.

    Returns:
        The classifier.
    """
    read = (read_task(name, folder).examples for name in TASKS)
    return SentimentClassifier.learn((text, label == 0) for examples in read for text, _, label in examples)


def classifier_scores(tests: Sequence[AssociationTest], classifier: SentimentClassifier) -> dict[str, float]:
    """SentimentLM: the sentence with the higher P(negative) is taken for the likelier one."""
    return {each.id: classifier.negative(each.sentence) for test in tests for each in test.associations}


def _features(text: str) -> Features:
    words = words_of(text)
    return {*((word,) for word in words), *pairwise(words)}
