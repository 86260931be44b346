"""How far is its text from real text, as an encoder sees both: a divergence frontier, and a classifier's opinion?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from offscript._abilities import Gives
from offscript.measures.charts import HEIGHT, SCHEMA, Specification
from offscript.measures.question import (
    SIGNIFICANT,
    Answer,
    Compared,
    Finding,
    Gauge,
    Need,
    Progress,
    Question,
    TextSettings,
    setting,
)
from offscript.measures.words import p_value, with_interval

if TYPE_CHECKING:
    from offscript._types import FloatArray
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

CHANCE, MARGIN = 0.5, 0.05
"""The accuracy of a classifier that knows nothing, and how far above it is too little to matter."""

_PREFIX, _SHOWN = 10, 4


class TextDistanceSettings(TextSettings):
    """Which texts are compared, and how they are encoded."""

    samples: int = setting(500, "Real texts, each with a continuation by the model.", ge=20)
    length: int = setting(50, "Tokens at most of a text, its prompt included.", ge=2)
    prefix: int = setting(_PREFIX, "Tokens of a real text that the model continues; they are not compared.", ge=1)
    sampler: str = setting("ancestral", "How it continues them.")
    encoder: str = setting("auto", "auto, lexical, a folder, an installed package that carries one, or a Hub id.")
    clusterings: int = setting(8, "Clusterings that the score is averaged over.", ge=2)
    clusters: int | None = setting(None, "Clusters of each; one for ten texts, 50 at most.", ge=2)


class TextDistance(Question[TextDistanceSettings]):
    """MAUVE over many clusterings, with what it is for equal distributions, and a classifier two-sample test."""

    name = "text-distance"
    title = "Can its text be told from real text?"
    about = "Divergence frontier (MAUVE) of generated and real text over many clusterings, and a classifier's accuracy."
    Settings = TextDistanceSettings
    needs = (Need.model, Need.gold)
    reads = Gives.texts
    headlines = ("mauve", "told_apart")
    rests_on = ("mauve", "mauve_p", "told_apart")
    figure_names = ("mauve", "mauve_same", "mauve_p", "told_apart")
    compared = (Compared("mauve"), Compared("told_apart", "told apart", CHANCE))
    gauges = (Gauge("told_apart", "classifier's accuracy", "", CHANCE, "chance"),)
    of_amount = ("mauve*",)
    words = (
        ("mauve", "MAUVE"),
        ("mauve_same", "MAUVE of two halves of real text"),
    )

    def plan(self, subject: "Subject") -> TextDistanceSettings:
        """As many texts as the budget allows."""
        usual = subject.usual_length(subject.samples) if subject.corpus else subject.length
        samples = subject.affordable(subject.length, most=2_000)
        prefix = max(1, min(_PREFIX, usual // 2))
        return TextDistanceSettings(samples=max(20, samples), length=subject.length, prefix=prefix)

    def measure(self, subject: "Subject", settings: TextDistanceSettings, progress: Progress) -> Answer:
        """Continue the beginnings of real texts, and encode both continuations."""
        import time

        from offscript.measures._figures import as_measurements, recipe_of
        from offscript.measures.subject import columns_of_texts
        from offscript.measures.text_distance.encoders import chosen_encoder, encode
        from offscript.measures.text_distance.estimation import measure_distance

        began = time.monotonic()
        generated, real = _texts(subject, settings, progress)
        encoder = chosen_encoder(settings.encoder)
        vectors = encode([*generated, *real], encoder)
        distance = measure_distance(
            vectors[: len(real)],
            vectors[len(real) :],
            seed=subject.seed,
            clusterings=settings.clusterings,
            clusters=settings.clusters,
        )
        told = settings.model_dump(exclude={"encoder"}, exclude_defaults=True)
        recipe = recipe_of(self.name, subject.model, None, {**subject.gold_recipe, **told, "encoder": encoder})
        shared = {"n": len(real), "seed": subject.seed, "seconds": time.monotonic() - began, "question": self.name}
        measurements = as_measurements(distance.figures, recipe=recipe, higher_is_better=None, **shared)
        columns = _telling(generated, real, distance.scores)
        title = "Texts that the classifier is surest of, though it did not learn from them"
        chart = {"kind": "chart", "title": "Divergence frontier", "spec": _frontier_chart(distance.frontier)}
        return Answer(
            measurements,
            exhibits=[chart, columns_of_texts(columns, title)],
            details={"encoder": encoder},
            title=f"{subject.model.name} and {subject.gold_name}, as {encoder} sees them",
        )

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """Members of a pair can be exchanged; the classifier is right by chance alone."""
        from offscript.statistics import p_value_of

        told = figures["told_apart"]
        accuracy = p_value_of(told.estimate, told.n // 2, CHANCE) if told.value > CHANCE else 1.0
        return {"frontier": figures["mauve_p"].value, "classifier": accuracy}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """Found where one of the two tests finds a difference."""
        if not figures:
            return None
        score, told = figures["mauve"], figures["told_apart"]
        same = (
            f" (texts that differ by chance: {with_interval(figures['mauve_same'])})" if "mauve_same" in figures else ""
        )
        sentence = (
            f"MAUVE is {with_interval(score)}{same}, {p_value(p_values['frontier'])}. A classifier tells its texts "
            f"from real ones with an accuracy of {with_interval(told)}, {p_value(p_values['classifier'])}."
        )
        if min(p_values.values()) < SIGNIFICANT:
            return Finding("Its text can be told from real text", sentence, "found")
        if told.interval.upper < CHANCE + MARGIN:
            return Finding("Its text can hardly be told from real text", sentence, "fine")
        return Finding("No difference from real text detected", sentence, "cannot tell")


def _texts(subject: "Subject", settings: TextDistanceSettings, progress: Progress) -> tuple[list[str], list[str]]:
    """Continuations by the model and real ones, of the same prompts."""
    import torch

    from offscript.errors import OffscriptError
    from offscript.sampling.generation import generate
    from offscript.sampling.transforms import parse_transform

    model, end = subject.model, subject.model.vocabulary.end
    wanted = subject.limit if subject.corpus else 2 * settings.samples
    rows = [
        [token for token in row if token != end]
        for row in subject.tokens(settings, count=wanted, length=settings.length)
    ]
    rows = [row for row in rows if len(row) > settings.prefix][: settings.samples]
    if not rows or settings.prefix >= settings.length:
        raise OffscriptError(
            f"no text goes on after {settings.prefix} tokens", next="ask for a shorter --prefix or a longer --length"
        )
    drawn = generate(
        model,
        len(rows),
        settings.length,
        seed=(subject.seed, 6),
        transform=parse_transform(settings.sampler),
        prefixes=torch.tensor([row[: settings.prefix] for row in rows]),
        batch_size=subject.rows_at_once(),
        progress=progress.start(len(rows)),
    ).rows()
    own = [[token for token in row[settings.prefix :] if token != end] for row in drawn]
    decode = model.vocabulary.decode
    return [decode(row) for row in own], [decode(row[settings.prefix : settings.length]) for row in rows]


def _telling(generated: list[str], real: list[str], scores: "FloatArray") -> list[tuple[str, list[str]]]:
    """The texts of each side that are classified with the widest margin."""
    import numpy as np

    n = len(real)
    columns = []
    for title, texts, own in (("generated", generated, scores[:n]), ("real", real, -scores[n:])):
        order = np.argsort(-np.nan_to_num(own, nan=-np.inf))[:_SHOWN]
        columns.append((title, [texts[place] for place in order if own[place] > 0]))
    return columns


def _frontier_chart(frontier: "FloatArray") -> Specification:
    """Both divergences along the mixtures; equal distributions are a point at the origin."""
    points: list[dict[str, Any]] = [
        {"order": place, "generated": float(one), "real": float(other)} for place, (one, other) in enumerate(frontier)
    ]
    axes = {
        "x": {"field": "generated", "type": "quantitative", "title": "nats from generated text to the mixture"},
        "y": {"field": "real", "type": "quantitative", "title": "nats from real text to the mixture"},
        "order": {"field": "order", "type": "quantitative"},
    }
    mark = {"type": "line", "point": True}
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": HEIGHT,
        "data": {"values": points},
        "mark": mark,
        "encoding": axes,
    }
