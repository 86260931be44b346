"""How much generated sentences differ from each other: self-BLEU, n-gram entropy, distinct-n, repetition, Zipf."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from offscript._abilities import Gives
from offscript.errors import OffscriptError
from offscript.measures.quality import SentenceSettings, generate_sentences, model_recipe, read_tokens
from offscript.measures.question import Answer, Compared, Lack, Need, Progress, Question

if TYPE_CHECKING:
    from offscript.measures.subject import Subject


class Diversity(Question[SentenceSettings]):
    """Of a file's sentences, or of a model's."""

    name = "diversity"
    title = "How much do its sentences differ from each other?"
    about = "Self-BLEU, n-gram entropy, distinct-n, repetition and Zipf coefficient of generated sentences."
    Settings = SentenceSettings
    limited = "sentences of the file"
    example = "samples.txt"
    needs = ()
    needs_instead = "a file of sentences, or a model"
    takes = (Need.model,)
    reads = Gives.texts
    headlines = ("self_bleu_4",)
    compared = tuple(Compared(f"self_bleu_{order}") for order in (2, 3, 4))
    of_amount = ("self_bleu_*",)
    words = (("self_bleu_*", "self-BLEU of order {}"),)

    def missing(self, subject: "Subject", given: Mapping[str, Any]) -> Lack | None:
        """One of two inputs will do."""
        met = "file" in given or subject.has_model
        return None if met else Lack(self.needs_instead, "MODEL")

    def figures(self, subject: "Subject", settings: SentenceSettings) -> list[str]:
        """Three per order, and two of the whole."""
        orders = range(1, settings.order + 1)
        by_order = [f"{kind}_{order}" for kind in ("self_bleu", "entropy", "distinct") for order in orders]
        return [*by_order, "zipf", "repetition"]

    def measure(self, subject: "Subject", settings: SentenceSettings, progress: Progress) -> Answer:
        """In the file's tokens, or in the model's own."""
        from offscript.measures.diversity.estimation import measure_diversity

        if settings.file is not None:
            tokens, origin = read_tokens((settings.file,), settings.tokenizer, subject.limit)
            measurements = measure_diversity(
                tokens, tokenization=settings.tokenizer, highest_order=settings.order, recipe={"samples": origin}
            )
            return Answer(measurements, title=settings.file)
        if not subject.has_model:
            raise OffscriptError("there is nothing to score", next="give a FILE of sentences, or --model")
        rows = generate_sentences(subject, settings, stream=3).rows()
        measurements = measure_diversity(
            rows,
            tokenization="the model's vocabulary",
            highest_order=settings.order,
            recipe=model_recipe(subject, settings),
        )
        return Answer(measurements, title=subject.model.name)
