import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from offscript._catalogue import BUILTIN_SAMPLERS, PROPERTIES
from offscript.errors import OffscriptError
from offscript.sampling.transforms import (
    MaxEntropy,
    Nucleus,
    RandomTopK,
    Tempered,
    TopK,
    Transform,
    check_properties,
    property_table,
)
from offscript.sampling.transforms.properties import random_distributions

ENTROPY, ORDER, SLOPE = PROPERTIES

rows_of_logits = st.lists(
    st.lists(st.one_of(st.integers(-3, 3), st.floats(-30, 30), st.just(-math.inf)), min_size=6, max_size=6).filter(
        lambda row: max(row) > -math.inf
    ),
    min_size=1,
    max_size=4,
)


@given(
    st.one_of(
        st.builds(TopK, k=st.integers(1, 7)),
        st.builds(Nucleus, p=st.floats(0.01, 1)),
        st.builds(Tempered, temperature=st.floats(0.05, 1)),
        st.builds(RandomTopK, maximum=st.integers(1, 7)),
        st.builds(MaxEntropy, entropy=st.floats(0.01, 2)),
    ),
    rows_of_logits,
)
def test_the_proven_properties_hold_on_every_drawn_distribution(transform: Transform, rows: list[list[float]]) -> None:
    report = check_properties(transform, torch.tensor(rows, dtype=torch.float64))
    assert report.counterexamples == ()
    assert report.rows == len(rows)


def test_the_table_of_who_satisfies_what() -> None:
    broken = {
        report.transform.split(",")[0]: {found.violated for found in report.counterexamples}
        for report in property_table()
    }
    assert {name: properties for name, properties in broken.items() if properties} == {
        "random-mask": {ORDER},
        "random-mask-all": {ENTROPY, ORDER},
        "noised-top-k": {ENTROPY, SLOPE},
        "target-entropy": {ENTROPY},
        "typical": {ENTROPY, ORDER},
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_designed_violations_are_found_whatever_the_seed(seed: int) -> None:
    for designed, name in (
        ("target-entropy,e=2.75", ENTROPY),
        ("random-mask,r=0.75", ORDER),
        ("tempered,t=2", ENTROPY),
    ):
        assert not check_properties(designed, seed=seed).satisfies(name)
    for weight in (0.005, 0.5):
        assert not check_properties(f"noised-top-k,k=50,w={weight}", seed=seed).satisfies(SLOPE)
        assert check_properties(f"noised-top-k,k=50,w={weight}", seed=seed).satisfies(ORDER)


def reversed_order(log_probs: Tensor) -> Tensor:
    return -log_probs


def mirrored(log_probs: Tensor) -> Tensor:
    return log_probs.flip(-1)


def squashed(log_probs: Tensor) -> Tensor:
    """Keeps the order, lowers the entropy, bends the slope."""
    return -log_probs.exp().reciprocal().log() * 2 - (-log_probs).sqrt()


def test_a_users_own_function_is_checked_and_need_not_normalise() -> None:
    given_rows = torch.tensor([[0.6, 0.3, 0.1]]).log()
    assert {found.violated for found in check_properties(reversed_order, given_rows).counterexamples} >= {ORDER}
    report = check_properties(squashed, given_rows)
    assert report.transform == "squashed"
    assert [found.violated for found in report.counterexamples] == [SLOPE]


def test_a_permutation_is_no_reduction_of_entropy() -> None:
    report = check_properties(mirrored, torch.tensor([[0.6, 0.3, 0.1]]).log())
    assert [found.violated for found in report.counterexamples] == [ENTROPY, ORDER, SLOPE]


def test_two_tokens_made_equal_bend_the_slope_of_the_others() -> None:
    given_rows = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64).log()

    def levelled(log_probs: Tensor) -> Tensor:
        log_probs[:, 1] = log_probs[:, 0]
        return log_probs

    found = check_properties(levelled, given_rows).counterexample(SLOPE)
    assert found is not None
    assert found.tokens[1] == 1


def test_a_counterexample_shows_the_tokens() -> None:
    def cut_the_best(log_probs: Tensor) -> Tensor:
        return log_probs.masked_fill(log_probs == log_probs.amax(dim=-1, keepdim=True), -math.inf)

    report = check_properties(cut_the_best, torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.7, 0.1]]).log())
    found = report.counterexample(ORDER)
    assert found is not None
    assert found.row == 1
    assert found.tokens == (1, 0)
    assert found.before == pytest.approx((0.7, 0.2))
    assert found.after == pytest.approx((0.0, 2 / 3))
    assert report.counterexample(SLOPE) is None


def test_random_distributions_reach_from_nearly_uniform_to_nearly_one_hot() -> None:
    log_probs = random_distributions(500, 200, seed=0)
    entropies = -(log_probs.exp() * log_probs).sum(dim=-1)
    assert float(entropies.min()) < 0.2
    assert float(entropies.max()) > 0.99 * math.log(200)
    assert torch.equal(log_probs, random_distributions(500, 200, seed=0))


def test_unknown_properties_and_faulty_functions_are_refused() -> None:
    with pytest.raises(OffscriptError, match="no property 'beauty'; known: entropy reduction"):
        check_properties(TopK(1)).satisfies("beauty")
    with pytest.raises(OffscriptError, match="does not return a distribution"):
        check_properties(lambda log_probs: log_probs * math.nan)


def test_the_listed_properties_are_the_measured_ones() -> None:
    """`offscript ls samplers` prints a table that is written down; measuring it takes torch and seconds."""
    measured = {report.transform: tuple(map(report.satisfies, PROPERTIES)) for report in property_table()}
    assert {entry.usual: entry.properties for entry in BUILTIN_SAMPLERS.values()} == measured
