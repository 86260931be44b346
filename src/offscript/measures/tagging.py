"""How many words a tagger gives the right part of speech."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from offscript.errors import OffscriptError
from offscript.factcheck.tagging.tagger import PerceptronTagger, TaggedSentence
from offscript.measures.measurement import Measurement, environment
from offscript.statistics import rate_interval

QUESTION = "tagging"


def measure_tagging(
    tagger: PerceptronTagger,
    sentences: Sequence[TaggedSentence],
    *,
    level: float = 0.95,
    recipe: Mapping[str, Any] | None = None,
) -> list[Measurement]:
    """`accuracy` over the words of a treebank, as the treebank cuts them; the interval is over sentences."""
    if len(sentences) < 2:
        raise OffscriptError(f"{len(sentences)} sentences to tag", next="give a treebank of two or more")
    tagger.tag_words([sentences[0].words])  # loads machine code and tables, which is not tagging
    started = time.perf_counter()
    found = tagger.tag_words([sentence.words for sentence in sentences])
    seconds = time.perf_counter() - started
    right = np.array([_right(sentence.tags, tags) for sentence, tags in zip(sentences, found, strict=True)])
    words = np.array([len(sentence.words) for sentence in sentences])
    measured = Measurement.of(
        rate_interval(right, words, level=level),
        question=QUESTION,
        name="accuracy",
        n=int(words.sum()),
        seed=None,
        seconds=seconds,
        recipe={**(recipe or {}), "sentences": len(sentences), **environment()},
        higher_is_better=True,
        per_item=right / words,
    )
    return [measured]


def _right(gold: Sequence[str], tags: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(gold, tags, strict=True))
