"""How close generated sentences come to real ones: corpus-BLEU (eq. 5.11)."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from offscript._abilities import Gives
from offscript.errors import OffscriptError
from offscript.measures.question import (
    Answer,
    Compared,
    Files,
    Lack,
    Need,
    Progress,
    Question,
    Settings,
    TextSettings,
    setting,
)

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.ngrams import Sentences
    from offscript.measures.subject import Subject

QUESTION = "quality"
HIGHEST_ORDER = 5


class SentenceSettings(Settings):
    """Whose sentences are scored: those of a file, or of a model."""

    file: str | None = setting(
        None, "Sentences, one per line (or JSONL, .gz, .xz, .zst); blank lines do not count.", argument=True
    )
    tokenizer: str = setting("whitespace", "For files: whitespace, nltk, characters or hub:NAME.")
    order: int = setting(HIGHEST_ORDER, "The highest order of n-grams.", ge=1, le=5)
    samples: int = setting(1000, "Sentences drawn from --model.", ge=2)
    length: int = setting(50, "Tokens at most of a sentence drawn from --model.", ge=1)
    sampler: str | None = setting(None, "Sampler for --model, such as nucleus,p=0.9.")


class QualitySettings(SentenceSettings, TextSettings):
    """Whose sentences are scored, and against which."""

    references: Files = setting((), "Real sentences to compare with, one per line; for --model, --corpus does.")
    most_references: int | None = setting(None, "Read only this many sentences of --corpus.", ge=1)


class Quality(Question[QualitySettings]):
    """Corpus-BLEU of a file's sentences against references, or of a model's against a corpus."""

    name = QUESTION
    title = "How close does its text come to real text?"
    about = "Corpus-BLEU of generated sentences against references."
    Settings = QualitySettings
    limited = "sentences of each file or corpus"
    example = "samples.txt --references text.txt"
    needs = ()
    needs_instead = "a file of sentences and references, or a model and a corpus"
    takes = (Need.model, Need.corpus)
    reads = Gives.texts
    headlines = ("corpus_bleu_4",)
    compared = tuple(Compared(f"corpus_bleu_{order}") for order in (2, 3, 4))
    of_amount = ("corpus_bleu_*",)
    words = (("corpus_bleu_*", "corpus-BLEU of order {}"),)

    def plan(self, subject: "Subject") -> QualitySettings:
        """The model's own sentences against the corpus."""
        samples = subject.affordable(subject.length)
        return QualitySettings(samples=samples, length=subject.length, most_references=subject.samples)

    def missing(self, subject: "Subject", given: Mapping[str, Any]) -> Lack | None:
        """One of two inputs will do."""
        met = "file" in given or (subject.has_model and subject.corpus)
        return None if met else Lack(self.needs_instead, "--corpus FILE")

    def figures(self, subject: "Subject", settings: QualitySettings) -> list[str]:
        """One per order."""
        return [f"corpus_bleu_{order}" for order in range(1, settings.order + 1)]

    def measure(self, subject: "Subject", settings: QualitySettings, progress: Progress) -> Answer:
        """In the file's tokens, or in the model's own."""
        if settings.file is None:
            return self._of_model(subject, settings)
        if not settings.references:
            raise OffscriptError("there is nothing to compare with", next="give --references FILE")
        generated, origin = read_tokens((settings.file,), settings.tokenizer, subject.limit)
        real, source = read_tokens(settings.references, settings.tokenizer, subject.limit)
        recipe = {"samples": origin, "references_from": source}
        measurements = measure_quality(
            generated, real, tokenization=settings.tokenizer, highest_order=settings.order, recipe=recipe
        )
        return Answer(measurements, title=f"{settings.file} against {', '.join(settings.references)}")

    def _of_model(self, subject: "Subject", settings: QualitySettings) -> Answer:
        if not subject.corpus:
            raise OffscriptError(
                "there is nothing to score", next="give a FILE with --references, or --model and --corpus"
            )
        vocabulary = subject.model.vocabulary
        generated = [text.split() for text in sentences_of_model(subject, settings, stream=2)]
        real = [vocabulary.decode(row).split() for row in subject.tokens(settings, count=settings.most_references)]
        recipe = {**model_recipe(subject, settings), "corpus": list(subject.corpus)}
        measurements = measure_quality(
            generated, real, tokenization="the model's vocabulary", highest_order=settings.order, recipe=recipe
        )
        return Answer(measurements, title=f"{subject.model.name} against {', '.join(subject.corpus)}")


def measure_quality(
    samples: "Sentences",
    references: "Sentences",
    *,
    tokenization: str,
    highest_order: int = HIGHEST_ORDER,
    level: float = 0.95,
    recipe: Mapping[str, Any] | None = None,
) -> "list[Measurement]":
    """`corpus_bleu_1` … `corpus_bleu_5`: the mean BLEU of every sample against all references.

    Intervals are over samples; the references stand as they are.

    Args:
        samples: generated sentences as tokens.
        references: real sentences as tokens.
        tokenization: how both sides were cut into tokens.
        highest_order: the highest order of n-grams.
        level: of the intervals.
        recipe: whatever else the caller knows of the sentences.

    Returns:
        One measurement per order.
    """
    from offscript.measures.bleu import RECIPE, sentence_bleu
    from offscript.measures.measurement import Measurement, environment
    from offscript.statistics import mean_interval

    started = time.perf_counter()
    bleu = sentence_bleu(samples, references, highest_order=highest_order)
    estimates = [mean_interval(bleu.scores[:, order], level=level) for order in range(highest_order)]
    seconds = time.perf_counter() - started
    common = {"tokenization": tokenization, **RECIPE, "references": bleu.references, "sentences": len(bleu.scores)}
    return [
        Measurement.of(
            estimate,
            question=QUESTION,
            name=f"corpus_bleu_{order}",
            n=len(bleu.scores),
            seed=None,
            seconds=seconds,
            recipe={**(recipe or {}), **common, "order": order, **environment()},
            higher_is_better=True,
            per_item=bleu.scores[:, order - 1],
        )
        for order, estimate in enumerate(estimates, start=1)
    ]


def read_tokens(sources: Files, tokenizer: str, limit: int | None) -> tuple[Any, list[dict[str, str]]]:
    """Sentences of files as tokens, and where they came from, with the hash of each file."""
    from itertools import islice
    from pathlib import Path

    from offscript._files import sha256_of
    from offscript.corpora.readers import read_corpus
    from offscript.measures.tokenizers import tokenize

    tokens = tokenize(islice(read_corpus(list(sources)), limit), tokenizer)
    origin = [{"name": name, **({"sha256": sha256_of(Path(name))} if Path(name).is_file() else {})} for name in sources]
    return tokens, origin


def generate_sentences(subject: "Subject", settings: SentenceSettings, *, stream: int) -> Any:
    """Sequences drawn from the model, with a stream of random numbers of their own."""
    from offscript.sampling.generation import generate
    from offscript.sampling.transforms import parse_transform

    transform = None if settings.sampler is None else parse_transform(settings.sampler)
    return generate(subject.model, settings.samples, settings.length, seed=(subject.seed, stream), transform=transform)


def sentences_of_model(subject: "Subject", settings: SentenceSettings, *, stream: int) -> list[str]:
    """The texts of `generate_sentences`."""
    from offscript.sampling.generation import texts

    return list(texts(subject.model, generate_sentences(subject, settings, stream=stream)))


def model_recipe(subject: "Subject", settings: SentenceSettings) -> dict[str, Any]:
    """What a model's sentences depend on."""
    drawn = settings.model_dump(include={"length", "sampler"})
    return {"model": subject.model.weight_hash, **drawn, "seed": subject.seed}
