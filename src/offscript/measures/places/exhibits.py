"""What the page shows of single tokens, as plain data: coloured texts with alternatives, and a map of all samples."""

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from offscript._types import FloatArray
from offscript.corpora.vocabularies import Vocabulary
from offscript.measures.places.estimation import (
    LABELS,
    Alternatives,
    Trace,
    alternatives,
    bad_bound,
    described,
    first_bad,
    trace,
    worst_places,
)
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated

END = "⟨end⟩"
WORST, SHOWN = 10, 10
_AROUND = 12  # tokens shown before and after a place
_DIGITS = 7  # decimals that are kept of a value
_FULL = 0.995  # the share of tokens below the value that has the full colour
_BINS = 10
_SMALL = 0.1  # below it two decimals are too few
_BEYOND = "surprise beyond what the model expected, summed up"
_LEVELS = 255


class TokenTexts:
    """Makes coloured texts of rows of a trace; what all of them share is computed once.

    Args:
        model: the model that is asked about.
        oracle: what stands for the data's distribution, if anything does.
        own: sequences of the model, which decide the scale of the colours.
        labels: what colours a token, in words.
        running: what the ribbon below a text sums up; by default regret, or surprise where there is no oracle.
    """

    def __init__(
        self,
        model: LanguageModel,
        oracle: LanguageModel | None,
        own: Trace,
        *,
        labels: Mapping[str, str] = LABELS,
        running: str = "",
    ) -> None:
        self.models = [model] if oracle is None else [model, oracle]
        self.measures = [{**each, "scale": scale(_column(own, each["name"]))} for each in described(oracle, labels)]
        self.running = running or (_BEYOND if oracle is None else "running regret")
        self._words: dict[int, int] = {}
        self._vocabulary = model.vocabulary

    def texts(self, source: Trace, rows: Sequence[int]) -> list[dict[str, Any]]:
        """The chosen rows with the values and alternatives of every token."""
        if not rows:
            return []
        chosen = Generated(source.sequences.tokens[list(rows)], source.sequences.lengths[list(rows)])
        oracle = self.models[1] if len(self.models) > 1 else None
        own = trace(self.models[0], oracle, chosen, precise=True)
        others = [alternatives(model, chosen.tokens) for model in self.models]
        return [self._text(own, others, number) for number in range(len(rows))]

    def exhibit(
        self, title: str, columns: Sequence[tuple[str, list[dict[str, Any]]]], note: str = ""
    ) -> dict[str, Any]:
        """Columns of coloured texts."""
        return {
            "kind": "tokens",
            "title": title,
            "note": note,
            "models": [model.name for model in self.models],
            "measures": self.measures,
            "running": self.running,
            "words": [word_of(self._vocabulary, index) for index in self._words],
            "columns": [{"title": name, "texts": texts} for name, texts in columns],
        }

    def _text(self, source: Trace, others: Sequence[Alternatives], row: int) -> dict[str, Any]:
        size = int(source.sequences.lengths[row])
        ids = source.sequences.tokens[row, :size].tolist()
        return {
            "ids": ids,
            "pieces": pieces_of(self._vocabulary, ids),
            "values": {each["name"]: _numbers(_column(source, each["name"])[row, :size]) for each in self.measures},
            "running": _numbers(source.running[row, :size]),
            "alternatives": [
                [[self._word(index) for index in each.ids[row, place].tolist()] for each in others]
                for place in range(size)
            ],
            "probabilities": [
                [[round(share, 5) for share in each.probabilities[row, place].tolist()] for each in others]
                for place in range(size)
            ],
        }

    def _word(self, index: int) -> int:
        return self._words.setdefault(index, len(self._words))


def worst_exhibit(
    makes: TokenTexts, own: Trace, title: str = "Off script here", source: str = "sample"
) -> dict[str, Any]:
    """The worst places of all samples, or other sources of text, each in its context."""
    places = worst_places(own.deviation, WORST)
    texts = makes.texts(own, [row for row, _ in places])
    shown = [
        _around(text, place, makes, f"{source} {row + 1}") for text, (row, place) in zip(texts, places, strict=True)
    ]
    note = (
        f"The {len(shown)} highest values among {int((~np.isnan(own.deviation)).sum()):,} tokens, each in its context."
    )
    return makes.exhibit(title, [(makes.models[0].name, shown)], note)


def _around(text: dict[str, Any], place: int, makes: TokenTexts, named: str) -> dict[str, Any]:
    """A part of a text around one place, named by its text and position, from 1."""
    part = slice(max(0, place - _AROUND), place + _AROUND + 1)
    first = makes.measures[0]
    value = text["values"][first["name"]][place]
    cut = {key: entry[part] for key, entry in text.items() if isinstance(entry, list)}
    values = {name: entry[part] for name, entry in text["values"].items()}
    label = f"{named}, token {place + 1}: {_short(value)} {first['unit']}"
    more = {"cut_before": part.start > 0, "cut_after": part.stop < len(text["ids"])}
    return {**cut, "values": values, "focus": place - part.start, "label": label, **more}


def map_exhibit(model: LanguageModel, oracle: LanguageModel | None, own: Trace, real: Trace | None) -> dict[str, Any]:
    """Samples by positions: one level from 0 to 255 for each token, and the texts.

    Args:
        model: the model that is asked about.
        oracle: what stands for the data's distribution, if anything does.
        own: sequences of the model.
        real: real sequences, if there are any; a token is bad that is worse than nearly all of theirs.

    Returns:
        Plain data: levels as base64, row by row.
    """
    measure, deviation = described(oracle)[0], own.deviation
    full, bound = scale(deviation), bad_bound(own, real)
    levels = np.rint(np.clip(np.nan_to_num(deviation) / full, 0, 1) * _LEVELS).astype(np.uint8)
    words: dict[str, int] = {}
    texts = [
        [words.setdefault(piece, len(words)) for piece in pieces_of(model.vocabulary, ids)]
        for ids in own.sequences.rows()
    ]
    return {
        "kind": "map",
        "title": "All samples, token by token",
        "measure": {**measure, "scale": full},
        "bound": _rounded(bound),
        "bound_of": "its own text" if real is None else "real text",
        "shape": list(levels.shape),
        "levels": base64.b64encode(levels.tobytes()).decode(),
        "starts": first_bad(deviation, bound).tolist(),
        "words": list(words),
        "texts": texts,
        "summary": _summary(deviation, bound),
    }


def pieces_of(vocabulary: Vocabulary, ids: Sequence[int]) -> list[str]:
    """What each token adds to the text, with the blanks between; joined they are the text."""
    pieces, before = [], ""
    for place, index in enumerate(ids):
        text = vocabulary.decode(ids[: place + 1])
        pairs = enumerate(zip(before, text, strict=False))  # a part of a character may turn into another one
        shared = next((at for at, (old, new) in pairs if old != new), min(len(before), len(text)))
        pieces.append(f" {END}" if index == vocabulary.end else text[shared:])
        before = text
    return pieces


def word_of(vocabulary: Vocabulary, index: int) -> str:
    """One token alone."""
    return END if index == vocabulary.end else vocabulary.decode([index]) or str(vocabulary.symbols()[index])


def scale(values: FloatArray) -> float:
    """The value that has the full colour: hardly a token is above it."""
    finite = values[np.isfinite(values)]
    top = float(np.quantile(finite, _FULL)) if finite.size else 1.0
    return _rounded(top) or 1.0


def _column(source: Trace, name: str) -> FloatArray:
    values: FloatArray = getattr(source, name)
    return values


def _summary(deviation: FloatArray, bound: float) -> list[dict[str, Any]]:
    """The map in words: means and bad tokens by tenths of the positions."""
    rows = []
    for places in np.array_split(np.arange(deviation.shape[1]), min(_BINS, deviation.shape[1])):
        values = deviation[:, places]
        present = values[~np.isnan(values)]
        if present.size:
            bad = float((present > bound).mean())
            named = f"{places[0] + 1} to {places[-1] + 1}" if len(places) > 1 else f"{places[0] + 1}"
            rows.append({"tokens": named, "mean": _rounded(float(present.mean())), "bad": _rounded(bad)})
    return rows


def _numbers(values: FloatArray) -> list[float | str]:
    return [_rounded(value) if math.isfinite(value) else str(value) for value in values.tolist()]


def _rounded(value: float) -> float:
    return round(value, _DIGITS)


def _short(value: float | str) -> str:
    return "∞" if isinstance(value, str) else f"{value:.2f}" if value >= _SMALL else f"{value:.2g}"
