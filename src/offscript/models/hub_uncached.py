"""Hugging Face models without a key-value cache: XLNet, XLM, the first GPT, state-space models."""

from collections.abc import Iterator

import torch
from torch import Tensor

from offscript.models.hub import HubLanguageModel
from offscript.models.language_model import History, Scored, State, checked_positions, chunks_of, preceded_by_start

_BIDIRECTIONAL = ("xlnet", "xlm", "flaubert")
"""Kinds whose tokens see what follows them, so that each place must be predicted by a pass of its own."""


class UncachedHubLanguageModel(HubLanguageModel):
    """A model that reads whole histories at every step.

    XLNet predicts a place from what stands before it in an order of its own; as `generate` of `transformers` does, the
    place to be predicted is added behind the history and hidden from it (`perm_mask`, `target_mapping`). The history's
    tokens see each other in both directions.
    """

    _one_pass = False

    def begin(self, rows: int) -> History:  # type: ignore[override]
        before = torch.tensor(self._opening[:-1], dtype=torch.long)
        return History(before.expand(rows, -1).to(self.device))

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, History]:  # type: ignore[override]
        return self.read(state, tokens.unsqueeze(1))

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, History]:  # type: ignore[override]
        assert isinstance(state, History)
        history = torch.cat([state.tokens, tokens.to(self.device)], dim=1)
        return self._after(history), History(history)

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        asked = checked_positions(tokens, positions)
        before = self.begin(len(tokens)).tokens
        inputs = torch.cat([before, preceded_by_start(tokens, self.vocabulary.start).to(self.device)], dim=1)
        skipped = before.shape[1]
        if self.network.config.model_type in _BIDIRECTIONAL:
            for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
                steps = [self._after(inputs[:, : skipped + place + 1]) for place in chunk]
                yield Scored(chunk, torch.stack(steps, dim=1))
            return
        with torch.inference_mode():
            self._require_room(skipped + asked.stop)
            logits = self.network(inputs[:, : skipped + asked.stop]).logits[:, skipped:]
        for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
            yield Scored(chunk, logits[:, chunk.start : chunk.stop].float().log_softmax(dim=-1))

    def _after(self, history: Tensor) -> Tensor:
        """Log-probabilities [rows, V] of what follows a history [rows, time]."""
        self._require_room(history.shape[1])
        with torch.inference_mode():
            if self.network.config.model_type in _BIDIRECTIONAL:
                inputs = self.network.prepare_inputs_for_generation(history)
            else:
                inputs = {"input_ids": history}
            return self.network(**inputs).logits[:, -1].float().log_softmax(dim=-1)  # type: ignore[no-any-return]
