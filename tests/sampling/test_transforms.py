import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.sampling.randomness import Draws
from offscript.sampling.transforms import (
    Ancestral,
    Epsilon,
    Eta,
    Greedy,
    MaxEntropy,
    MinP,
    NoisedTopK,
    Nucleus,
    RandomMask,
    RandomMaskAll,
    RandomTopK,
    TargetEntropy,
    Tempered,
    TemperedTopK,
    TopK,
    Transform,
    Typical,
    as_logits_processor,
)

INF = math.inf

logits = st.one_of(
    st.floats(-20, 20, width=32),
    st.sampled_from([0.0, 1.0, -1.0, -INF]),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)


@st.composite
def distributions(draw: st.DrawFn) -> Tensor:
    """Rows of logits with at least one finite entry: ordinary, tied, cut, one-hot, uniform and extreme ones."""
    rows, size = draw(st.integers(1, 3)), draw(st.integers(1, 12))
    row = st.lists(logits, min_size=size, max_size=size).filter(lambda values: max(values) > -INF)
    return torch.tensor(draw(st.lists(row, min_size=rows, max_size=rows)), dtype=torch.float32)


probabilities = st.floats(0, 1, exclude_min=True, exclude_max=True)
positive = st.floats(1e-3, 1e3)
transforms = st.one_of(
    st.builds(Ancestral),
    st.builds(Greedy),
    st.builds(TopK, k=st.integers(1, 15)),
    st.builds(Nucleus, p=st.floats(0, 1, exclude_min=True)),
    st.builds(Tempered, temperature=positive),
    st.builds(TemperedTopK, k=st.integers(1, 15), temperature=positive),
    st.builds(TargetEntropy, entropy=st.floats(0, 4, exclude_min=True)),
    st.builds(MaxEntropy, entropy=st.floats(0, 4, exclude_min=True)),
    st.builds(RandomMask, rate=st.floats(0, 1, exclude_min=True)),
    st.builds(RandomMaskAll, rate=probabilities),
    st.builds(NoisedTopK, k=st.integers(1, 15), weight=st.floats(0, 1)),
    st.builds(RandomTopK, maximum=st.integers(1, 15)),
    st.builds(MinP, p=st.floats(0, 1)),
    st.builds(Typical, p=probabilities),
    st.builds(Eta, epsilon=probabilities),
    st.builds(Epsilon, epsilon=probabilities),
)


def log_probs(*probs: float) -> Tensor:
    return torch.tensor([probs], dtype=torch.float64).log()


@given(transforms, distributions(), st.integers(0, 3))
def test_every_transform_returns_a_distribution_and_leaves_its_input_alone(
    transform: Transform, given_logits: Tensor, step: int
) -> None:
    untouched = given_logits.clone()
    result = transform(given_logits, Draws(5), step=step)
    assert torch.equal(given_logits, untouched)
    assert result.shape == given_logits.shape
    assert result.dtype == given_logits.dtype
    assert not result.isnan().any()
    assert result.double().exp().sum(dim=1).tolist() == pytest.approx([1.0] * len(result), abs=1e-5)
    assert result[given_logits.isneginf()].isneginf().all()


@given(transforms, distributions())
def test_rows_do_not_depend_on_the_batch_they_stand_in(transform: Transform, given_logits: Tensor) -> None:
    together = transform(given_logits, Draws(3), step=2, first_row=7)
    for row in range(len(given_logits)):
        alone = transform(given_logits[row : row + 1], Draws(3), step=2, first_row=7 + row)
        assert torch.equal(alone[0].isneginf(), together[row].isneginf())
        torch.testing.assert_close(alone[0], together[row])


@pytest.mark.parametrize(
    ("transform", "before", "after"),
    [
        (Ancestral(), (0.5, 0.3, 0.2), (0.5, 0.3, 0.2)),
        (Greedy(), (0.4, 0.4, 0.2), (1, 0, 0)),
        (TopK(2), (0.5, 0.3, 0.2), (0.625, 0.375, 0)),
        (TopK(2), (0.4, 0.3, 0.3), (0.4, 0.3, 0.3)),
        (TopK(9), (0.5, 0.3, 0.2), (0.5, 0.3, 0.2)),
        (Nucleus(0.5), (0.5, 0.25, 0.125, 0.125), (1, 0, 0, 0)),
        (Nucleus(0.51), (0.125, 0.25, 0.5, 0.125), (0, 1 / 3, 2 / 3, 0)),
        (Nucleus(0.74), (0.125, 0.25, 0.5, 0.125), (0, 1 / 3, 2 / 3, 0)),
        (Nucleus(1.0), (0.5, 0.25, 0.125, 0.125), (0.5, 0.25, 0.125, 0.125)),
        (Tempered(0.5), (0.8, 0.2), (0.64 / 0.68, 0.04 / 0.68)),
        (TemperedTopK(2, 0.5), (0.4, 0.2, 0.3, 0.1), (0.16 / 0.25, 0, 0.09 / 0.25, 0)),
        (MinP(0.5), (0.5, 0.25, 0.24, 0.01), (2 / 3, 1 / 3, 0, 0)),
        (Epsilon(0.25), (0.5, 0.25, 0.24, 0.01), (2 / 3, 1 / 3, 0, 0)),
        (Epsilon(0.9), (0.4, 0.4, 0.2), (0.5, 0.5, 0)),
        (Eta(0.25), (0.5, 0.25, 0.125, 0.125), (2 / 3, 1 / 3, 0, 0)),  # the bound is 0.5 · exp(-1.213) = 0.149
        (Eta(0.1), (0.5, 0.25, 0.125, 0.125), (0.5, 0.25, 0.125, 0.125)),  # 0.316 · exp(-1.213) = 0.094
        (Typical(0.2), (0.5, 0.25, 0.125, 0.125), (0, 1, 0, 0)),  # H = 1.213: distances 0.520, 0.173, 0.866, 0.866
        (Typical(0.3), (0.5, 0.25, 0.125, 0.125), (2 / 3, 1 / 3, 0, 0)),
    ],
)
def test_worked_examples(transform: Transform, before: tuple[float, ...], after: tuple[float, ...]) -> None:
    assert transform(log_probs(*before)).exp()[0].tolist() == pytest.approx(after)


def test_nucleus_ends_with_the_token_that_makes_the_sum_reach_p_exactly() -> None:
    uniform = torch.zeros(1, 4)
    assert [int(Nucleus(p)(uniform).isfinite().sum()) for p in (0.25, 0.5, 0.75, 0.76, 1.0)] == [1, 2, 3, 4, 4]


class FixedDraws:
    """Hands out the numbers it was made with."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = torch.tensor([numbers], dtype=torch.float64)

    def uniform(self, step: int, first_row: int, rows: int, width: int = 1, stream: int = 0) -> Tensor:
        assert (rows, width) == self.numbers.shape
        return self.numbers


@pytest.mark.parametrize(
    ("transform", "uniforms", "before", "after"),
    [
        (RandomMask(0.5), (0.1, 0.6, 0.2), (0.5, 0.3, 0.2), (0.625, 0.375, 0)),
        (RandomMask(0.5), (0.9, 0.5, 0.6), (0.5, 0.3, 0.2), (5 / 7, 0, 2 / 7)),
        (RandomMask(1.0), (0.9, 0.9, 0.9), (0.2, 0.5, 0.3), (0, 1, 0)),
        (RandomMaskAll(0.5), (0.1, 0.6, 0.7), (0.5, 0.3, 0.2), (0, 0.6, 0.4)),
        (RandomMaskAll(0.5), (0.1, 0.3, 0.2), (0.5, 0.3, 0.2), (0, 1, 0)),
        (RandomMaskAll(0.5), (0.9, 0.5, 0.6), (0.5, 0.3, 0.2), (5 / 7, 0, 2 / 7)),
        (RandomTopK(3), (0.3,), (0.5, 0.3, 0.2), (1, 0, 0)),
        (RandomTopK(3), (0.4,), (0.5, 0.3, 0.2), (0.625, 0.375, 0)),
        (RandomTopK(3), (0.99,), (0.2, 0.3, 0.5), (0.2, 0.3, 0.5)),
        (RandomTopK(90), (0.99,), (0.2, 0.3, 0.5), (0.2, 0.3, 0.5)),
        # -log(1 - u) is log 2 and log 4: the sorted noise is 2/3, 1/3
        (NoisedTopK(2, 0.3), (0.5, 0.75), (0.1, 0.3, 0.6), (0, 0.7 / 3 + 0.1, 1.4 / 3 + 0.2)),
        (NoisedTopK(2, 1.0), (0.75, 0.5), (0.1, 0.3, 0.6), (0, 1 / 3, 2 / 3)),
        (NoisedTopK(3, 0.5), (0.5, 0.75, 0.0), (0.4, 0.6, 0.0), (0.2 + 1 / 6, 0.3 + 1 / 3, 0)),
    ],
)
def test_worked_examples_of_random_transforms(
    transform: Transform, uniforms: tuple[float, ...], before: tuple[float, ...], after: tuple[float, ...]
) -> None:
    drawn = transform(log_probs(*before), FixedDraws(*uniforms))
    assert drawn.exp()[0].tolist() == pytest.approx(after)


def test_sorted_noise_is_uniform_on_the_simplex() -> None:
    drawn = NoisedTopK(3, 1.0)(torch.zeros(20_000, 3, dtype=torch.float64), Draws(0)).exp()
    largest = drawn.max(dim=1).values  # the mean of the largest of three shares is (1 + 1/2 + 1/3) / 3
    assert float(largest.mean()) == pytest.approx(11 / 18, abs=0.003)


@pytest.mark.parametrize("transform", [RandomMask(0.5), RandomMaskAll(0.5), NoisedTopK(2, 0.1), RandomTopK(2)])
def test_random_transforms_ask_for_their_random_numbers(transform: Transform) -> None:
    with pytest.raises(OffscriptError, match=r"needs random numbers.*draws=Draws\(seed\)"):
        transform(torch.zeros(1, 3))
    with pytest.raises(OffscriptError, match="needs random numbers; pass seed=0"):
        as_logits_processor(transform)


def test_random_transforms_differ_between_steps_and_rows_and_repeat_for_a_seed() -> None:
    rows = torch.zeros(2, 500)
    first = RandomMask(0.5)(rows, Draws(1), step=0)
    assert torch.equal(first, RandomMask(0.5)(rows, Draws(1), step=0))
    assert not torch.equal(first, RandomMask(0.5)(rows, Draws(1), step=1))
    assert not torch.equal(first[0], first[1])


@pytest.mark.parametrize("row", [[0.0, math.nan], [0.0, INF], [-INF, -INF]])
def test_what_is_no_distribution_is_refused(row: list[float]) -> None:
    with pytest.raises(OffscriptError, match="row 1 of 2 is not a distribution"):
        TopK(1)(torch.tensor([[0.0, 1.0], row]))


def test_one_row_without_a_batch_is_refused() -> None:
    with pytest.raises(OffscriptError, match=r"shape \(3,\); give \[rows, V\]"):
        TopK(1)(torch.zeros(3))


def test_half_precision_comes_out_in_full_precision() -> None:
    assert Nucleus(0.5)(torch.zeros(1, 4, dtype=torch.bfloat16)).dtype == torch.float32


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (RandomMask, [1e-9, 0.5, 1.0, 1], [0, 0.0, -0.1, 1.0000001, 2]),
        (RandomMaskAll, [1e-9, 0.5, 0.9999999], [0, 0.0, -0.1, 1.0, 1, 1.5]),
        (lambda weight: NoisedTopK(2, weight), [0, 0.0, 0.5, 1.0], [-1e-9, 1.0000001, 2]),
        (lambda k: NoisedTopK(k, 0.5), [1, 2, 10**9], [0, -1, 1.0, 1.5]),
        (RandomTopK, [1, 2, 10**9], [0, -1, 1.0, 1.5]),
    ],
    ids=["random-mask", "random-mask-all", "noise weight", "noised k", "random k"],
)
def test_random_transforms_take_settings_up_to_their_bounds(
    kind: Callable[[float], Transform], inside: list[float], outside: list[float]
) -> None:
    for value in inside:
        kind(value)
    for value in [*outside, math.nan, INF, -INF, True, "1"]:
        with pytest.raises(OffscriptError, match="it takes"):
            kind(value)  # type: ignore[arg-type]


def test_a_random_k_is_drawn_evenly_from_one_to_its_maximum() -> None:
    """At the largest number below one, k is the maximum; one more or one less would show."""
    before = torch.arange(5.0).expand(30_000, -1)
    kept = (RandomTopK(4)(before, Draws(2)) > -INF).sum(dim=1)
    assert stats.chisquare(torch.bincount(kept, minlength=6)[1:5].numpy()).pvalue > 0.001
    assert (int(kept.min()), int(kept.max())) == (1, 4)
    almost_one = FixedDraws(1 - 2**-53)
    for maximum, expected in ((1, 1), (4, 4), (5, 5), (6, 5)):
        assert int((RandomTopK(maximum)(before[:1], almost_one) > -INF).sum()) == expected


def test_a_random_mask_drops_tokens_at_its_rate() -> None:
    before = torch.zeros(2000, 51)
    before[:, 0] = 1.0
    for transform, rows in ((RandomMask(0.7), before[:, 1:]), (RandomMaskAll(0.7), before)):
        kept = int((transform(before, Draws(4)) > -INF)[:, 51 - rows.shape[1] :].sum())
        assert stats.binomtest(kept, rows.numel(), 0.3).pvalue > 0.001
    assert (RandomMask(0.7)(before, Draws(4))[:, 0] > -INF).all()


def test_transforms_do_not_draw_with_the_numbers_that_choose_tokens() -> None:
    asked = []

    class Watching(Draws):
        def uniform(self, step: int, first_row: int, rows: int, width: int = 1, stream: int = 0) -> Tensor:
            asked.append((step, first_row, rows, width, stream))
            return super().uniform(step, first_row, rows, width, stream)

    RandomMask(0.5)(torch.zeros(2, 7), Watching(1), step=4, first_row=9)
    NoisedTopK(3, 0.5)(torch.zeros(2, 7), Watching(1), step=4, first_row=9)
    RandomTopK(3)(torch.zeros(2, 7), Watching(1), step=4, first_row=9)
    assert asked == [(4, 9, 2, 7, 3), (4, 9, 2, 3, 3), (4, 9, 2, 1, 3)]


@pytest.mark.parametrize(
    ("build", "value"),
    [
        (RandomMask, 1.01),
        (RandomMask, 0.0),
        (RandomMaskAll, 1.0),
        (lambda weight: NoisedTopK(2, weight), 1.01),
        (lambda k: NoisedTopK(k, 0.5), 0),
        (RandomTopK, 0),
    ],
)
def test_random_transforms_have_bounds(build: Any, value: float) -> None:
    with pytest.raises(OffscriptError):
        build(value)


def test_random_top_k_keeps_one_to_all_tokens() -> None:
    """k = ⌊1 + M u⌋: each of 1 … M for its share of the numbers, and never more tokens than there are."""
    log_probs = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log().expand(5, -1)
    uniforms = torch.tensor([[0.0], [0.249], [0.25], [0.74], [0.999]])
    kept = RandomTopK(4).weigh(log_probs, uniforms).isfinite().sum(dim=1)
    assert kept.tolist() == [1, 1, 2, 3, 4]
    assert RandomTopK(400).weigh(log_probs, uniforms).isfinite().sum(dim=1).tolist() == [1, 4, 4, 4, 4]
