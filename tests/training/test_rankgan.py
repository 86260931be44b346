"""RankGAN's ranks against the formula, and a ranker that learns."""

import pytest
import torch

from offscript.training.rankgan import RankGAN, RankGANSettings, log_ranks


def test_ranks_are_the_papers() -> None:
    drawn = torch.Generator().manual_seed(1)
    ranked, compared, references = (
        torch.nn.functional.normalize(torch.randn(n, 4, generator=drawn), dim=1) for n in (3, 5, 2)
    )
    found = log_ranks(ranked, compared, references, 2.0).exp()
    for place, own in enumerate(ranked):
        shares = []
        for reference in references:
            weight = torch.exp(2.0 * own @ reference)
            others = sum(torch.exp(2.0 * other @ reference) for other in compared)
            shares.append(weight / (weight + others))
        assert float(found[place]) == pytest.approx(float(sum(shares) / 2), rel=1e-5)


def test_what_is_like_the_references_ranks_higher() -> None:
    east, north = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    like, unlike = log_ranks(torch.cat([east, north]), torch.cat([east, north]), east, 5.0)
    assert like > unlike


@pytest.mark.parametrize(
    ("rows", "references", "parts"),
    [(1, None, (1, 1)), (2, None, (1, 1)), (5, None, (2, 3)), (5, 4, (4, 1)), (5, 9, (4, 1))],
)
def test_references_and_what_is_compared(rows: int, references: int | None, parts: tuple[int, int]) -> None:
    found = RankGAN(RankGANSettings(references=references))._parted(torch.zeros(rows, 3))
    assert tuple(map(len, found)) == parts
