"""One batched ancestral loop that draws text from every model."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from offscript._abilities import Gives
from offscript._types import Count
from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel
from offscript.sampling.randomness import Draws, Seed, as_normal, draw
from offscript.sampling.transforms.base import Transform

MOST_TOKENS = 1 << 31
"""That one call draws: 16 GB; more is asked for by mistake, or should be drawn in parts."""

_NOISE = 11
"""The stream of the random numbers that a model with a noise state begins its sequences with."""

_FEWEST_ROWS = 16
"""For fewer rows MKL adds up matrix products in another order: with their rounding, draws would depend on the batch."""


@dataclass(frozen=True)
class Generated:
    """Sequences of one length; after its end token a row holds nothing but end tokens."""

    tokens: Tensor  # [rows, time]
    lengths: Tensor  # [rows], the end token counted

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self) -> list[list[int]]:
        """Every sequence as a list of tokens, up to its end."""
        return [row[:size] for row, size in zip(self.tokens.tolist(), self.lengths.tolist(), strict=True)]


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
    progress: Count | None = None,
) -> Generated:
    """Draw `rows` sequences of `length` tokens, prefixes [rows, time] included where they are given.

    Row i depends on the seed and on `first_row + i` alone, whatever the batch size.

    Args:
        model: What predicts the next token.
        rows: How many sequences.
        length: How many tokens each has, those of its prefix included.
        seed: Decides every random number; models that share it draw with common random numbers.
        transform: The sampling algorithm; None draws from the model's own distribution.
        prefixes: Tokens [rows, time] that the sequences begin with.
        stop_at_end: A row that drew the end token is absorbed there. Without it, or without an end token in the
            vocabulary, every row goes on to the full length.
        first_row: The number of the first row, where a part of a whole is drawn.
        batch_size: How many sequences the model reads at once.
        progress: Called after each batch with the number of sequences that it finished.

    Returns:
        The tokens [rows, length] and the length of each sequence.
    """
    (drawn,) = generate_each(
        model,
        [transform],
        rows,
        length,
        seed=seed,
        prefixes=prefixes,
        stop_at_end=stop_at_end,
        first_row=first_row,
        batch_size=batch_size,
        progress=progress,
    )
    return drawn


def generate_each(
    model: LanguageModel,
    transforms: Sequence[Transform | None],
    rows: int,
    length: int,
    *,
    seed: Seed,
    prefixes: Tensor | None = None,
    stop_at_end: bool = True,
    first_row: int = 0,
    batch_size: int = 512,
    progress: Count | None = None,
) -> list[Generated]:
    """As `generate`, once for each transform: prefixes are read once, and all transforms share the model's batches.

    Every transform draws with the same random numbers, so that their results compare in pairs.

    Args:
        model: As in `generate`, and so are the arguments that are not named here.
        transforms: The sampling algorithms; None stands for the model's own distribution.
        rows: How many sequences each of them draws.
        length: How many tokens each sequence has, those of its prefix included.
        seed: Decides every random number.
        prefixes: Tokens [rows, time] that the sequences begin with.
        stop_at_end: Whether a row is absorbed at its end token.
        first_row: The number of the first row.
        batch_size: How many sequences of all transforms together the model reads at once.
        progress: Called after each batch.

    Returns:
        One result for each transform, in their order.
    """
    _require_sensible(model, rows, length, prefixes)
    if not transforms:
        raise OffscriptError("no transform to draw with", next="give one or more; None is the model's own distribution")
    if model.gives < Gives.distributions:
        asked: dict[str, Any] = {"seed": seed, "prefixes": prefixes, "first_row": first_row, "progress": progress}
        return [_asked_for(model, each, rows, length, batch_size=batch_size, **asked) for each in transforms]
    end = model.vocabulary.end if stop_at_end else None
    tokens = torch.full((len(transforms), rows, length), 0 if end is None else end, dtype=torch.long)
    draws, step = Draws(seed), max(1, batch_size // len(transforms))
    for first in range(0, rows, step):
        part = slice(first, min(first + step, rows))
        prefix = None if prefixes is None else prefixes[part]
        absolute = torch.arange(part.start, part.stop) + first_row
        tokens[:, part] = _drawn(tokens[:, part].clone(), model, draws, absolute, transforms, prefix, end)
        if progress is not None:
            progress((part.stop - part.start) * len(transforms))
    return [Generated(each, lengths_until(each, end)) for each in tokens]


def lengths_until(tokens: Tensor, end: int | None) -> Tensor:
    """How many tokens each row of [rows, time] has up to its first end token, that one counted."""
    rows, time = tokens.shape
    if end is None:
        return torch.full((rows,), time)
    ended = tokens == end
    first = ended.int().argmax(dim=1) + 1
    return torch.where(ended.any(dim=1), first, torch.full_like(first, time))


def texts(model: LanguageModel, generated: Generated) -> Iterator[str]:
    """The generated sequences as text.

    Args:
        model: Its vocabulary decodes them.
        generated: What `generate` returned.

    Returns:
        One text for each sequence, without its end token.
    """
    for row, length in zip(generated.tokens.tolist(), generated.lengths.tolist(), strict=True):
        yield model.vocabulary.decode(row[:length])


_DRAWING: dict[str, dict[str, float | str]] = {
    "ancestral": {},
    "greedy": {"temperature": 0.0},
    "tempered": {"temperature": "temperature"},
    "nucleus": {"top_p": "p"},
    "top-k": {"top_k": "k"},
    "tempered-top-k": {"temperature": "temperature", "top_k": "k"},
    "min-p": {"min_p": "p"},
}
"""The samplers that servers know, and how they are asked for: a number, or the name of a setting."""


def _asked_for(
    model: LanguageModel,
    transform: Transform | None,
    rows: int,
    length: int,
    *,
    seed: Seed,
    prefixes: Tensor | None,
    first_row: int,
    batch_size: int,
    progress: Count | None,
) -> Generated:
    """Sequences that a server draws; they always stop at their end."""
    begun = [[]] * rows if prefixes is None else prefixes.tolist()
    drawing, tokens = _server_settings(model, transform), []
    filler = 0 if model.vocabulary.end is None else model.vocabulary.end
    for first in range(0, rows, batch_size):
        part = begun[first : first + batch_size]
        seeds = [_server_seed(seed, first_row + first + number) for number in range(len(part))]
        most = length - len(part[0])
        texts = model.continue_texts(part, most, drawing, seeds) if most else [[]] * len(part)
        tokens += [[*prefix, *text][:length] for prefix, text in zip(part, texts, strict=True)]
        if progress is not None:
            progress(len(part))
    sizes = torch.tensor([max(1, len(row)) for row in tokens])
    return Generated(torch.tensor([[*row, *[filler] * (length - len(row))] for row in tokens]), sizes)


def _server_settings(model: LanguageModel, transform: Transform | None) -> dict[str, float]:
    name = "ancestral" if transform is None else transform.name
    if name not in _DRAWING:
        raise OffscriptError(
            f"{model.name} cannot be drawn from with {name}",
            why="its server draws the tokens",
            next=f"it knows {', '.join(_DRAWING)}",
        )
    known = {} if transform is None else {field.name: getattr(transform, field.name) for field in fields(transform)}
    return {key: known[value] if isinstance(value, str) else value for key, value in _DRAWING[name].items()}


def _server_seed(seed: Seed, row: int) -> int:
    """A number of 31 bits for a row: every server takes those."""
    return int.from_bytes(hashlib.sha256(f"{seed} {row}".encode()).digest()[:4], "big") >> 1


def _drawn(
    tokens: Tensor,
    model: LanguageModel,
    draws: Draws,
    rows: Tensor,
    transforms: Sequence[Transform | None],
    prefix: Tensor | None,
    end: int | None,
) -> Tensor:
    """Fill [transforms, rows, time]; what has ended leaves the model's batch once it is half of it."""
    kinds, size, time = tokens.shape
    begun = 0 if prefix is None else prefix.shape[1]
    if prefix is not None:
        tokens[:, :, :begun] = prefix
    if begun == time:
        return tokens
    flat = tokens.view(kinds * size, time)
    going = torch.ones(len(flat), dtype=torch.bool)
    if end is not None:
        going &= (flat[:, :begun] != end).all(dim=1)
    filled = _filled_up(size)
    model = model.of_rows(rows[filled])
    if model.noise:
        model = model.given(_normal(draws, rows, model.noise)[filled])
    log_probs, state = model.start(len(filled), None if prefix is None else prefix[filled])
    held = torch.arange(len(flat))  # row `held` is sequence `held % size` of transform `held // size`
    if kinds > 1:
        repeated = (held % size)[_filled_up(len(held))].to(model.device)
        log_probs, state = log_probs[repeated], state.select(repeated)
    for step in range(begun, time):
        chosen = _draw_step(log_probs[: len(held)], draws, rows[held % size], held // size, step, transforms)
        if end is not None:
            chosen = torch.where(going, chosen, end)
            going = going & (chosen != end)
        flat[held, step] = chosen
        if step + 1 == time or not going.any():
            break
        if 2 * int(going.sum()) <= len(held):
            kept = going.nonzero().squeeze(1)
            held, chosen, going = held[kept], chosen[kept], going[kept]
            state = state.select(kept[_filled_up(len(kept))].to(model.device))
        log_probs, state = model.advance(state, chosen[_filled_up(len(chosen))].to(model.device))
    return tokens


def _normal(draws: Draws, rows: Tensor, width: int) -> Tensor:
    """Normal numbers [rows, width] of the rows."""
    return as_normal(draws.of_rows(rows).uniform(0, 0, len(rows), width, _NOISE)).float()


def _filled_up(rows: int) -> Tensor:
    """Row numbers for the model's batch: all of them, the last one repeated up to the fewest it is run with."""
    return torch.arange(max(rows, _FEWEST_ROWS)).clamp(max=rows - 1)


def _draw_step(
    log_probs: Tensor, draws: Draws, rows: Tensor, kinds: Tensor, step: int, transforms: Sequence[Transform | None]
) -> Tensor:
    """One token for each row, transform by transform; `kinds` says whose a row is, in ascending order."""
    sizes = torch.bincount(kinds, minlength=len(transforms)).tolist()
    chosen = []
    for transform, own, absolute in zip(transforms, log_probs.split(sizes), rows.split(sizes), strict=True):
        if not len(own):
            continue
        numbers = draws.of_rows(absolute)
        changed = own if transform is None else transform(own, draws=numbers, step=step)
        chosen.append(draw(changed, numbers.uniform(step, 0, len(own)).to(own.device)).cpu())
    return torch.cat(chosen)


def _require_sensible(model: LanguageModel, rows: int, length: int, prefixes: Tensor | None) -> None:
    if rows < 1 or length < 1:
        raise OffscriptError(f"cannot draw {rows} sequences of {length} tokens", next="ask for at least one of each")
    if rows * length > MOST_TOKENS:
        raise OffscriptError(
            f"cannot draw {rows} sequences of {length} tokens at once",
            why=f"more than {MOST_TOKENS:,} tokens do not fit in memory",
            next="ask for fewer, or in parts with other seeds",
        )
    if prefixes is None:
        return
    if prefixes.dim() != 2 or len(prefixes) != rows or prefixes.shape[1] > length:
        raise OffscriptError(
            f"cannot use prefixes of shape {tuple(prefixes.shape)} for {rows} sequences of {length} tokens",
            next="give one prefix per sequence, no longer than the sequence",
        )
    if prefixes.numel() and not 0 <= int(prefixes.min()) <= int(prefixes.max()) < model.vocabulary.size:
        raise OffscriptError(
            "a prefix holds a token outside the vocabulary", next="encode it with the model's vocabulary"
        )
