"""Models, samplers and questions of your own, in one file or in an installed package.

A file, loaded by `offscript --plugin mine.py VERB …` or by `OFFSCRIPT_PLUGINS=mine.py` in the environment:

    from offscript import plugins
    from offscript.corpora import CharacterVocabulary
    from offscript.measures import Answer, Measurement, Question
    from offscript.models import HistoryModel
    from offscript.sampling import generate
    from offscript.statistics import mean_interval

    class Flat(HistoryModel):
        vocabulary = CharacterVocabulary()

        def predict(self, histories):  # [rows, time] tokens, the start token first
            return histories.new_zeros(len(histories), self.vocabulary.size, dtype=float).log_softmax(-1)

    @plugins.model("toy")  # the model strings `toy`, `toy/REST` and `toy/REST,sharpness=2`
    def load(rest, sharpness=1):
        return Flat()

    @plugins.sampler("flatten")  # the samplers `flatten` and `flatten,power=0.3`
    def flatten(log_probs, power=0.5):
        return power * log_probs

    @plugins.question  # `offscript measure longest MODEL`, and a section of an audit's page
    class Longest(Question):
        name, title, about = "longest", "How long is its text?", "The mean length of the model's sequences."
        asked_by_default = True

        def measure(self, subject, settings, progress):
            lengths = generate(subject.model, 100, 20, seed=subject.seed).lengths.double().numpy()
            estimate = mean_interval(lengths)
            return Answer([Measurement.of(estimate, question=self.name, name="tokens", n=100, seed=subject.seed,
                                          seconds=0.0, recipe={"model": subject.model.weight_hash})])

An installed package names the same things in its `pyproject.toml` and needs no `--plugin`:

    [project.entry-points."offscript.models"]
    toy = "my_package:load"

    [project.entry-points."offscript.samplers"]
    flatten = "my_package:flatten"

    [project.entry-points."offscript.questions"]
    longest = "my_package:Longest"

A model that keeps a state subclasses `offscript.models.LanguageModel`, a sampler whose settings have ranges or that
draws random numbers a class of `offscript.sampling.transforms`.
"""

from typing import Any, TypeVar

from offscript._catalogue import MODELS, QUESTIONS, SAMPLERS
from offscript._plugins import load_plugin

Kind = TypeVar("Kind", bound=type[Any])

model = MODELS.add
"""`@model(NAME)` on a loader: a function of what follows `NAME/` in the model string, and of its settings.

A parameter called `device` gets the device. The loader returns a `LanguageModel`.
"""

sampler = SAMPLERS.add
"""`@sampler(NAME)` on a function of log-probabilities [rows, V] and settings, or on a `Transform` class.

What the function returns is normalised; it may not change its input in place.
"""


def question(kind: Kind) -> Kind:
    """`@question` on a subclass of `offscript.measures.Question`: a question of your own, under its `name`.

    Args:
        kind: The class.

    Returns:
        The same class.
    """
    QUESTIONS.register(kind.name, kind)
    return kind


__all__ = ["load_plugin", "model", "question", "sampler"]
