"""Every history that two models can produce, with its probability: figures without sampling for small models."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel, State, require_same_vocabulary

MOST_ENTRIES = 1 << 22
"""How many probabilities the longest histories may need: a table of V^length."""


@dataclass(frozen=True)
class Level:
    """All histories of one length that have a probability under either model; H of them."""

    tokens: Tensor  # [H, length]
    model_weights: Tensor  # [H], probability of the history under the model
    oracle_weights: Tensor  # [H], … and under the oracle
    model_log_probs: Tensor  # [H, V], what the model predicts after it
    oracle_log_probs: Tensor  # [H, V]

    @property
    def length(self) -> int:
        """How many tokens the histories have."""
        return self.tokens.shape[1]


def levels(model: LanguageModel, oracle: LanguageModel, length: int, *, stop_at_end: bool = False) -> Iterator[Level]:
    """Histories of 0 … length-1 tokens, one level a length, in double precision.

    Where the models have sources, a history is one of a source, and every source is as probable as the others.
    With `stop_at_end` a history that holds the end token is absorbed and leaves.
    """
    require_same_vocabulary(model, oracle)
    _require_small(model.vocabulary.size, length)
    models = (model, oracle)
    sources = model.conditions
    answers = [each.start(sources) for each in models]
    share = torch.full((sources,), 1 / sources, dtype=torch.float64)
    level = Level(
        torch.empty(sources, 0, dtype=torch.long), share, share, *(_double(log_probs) for log_probs, _ in answers)
    )
    yield level
    end = model.vocabulary.end if stop_at_end else None
    while level.length + 1 < length:
        joint = _joint_weights(level)
        parents, tokens = _continuations(*joint, end)
        if not len(parents):
            return
        answers = [_advanced(each, state, parents, tokens) for each, (_, state) in zip(models, answers, strict=True)]
        level = Level(
            torch.cat([level.tokens[parents], tokens.unsqueeze(1)], dim=1),
            *(weights[parents, tokens] for weights in joint),
            *(_double(log_probs) for log_probs, _ in answers),
        )
        yield level


def expected(weights: Tensor, values: Tensor) -> Tensor:
    """Σ weights · values over the last axis, where what has no weight adds nothing, infinite or not."""
    return torch.where(weights > 0, weights * values, 0.0).sum(dim=-1)


def _joint_weights(level: Level) -> tuple[Tensor, Tensor]:
    """Probability of each history followed by each token, under the model and under the oracle: [H, V]."""
    ours = level.model_weights.unsqueeze(1) * level.model_log_probs.exp()
    theirs = level.oracle_weights.unsqueeze(1) * level.oracle_log_probs.exp()
    return ours, theirs


def _continuations(ours: Tensor, theirs: Tensor, end: int | None) -> tuple[Tensor, Tensor]:
    """Histories and next tokens that have a probability under either, the end token left out."""
    possible = (ours > 0) | (theirs > 0)
    if end is not None:
        possible[:, end] = False
    parents, tokens = possible.nonzero().unbind(dim=1)
    return parents, tokens


def _advanced(model: LanguageModel, state: State, parents: Tensor, tokens: Tensor) -> tuple[Tensor, State]:
    return model.advance(state.select(parents.to(model.device)), tokens.to(model.device))


def _double(log_probs: Tensor) -> Tensor:
    return log_probs.detach().cpu().double()


def _require_small(size: int, length: int) -> None:
    if length < 1:
        raise OffscriptError(f"cannot enumerate sequences of {length} tokens", next="ask for at least one token")
    if size**length > MOST_ENTRIES:
        raise OffscriptError(
            f"{size}^{length} sequences are too many to enumerate",
            why=f"{MOST_ENTRIES:,} are the most",
            next="measure by sampling, or ask for shorter sequences",
        )
