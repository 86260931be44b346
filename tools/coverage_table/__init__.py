"""How often the interval of every method holds the truth, at the smallest sizes it accepts.

    make coverage
    PYTHONPATH=tools python -m coverage_table [--repeats 2000] [--only mean] [--rows FILE] [--out docs/coverage.md]

Each row draws samples from a population whose figure is known, and counts the 95 % intervals that contain it. With
`--rows` finished rows are kept in a file, so that a run that was stopped goes on.
"""

from collections.abc import Iterator

from coverage_table.cases import RANGE, Case
from coverage_table.classifications import classifications_rows
from coverage_table.differences import correlations_rows, differences_rows
from coverage_table.means import clustered_shares_rows, means_rows, rates_rows, ratios_rows, shares_rows
from coverage_table.page import page
from coverage_table.ratings import ratings_rows
from coverage_table.resampling import left_out_rows, resampled_rows

__all__ = ["RANGE", "Case", "cases", "page"]


def cases() -> Iterator[Case]:
    """Every public method."""
    yield from means_rows()
    yield from shares_rows()
    yield from clustered_shares_rows()
    yield from rates_rows()
    yield from ratings_rows()
    yield from ratios_rows()
    yield from differences_rows()
    yield from correlations_rows()
    yield from classifications_rows()
    yield from resampled_rows()
    yield from left_out_rows()
