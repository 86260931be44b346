"""How many words the shipped tagger gives the right part of speech."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offscript.errors import OffscriptError
from offscript.measures.question import Answer, Progress, Question, Settings, setting

if TYPE_CHECKING:
    from offscript.factcheck.tagging.tagger import PerceptronTagger, TaggedSentence
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

QUESTION = "tagging"


class TaggingSettings(Settings):
    """What is tagged."""

    treebank: Path = setting(about="Sentences with universal parts of speech, in CoNLL-U.", argument=True)


class Tagging(Question[TaggingSettings]):
    """Accuracy of the part-of-speech tagger that ships."""

    name = QUESTION
    title = "Does the tagger know the parts of speech?"
    about = "Accuracy of the part-of-speech tagger that ships, on a treebank."
    Settings = TaggingSettings
    example = "test.conllu"
    needs = ()
    flags = ()
    headlines = figure_names = ("accuracy",)

    def measure(self, subject: "Subject", settings: TaggingSettings, progress: Progress) -> Answer:
        """Over the words of the treebank."""
        from offscript._files import sha256_of
        from offscript.factcheck.tagging.tagger import SHIPPED, WEIGHTS, PerceptronTagger, read_treebank

        sentences = list(read_treebank(settings.treebank))
        recipe = {
            "tagger": sha256_of(SHIPPED / WEIGHTS),
            "treebank": str(settings.treebank),
            "sha256": sha256_of(settings.treebank),
        }
        measurements = measure_tagging(PerceptronTagger.load(SHIPPED), sentences, recipe=recipe)
        speed = measurements[0].n / measurements[0].seconds
        title = f"{settings.treebank}, {speed:,.0f} words per second"
        return Answer(measurements, title=title, details={"words_per_second": speed})


def measure_tagging(
    tagger: "PerceptronTagger",
    sentences: "Sequence[TaggedSentence]",
    *,
    level: float = 0.95,
    recipe: Mapping[str, Any] | None = None,
) -> "list[Measurement]":
    """`accuracy` over the words of a treebank, as the treebank cuts them; the interval is over sentences."""
    import numpy as np

    from offscript.measures.measurement import Measurement, environment
    from offscript.statistics import rate_interval
    from offscript.statistics.estimates import LEAST

    if (n := len(sentences)) < LEAST:
        raise OffscriptError(f"need at least {LEAST} sentences to tag, got {n}", next="give a larger treebank")
    tagger.tag_words([sentences[0].words])  # loads machine code and tables, which is not tagging
    started = time.perf_counter()
    tags = tagger.tag_words([sentence.words for sentence in sentences])
    seconds = time.perf_counter() - started
    right = np.array([_right(sentence.tags, own) for sentence, own in zip(sentences, tags, strict=True)])
    words = np.array([len(sentence.words) for sentence in sentences])
    measured = Measurement.of(
        rate_interval(right, words, share=True, level=level),
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
