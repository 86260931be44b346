"""How often continuations of real prompts degenerate, sampler by sampler, beside the real continuations."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from offscript._types import Count, FloatArray
from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, means_by_position, recipe_of
from offscript.measures.degeneration import KINDS, REAL
from offscript.measures.degeneration.loops import Loop, copies, loop_of, seen_before
from offscript.measures.diversity.estimation import REPETITION_ORDER, ZIPF_RANKS, zipf_coefficient
from offscript.measures.measurement import Measurement
from offscript.measures.ngrams import NgramCounter, NgramCounts, tabulate
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated, generate_each
from offscript.sampling.transforms import parse_transform
from offscript.statistics import (
    Curve,
    Estimate,
    jackknife,
    mean_interval,
    proportion_interval,
    share_difference,
    within,
)
from offscript.statistics.estimates import LEAST

QUESTION = "degeneration"
CLOSING = frozenset(".!?…。!?\"'”’»)]}")
"""What a whole sentence ends with."""

_UNREADABLE = "\ufffd"
_TURNS, _FEWEST_AT_ONCE = 8, 48  # so that a slow model shows some progress, and a fast one hardly loses time
_FEWEST_COUNTED = 5  # occurrences of a token whose frequency is drawn


@dataclass(frozen=True)
class Continuations:
    """Texts of one source: what follows each prompt, up to the limit or to the text's end."""

    source: str
    prompts: list[list[int]]
    texts: list[list[int]]
    ended: FloatArray | None  # [n], whether each text ended before the limit; None where nothing can end
    written: list[str]  # the texts decoded

    @cached_property
    def loops(self) -> list[Loop | None]:
        """The cycle that each text ends in."""
        return [loop_of(text) for text in self.texts]

    @cached_property
    def flags(self) -> dict[str, FloatArray]:
        """0 or 1 for each text, by kind of fault; kinds that cannot occur here are left out."""
        flags = {
            "loops": np.array([loop is not None for loop in self.loops], dtype=float),
            "empty": np.array([not written.strip() for written in self.written], dtype=float),
        }
        if any(self.prompts):
            both = zip(self.prompts, self.texts, strict=True)
            flags["copied"] = np.array([copies(*pair) for pair in both], dtype=float)
        flags["degenerate"] = np.max(list(flags.values()), axis=0)
        if self.ended is not None:
            flags["no_end"] = 1 - self.ended
            cut = np.array([_is_cut(written) for written in self.written], dtype=float)
            flags["truncated"] = self.ended * cut * (1 - flags["empty"])
        return {kind: flags[kind] for kind in KINDS if kind in flags}


def _is_cut(written: str) -> bool:
    """Whether a text breaks off: without a closing mark, or within a character."""
    shown = written.rstrip()
    return bool(shown) and (shown[-1] not in CLOSING or _UNREADABLE in shown[-4:])


def measure_degeneration(
    model: LanguageModel,
    real: Sequence[Sequence[int]],
    *,
    samplers: Sequence[str],
    samples: int,
    prefix: int,
    length: int,
    seed: int,
    batch_size: int = 256,
    progress: Count | None = None,
) -> tuple[list[Measurement], list[Continuations]]:
    """Continue the same prompts with every sampler and count what goes wrong, in real text as well.

    Args:
        model: The model.
        real: Real texts as tokens, without end tokens; those of at least `prefix` tokens give the prompts. Without any
            the model begins at its start token.
        samplers: Sampling algorithms such as `greedy` or `nucleus,p=0.9`.
        samples: How many texts each sampler writes at most.
        prefix: Tokens of a prompt.
        length: The most tokens of a text, its prompt included.
        seed: Draws the texts; all samplers share the random numbers.
        batch_size: Texts of all samplers together that are written at once, at most.
        progress: Counts texts.

    Returns:
        The figures of every sampler and of real text, and the texts: `S.loops` (with its curve: the share of texts
        caught in a loop by position), `S.loop_start`, `S.empty`, `S.copied`, `S.degenerate` (one of these three),
        `S.excess` (degenerate, less real text's share on the same prompts), `S.no_end`, `S.truncated`, `S.repetition`
        (by position too) and `S.zipf`.
    """
    began = time.monotonic()
    chosen = [list(row) for row in real if len(row) >= prefix][:samples]
    if real and len(chosen) < 2:
        raise OffscriptError(
            f"cannot continue {len(chosen)} text(s) of {prefix} tokens or more", next="ask for a shorter --prefix"
        )
    if prefix >= length:
        raise OffscriptError(f"cannot continue {prefix} tokens up to {length}", next="ask for a longer --length")
    names = [str(parse_transform(each)) for each in samplers]
    begin, count = prefix if chosen else 0, len(chosen) or samples
    generated = generate_each(
        model,
        [parse_transform(each) for each in samplers],
        count,
        length,
        seed=seed,
        prefixes=torch.tensor([row[:begin] for row in chosen]) if begin else None,
        batch_size=min(batch_size, max(_FEWEST_AT_ONCE, count * len(names) // _TURNS)),
        progress=progress,
    )
    sources = [_continued(model, name, each, begin) for name, each in zip(names, generated, strict=True)]
    if chosen:
        sources.append(_real(model, chosen, begin, length))
    settings = {"samplers": names, "samples": len(sources[0].texts), "prefix": begin, "length": length, "seed": seed}
    seconds = time.monotonic() - began
    recipe = recipe_of(QUESTION, model, None, settings)
    shared = {"n": len(sources[0].texts), "seed": seed, "seconds": seconds, "question": QUESTION}
    measurements = [
        entry
        for source in sources
        for entry in as_measurements(
            _figures(source, sources, length - begin),
            recipe={**recipe, "sampler": source.source},
            higher_is_better=None,
            **shared,
        )
    ]
    return measurements, sources


def _continued(model: LanguageModel, name: str, generated: Generated, prefix: int) -> Continuations:
    end, rows = model.vocabulary.end, generated.rows()
    ended = None if end is None else np.array([row[-1] == end for row in rows], dtype=float)
    texts = [row[prefix : len(row) - (row[-1] == end)] for row in rows]
    return Continuations(name, [row[:prefix] for row in rows], texts, ended, [*map(model.vocabulary.decode, texts)])


def _real(model: LanguageModel, rows: Sequence[list[int]], prefix: int, length: int) -> Continuations:
    """Real texts under the same limit; one of exactly as many tokens ends after it."""
    can_end = model.vocabulary.end is not None
    ended = np.array([len(row) < length for row in rows], dtype=float) if can_end else None
    texts = [row[prefix:length] for row in rows]
    return Continuations(REAL, [row[:prefix] for row in rows], texts, ended, [*map(model.vocabulary.decode, texts)])


def _figures(source: Continuations, sources: Sequence[Continuations], length: int) -> dict[str, Figure]:
    """The figures of one source, by name."""
    figures = {kind: Figure(_share(flags), None, flags) for kind, flags in source.flags.items()}
    figures["loops"] = figures["loops"]._replace(by_length=_caught(source.loops, length))
    starts = np.array([loop.start + 1 for loop in source.loops if loop is not None], dtype=float)
    if len(starts) >= LEAST:
        figures["loop_start"] = Figure(within(mean_interval(starts, share=False), 1), None, starts)
    figures |= _excess(source, sources[-1])
    repeated = seen_before(source.texts, length, order=REPETITION_ORDER)[:, REPETITION_ORDER - 1 :]
    counted = (~np.isnan(repeated)).any(axis=1)
    if counted.sum() >= LEAST:
        values = np.nanmean(repeated[counted], axis=1)
        figures["repetition"] = Figure(within(mean_interval(values), 0, 1), means_by_position(repeated), values)
    figures |= _frequencies(source.texts, min(sum(map(len, each.texts)) for each in sources))
    return {f"{source.source}.{name}": figure for name, figure in figures.items()}


def _share(flags: FloatArray) -> Estimate:
    return proportion_interval(float(flags.sum()), len(flags))


def _caught(loops: Sequence[Loop | None], length: int) -> Curve:
    """The share of texts that are in their loop at each position of the continuation, Wilson's interval each."""
    begun = np.array([length if loop is None else loop.start for loop in loops])
    return Curve.along([_share((begun <= place).astype(float)) for place in range(length)])


def _excess(source: Continuations, real: Continuations) -> dict[str, Figure]:
    """Degenerate texts of a sampler less those of real text, in pairs that share a prompt."""
    if real.source != REAL or source is real:
        return {}
    own, other, ones = source.flags["degenerate"], real.flags["degenerate"], np.ones(len(source.texts))
    return {"excess": Figure(share_difference((own, ones), (other, ones)), None, own - other)}


def _frequencies(texts: Sequence[Sequence[int]], tokens: int) -> dict[str, Figure]:
    """The Zipf coefficient, and log₁₀ of the frequency of the tokens of rank 1, 2, 4, 8, … in as many tokens of each.

    Both depend on how much text there is, so all sources are cut to the tokens of the shortest.
    """
    so_far = np.cumsum([len(text) for text in texts])
    used = [text for text, total in zip(texts, so_far, strict=True) if text and total <= tokens]
    if len(used) < 3:
        return {}
    (table,) = tabulate(used)
    counts = NgramCounter(table).next_order()
    frequent = np.sort(counts.total(counts.count))[::-1]
    ranks = [2**power for power in range(20) if 2**power <= (frequent >= _FEWEST_COUNTED).sum()]
    if len(frequent) < 2 or not ranks:
        return {}
    slope, *points = jackknife(lambda mask: _zipf(counts, mask, ranks), len(used))
    return {"zipf": Figure(slope, Curve.along(points))}


def _zipf(counts: NgramCounts, kept: Any, ranks: Sequence[int]) -> FloatArray:
    totals = counts.total(np.where(kept[counts.sentence], counts.count, 0))
    sizes = np.maximum(np.sort(totals)[::-1][:ZIPF_RANKS], 1)
    logs = np.log10(sizes[[rank - 1 for rank in ranks]] / max(1, totals.sum()))
    return np.array([zipf_coefficient(totals), *logs])


def worst(source: Continuations, vocabulary: Vocabulary, shown: int) -> list[dict[str, str]]:
    """The texts with the earliest loops first, then copies of the prompt and empty ones.

    Args:
        source: Texts of one sampler.
        vocabulary: Decodes them.
        shown: How many at most.

    Returns:
        The fault in words, and the text: of a loop its first two cycles.
    """
    found = []
    copied, empty = (source.flags.get(kind, np.zeros(len(source.texts))) for kind in ("copied", "empty"))
    for row, loop in enumerate(source.loops):
        if loop is not None:
            tokens = f"{loop.period} token{'s' if loop.period > 1 else ''}"
            found.append((0, loop.start, row, f"loop of {tokens} from token {loop.start + 1}"))
        elif copied[row]:
            found.append((1, row, row, "copies the prompt"))
        elif empty[row]:
            found.append((2, row, row, "empty"))
    return [{"fault": fault, "text": _shown(source, vocabulary, row)} for _, _, row, fault in sorted(found)[:shown]]


def _shown(source: Continuations, vocabulary: Vocabulary, row: int) -> str:
    loop, text = source.loops[row], source.written[row]
    if loop is not None:
        times = (len(source.texts[row]) - loop.start) / loop.period
        text = f"{vocabulary.decode(source.texts[row][: loop.start + 2 * loop.period])} … ({times:.0f} times)"
    return f"{vocabulary.decode(source.prompts[row])} ▸ {text}"
