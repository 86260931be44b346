"""How much of a training corpus a model gives back: verbatim runs in its own text, and rests of true prefixes."""

import heapq
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from offscript._types import Count, FloatArray
from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, recipe_of
from offscript.measures.measurement import Measurement
from offscript.measures.memorisation.search import Overlap, VerbatimSearch
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate, texts
from offscript.sampling.transforms import parse_transform
from offscript.statistics import (
    Estimate,
    independent_difference,
    mean_interval,
    proportion_interval,
    share_difference,
    within,
)
from offscript.statistics.estimates import LEAST

QUESTION = "memorisation"
_CANDIDATES = 8  # texts kept for each that is wanted: some are too short
_CHARACTERS = 40  # at most that a token has, on average over a text


@dataclass(frozen=True)
class Sizes:
    """How much is drawn and asked."""

    samples: int
    length: int
    prefix: int
    suffix: int
    run: int
    sampler: str


@dataclass(frozen=True)
class Source:
    """What one corpus shows: runs of the model's own texts in it, and its texts as the model continues them."""

    overlap: Overlap
    rows: list[list[int]]  # [texts, prefix + suffix]
    right: FloatArray  # [texts], tokens of the suffix that greedy decoding repeats before the first wrong one

    def extracted(self, suffix: int) -> FloatArray:
        """Whether the whole suffix was repeated; [texts]."""
        return (self.right >= suffix).astype(float)


class _Sampled:
    """A random choice of a stream's texts, by their hash: the same whatever their order, and no text twice."""

    def __init__(self, count: int, shortest: int, longest: int, seed: int) -> None:
        self._count, self._shortest, self._longest, self._seed = count, shortest, longest, seed
        self._kept: list[tuple[int, str]] = []
        self._known: set[int] = set()

    def along(self, stream: Iterable[str]) -> Iterator[str]:
        """The stream itself, from which texts are taken as they pass."""
        for text in stream:
            if len(text) >= self._shortest:
                self._consider(text)
            yield text

    def _consider(self, text: str) -> None:
        number = zlib.crc32(text.encode("utf-8", "replace"), self._seed)
        if number in self._known or (len(self._kept) >= self._count and number >= -self._kept[0][0]):
            return
        self._known.add(number)
        heapq.heappush(self._kept, (-number, text[: self._longest]))
        if len(self._kept) > self._count:
            self._known.discard(-heapq.heappop(self._kept)[0])

    def texts(self) -> list[str]:
        """Those chosen, in the order of their hashes."""
        return [text for _, text in sorted(self._kept, key=lambda each: -each[0])]


def measure_memorisation(
    model: LanguageModel,
    training: Iterable[str],
    control: Iterable[str] | None,
    *,
    sizes: Sizes,
    seed: int,
    batch_size: int = 256,
    progress: Count | None = None,
) -> tuple[list[Measurement], dict[str, Source], list[str]]:
    """Search a model's own texts in its training corpus, and let it continue beginnings of training texts.

    Args:
        model: The model.
        training: Texts that the model was trained on; they are read once, as a stream.
        control: Texts of the same kind that it cannot have seen.
        sizes: How much is drawn and asked.
        seed: Draws the model's texts and chooses the corpus's.
        batch_size: Sequences that go through the model at once.
        progress: Counts sequences.

    Returns:
        The figures, with `control.` before those of the control; what each corpus shows, by `training` and `control`;
        and the model's own texts. `extracted` is the share of training texts whose suffix greedy decoding repeats
        exactly after the true prefix (Carlini et al., 2021), `matched` how many tokens of it are repeated before the
        first wrong one. `longest` is the mean of the longest verbatim runs of the model's own texts, in bytes (0 below
        32), and `verbatim` the share with a run of `run` bytes or more. `extracted_excess` and `verbatim_excess` are
        the shares less those of the control; the latter is by text, in as much of the training corpus as the control
        has.
    """
    began = time.monotonic()
    transform = parse_transform(sizes.sampler)
    drawn = generate(
        model,
        sizes.samples,
        sizes.length,
        seed=(seed, 5),
        transform=transform,
        batch_size=batch_size,
        progress=progress,
    )
    own = [" ".join(text.split()) for text in texts(model, drawn)]
    search = VerbatimSearch(own, min(sizes.run, 32))
    streams = {"training": training, **({} if control is None else {"control": control})}
    sources = {
        name: _source(model, stream, search, name, sizes, seed=seed, batch_size=batch_size, progress=progress)
        for name, stream in streams.items()
    }
    figures = _figures(sources, sizes)
    settings = {**vars(sizes), "seed": seed, "bytes": {name: each.overlap.size for name, each in sources.items()}}
    shared = {"n": sizes.samples, "seed": seed, "seconds": time.monotonic() - began, "question": QUESTION}
    recipe = recipe_of(QUESTION, model, None, settings)
    measurements = as_measurements(figures, recipe=recipe, higher_is_better=None, **shared)
    return [_counted(entry) for entry in measurements], sources, own


def _counted(entry: Measurement) -> Measurement:
    """With the number of its items: a corpus may have fewer texts than the model writes."""
    return entry if entry.per_item is None else replace(entry, n=len(entry.per_item))


def _source(
    model: LanguageModel,
    stream: Iterable[str],
    search: VerbatimSearch,
    name: str,
    sizes: Sizes,
    *,
    seed: int,
    batch_size: int,
    progress: Count | None,
) -> Source:
    """One pass over a corpus, and then the continuations of its beginnings."""
    tokens = sizes.prefix + sizes.suffix
    sampled = _Sampled(_CANDIDATES * sizes.samples, tokens, _CHARACTERS * tokens, seed)
    overlap = search.scan(sampled.along(stream))
    rows = _rows(sampled.texts(), model.vocabulary, tokens, sizes.samples)
    if len(rows) < LEAST:
        raise OffscriptError(
            f"found {len(rows)} texts of the {name} corpus with {tokens} tokens",
            why=f"prefix and suffix take so many, and an interval needs {LEAST} texts",
            next="ask for a shorter --prefix or --suffix",
        )
    true = torch.tensor(rows)
    continued = generate(
        model,
        len(rows),
        tokens,
        seed=seed,
        transform=parse_transform("greedy"),
        prefixes=true[:, : sizes.prefix],
        batch_size=batch_size,
        progress=progress,
    ).tokens
    same = (continued == true)[:, sizes.prefix :].numpy()
    return Source(overlap, rows, np.cumprod(same, axis=1).sum(axis=1).astype(float))


def _rows(chosen: Sequence[str], vocabulary: Vocabulary, tokens: int, count: int) -> list[list[int]]:
    """The first tokens of texts that have enough."""
    encoded = (vocabulary.encode(text)[:tokens] for text in chosen)
    rows: list[list[int]] = []
    for row in encoded:
        if len(row) == tokens:
            rows.append(row)
        if len(rows) == count:
            break
    return rows


def _figures(sources: dict[str, Source], sizes: Sizes) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for name, source in sources.items():
        before = "control." if name == "control" else ""
        extracted, lengths = source.extracted(sizes.suffix), source.overlap.of_whole().astype(float)
        verbatim = (lengths >= sizes.run).astype(float)
        matched = within(mean_interval(source.right, share=False), 0, sizes.suffix)
        figures |= {
            f"{before}extracted": Figure(_share(extracted), None, extracted),
            f"{before}matched": Figure(matched, None, source.right),
            f"{before}longest": Figure(within(mean_interval(lengths, share=False), 0), None, lengths),
            f"{before}verbatim": Figure(_share(verbatim), None, verbatim),
        }
    if "control" in sources:
        figures |= _excesses(figures, sources, sizes)
    return figures


def _excesses(figures: dict[str, Figure], sources: dict[str, Source], sizes: Sizes) -> dict[str, Figure]:
    """Training less control: other texts of two corpora are independent, the model's own texts are pairs."""
    smaller = min(source.overlap.size for source in sources.values())
    own, other = (
        (sources[name].overlap.of_size(smaller) >= sizes.run).astype(float) for name in ("training", "control")
    )
    ones = np.ones(len(own))
    excess = independent_difference(figures["extracted"].estimate, figures["control.extracted"].estimate)
    return {
        "extracted_excess": Figure(excess),
        "verbatim_excess": Figure(share_difference((own, ones), (other, ones)), None, own - other),
    }


def _share(flags: FloatArray) -> Estimate:
    return proportion_interval(float(flags.sum()), len(flags))


def extracted_texts(source: Source, vocabulary: Vocabulary, prefix: int, suffix: int, shown: int) -> list[str]:
    """Texts whose whole suffix was repeated, prefix and suffix divided by ▸; the longest first."""
    rows = [row for row, whole in zip(source.rows, source.extracted(suffix), strict=True) if whole]
    told = [f"{vocabulary.decode(row[:prefix])} ▸ {vocabulary.decode(row[prefix:])}" for row in rows]
    return sorted(told, key=len, reverse=True)[:shown]


def longest_runs(source: Source, own: Sequence[str], run: int, shown: int) -> list[dict[str, Any]]:
    """The longest verbatim runs of the model's own texts, each marked in its text, and the corpus's passage."""
    found = sorted(source.overlap.runs.items(), key=lambda each: -each[1].length)
    rows = []
    for number, each in found[:shown]:
        if len(each.text.encode()) < run:
            break
        after = own[number][len(each.before) + each.length :]
        marked = f"{each.before}⟦{each.text}⟧{after}"
        rows.append({"characters": each.length, "written": marked, "in the corpus": each.passage})
    return rows
