"""One pass over histories: what the models predict at the asked positions, batch by batch, chunk by chunk."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from offscript._types import Count
from offscript.errors import OffscriptError
from offscript.measures.distances import check_log_probabilities
from offscript.models.language_model import LanguageModel, Scored, require_same_vocabulary

CHECKED = 4
"""Sequences, and positions of each, whose predictions are checked to be distributions."""


@dataclass(frozen=True)
class Scores:
    """Next-token log-probabilities of some sequences at some positions, one table per model."""

    rows: slice
    columns: slice  # counted from the first asked position
    log_probs: tuple[Tensor, ...]  # each [rows, columns, V]


def scores_along(
    models: tuple[LanguageModel, ...],
    sequences: Tensor,
    positions: range,
    *,
    batch_size: int,
    progress: Count | None = None,
    first_row: int = 0,
) -> Iterator[Scores]:
    """Every model's predictions along the same sequences [n, time], each model read once.

    `first_row` is the number of the first sequence, where a part of a whole is read. A few predictions of each model
    are checked to be distributions, all others for NaN.
    """
    for first in range(0, len(sequences), batch_size):
        rows = slice(first, min(first + batch_size, len(sequences)))
        numbers = torch.arange(rows.start, rows.stop) + first_row
        chunks = zip(*(model.of_rows(numbers).score(sequences[rows], positions) for model in models), strict=True)
        for number, chunk in enumerate(chunks):
            _check(models, chunk, in_full=first == number == 0)
            begun = chunk[0].positions.start - positions.start
            columns = slice(begun, begun + len(chunk[0].positions))
            yield Scores(rows, columns, _on_one_device(chunk))
        if progress is not None:
            progress(rows.stop - rows.start)


def require_comparable(model: LanguageModel, oracle: LanguageModel | None, samples: int, length: int) -> None:
    """Refuse what no figure can be made of."""
    if oracle is not None:
        require_same_vocabulary(model, oracle)
    if samples < 2:
        raise OffscriptError(
            f"cannot measure {samples} sample(s)", why="an interval needs at least two", next="ask for more samples"
        )
    if length < 1:
        raise OffscriptError(f"cannot draw sequences of {length} tokens", next="ask for at least one token")


def _check(models: tuple[LanguageModel, ...], chunk: tuple[Scored, ...], *, in_full: bool) -> None:
    for model, scored in zip(models, chunk, strict=True):
        if in_full:
            check_log_probabilities(scored.log_probs[:CHECKED, :CHECKED], whose=model.name)
        if scored.log_probs[..., 0].isnan().any():  # a row that was normalised holds NaN everywhere or nowhere
            raise OffscriptError(f"{model.name} gave NaN", next="look at its weights")


def _on_one_device(chunk: tuple[Scored, ...]) -> tuple[Tensor, ...]:
    device: torch.device = chunk[0].log_probs.device
    return tuple(scored.log_probs.to(device) for scored in chunk)
