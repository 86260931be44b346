"""A model, a sampler and a question in one file; `tests/cli/test_plugin.py` loads it."""

from offscript import plugins
from offscript.corpora import CharacterVocabulary
from offscript.measures import Answer, Finding, Measurement, Question, Settings, setting
from offscript.measures.question import Compared
from offscript.models import HistoryModel
from offscript.sampling import generate
from offscript.statistics import mean_by_length


class Flat(HistoryModel):
    vocabulary = CharacterVocabulary()

    def predict(self, histories):
        return histories.new_zeros(len(histories), self.vocabulary.size, dtype=float).log_softmax(-1)


plugins.model("toy")(lambda rest, sharpness=1: Flat())
plugins.sampler("flatten")(lambda log_probs, power=0.5: power * log_probs)


class SpaceSettings(Settings):
    samples: int = setting(50, "Sequences to draw.", ge=2)
    length: int = setting(10, "Tokens of a sequence.", ge=1)


@plugins.question
class Spaces(Question[SpaceSettings]):
    name, title, about = "spaces", "How often does it write a space?", "Share of spaces by position."
    Settings, asked_by_default, headlines, compared = SpaceSettings, True, ("share",), (Compared("share"),)

    def measure(self, subject, settings, progress):
        tokens = generate(subject.model, settings.samples, settings.length, seed=subject.seed).tokens
        share = mean_by_length((tokens == subject.model.vocabulary.encode(" ")[0]).double().numpy())
        made = {"question": self.name, "n": len(tokens), "seed": subject.seed, "seconds": 0.0, "recipe": {}}
        return Answer([Measurement.of(share.average, name="share", by_position=share.by_length, **made)])

    def conclude(self, figures, p_values):
        return Finding("It writes spaces", f"{figures['share'].value:.3f} of its tokens.") if figures else None
