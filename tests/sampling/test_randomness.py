import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from offscript.errors import OffscriptError
from offscript.sampling.randomness import Draws

STEPS = st.integers(0, 1000)


@given(
    seed=st.integers(0, 2**40),
    stream=st.integers(0, 5),
    step=STEPS,
    first=st.integers(0, 50),
    rows=st.integers(1, 50),
    width=st.integers(1, 9),
)
def test_a_number_belongs_to_its_row_whatever_is_asked_with_it(
    seed: int, stream: int, step: int, first: int, rows: int, width: int
) -> None:
    whole = Draws(seed).uniform(step, 0, first + rows, width, stream)
    assert torch.equal(Draws(seed).uniform(step, first, rows, width, stream), whole[first:])


@given(chosen=st.sets(st.integers(0, 200), min_size=1), first=st.integers(0, 5), step=STEPS)
def test_chosen_rows_keep_their_numbers(chosen: set[int], first: int, step: int) -> None:
    rows = torch.tensor(sorted(chosen))
    whole = Draws(7).uniform(step, 0, 201, 3, stream=2)
    selected = Draws(7).of_rows(rows).uniform(step, first, len(rows), 3, stream=2)
    assert torch.equal(selected, whole[rows[first:]])


def test_numbers_stay_the_same_from_version_to_version() -> None:
    numbers = Draws((1, 2)).uniform(step=2, first_row=3, rows=2, stream=1).squeeze(1)
    assert numbers.tolist() == [0.09645215793742823, 0.9680821579171611]


def test_numbers_are_uniform() -> None:
    numbers = Draws(11).uniform(0, 0, 100_000).squeeze(1)
    assert numbers.dtype == torch.float64
    assert float(numbers.min()) >= 0
    assert float(numbers.max()) < 1
    assert stats.kstest(numbers.numpy(), "uniform").pvalue > 0.001


def _column(seed: int | tuple[int, ...], step: int, stream: int) -> np.ndarray:
    return Draws(seed).uniform(step, 0, 20_000, stream=stream).squeeze(1).numpy()


def test_seeds_steps_and_streams_are_independent() -> None:
    addresses = [(1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 0), ((1, 1), 0, 0), ((1, 0), 0, 0)]
    columns = [_column(*address) for address in addresses]
    for left, right in itertools.combinations(columns, 2):
        joint, _, _ = np.histogram2d(left, right, bins=8, range=[[0, 1], [0, 1]])
        assert stats.chisquare(joint.flatten()).pvalue > 1e-4


@pytest.mark.parametrize(("seed", "other"), [(2, (2, 0)), ((2,), (2, 0)), ((2, 1), (2, 1, 0)), (0, (0, 0))])
def test_a_zero_at_the_end_of_a_seed_counts(seed: int | tuple[int, ...], other: tuple[int, ...]) -> None:
    assert not torch.equal(Draws(seed).uniform(0, 0, 4), Draws(other).uniform(0, 0, 4))


def test_a_number_is_the_seed_of_one_part() -> None:
    assert torch.equal(Draws(5).uniform(0, 0, 4), Draws((5,)).uniform(0, 0, 4))


@pytest.mark.parametrize("seed", [-1, (), (1, -1)])
def test_a_seed_that_is_none_is_refused(seed: int | tuple[int, ...]) -> None:
    with pytest.raises(OffscriptError, match="whole numbers of 0 or more"):
        Draws(seed)
