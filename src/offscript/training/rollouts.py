"""Roll-outs: sequences that leave a roll-in at some position and go on by themselves.

All of them are read in one batch with the roll-ins they leave. A branch takes over its roll-in's state through
`State.select`, so that no prefix is read twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from offscript.models.language_model import SCORE_BUDGET, LanguageModel
from offscript.sampling.randomness import Draws, draw_of_rows


@dataclass(frozen=True)
class Branches:
    """Where each roll-out leaves which roll-in; positions ascend."""

    rows: Tensor  # [branches]
    positions: Tensor  # [branches]

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, chosen: Tensor) -> "Branches":
        """The branches with these numbers, which ascend too."""
        return Branches(self.rows[chosen], self.positions[chosen])


class BranchedReading:
    """A model that reads roll-ins [rows, time] and, beside them, every branch that has begun."""

    def __init__(self, model: LanguageModel, roll_ins: Tensor, branches: Branches, *, normalised: bool = True) -> None:
        self._roll_ins, self._branches = roll_ins, branches
        self._advance = model.advance if normalised else model.advance_unnormalised
        self._position, self._begun = 0, 0
        self._log_probs, self._state = model.start(len(roll_ins))

    @property
    def log_probs(self) -> Tensor:
        """What the roll-ins and, below them, the branches that began earlier say comes next: [rows + begun, V].

        Without normalisation a constant may be missing in each row.
        """
        return self._log_probs

    def begin(self) -> Tensor:
        """Let branches leave here; the row of `log_probs` that speaks for each branch begun, new ones last: [begun]."""
        begun, rows = int((self._branches.positions <= self._position).sum()), len(self._roll_ins)
        held = torch.arange(rows + self._begun, device=self._roll_ins.device)
        leaving = self._branches.rows[self._begun : begun]
        if len(leaving):
            self._state = self._state.select(torch.cat([held, leaving]))
        self._begun = begun
        return torch.cat([held[rows:], leaving])

    def read(self, tokens: Tensor) -> None:
        """Go one position further: the branches by their tokens [begun], the roll-ins by their own."""
        read = torch.cat([self._roll_ins[:, self._position], tokens])
        self._log_probs, self._state = self._advance(self._state, read)
        self._position += 1


def roll_out(
    model: LanguageModel,
    roll_ins: Tensor,
    branches: Branches,
    draws: Draws,
    *,
    forced: Tensor | None = None,
    end: int | None = None,
) -> Tensor:
    """Sequences [branches, time] that the model draws from each branch's position on.

    `forced` [branches] are the tokens to begin them with. After an `end` token nothing but end tokens follow.
    """
    tokens = roll_ins[branches.rows]  # a copy
    for numbers, rows, part in _parts(model, branches):
        first = None if forced is None else forced[numbers]
        tokens[numbers] = _rolled_out(model.of_rows(rows), roll_ins[rows], part, draws, numbers, first, end)
    return tokens


def branch_log_likelihoods(
    model: LanguageModel, roll_ins: Tensor, branches: Branches, tokens: Tensor, real: Tensor
) -> Tensor:
    """Log-probability [branches] of the real tokens [branches, time] from each branch's position on."""
    total = torch.zeros(len(branches), dtype=torch.float64, device=tokens.device)
    for numbers, rows, part in _parts(model, branches):
        total[numbers] = _log_likelihoods(model.of_rows(rows), roll_ins[rows], part, tokens[numbers], real[numbers])
    return total


def _rolled_out(
    model: LanguageModel,
    roll_ins: Tensor,
    branches: Branches,
    draws: Draws,
    numbers: Tensor,
    forced: Tensor | None,
    end: int | None,
) -> Tensor:
    tokens = roll_ins[branches.rows]
    going = torch.ones(len(branches), dtype=torch.bool, device=tokens.device)
    reading, time = BranchedReading(model, roll_ins, branches, normalised=False), tokens.shape[1]
    highest = int(numbers.max()) + 1
    for position in range(time):
        places, earlier = reading.begin(), int((branches.positions < position).sum())
        begun, drawn = len(places), len(places) if forced is None else earlier
        chosen = tokens[:begun, position]
        if drawn:
            uniform = draws.uniform(position, 0, highest).squeeze(1).to(tokens.device)
            chosen[:drawn] = draw_of_rows(reading.log_probs, places[:drawn], uniform[numbers[:drawn]])
        if forced is not None:
            chosen[drawn:] = forced[drawn:begun]
        if end is not None:
            chosen = torch.where(going[:begun], chosen, end)
            going[:begun] &= chosen != end
        tokens[:begun, position] = chosen
        if position + 1 < time:
            reading.read(chosen)
    return tokens


def _log_likelihoods(
    model: LanguageModel, roll_ins: Tensor, branches: Branches, tokens: Tensor, real: Tensor
) -> Tensor:
    total = torch.zeros(len(branches), dtype=torch.float64, device=tokens.device)
    reading, time = BranchedReading(model, roll_ins, branches), tokens.shape[1]
    for position in range(time):
        places = reading.begin()
        begun = len(places)
        column = tokens[:begun, position]
        found = reading.log_probs[places, column].double()
        total[:begun] += found.where(real[:begun, position], 0.0)
        if position + 1 < time:
            reading.read(column)
    return total


def _parts(model: LanguageModel, branches: Branches) -> Iterator[tuple[Tensor, Tensor, Branches]]:
    """Branches that fit into one batch: their numbers, their roll-ins' rows, and themselves among those.

    Branches of one roll-in stay side by side, so that few prefixes are read in two parts.
    """
    at_once = max(1, SCORE_BUDGET // model.vocabulary.size)
    for part in branches.rows.argsort(stable=True).split(at_once):
        numbers = part.sort().values
        rows, own = branches.rows[numbers].unique(return_inverse=True)
        yield numbers, rows, Branches(own, branches.positions[numbers])
