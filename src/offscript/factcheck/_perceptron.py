"""A small perceptron on a handful of features: fitted in seconds, kept as readable JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from offscript._types import FloatArray

DIGITS = 4
STEPS = 100
IMPOSSIBLE = 1e4  # an intercept that no features make up for


@dataclass(frozen=True)
class Perceptron:
    """p(label | x) = mean over networks of softmax((tanh((x − m) / s · A + a) · B + b) / T).

    `hidden` holds A and a of all networks [networks, features + 1, units], `output` B and b [networks, units + 1,
    labels]; several networks from different beginnings vary less with the data than one.
    """

    labels: tuple[str, ...]
    features: tuple[str, ...]
    means: FloatArray
    spreads: FloatArray
    hidden: FloatArray
    output: FloatArray
    temperature: float = 1.0

    def probabilities(self, table: FloatArray) -> FloatArray:
        """Of every row of `table` [n, features]; [n, labels]."""
        rows = (table - self.means) / self.spreads
        units = np.tanh(np.einsum("nf,kfu->knu", rows, self.hidden[:, :-1]) + self.hidden[:, None, -1])
        scores = units @ self.output[:, :-1] + self.output[:, None, -1]
        found: FloatArray = softmax(scores / self.temperature, axis=2).mean(axis=0)
        return found

    def without(self, label: str) -> "Perceptron":
        """The same networks for examples that are known not to have a label."""
        output = self.output.copy()
        output[:, -1, self.labels.index(label)] = -IMPOSSIBLE
        return replace(self, output=output)

    def cooled(self, temperature: float) -> "Perceptron":
        """The same networks with their scores divided by a temperature."""
        return replace(self, temperature=self.temperature * temperature)

    def to_json(self) -> dict[str, Any]:
        """The names of labels and features, and all weights."""
        arrays = {name: getattr(self, name).round(DIGITS).tolist() for name in ("means", "spreads", "hidden", "output")}
        return {"features": list(self.features), **arrays, "temperature": round(self.temperature, DIGITS)}

    @classmethod
    def from_json(cls, written: dict[str, Any], labels: Sequence[str], features: Sequence[str]) -> "Perceptron":
        """What `to_json` wrote for these labels and features; else a ValueError or KeyError says what is wrong."""
        if written["features"] != list(features):
            raise ValueError("it was fitted to other features")
        names = ("means", "spreads", "hidden", "output")
        means, spreads, hidden, output = (np.array(written[name], dtype=np.float64) for name in names)
        if hidden.ndim != 3 or output.ndim != 3 or len(means) != len(features) or spreads.shape != means.shape:
            raise ValueError(f"weights of shapes {hidden.shape} and {output.shape}")
        sizes = (len(hidden), hidden.shape[2] + 1, len(labels))
        if hidden.shape[1] != len(features) + 1 or output.shape != sizes:
            raise ValueError(f"weights of shapes {hidden.shape} and {output.shape}")
        return cls(tuple(labels), tuple(features), means, spreads, hidden, output, float(written["temperature"]))


def fit_perceptron(
    table: FloatArray,
    answers: NDArray[np.int64],
    labels: Sequence[str],
    features: Sequence[str],
    *,
    row_weights: FloatArray | None = None,
    penalty: float = 1.0,
    units: int = 16,
    networks: int = 2,
    seed: int = 1,
) -> Perceptron:
    """Maximum likelihood with an L2 penalty on all weights but the intercepts.

    Args:
        table: Features of the examples [n, features].
        answers: Numbers of their labels [n].
        labels: Names of the labels.
        features: Names of the features.
        row_weights: How much each example counts; the same without them.
        penalty: Half of it times the squared weights is added to the loss, which is a sum over examples.
        units: Hidden units of each network.
        networks: How many are fitted and averaged.
        seed: Where they begin.

    Returns:
        The fitted networks.
    """
    means, spreads = table.mean(axis=0), table.std(axis=0)
    spreads = np.where(spreads > 0, spreads, 1.0)
    rows = np.column_stack([(table - means) / spreads, np.ones(len(table))])
    mass = np.ones(len(table)) if row_weights is None else row_weights
    random = np.random.default_rng(seed)
    shapes = (rows.shape[1], units), (units + 1, len(labels))
    found = [_fit_one(rows, answers, mass, shapes, penalty, random) for _ in range(networks)]
    hidden, output = (np.stack(each) for each in zip(*found, strict=True))
    return Perceptron(tuple(labels), tuple(features), means, spreads, hidden, output)


def _fit_one(
    rows: FloatArray,
    answers: NDArray[np.int64],
    mass: FloatArray,
    shapes: tuple[tuple[int, int], tuple[int, int]],
    penalty: float,
    random: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Hidden and output weights of one network, the intercepts last."""
    (inputs, units), (outputs, labels) = shapes
    cut = inputs * units
    wanted = np.eye(labels)[answers]

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        hidden, output = flat[:cut].reshape(inputs, units), flat[cut:].reshape(outputs, labels)
        active = np.tanh(rows @ hidden)
        log_probs = log_softmax(active @ output[:-1] + output[-1], axis=1)
        errors = (np.exp(log_probs) - wanted) * mass[:, None]  # [n, labels]
        back = (errors @ output[:-1].T) * (1 - active**2)
        slopes = np.concatenate([(rows.T @ back).ravel(), (active.T @ errors).ravel(), errors.sum(axis=0)])
        drawn = flat * penalty
        drawn[cut - units : cut] = 0.0
        drawn[-labels:] = 0.0
        total = 0.5 * float(drawn @ flat) - float(mass @ log_probs[np.arange(len(answers)), answers])
        return total, slopes + drawn

    begun = random.normal(size=cut + outputs * labels) / np.sqrt(inputs)
    from scipy.optimize import minimize  # slow to import, and a check fits nothing

    flat = minimize(loss, begun, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    return flat[:cut].reshape(inputs, units), flat[cut:].reshape(outputs, labels)
