"""The confidence from which on verdicts are safe."""

import numpy as np
import pytest

from offscript.factcheck.inference.abstention import NEVER, risk_threshold


def _claims(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and errors that happen as often as those say."""
    random = np.random.default_rng(seed)
    confidence = random.uniform(0.4, 1.0, count)
    return confidence, random.random(count) > confidence


@pytest.mark.parametrize("risk", [0.05, 0.1, 0.2])
def test_claims_like_those_given_keep_to_the_risk(risk: float) -> None:
    kept = 0
    for seed in range(40):
        confidence, wrong = _claims(2000, seed)
        threshold = risk_threshold(confidence, wrong, ["here", "there"] * 1000, risk)
        fresh, errors = _claims(20_000, 1000 + seed)
        kept += errors[fresh >= threshold].sum() <= risk * (fresh >= threshold).sum()
    assert kept >= 34  # nine in ten, less what chance takes


def test_less_risk_decides_less() -> None:
    confidence, wrong = _claims(3000, 1)
    thresholds = [risk_threshold(confidence, wrong, ["a"] * 3000, risk) for risk in (0.3, 0.2, 0.1, 0.05)]
    assert thresholds == sorted(thresholds)


def test_nothing_is_decided_where_confidence_says_nothing() -> None:
    random = np.random.default_rng(3)
    wrong = random.random(500) < 0.5
    assert risk_threshold(random.random(500), wrong, ["a"] * 500, 0.1) == NEVER


def test_a_small_collection_counts_as_much_as_a_large_one() -> None:
    confidence = np.full(1100, 0.9)
    wrong = np.concatenate([np.zeros(1000, dtype=bool), np.ones(100, dtype=bool)])
    assert risk_threshold(confidence, wrong, ["large"] * 1000 + ["small"] * 100, 0.3) == NEVER
    assert risk_threshold(confidence, wrong, ["one"] * 1100, 0.3) <= 0.9


def test_one_collection_that_errs_too_often_stops_what_the_average_allows() -> None:
    confidence = np.linspace(0.5, 1.0, 1000)
    owners = np.array(["fine", "fine", "fine", "poor"] * 250)
    wrong = (owners == "poor") & (confidence < 0.9) & (np.arange(1000) % 8 < 4)
    alone = risk_threshold(confidence, wrong, ["all"] * 1000, 0.2)
    assert alone < 0.7
    assert risk_threshold(confidence, wrong, owners.tolist(), 0.2) > alone
