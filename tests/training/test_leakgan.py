"""LeakGAN's intrinsic reward against the formula."""

import pytest
import torch
from torch.nn import functional

from offscript.training.leakgan import reached


@pytest.mark.parametrize("horizon", [1, 3, 9])
def test_the_workers_reward_is_the_mean_likeness_to_its_latest_goals(horizon: int) -> None:
    drawn = torch.Generator().manual_seed(1)
    features, goals = torch.randn(2, 7, 4, generator=drawn), torch.randn(2, 6, 4, generator=drawn)
    found = reached(features, goals, horizon)
    for row in range(2):
        for time in range(6):
            likeness = [
                functional.cosine_similarity(
                    features[row, time + 1] - features[row, time + 1 - back], goals[row, time + 1 - back], dim=0
                )
                for back in range(1, min(horizon, time + 1) + 1)
            ]
            assert float(found[row, time]) == pytest.approx(float(sum(likeness) / len(likeness)), abs=1e-5)


def test_going_where_the_goals_point_is_rewarded_in_full() -> None:
    goals = functional.normalize(torch.ones(1, 5, 3), dim=-1)
    features = torch.arange(6.0).view(1, 6, 1).expand(1, 6, 3)
    assert torch.allclose(reached(features, goals, 4), torch.ones(1, 5))
