"""The quality-diversity trade-off of sampling algorithms (Chapter 5): a grid of settings each, matched by diversity.

Quality is corpus-BLEU against references, diversity is self-BLEU; both are means over sentences, whose scores are
kept. All settings continue the same prefixes with the same random numbers, so resampling prefixes resamples every
setting alike, and two algorithms compare in pairs.
"""

import contextlib
import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.measures.bleu import leave_one_out_bleu, sentence_bleu
from offscript.measures.diversity.estimation import measure_diversity, ngram_entropy
from offscript.measures.measurement import Measurement, environment
from offscript.measures.ngrams import NgramCounter, NgramCounts, TokenTable, tabulate
from offscript.measures.quality import measure_quality
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated, generate_each
from offscript.sampling.transforms import parse_transform
from offscript.statistics import (
    RESAMPLES,
    Difference,
    Estimate,
    correlation_interval,
    curve_difference,
    differences_from_best,
    jackknife,
    mean_interval,
    within,
)
from offscript.statistics.estimates import LEAST

QUESTION = "sampling"
ENTROPY_ORDER = 3  # as in figures 5-1 and 5-5

AGREEMENT = "self_bleu~entropy"
_FEWEST_CORRELATED = 10
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
    quality: FloatArray  # [prefixes], BLEU against the references; its mean is that of the continuations kept
    diversity: FloatArray  # [prefixes], BLEU against the other continuations: lower is more diverse
    self_bleu: Estimate  # the mean of `diversity`; its interval knows that sentences are each other's references
    entropy: Estimate | None = None  # of n-grams, in nats


@dataclass(frozen=True)
class AlgorithmDifference:
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
        label = setting.sampler
        shared: dict[str, Any] = {
            "question": QUESTION,
            "n": len(setting.quality),
            "seed": self.seed,
            "seconds": self.seconds / len(self.settings),
            "recipe": {**self.recipe, "sampler": setting.sampler},
        }
        scores = (
            (f"corpus_bleu_{self.order}", mean_interval(setting.quality), setting.quality, True),
            (f"self_bleu_{self.order}", setting.self_bleu, setting.diversity, False),
            (f"entropy_{ENTROPY_ORDER}", setting.entropy, None, True),
        )
        return [
            Measurement.of(estimate, name=f"{label}.{name}", higher_is_better=better, per_item=values, **shared)
            for name, estimate, values, better in scores
            if estimate is not None
        ]

    def behind_best(self, real: Estimate) -> list[Measurement]:
        """How far settings as diverse as real text are below the best of them in corpus-BLEU, prefix by prefix.

        The best itself has no such figure; the recipes of the others name it. Intervals hold for all pairs at once.
        """
        diverse = [setting for setting in self.settings if setting.self_bleu.value <= real.interval.upper]
        if len(diverse) < 2:
            return []
        quality = np.stack([setting.quality for setting in diverse], axis=1)  # [prefixes, settings]
        best, differences = differences_from_best(quality, generator=np.random.default_rng([self.seed, len(diverse)]))
        return [
            Measurement.of(
                difference,
                question=QUESTION,
                name=f"{setting.sampler}.behind_best",
                n=len(quality),
                seed=self.seed,
                seconds=0.0,
                recipe={**self.recipe, "sampler": setting.sampler, "best": diverse[best].sampler},
                higher_is_better=False,
            )
            for place, (setting, difference) in enumerate(zip(diverse, differences, strict=True))
            if place != best
        ]

    def ahead_of_first(self) -> list[Measurement]:
        """How far each algorithm's corpus-BLEU is above the first one's at the same diversity, over those both reach.

        An algorithm that cannot be matched with the first has no such figure.
        """
        first, *others = self.algorithms
        found = []
        for other in others:
            with contextlib.suppress(OffscriptError):
                compared = compare_algorithms(self, other, first, generator=np.random.default_rng(self.seed))
                found.append(
                    Measurement.of(
                        compared.difference,
                        question=QUESTION,
                        name=f"{other}.ahead",
                        n=len(self.settings[0].quality),
                        seed=self.seed,
                        seconds=0.0,
                        recipe={**self.recipe, "algorithm": other, "against": first},
                        higher_is_better=True,
                    )
                )
        return found

    def agreement_of_diversities(self) -> list[Measurement]:
        """Spearman's correlation of 1 - self-BLEU and n-gram entropy over settings, ten or more (Figure A-6).

        There is none where one of the two is the same for all settings.
        """
        known = [(1 - each.self_bleu.value, each.entropy.value) for each in self.settings if each.entropy is not None]
        if len(known) < _FEWEST_CORRELATED or not np.ptp(known, axis=0).all():
            return []
        return [
            Measurement.of(
                correlation_interval(*zip(*known, strict=True), kind="spearman"),
                question=QUESTION,
                name=AGREEMENT,
                n=len(known),
                seed=self.seed,
                seconds=0.0,
                recipe={**self.recipe, "algorithm": "all"},
            )
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
    shortest: int = 0,
    batch_size: int = 512,
    progress: Callable[[int], None] | None = None,
) -> Sweep:
    """Continue prefixes [n, time] under every setting and score the whole sequences against the references.

    Only sequences of at least `shortest` tokens are scored; a setting with fewer than three of them is left out.
    """
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
    scored = [
        _scored(algorithm, sampler, generated, references, model.vocabulary.end, order, shortest)
        for (algorithm, sampler), generated in zip(pairs, drawn, strict=True)
    ]
    settings = tuple(setting for setting in scored if setting is not None)
    if not settings:
        raise OffscriptError(
            f"no sampler continues three prefixes to {shortest} tokens", next="give a smaller --shortest"
        )
    recipe = {
        "measure": QUESTION,
        "model": model.name,
        "weights": model.weight_hash,
        "prefixes": list(prefixes.shape),
        "data": hashlib.sha256(repr((prefixes.tolist(), references)).encode()).hexdigest()[:32],
        "length": length,
        **({"shortest": shortest} if shortest else {}),
        "references": len(references),
        "bleu": f"order {order}, model tokens, NLTK method 1 smoothing, closest reference length",
        "seed": seed,
        **environment(),
    }
    return Sweep(settings, order, recipe, seed, time.monotonic() - began)


def compare_algorithms(
    sweep: Sweep, first: str, second: str, *, generator: np.random.Generator, resamples: int = RESAMPLES
) -> AlgorithmDifference:
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
    return AlgorithmDifference(
        first, second, curve_difference(points, *curves, generator=generator, resamples=resamples)
    )


def at_diversity(sweep: Sweep, diversity: float) -> dict[str, Setting]:
    """The setting of each algorithm that comes closest to a diversity: samples for people (Table 5.1)."""
    return {
        name: min(sweep.of(name), key=lambda setting: abs(float(setting.diversity.mean()) - diversity))
        for name in sweep.algorithms
    }


class RealText(NamedTuple):
    """Sentences whose beginnings are continued, and as many others to compare with."""

    originals: list[list[int]]
    references: list[list[int]]

    def prefixes(self, size: int) -> Tensor:
        """The first tokens of the originals, [n, size]."""
        return torch.tensor([sentence[:size] for sentence in self.originals])


def real_text(
    sentences: Sequence[Sequence[int]], *, prefix: int, samples: int, length: int, shortest: int = 0
) -> RealText:
    """The first half of the sentences that reach `prefix` tokens is continued, the other half are references.

    With `shortest`, sentences of `shortest` to `length` tokens are taken as they are, and no others; without it, longer
    ones are cut to `length`.
    """
    fewest, most = max(prefix, shortest), length if shortest else math.inf
    usable = [list(sentence)[:length] for sentence in sentences if fewest <= len(sentence) <= most]
    taken = min(samples, len(usable) // 2)
    if taken < LEAST:
        raise OffscriptError(
            f"found {len(usable)} sentences of {fewest} tokens or more"
            + (f" and at most {length}" if shortest else ""),
            why=f"prefixes and references need {2 * LEAST}",
            next="give more text" + (", or a smaller --shortest" if shortest else ", or a smaller --prefix"),
        )
    return RealText(usable[:taken], usable[taken : taken + samples])


def measure_real_text(
    model: LanguageModel, text: RealText, recipe: Mapping[str, Any], order: int = 4
) -> list[Measurement]:
    """Self-BLEU, n-gram entropy and corpus-BLEU of real text: where a sampler's own should be.

    Diversity is that of as many references as each setting continues prefixes; quality is that of the originals.
    """
    originals, references = (_without(model.vocabulary.end, rows) for rows in text)
    rows = references[: len(originals)]
    described = {"text": dict(recipe), "sentences": len(rows)}
    shared: dict[str, Any] = {"tokenization": "the model's", "recipe": described, "highest_order": max(order, 4)}
    diversity = {entry.name: entry for entry in measure_diversity(rows, **shared)}
    quality = {entry.name: entry for entry in measure_quality(originals, references, **shared)}
    wanted = {
        f"corpus_bleu_{order}": quality,
        f"self_bleu_{order}": diversity,
        f"entropy_{ENTROPY_ORDER}": diversity,
    }
    return [replace(known[name], question=QUESTION, name=f"real text.{name}") for name, known in wanted.items()]


def _without(end: int | None, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    return [[token for token in row if token != end] for row in rows]


def _scored(
    algorithm: str,
    sampler: str,
    generated: Generated,
    references: Sequence[Sequence[int]],
    end: int | None,
    order: int,
    shortest: int,
) -> Setting | None:
    cut = [row[:size] for row, size in zip(generated.tokens.tolist(), generated.lengths.tolist(), strict=True)]
    rows = _without(end, cut)
    long_enough = np.array([len(row) >= shortest for row in rows])
    if long_enough.sum() < 3:
        return None
    rows = [row for row, kept in zip(rows, long_enough, strict=True) if kept]
    quality = sentence_bleu(rows, _without(end, references), highest_order=order).scores[:, -1]
    diversity = leave_one_out_bleu(rows, highest_order=order).scores[:, -1]
    (table,) = tabulate(rows)
    counts = _ngrams(table)

    def figures_of(kept: NDArray[np.bool_]) -> FloatArray:
        self_bleu = leave_one_out_bleu(table.select(kept), highest_order=order).corpus(order)
        return np.array([self_bleu, ngram_entropy(counts.total(np.where(kept[counts.sentence], counts.count, 0)))])

    self_bleu, entropy = jackknife(figures_of, len(rows))
    return Setting(
        algorithm,
        sampler,
        generated,
        _over_all(quality, long_enough),
        _over_all(diversity, long_enough),
        within(self_bleu, 0, 1),
        within(entropy, 0),
    )


def _ngrams(table: TokenTable) -> NgramCounts:
    counter = NgramCounter(table)
    return [counter.next_order() for _ in range(ENTROPY_ORDER)][-1]


def _over_all(scores: FloatArray, kept: NDArray[np.bool_]) -> FloatArray:
    """Scores of the kept continuations as values of all prefixes, [n], with the same mean and its linearised error.

    Settings keep different prefixes; as values of all of them they can still be compared in pairs.
    """
    mean, share = scores.mean(), kept.mean()
    values = np.full(len(kept), mean)
    values[kept] += (scores - mean) / share
    return values if share < 1 else scores


def _curve(settings: Sequence[Setting]) -> tuple[FloatArray, FloatArray]:
    """Diversity and quality of an algorithm's settings, [settings, n] each."""
    return np.stack([each.diversity for each in settings]), np.stack([each.quality for each in settings])
