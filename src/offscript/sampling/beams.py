"""Beam search: the sequences of highest score, several candidates a row, all rows in one batch.

A finished sequence of n tokens scores its log-probability divided by nᵖ, where p is the length penalty. A row is done
once its best open candidate scores no higher than its worst finished one, as `transformers` decides by default.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from offscript._types import Count
from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel, State
from offscript.sampling.generation import Generated, lengths_until

_LOWEST = -1e9


@dataclass(frozen=True)
class Beams(Generated):
    """The best sequence of each row, and its score."""

    scores: Tensor  # [rows]


def beam_search(
    model: LanguageModel,
    rows: int,
    length: int,
    *,
    beams: int = 4,
    length_penalty: float = 1.0,
    prefixes: Tensor | None = None,
    batch_size: int = 64,
    progress: Count | None = None,
) -> Beams:
    """The best sequence that beam search finds for each row.

    Args:
        model: A model with an end token; one with sources gives row i the best target of source i.
        rows: How many sequences.
        length: The most tokens of a sequence, those of its prefix included.
        beams: Candidates a row.
        length_penalty: What a sequence's length is raised to before it divides the log-probability: 0 prefers short
            sequences, more prefers long ones.
        prefixes: Tokens [rows, time] that the sequences begin with; they do not count in the score.
        batch_size: How many rows are searched at once.
        progress: Called after each batch with the number of its rows.

    Returns:
        Tokens [rows, length], filled up with end tokens, their lengths and scores.
    """
    end, begun = model.vocabulary.end, 0 if prefixes is None else prefixes.shape[1]
    if end is None:
        raise OffscriptError(f"{model.name} has no end token", why="beam search compares finished sequences")
    if beams < 1 or 2 * beams > model.vocabulary.size or begun >= length:
        raise OffscriptError(
            f"{beams} beams of {length} tokens after a prefix of {begun}",
            next="ask for at least one beam, fewer than half the vocabulary, and longer sequences than their prefix",
        )
    tokens, scores = torch.full((rows, length), end), torch.empty(rows, dtype=torch.float64)
    for first in range(0, rows, batch_size):
        part = slice(first, min(first + batch_size, rows))
        prefix = None if prefixes is None else prefixes[part]
        own = model.of_rows(torch.arange(part.start, part.stop))
        search = _Search(own, part.stop - part.start, length, beams, length_penalty, end, prefix)
        tokens[part], scores[part] = search.run()
        if progress is not None:
            progress(part.stop - part.start)
    return Beams(tokens, lengths_until(tokens, end), scores)


class _Search:
    """One batch. Open candidates are rows of the model's batch; finished ones are only remembered."""

    def __init__(
        self,
        model: LanguageModel,
        rows: int,
        length: int,
        beams: int,
        penalty: float,
        end: int,
        prefix: Tensor | None,
    ) -> None:
        self.model, self.beams, self.penalty, self.end, self.length = model, beams, penalty, end, length
        self.begun = 0 if prefix is None else prefix.shape[1]
        self.device = model.device
        self.held = torch.arange(rows, device=self.device)  # the rows that are still searched
        self.open = torch.full((rows, beams, length), end, device=self.device)
        if prefix is not None:
            self.open[:, :, : self.begun] = prefix.to(self.device).unsqueeze(1)
        self.done = torch.full((rows, beams, length), end, device=self.device)
        self.best, self.best_scores = torch.full((rows, length), end), torch.empty(rows, dtype=torch.float64)
        self.log_probs, state = model.start(rows, prefix)
        self.done_scores = self.log_probs.new_full((rows, beams), _LOWEST)
        self.sums = self.done_scores.clone()
        self.sums[:, 0] = 0.0
        self.state: State = state.select(torch.arange(rows, device=self.device).repeat_interleave(beams))
        self.log_probs = self.log_probs.repeat_interleave(beams, dim=0)

    def run(self) -> tuple[Tensor, Tensor]:
        """The best sequences and their scores."""
        for step in range(self.begun, self.length):
            parents, tokens = self._extend(step)
            kept = self._undecided(step)
            if step + 1 == self.length or not bool(kept.any()):
                break
            if not bool(kept.all()):
                self._settle(~kept)
                parents, tokens = self._hold(kept, parents, tokens)
            self.log_probs, self.state = self.model.advance(_reordered(self.state, parents.flatten()), tokens.flatten())
        self._settle(torch.ones(len(self.held), dtype=torch.bool, device=self.device))
        return self.best, self.best_scores

    def _extend(self, step: int) -> tuple[Tensor, Tensor]:
        """Every open candidate by one token; rows of the batch that go on, and by which token, [rows, beams]."""
        rows, size = len(self.held), self.log_probs.shape[-1]
        totals = self.sums.unsqueeze(2) + self.log_probs.view(rows, self.beams, size)
        sums, places = totals.flatten(1).topk(2 * self.beams)  # [rows, 2 beams]
        parents, tokens = places // size, places % size
        extended = self.open.gather(1, parents.unsqueeze(2).expand(-1, -1, self.length))
        extended[:, :, step] = tokens
        ended = (tokens == self.end) | (step + 1 == self.length)
        self._finish(extended, sums, ended, step)
        self.sums, chosen = (sums + ended * _LOWEST).topk(self.beams)
        self.open = extended.gather(1, chosen.unsqueeze(2).expand(-1, -1, self.length))
        first = torch.arange(rows, device=self.device).unsqueeze(1) * self.beams
        return first + parents.gather(1, chosen), tokens.gather(1, chosen)

    def _finish(self, extended: Tensor, sums: Tensor, ended: Tensor, step: int) -> None:
        """Remember the best finished sequences; only those among the `beams` best candidates count."""
        counted = ended.clone()
        counted[:, self.beams :] = False
        scores = sums / (step + 1 - self.begun) ** self.penalty + ~counted * _LOWEST
        merged = torch.cat([self.done_scores, scores], dim=1)
        self.done_scores, chosen = merged.topk(self.beams)
        both = torch.cat([self.done, extended], dim=1)
        self.done = both.gather(1, chosen.unsqueeze(2).expand(-1, -1, self.length))

    def _undecided(self, step: int) -> Tensor:
        """Rows whose best open candidate scores higher than the worst finished one, or that finished fewer."""
        best_open = self.sums[:, 0] / (step + 1 - self.begun) ** self.penalty
        worst = self.done_scores[:, -1]
        undecided: Tensor = (worst <= _LOWEST / 2) | (best_open > worst)
        return undecided

    def _settle(self, decided: Tensor) -> None:
        rows = self.held[decided].cpu()
        self.best[rows] = self.done[decided, 0].cpu()
        self.best_scores[rows] = self.done_scores[decided, 0].double().cpu()

    def _hold(self, kept: Tensor, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Go on with some of the rows."""
        self.held, self.sums, self.open = self.held[kept], self.sums[kept], self.open[kept]
        self.done, self.done_scores = self.done[kept], self.done_scores[kept]
        places = torch.arange(len(kept) * self.beams, device=self.device).view(-1, self.beams)
        self.state = self.state.select(places[kept].flatten())
        numbers = (kept.cumsum(0) - 1)[kept].unsqueeze(1) * self.beams
        return numbers + parents[kept] % self.beams, tokens[kept]


def _reordered(state: State, rows: Tensor) -> State:
    """Candidates of a row change places; a state that can keeps what they share, such as the encoded source."""
    reorder = getattr(state, "reorder", None)
    moved: State = state.select(rows) if reorder is None else reorder(rows)
    return moved
