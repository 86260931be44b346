"""Multinomial logistic regression on a handful of features: fitted in a second, kept as readable JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from offscript._types import FloatArray

IMPOSSIBLE = 1e3  # an intercept that no features make up for


@dataclass(frozen=True)
class Logistic:
    """p(label | features) = softmax(W · (features, 1)); `weights` [labels, features + 1], the intercepts last."""

    labels: tuple[str, ...]
    features: tuple[str, ...]
    weights: FloatArray

    def probabilities(self, table: FloatArray) -> FloatArray:
        """Of every row of `table` [n, features]; [n, labels]."""
        scores: FloatArray = softmax(table @ self.weights[:, :-1].T + self.weights[:, -1], axis=1)
        return scores

    def without(self, label: str) -> "Logistic":
        """The same weights for examples that are known not to have a label."""
        weights = self.weights.copy()
        weights[self.labels.index(label), -1] = -IMPOSSIBLE
        return replace(self, weights=weights)

    def to_json(self) -> dict[str, Any]:
        """The names of the features, and under every label their weights in that order, the intercept last."""
        rows = zip(self.labels, self.weights.round(4).tolist(), strict=True)
        return {"features": list(self.features), "weights": dict(rows)}

    @classmethod
    def from_json(cls, written: dict[str, Any], labels: Sequence[str], features: Sequence[str]) -> "Logistic":
        """What `to_json` wrote for these labels and features; else a ValueError or KeyError says what is wrong."""
        if written["features"] != list(features):
            raise ValueError("it was fitted to other features")
        weights = np.array([written["weights"][label] for label in labels], dtype=np.float64)
        if weights.shape != (len(labels), len(features) + 1):
            raise ValueError(f"weights of shape {weights.shape}")
        return cls(tuple(labels), tuple(features), weights)


def fit_logistic(
    table: FloatArray,
    answers: NDArray[np.int64],
    labels: Sequence[str],
    features: Sequence[str],
    *,
    row_weights: FloatArray | None = None,
    penalty: float = 1.0,
) -> Logistic:
    """Maximum likelihood with an L2 penalty on all weights but the intercepts. `table` [n, features], `answers` [n]."""
    rows, shape = np.column_stack([table, np.ones(len(table))]), (len(labels), table.shape[1] + 1)
    mass = np.ones(len(table)) if row_weights is None else row_weights
    wanted = np.eye(len(labels))[answers] * mass[:, None]  # [n, labels]

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(shape)
        log_probs = log_softmax(rows @ weights.T, axis=1)
        slopes = weights * penalty
        slopes[:, -1] = 0.0
        gradient = (np.exp(log_probs) * mass[:, None] - wanted).T @ rows + slopes
        return float(0.5 * (slopes * weights).sum() - (wanted * log_probs).sum()), gradient.ravel()

    from scipy.optimize import minimize  # slow to import, and a check fits nothing

    found = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return Logistic(tuple(labels), tuple(features), found.x.reshape(shape))
