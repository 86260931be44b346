"""What a translation model writes after right, wrong and random first tokens (App. A, Table 2), with intervals.

The source stays what it is; the first tokens of the translation are forced. What follows them is compared with the
reference: BLEU where that means something (the right prefix and none), chrF, content words, likelihood.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from offscript._specification import nearest
from offscript._types import Count, FloatArray
from offscript.corpora.parallel import SentencePair
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, recipe_of
from offscript.measures.measurement import Measurement
from offscript.measures.translation import DATA, KINDS, NORMAL
from offscript.measures.translation.words import Content, copied_share, repeated_share, words_of
from offscript.models.language_model import LanguageModel
from offscript.models.sources import Seq2SeqLanguageModel
from offscript.sampling.beams import beam_search
from offscript.sampling.generation import generate, lengths_until
from offscript.sampling.histories import random_histories, shuffled_histories, unrelated_histories
from offscript.sampling.transforms.base import Greedy
from offscript.sampling.translation import translate
from offscript.statistics import mean_interval, rate_interval, within
from offscript.statistics.translation import bleu_interval, bleu_signature, sentence_chrf

QUESTION = "translation"
_HIGHER = ("bleu", "chrf", "content", "back")
_CHANGED = 1  # the stream of random numbers that wrong prefixes are made with
_LEAST = 4


@dataclass(frozen=True)
class Translated:
    """One source's translation after one prefix."""

    prefix: str
    rest: str


@dataclass(frozen=True)
class Recovered:
    """Figures, and the translations they were made from."""

    measurements: list[Measurement]
    pairs: list[SentencePair]
    translations: dict[str, list[Translated]] = field(default_factory=dict)

    def side_by_side(self, count: int) -> list[dict[str, str]]:
        """Source, reference and every translation of the first pairs, as Table 2 has them."""
        rows = []
        for number, pair in enumerate(self.pairs[:count]):
            row = {"source": pair.source, "reference": pair.target}
            for kind, listed in self.translations.items():
                own = listed[number]
                row[kind] = own.rest if kind == NORMAL else f"{own.prefix} → {own.rest}"
            rows.append(row)
        return rows


def measure_translation(
    model: Seq2SeqLanguageModel,
    pairs: Sequence[SentencePair],
    *,
    seed: int,
    prefix: int = 3,
    kinds: Sequence[str] = KINDS,
    length: int = 100,
    beams: int = 1,
    back: Seq2SeqLanguageModel | None = None,
    batch_size: int = 64,
    level: float = 0.95,
    progress: Count | None = None,
) -> Recovered:
    """Figures of what follows each kind of prefix; pairs whose target has no token after the prefix are left out.

    For a kind k: `content.k`, the share of the content words of the reference's rest that occur in what was written;
    `hallucinated.k`, the share of outputs that have none of three or more; `chrf.k` against the reference or its rest,
    whichever is nearer; `nll.k`, nats per token of what was written if the right prefix had stood before it;
    `repetition.k` and `copied.k`; `bleu.normal` of whole translations and `bleu.data` of what follows the prefix.
    `content_gap.k` and `chrf_gap.k` are what is lost against `normal`, in pairs. With `back`, `back.k` is the chrF of
    the back-translation against the source.
    """
    began = time.monotonic()
    _require_kinds(kinds)
    sides = _Sides.of(model, pairs, prefix)
    reading: dict[str, Any] = {"length": length, "beams": beams, "batch_size": batch_size, "progress": progress}
    tokens = {kind: sides.translated(kind, seed=seed, **reading) for kind in kinds}
    figures: dict[str, Figure] = {}
    texts = {}
    for kind, rows in tokens.items():
        texts[kind] = sides.texts(kind, rows)
        figures |= sides.figures(kind, texts[kind], rows, level=level, seed=seed, batch_size=batch_size)
        if back is not None:
            figures[f"back.{kind}"] = _back_figure(back, sides.pairs, texts[kind], length, batch_size, level)
    figures |= _gaps(figures, kinds, level)
    settings = {"samples": len(sides.pairs), "prefix": prefix, "kinds": list(kinds), "length": length, "beams": beams}
    recipe = recipe_of(QUESTION, model, None, {**settings, "seed": seed, "level": level, "bleu": bleu_signature()})
    shared = {"n": len(sides.pairs), "seed": seed, "seconds": time.monotonic() - began, "question": QUESTION}
    measurements = [
        entry
        for better in (True, False)
        for entry in as_measurements(
            {name: figure for name, figure in figures.items() if (name.partition(".")[0] in _HIGHER) is better},
            recipe=recipe,
            higher_is_better=better,
            **shared,
        )
    ]
    return Recovered(measurements, sides.pairs, texts)


@dataclass(frozen=True)
class _Sides:
    """Pairs whose targets go beyond the prefix, and the model with their sources."""

    given: LanguageModel
    pairs: list[SentencePair]
    prefixes: Tensor  # [rows, prefix], the right ones
    rests: list[str]  # what the references say after it
    content: Content

    @classmethod
    def of(cls, model: Seq2SeqLanguageModel, pairs: Sequence[SentencePair], prefix: int) -> "_Sides":
        encoded = [(pair, model.vocabulary.encode(pair.target)) for pair in pairs]
        kept = [(pair, ids) for pair, ids in encoded if len(ids) > prefix]
        if len(kept) < _LEAST:
            raise OffscriptError(
                f"{len(kept)} targets have more than {prefix} tokens", next="give more pairs or a shorter --prefix"
            )
        rests = [model.vocabulary.decode(ids[prefix:]) for _, ids in kept]
        chosen = [pair for pair, _ in kept]
        content = Content.of([pair.target for pair in chosen], rests)
        if sum(map(bool, content.wanted)) < _LEAST:
            raise OffscriptError(
                "too few targets have a word that is rare among them",
                why="such words are what a translation must keep",
                next="give more pairs",
            )
        return cls(
            model.given(model.read_sources([pair.source for pair in chosen])),
            chosen,
            torch.tensor([ids[:prefix] for _, ids in kept]),
            rests,
            content,
        )

    def forced(self, kind: str, seed: int) -> Tensor | None:
        """The tokens that every translation begins with; none where it is left alone."""
        rows, time_ = self.prefixes.shape
        match kind:
            case "normal":
                return None
            case "unrelated":
                return unrelated_histories(self.prefixes, seed=(seed, _CHANGED))
            case "shuffled":
                return shuffled_histories(self.prefixes, seed=(seed, _CHANGED))
            case "random":
                end = self.given.vocabulary.end
                drawn = random_histories(self.given.vocabulary.size - 1, rows, time_, seed=(seed, _CHANGED))
                return drawn if end is None else drawn + (drawn >= end)  # any token but the end
        return self.prefixes

    def translated(
        self, kind: str, *, seed: int, length: int, beams: int, batch_size: int, progress: Count | None
    ) -> Tensor:
        """Tokens [rows, length] of every translation, its prefix included, filled up with end tokens."""
        rows, forced = len(self.pairs), self.forced(kind, seed)
        shared: dict[str, Any] = {"prefixes": forced, "batch_size": batch_size, "progress": progress}
        if beams > 1:
            return beam_search(self.given, rows, length, beams=beams, **shared).tokens
        return generate(self.given, rows, length, seed=seed, transform=Greedy(), **shared).tokens

    def texts(self, kind: str, tokens: Tensor) -> list[Translated]:
        """What was forced and what followed; where nothing was forced, all of it followed."""
        decode = self.given.vocabulary.decode
        cut = 0 if kind == NORMAL else self.prefixes.shape[1]
        lengths = lengths_until(tokens, self.given.vocabulary.end).tolist()
        rows = [row[:size] for row, size in zip(tokens.tolist(), lengths, strict=True)]
        return [Translated(decode(row[:cut]), decode(row[cut:])) for row in rows]

    def figures(
        self, kind: str, texts: list[Translated], tokens: Tensor, *, level: float, seed: int, batch_size: int
    ) -> dict[str, Figure]:
        written = [each.rest for each in texts]
        content = self.content.kept(written)
        known = ~np.isnan(content)
        chrf = np.array([max(sentence_chrf(text, rest), sentence_chrf(text, pair.target))
                         for text, rest, pair in zip(written, self.rests, self.pairs, strict=True)])  # fmt: skip
        triples = zip(self.pairs, written, strict=True)
        copied = np.array([copied_share(text, pair.source, pair.target) for pair, text in triples])
        repetition = np.array([repeated_share(text) for text in written])
        totals, lengths = self._costs(tokens, batch_size)
        figures = {
            f"content.{kind}": Figure(within(mean_interval(content[known], level=level), 0, 1), per_item=content),
            f"chrf.{kind}": _mean(chrf, level),
            f"repetition.{kind}": _mean(repetition, level),
            f"copied.{kind}": _mean(copied, level),
        }
        if self.content.rich.sum() >= _LEAST:
            figures[f"hallucinated.{kind}"] = _mean((content[self.content.rich] == 0).astype(np.float64), level)
        if (lengths > 0).sum() >= _LEAST:
            some = lengths > 0
            cost = rate_interval(totals[some], lengths[some], level=level)
            per_item = np.where(some, totals / np.maximum(lengths, 1), np.nan)
            figures[f"nll.{kind}"] = Figure(cost, per_item=per_item, weights=lengths)
        if kind in (NORMAL, DATA):
            wanted = [pair.target for pair in self.pairs] if kind == NORMAL else self.rests
            figures[f"bleu.{kind}"] = Figure(bleu_interval(written, wanted, seed=seed, level=level))
        return figures

    def _costs(self, tokens: Tensor, batch_size: int) -> tuple[FloatArray, FloatArray]:
        """Nats of what follows the first tokens, had these been the right ones, and how many tokens that is."""
        prefix = self.prefixes.shape[1]
        lengths = lengths_until(tokens, self.given.vocabulary.end)
        sequences = torch.cat([self.prefixes, tokens[:, prefix:]], dim=1)[:, : int(lengths.max())]
        totals = torch.zeros(len(tokens), dtype=torch.float64)
        for first in range(0, len(tokens), batch_size):
            rows = torch.arange(first, min(first + batch_size, len(tokens)))
            longest = int(lengths[rows].max())
            found = self.given.of_rows(rows).log_likelihoods(sequences[rows, :longest]).double().cpu()
            places = torch.arange(longest)
            after = (places >= prefix) & (places < lengths[rows].unsqueeze(1))
            totals[rows] = -found.where(after, 0.0).sum(dim=1)
        return totals.numpy(), (lengths - prefix).clamp(min=0).double().numpy()


def _mean(values: NDArray[np.float64], level: float) -> Figure:
    return Figure(within(mean_interval(values, level=level), 0, 1), per_item=values)


def _gaps(figures: dict[str, Figure], kinds: Sequence[str], level: float) -> dict[str, Figure]:
    """What is lost against translations without a prefix, in pairs."""
    gaps = {}
    for name in ("content", "chrf"):
        normal = figures.get(f"{name}.{NORMAL}")
        for kind in kinds if normal is not None and normal.per_item is not None else ():
            own = figures[f"{name}.{kind}"].per_item
            if kind != NORMAL and own is not None:
                lost = normal.per_item - own  # type: ignore[union-attr]
                known = lost[~np.isnan(lost)]
                gaps[f"{name}_gap.{kind}"] = Figure(mean_interval(known, share=False, level=level), per_item=lost)
    return gaps


def _back_figure(
    back: Seq2SeqLanguageModel,
    pairs: Sequence[SentencePair],
    texts: Sequence[Translated],
    length: int,
    batch_size: int,
    level: float,
) -> Figure:
    """ChrF of what was written, translated back, against the source; an empty text has nothing of it."""
    written = [(number, each.rest) for number, each in enumerate(texts) if words_of(each.rest)]
    again = translate(back, [text for _, text in written], length=length, batch_size=batch_size) if written else []
    scores = np.zeros(len(texts))
    for (number, _), text in zip(written, again, strict=True):
        scores[number] = sentence_chrf(text, pairs[number].source)
    return _mean(scores, level)


def _require_kinds(kinds: Sequence[str]) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise OffscriptError(f"no kind of prefix {kind!r}", next=nearest(kind, KINDS))
    if not kinds:
        raise OffscriptError("no kind of prefix", next=f"name some of {', '.join(KINDS)}")
