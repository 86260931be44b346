"""The stochastic answer network (Liu et al. 2018): several steps of attention, whose predictions are averaged."""

import torch
from torch import Tensor, nn

_TINY = 1e-9


class StochasticAnswer(nn.Module):
    """K-step reasoning over a claim and a text with bilinear attention and a GRU state (chapter 3.2.1).

    s_0 = Σ_i softmax(θ·C_i) C_i,  x_k = Σ_j softmax(s_k W T_j) T_j,  s_{k+1} = GRU(x_k, s_k),
    p_k = softmax(V [s_k; x_k; |s_k − x_k|; s_k ∘ x_k]); the answer is the mean of p_0 … p_{K−1}. With K = 1 it is the
    plain attention classifier.
    """

    def __init__(self, width: int, labels: int, *, steps: int = 5, prediction_dropout: float = 0.1) -> None:
        super().__init__()
        self.steps, self.prediction_dropout = steps, prediction_dropout
        self.pooling = nn.Linear(width, 1, bias=False)  # θ
        self.attention = nn.Linear(width, width, bias=False)  # W
        self.state = nn.GRUCell(width, width)
        self.answer = nn.Linear(4 * width, labels)  # V

    def forward(self, claim: Tensor, claim_mask: Tensor, text: Tensor, text_mask: Tensor) -> Tensor:
        """Probabilities [rows, labels] from encodings [rows, time, width] and masks [rows, time] (1 where real)."""
        predictions = self.predictions(claim, claim_mask, text, text_mask)  # [rows, K, labels]
        if not (self.training and self.prediction_dropout):
            return predictions.mean(dim=1)
        kept = self._kept(predictions[:, :, :1])  # [rows, K, 1]
        return (predictions * kept).sum(dim=1) / kept.sum(dim=1)

    def predictions(self, claim: Tensor, claim_mask: Tensor, text: Tensor, text_mask: Tensor) -> Tensor:
        """Every step's probabilities [rows, K, labels]."""
        state = _average(claim, self.pooling(claim).squeeze(2), claim_mask)  # [rows, width]
        answers = []
        for step in range(self.steps):
            scores = (text @ self.attention(state).unsqueeze(2)).squeeze(2)  # [rows, time]
            read = _average(text, scores, text_mask)  # [rows, width]
            features = torch.cat([state, read, (state - read).abs(), state * read], dim=1)
            answers.append(self.answer(features).softmax(dim=1))
            if step + 1 < self.steps:
                state = self.state(read, state)
        return torch.stack(answers, dim=1)

    def _kept(self, like: Tensor) -> Tensor:
        """Which predictions of a row are averaged: each with probability 1 − dropout, one always."""
        kept = (torch.rand_like(like) >= self.prediction_dropout).to(like.dtype)
        spared = torch.rand_like(like).argmax(dim=1, keepdim=True)  # [rows, 1, 1]
        return kept.scatter(1, spared, 1.0)


class LinearAnswer(nn.Module):
    """A linear layer on the first position's encoding: for single sentences, and for TransLinear (Table 3.1, row 6)."""

    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.answer = nn.Linear(width, labels)

    def forward(self, encoded: Tensor) -> Tensor:
        """Probabilities [rows, labels] from encodings [rows, time, width]."""
        probabilities: Tensor = self.answer(encoded[:, 0]).softmax(dim=1)
        return probabilities


def log_of(probabilities: Tensor) -> Tensor:
    """Logarithms that stay finite where a probability underflows."""
    return probabilities.clamp_min(_TINY).log()


def _average(vectors: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
    """Σ softmax(scores) vectors over unmasked places; where there is none, over all alike."""
    weights = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min).softmax(dim=1)
    return (weights.unsqueeze(1) @ vectors).squeeze(1)
