"""When a discriminator is worth following: accuracy on pairs, its limits, and the phase that begins by it."""

import pytest
import torch
from scipy.stats import binom

from offscript.training.examination import CHANCE, SATURATED, USEFUL, Phase, chance_limit, pair_accuracy, standing_of


def test_accuracy_counts_pairs_and_half_of_the_ties() -> None:
    assert pair_accuracy(torch.tensor([1.0, 2.0, 3.0, 0.0]), torch.tensor([0.0, 2.0, 4.0, -1.0])) == 2.5 / 4


@pytest.mark.parametrize("pairs", [64, 256, 1000])
def test_a_coin_exceeds_the_limit_in_one_of_twenty_examinations(pairs: int) -> None:
    above = binom.sf(int(chance_limit(pairs) * pairs), pairs, 0.5)
    assert 0.03 < above < 0.06


def test_standing() -> None:
    assert [standing_of(accuracy, 256) for accuracy in (0.3, 0.5, 0.54, 0.56, 0.97, 0.98, 1.0)] == [
        CHANCE, CHANCE, CHANCE, USEFUL, USEFUL, SATURATED, SATURATED,
    ]  # fmt: skip


def test_a_phase_speaks_when_the_standing_changes_and_survives_a_checkpoint() -> None:
    phase = Phase()
    assert phase.began_at is None
    assert "at chance" in (phase.note(0.5, 256) or "")
    assert phase.note(0.51, 256) is None
    assert phase.note(0.7, 256) == "the discriminator is useful (right on 70.0% of 256 held-out pairs)"
    assert "saturated" in (phase.note(1.0, 256) or "")
    phase.begin(7)
    other = Phase()
    other.load_state_dict(phase.state_dict())
    assert other.began_at == 7
    assert other.note(1.0, 256) is None
