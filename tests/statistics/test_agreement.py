"""Agreement against published worked examples and peers, and influence values against the jackknife."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.statistics import agreement, fleiss_kappa, intraclass_correlation, krippendorff_alpha

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units.
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
# Shrout and Fleiss (1979), Table 2: six targets, four judges.
TARGETS = ((9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7))
# Fleiss (1971) as tabulated in textbooks: ten subjects, fourteen raters, five categories.
SUBJECTS = (
    (0, 0, 0, 0, 14),
    (0, 2, 6, 4, 2),
    (0, 0, 3, 5, 6),
    (0, 3, 9, 2, 0),
    (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0),
    (3, 2, 6, 3, 0),
    (2, 5, 3, 2, 2),
    (6, 5, 2, 1, 0),
    (0, 2, 2, 3, 7),
)


def columns(table: tuple[tuple[float | None, ...], ...]) -> tuple[list[float], list[int], list[int]]:
    """Rows are raters, columns items."""
    cells = [(value, item, rater) for rater, row in enumerate(table) for item, value in enumerate(row)]
    known = [cell for cell in cells if cell[0] is not None]
    values, items, raters = zip(*known, strict=True)
    return list(values), list(items), list(raters)


@pytest.mark.parametrize(("metric", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_example(metric: str, published: float) -> None:
    assert krippendorff_alpha(*columns(OBSERVERS), metric).value == pytest.approx(published, abs=5e-4)


def test_icc_of_shrout_and_fleiss() -> None:
    values = [value for row in TARGETS for value in row]
    found = intraclass_correlation(values, np.repeat(range(6), 4), np.tile(range(4), 6))
    assert found.value == pytest.approx(0.17, abs=5e-3)
    assert found.interval.lower < found.value < found.interval.upper < 1


def test_kappa_of_fleiss() -> None:
    cells = [(c, s, r) for s, row in enumerate(SUBJECTS) for r, c in enumerate(np.repeat(range(5), row))]
    values, items, raters = zip(*cells, strict=True)
    assert fleiss_kappa(values, items, raters).value == pytest.approx(0.210, abs=5e-4)


@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(2, 6), st.integers(2, 7), st.floats(0, 0.5))
def test_alpha_equals_the_peers(seed: int, items: int, raters: int, scale: int, missing: float) -> None:
    peer = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(seed)
    table = rng.integers(0, scale, (raters, items)).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    pairable = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    if len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        return
    rater, item = np.nonzero(~np.isnan(table))
    for metric in ("nominal", "ordinal", "interval"):
        expected = peer.alpha(table, level_of_measurement=metric)
        found = krippendorff_alpha(table[rater, item], item, rater, metric)
        assert found.value == pytest.approx(expected, abs=1e-9)
        assert found.interval.lower <= found.value <= found.interval.upper <= 1


def test_kappa_equals_the_peers() -> None:
    peer = pytest.importorskip("statsmodels.stats.inter_rater")
    table = np.random.default_rng(3).integers(0, 4, (30, 5))
    counts = np.array([[(row == category).sum() for category in range(4)] for row in table])
    found = fleiss_kappa(table.ravel(), np.repeat(range(30), 5), np.tile(range(5), 30))
    assert found.value == pytest.approx(peer.fleiss_kappa(counts), abs=1e-12)


@pytest.mark.parametrize("by", ["items", "raters"])
@pytest.mark.parametrize("measure", ["nominal", "ordinal", "interval", "kappa", "icc"])
def test_errors_are_near_the_jackknifes(measure: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    item, rater = np.divmod(np.arange(60 * 25), 25)
    values = np.clip(
        np.round(3 + rng.normal(0, 1, 60)[item] + rng.normal(0, 0.5, 25)[rater] + rng.normal(0, 1, 1500)), 0, 5
    )
    kept = rng.random(1500) < 0.7
    values, item, rater = values[kept], item[kept], rater[kept]

    def figure(mask: np.ndarray) -> agreement.Estimate:
        chosen = values[mask], item[mask], rater[mask]
        if measure == "kappa":
            return fleiss_kappa(*chosen)
        return intraclass_correlation(*chosen) if measure == "icc" else krippendorff_alpha(*chosen, measure)

    labels = item if by == "items" else rater
    without = np.array([figure(labels != label).value for label in np.unique(labels)])
    expected = np.sqrt((len(without) - 1) * without.var())
    crossed, nobody = agreement.crossed_variance, np.zeros
    monkeypatch.setattr(
        agreement,
        "crossed_variance",
        lambda influence, items, raters, **_: crossed(  # without the room for heavy tails
            influence, items if by == "items" else nobody(len(items)), raters if by == "raters" else nobody(len(items))
        ),
    )
    assert figure(np.ones(len(values), dtype=bool)).standard_error == pytest.approx(expected, rel=0.1)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(OffscriptError, match="no item has two ratings"):
        krippendorff_alpha([1, 2], [1, 2], [1, 1], "nominal")
    with pytest.raises(OffscriptError, match="all ratings are the same"):
        fleiss_kappa([1, 1, 1, 1], [1, 1, 2, 2], [1, 2, 1, 2])
    assert krippendorff_alpha([1, 1, 2, 2], [1, 1, 2, 2], [1, 2, 1, 2], "ordinal").value == 1
