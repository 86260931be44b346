"""One batched ancestral loop that draws text from every model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel
from offscript.sampling.categorical import draw
from offscript.sampling.randomness import Draws, RowDraws, Seed

Progress = Callable[[int], None]
"""Told after each batch how many rows it finished."""


class Transform(Protocol):
    """Log-probabilities [rows, V] in, log-probabilities out; see `offscript.sampling.transforms`."""

    def __call__(
        self, log_probs: Tensor, draws: RowDraws | None = None, step: int = 0, first_row: int = 0
    ) -> Tensor: ...


@dataclass(frozen=True)
class Generated:
    """Sequences of one length; after its end token a row holds nothing but end tokens."""

    tokens: Tensor  # [rows, time]
    lengths: Tensor  # [rows], the end token counted

    def __len__(self) -> int:
        return len(self.tokens)


def generate(
    model: LanguageModel,
    rows: int,
    length: int,
    *,
    seed: Seed,
    transform: Transform | None = None,
    prefixes: Tensor | None = None,
    stop_at_end: bool = True,
    first_row: int = 0,
    batch_size: int = 512,
    progress: Progress | None = None,
) -> Generated:
    """Draw `rows` sequences of `length` tokens, prefixes [rows, time] included where they are given.

    With `stop_at_end` a row that drew the end token is absorbed there; without it, or without an end token in
    the vocabulary, every row goes on to the full length. Row i depends on the seed and on `first_row + i` alone.
    """
    _require_sensible(model, rows, length, prefixes)
    end = model.vocabulary.end if stop_at_end else None
    tokens = torch.full((rows, length), 0 if end is None else end, dtype=torch.long)
    draws = Draws(seed)
    for first in range(0, rows, batch_size):
        part = slice(first, min(first + batch_size, rows))
        prefix = None if prefixes is None else prefixes[part]
        absolute = torch.arange(part.start, part.stop) + first_row
        _fill(tokens[part], model, draws, absolute, transform, prefix, end)
        if progress is not None:
            progress(part.stop - part.start)
    return Generated(tokens, lengths_until(tokens, end))


def lengths_until(tokens: Tensor, end: int | None) -> Tensor:
    """How many tokens each row of [rows, time] has up to its first end token, that one counted."""
    rows, time = tokens.shape
    if end is None:
        return torch.full((rows,), time)
    ended = tokens == end
    first = ended.int().argmax(dim=1) + 1
    return torch.where(ended.any(dim=1), first, torch.full_like(first, time))


def texts(model: LanguageModel, generated: Generated) -> Iterator[str]:
    """The generated sequences as text."""
    for row, length in zip(generated.tokens.tolist(), generated.lengths.tolist(), strict=True):
        yield model.vocabulary.decode(row[:length])


def _fill(
    tokens: Tensor,
    model: LanguageModel,
    draws: Draws,
    rows: Tensor,
    transform: Transform | None,
    prefix: Tensor | None,
    end: int | None,
) -> None:
    """Write one batch into `tokens`; rows that have ended leave the model's batch once they are half of it."""
    begun = 0 if prefix is None else prefix.shape[1]
    going = torch.ones(len(tokens), dtype=torch.bool)
    if prefix is not None:
        tokens[:, :begun] = prefix
        going &= (tokens[:, :begun] != (-1 if end is None else end)).all(dim=1)
    log_probs, state = model.start(len(tokens), prefix)
    held = torch.arange(len(tokens))
    for step in range(begun, tokens.shape[1]):
        chosen = _draw_step(log_probs, draws.of_rows(rows[held]), step, transform)
        if end is not None:
            chosen = torch.where(going, chosen, end)
            going = going & (chosen != end)
        tokens[held, step] = chosen
        if step + 1 == tokens.shape[1] or not going.any():
            return
        if 2 * int(going.sum()) <= len(held):
            kept = going.nonzero().squeeze(1)
            held, chosen, going = held[kept], chosen[kept], going[kept]
            state = state.select(kept.to(model.device))
        log_probs, state = model.advance(state, chosen.to(model.device))


def _draw_step(log_probs: Tensor, draws: RowDraws, step: int, transform: Transform | None) -> Tensor:
    if transform is not None:
        log_probs = transform(log_probs, draws=draws, step=step)
    uniform = draws.uniform(step, 0, len(log_probs))
    return draw(log_probs, uniform.to(log_probs.device)).cpu()


def _require_sensible(model: LanguageModel, rows: int, length: int, prefixes: Tensor | None) -> None:
    if rows < 1 or length < 1:
        raise OffscriptError(f"{rows} sequences of {length} tokens", next="ask for at least one of each")
    if prefixes is None:
        return
    if prefixes.dim() != 2 or len(prefixes) != rows or prefixes.shape[1] > length:
        raise OffscriptError(
            f"prefixes of shape {tuple(prefixes.shape)} for {rows} sequences of {length} tokens",
            next="give one prefix a sequence, no longer than the sequence",
        )
    if prefixes.numel() and not 0 <= int(prefixes.min()) <= int(prefixes.max()) < model.vocabulary.size:
        raise OffscriptError(
            "a prefix holds a token outside the vocabulary", next="encode it with the model's vocabulary"
        )
