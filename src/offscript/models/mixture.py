"""Several models as one: the weighted mean of their next-token distributions."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from offscript._abilities import Gives
from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel, Scored, State, require_same_vocabulary


@dataclass(frozen=True)
class _States(State):
    """What each model remembers."""

    each: tuple[State, ...]

    def select(self, rows: Tensor) -> "_States":
        return _States(tuple(state.select(rows) for state in self.each))


class Mixture(LanguageModel):
    """p(token | history) = Σ wᵢ pᵢ(token | history): an ensemble in probability space, as the thesis's (§4.7).

    Args:
        models: Models of one vocabulary that compute on one device.
        weights: One per model, 0 or more; they are divided by their sum. Equal by default.
    """

    def __init__(self, models: Sequence[LanguageModel], weights: Sequence[float] | None = None) -> None:
        self.models = tuple(models)
        shares = torch.tensor([1.0] * len(models) if weights is None else list(weights), dtype=torch.float64)
        self._require_sensible(shares)
        self._log_weights = (shares / shares.sum()).log().tolist()
        self.vocabulary = models[0].vocabulary
        self.name = "+".join(model.name for model in models)
        if weights is not None:
            self.name += f',weights="{",".join(f"{weight:g}" for weight in weights)}"'

    def _require_sensible(self, shares: Tensor) -> None:
        if len(self.models) < 2 or len(shares) != len(self.models):
            raise OffscriptError(
                f"cannot mix {len(self.models)} models with {len(shares)} weights", next="give one weight per model"
            )
        if not bool(torch.isfinite(shares).all()) or float(shares.min()) < 0 or not float(shares.sum()) > 0:
            raise OffscriptError(f"cannot use the weights {shares.tolist()}", next="give numbers of 0 or more")
        for model in self.models:
            if model.gives is not Gives.distributions:
                raise OffscriptError(f"cannot mix {model.limits}", next="name models that give whole distributions")
            if model.conditions != 1 or model.noise:
                raise OffscriptError(f"cannot mix {model.name}", why="its sequences depend on a source or on noise")
            require_same_vocabulary(self.models[0], model)

    @property
    def device(self) -> torch.device:
        return self.models[0].device

    @property
    def reading(self) -> str:
        return f"A mixture of {len(self.models)} models: the weighted mean of their distributions at every token."

    @property
    def weight_hash(self) -> str:
        described = [(model.weight_hash, weight) for model, weight in zip(self.models, self._log_weights, strict=True)]
        return hashlib.sha256(repr(described).encode()).hexdigest()

    @property
    def network(self) -> torch.nn.Module:
        """The models' networks together, whose weights an audit's budget counts."""
        networks = [getattr(model, "network", model) for model in self.models]
        return torch.nn.ModuleList([each for each in networks if isinstance(each, torch.nn.Module)])

    def begin(self, rows: int) -> _States:
        return _States(tuple(model.begin(rows) for model in self.models))

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _States]:
        assert isinstance(state, _States)
        answers = [model.advance(own, tokens) for model, own in zip(self.models, state.each, strict=True)]
        return self._mixed([answer for answer, _ in answers]), _States(tuple(after for _, after in answers))

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, _States]:
        assert isinstance(state, _States)
        answers = [model.read(own, tokens) for model, own in zip(self.models, state.each, strict=True)]
        return self._mixed([answer for answer, _ in answers]), _States(tuple(after for _, after in answers))

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        for chunks in zip(*(model.score(tokens, positions) for model in self.models), strict=True):
            yield Scored(chunks[0].positions, self._mixed([chunk.log_probs for chunk in chunks]))

    def _mixed(self, answers: Sequence[Tensor]) -> Tensor:
        """log Σ wᵢ pᵢ, two at a time: no table larger than one model's is made."""
        total: Tensor = answers[0] + self._log_weights[0]
        for answer, weight in zip(answers[1:], self._log_weights[1:], strict=True):
            total = torch.logaddexp(total, answer.to(total.device) + weight)
        return total
