"""The perceptron behind verdicts: its gradient, what it can learn that a line cannot, and its file."""

import numpy as np
import pytest

from offscript.factcheck._perceptron import Perceptron, fit_perceptron

LABELS, FEATURES = ("no", "yes"), ("one", "other")
TABLE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)
EXCLUSIVE = np.array([0, 1, 1, 0] * 10)


def _fitted() -> Perceptron:
    return fit_perceptron(TABLE, EXCLUSIVE, LABELS, FEATURES, penalty=0.01, units=6, networks=2)


def test_it_learns_what_no_line_separates() -> None:
    found = _fitted().probabilities(TABLE)
    assert np.array_equal(found.argmax(axis=1), EXCLUSIVE)
    assert found.sum(axis=1) == pytest.approx(np.ones(40))


def test_rows_without_weight_do_not_count() -> None:
    wrong = np.concatenate([EXCLUSIVE, 1 - EXCLUSIVE])
    mass = np.concatenate([np.ones(40), np.zeros(40)])
    model = fit_perceptron(
        np.concatenate([TABLE, TABLE]), wrong, LABELS, FEATURES, row_weights=mass, penalty=0.01, units=6, networks=1
    )
    assert np.array_equal(model.probabilities(TABLE).argmax(axis=1), EXCLUSIVE)


def test_a_temperature_draws_confidences_together_and_a_label_can_be_ruled_out() -> None:
    model = _fitted()
    assert model.cooled(3.0).probabilities(TABLE).max() < model.probabilities(TABLE).max()
    assert model.without("yes").probabilities(TABLE)[:, 1].max() < 1e-9


def test_it_is_read_back_as_it_was_written_and_refuses_another_shape() -> None:
    model = _fitted()
    written = model.to_json()
    read = Perceptron.from_json(written, LABELS, FEATURES)
    assert read.probabilities(TABLE) == pytest.approx(model.probabilities(TABLE), abs=1e-2)
    with pytest.raises(ValueError, match="other features"):
        Perceptron.from_json(written, LABELS, ("one", "third"))
    for damaged in ({"hidden": [[1.0]]}, {"output": written["hidden"]}, {"means": [0.0]}):
        with pytest.raises(ValueError, match="shapes"):
            Perceptron.from_json({**written, **damaged}, LABELS, FEATURES)
