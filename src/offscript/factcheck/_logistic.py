"""Multinomial logistic regression on a handful of features: fitted in a second, kept as readable JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

FloatArray = NDArray[np.float64]


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

    def to_json(self) -> dict[str, Any]:
        """Weights by label and feature."""
        names = (*self.features, "intercept")
        rows = zip(self.labels, self.weights.round(4).tolist(), strict=True)
        return {label: dict(zip(names, row, strict=True)) for label, row in rows}

    @classmethod
    def from_json(
        cls, written: dict[str, dict[str, float]], labels: Sequence[str], features: Sequence[str]
    ) -> "Logistic":
        """What `to_json` wrote; labels and features that it does not name are an error of the file (KeyError)."""
        names = (*features, "intercept")
        return cls(
            tuple(labels), tuple(features), np.array([[written[label][name] for name in names] for label in labels])
        )


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

    found = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return Logistic(tuple(labels), tuple(features), found.x.reshape(shape))
