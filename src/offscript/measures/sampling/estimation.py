"""The quality-diversity trade-off of sampling algorithms (Chapter 5): a grid of settings each, matched by diversity.

Quality is corpus-BLEU against references, diversity is self-BLEU; both are means over sentences, whose scores are
kept. All settings continue the same prefixes with the same random numbers, so resampling prefixes resamples every
setting alike, and two algorithms compare in pairs.
"""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.measures.bleu import leave_one_out_bleu, sentence_bleu
from offscript.measures.diversity.estimation import measure_diversity
from offscript.measures.measurement import Measurement, environment
from offscript.measures.ngrams import tabulate
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated, generate_each
from offscript.sampling.transforms import parse_transform
from offscript.statistics import RESAMPLES, Difference, Estimate, curve_difference, jackknife, mean_interval, within

QUESTION = "sampling"

GRIDS: dict[str, tuple[str, ...]] = {
    "top-k": tuple(f"top-k,k={k}" for k in (5, 10, 20, 40, 80, 160, 400)),
    "nucleus": tuple(f"nucleus,p={p}" for p in (0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 0.97)),
    "tempered": tuple(f"tempered,temperature={t}" for t in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
    "tempered-top-k": tuple(f"tempered-top-k,k=100,temperature={t}" for t in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
    "max-entropy": tuple(f"max-entropy,entropy={e}" for e in (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.5)),
    "random-top-k": tuple(f"random-top-k,maximum={k}" for k in (10, 20, 40, 80, 160, 400)),
    "random-mask": tuple(f"random-mask,rate={r}" for r in (0.3, 0.5, 0.7, 0.85, 0.95)),
    "target-entropy": tuple(f"target-entropy,entropy={e}" for e in (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)),
    "noised-top-k": tuple(f"noised-top-k,k={k},weight=0.05" for k in (5, 10, 20, 50, 100)),
    "random-mask-all": tuple(f"random-mask-all,rate={r}" for r in (0.3, 0.5, 0.7, 0.85, 0.95)),
    "min-p": tuple(f"min-p,p={p}" for p in (0.3, 0.2, 0.1, 0.05, 0.02, 0.01)),
    "typical": tuple(f"typical,p={p}" for p in (0.2, 0.4, 0.6, 0.8, 0.95)),
    "eta": tuple(f"eta,epsilon={e}" for e in (0.1, 0.03, 0.01, 0.003, 0.001)),
    "epsilon": tuple(f"epsilon,epsilon={e}" for e in (0.1, 0.03, 0.01, 0.003, 0.001)),
}
"""A grid of settings for each algorithm, from careful to free."""


@dataclass(frozen=True)
class Setting:
    """One setting's continuations, scored sentence by sentence."""

    algorithm: str
    sampler: str
    generated: Generated
    quality: FloatArray  # [prefixes], BLEU against the references
    diversity: FloatArray  # [prefixes], BLEU against the other continuations: lower is more diverse
    self_bleu: Estimate  # the mean of `diversity`; its interval knows that sentences are each other's references


@dataclass(frozen=True)
class Comparison:
    """Mean difference in quality between two algorithms over the diversities both reach."""

    first: str
    second: str
    difference: Difference

    @property
    def on_par(self) -> bool:
        """Whether the interval holds zero."""
        return 0.0 in self.difference.interval


@dataclass(frozen=True)
class Sweep:
    """Every setting of every algorithm, and the recipe they share."""

    settings: tuple[Setting, ...]
    order: int
    recipe: Mapping[str, Any]
    seed: int
    seconds: float

    def of(self, algorithm: str) -> list[Setting]:
        """An algorithm's settings, from the most diverse on."""
        chosen = [setting for setting in self.settings if setting.algorithm == algorithm]
        return sorted(chosen, key=lambda setting: float(setting.diversity.mean()))

    @property
    def algorithms(self) -> list[str]:
        """In the order they were asked for."""
        return list(dict.fromkeys(setting.algorithm for setting in self.settings))

    def measurements(self) -> list[Measurement]:
        """Corpus-BLEU and self-BLEU of every setting."""
        return [entry for setting in self.settings for entry in self._of_setting(setting)]

    def _of_setting(self, setting: Setting) -> list[Measurement]:
        label = setting.sampler.replace(",", ";")
        shared: dict[str, Any] = {
            "question": QUESTION,
            "n": len(setting.quality),
            "seed": self.seed,
            "seconds": self.seconds / len(self.settings),
            "recipe": {**self.recipe, "sampler": setting.sampler},
        }
        scores = (
            ("corpus_bleu", mean_interval(setting.quality), setting.quality, True),
            ("self_bleu", setting.self_bleu, setting.diversity, False),
        )
        return [
            Measurement.of(
                estimate,
                name=f"{label}.{name}_{self.order}",
                higher_is_better=better,
                per_item=values,
                **shared,
            )
            for name, estimate, values, better in scores
        ]


def grid_of(samplers: Sequence[str]) -> list[tuple[str, str]]:
    """(algorithm, setting) pairs: a bare name stands for its whole grid, a name with settings for itself."""
    pairs = []
    for sampler in samplers:
        name = sampler.split(",", 1)[0].strip()
        settings = GRIDS[name] if sampler.strip() in GRIDS else (sampler,)
        pairs += [(name, str(parse_transform(setting))) for setting in settings]
    if not pairs:
        raise OffscriptError("no samplers to compare", next="name some, such as nucleus top-k,k=40")
    return list(dict.fromkeys(pairs))


def sweep_samplers(
    model: LanguageModel,
    prefixes: Tensor,
    references: Sequence[Sequence[int]],
    *,
    samplers: Sequence[str],
    length: int,
    seed: int,
    order: int = 4,
    batch_size: int = 512,
    progress: Callable[[int], None] | None = None,
) -> Sweep:
    """Continue prefixes [n, time] under every setting and score the whole sequences against the references."""
    began, pairs = time.monotonic(), grid_of(samplers)
    drawn = generate_each(
        model,
        [parse_transform(sampler) for _, sampler in pairs],
        len(prefixes),
        length,
        seed=seed,
        prefixes=prefixes,
        batch_size=batch_size,
        progress=progress,
    )
    settings = tuple(
        _scored(algorithm, sampler, generated, references, model.vocabulary.end, order)
        for (algorithm, sampler), generated in zip(pairs, drawn, strict=True)
    )
    recipe = {
        "measure": QUESTION,
        "model": model.name,
        "weights": model.weight_hash,
        "prefixes": list(prefixes.shape),
        "data": hashlib.sha256(repr((prefixes.tolist(), references)).encode()).hexdigest()[:32],
        "length": length,
        "references": len(references),
        "bleu": f"order {order}, model tokens, NLTK method 1 smoothing, closest reference length",
        "seed": seed,
        **environment(),
    }
    return Sweep(settings, order, recipe, seed, time.monotonic() - began)


def compare_algorithms(
    sweep: Sweep, first: str, second: str, *, generator: np.random.Generator, resamples: int = RESAMPLES
) -> Comparison:
    """Paired bootstrap of the difference in quality at matched diversity, averaged over the diversities both reach.

    Each algorithm's settings make a curve, quality over diversity; between settings it is straight. One resample of
    the prefixes moves all settings of both algorithms together.
    """
    curves = [_curve(sweep.of(name)) for name in (first, second)]
    if min(len(diversity) for diversity, _ in curves) < 2:
        raise OffscriptError(f"{first} and {second} cannot be matched", why="each needs two settings or more")
    low = max(float(diversity.mean(axis=1).min()) for diversity, _ in curves)
    high = min(float(diversity.mean(axis=1).max()) for diversity, _ in curves)
    if low >= high:
        raise OffscriptError(f"{first} and {second} reach no common diversity", next="widen their grids")
    points = np.linspace(low, high, 20)
    return Comparison(first, second, curve_difference(points, *curves, generator=generator, resamples=resamples))


def at_diversity(sweep: Sweep, diversity: float) -> dict[str, Setting]:
    """The setting of each algorithm that comes closest to a diversity: samples for people (Table 5.1)."""
    return {
        name: min(sweep.of(name), key=lambda setting: abs(float(setting.diversity.mean()) - diversity))
        for name in sweep.algorithms
    }


def prefixes_and_references(
    sentences: Sequence[Sequence[int]], *, prefix: int, samples: int, length: int
) -> tuple[Tensor, list[list[int]]]:
    """The first half of the sentences that reach `prefix` tokens gives prefixes, the other half references."""
    usable = [list(sentence)[:length] for sentence in sentences if len(sentence) >= prefix]
    taken = min(samples, len(usable) // 2)
    if taken < 3:
        raise OffscriptError(
            f"{len(usable)} sentences of {prefix} tokens or more",
            why="prefixes and references need six",
            next="give more text",
        )
    return torch.tensor([sentence[:prefix] for sentence in usable[:taken]]), usable[taken : taken + samples]


def diversity_of_real_text(
    model: LanguageModel, references: Sequence[Sequence[int]], recipe: Mapping[str, Any]
) -> Measurement:
    """Self-BLEU of as many real sentences as each setting continues: where a sampler's diversity should be."""
    end = model.vocabulary.end
    rows = [[token for token in row if token != end] for row in references]
    described = {"text": dict(recipe), "sentences": len(rows)}
    measured = {entry.name: entry for entry in measure_diversity(rows, tokenization="the model's", recipe=described)}
    return replace(measured["self_bleu_4"], question=QUESTION, name="real text.self_bleu_4")


def _scored(
    algorithm: str, sampler: str, generated: Generated, references: Sequence[Sequence[int]], end: int | None, order: int
) -> Setting:
    rows = [
        [token for token in row[:size] if token != end]
        for row, size in zip(generated.tokens.tolist(), generated.lengths.tolist(), strict=True)
    ]
    quality = sentence_bleu(rows, [[token for token in row if token != end] for row in references], highest_order=order)
    diversity = leave_one_out_bleu(rows, highest_order=order)
    (table,) = tabulate(rows)

    def mean_of(kept: NDArray[np.bool_]) -> FloatArray:
        return np.array([leave_one_out_bleu(table.select(kept), highest_order=order).corpus(order)])

    (self_bleu,) = jackknife(mean_of, len(rows))
    return Setting(
        algorithm, sampler, generated, quality.scores[:, -1], diversity.scores[:, -1], within(self_bleu, 0, 1)
    )


def _curve(settings: Sequence[Setting]) -> tuple[FloatArray, FloatArray]:
    """Diversity and quality of an algorithm's settings, [settings, n] each."""
    return np.stack([each.diversity for each in settings]), np.stack([each.quality for each in settings])
