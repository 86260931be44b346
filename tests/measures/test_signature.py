"""Signatures: short, read back from whatever they were copied in, and fitting one figure alone."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from offscript.measures.measurement import Measurement
from offscript.measures.signature import parse_signature, signature
from offscript.statistics import Interval

RECIPE = {"weights": "3f2a99", "data": {"hash": "91bc00"}, "length": 50, "versions": {"offscript": "1.4.0"}}
FIGURE = Measurement(
    question="exposure", name="eb_c.js", value=1.0, standard_error=0.1, interval=Interval(0.9, 1.1, 0.95, "bootstrap"),
    n=500, seed=1, seconds=0.0, recipe=RECIPE,
)  # fmt: skip


def test_a_signature_says_what_made_the_figure() -> None:
    assert signature(FIGURE).startswith("offscript:1.4.0|q:exposure.eb_c.js|m:3f2a|d:91bc|s:1|n:500|l:50|r:")
    assert len(signature(FIGURE)) < 80


def test_parts_that_a_recipe_lacks_are_left_out() -> None:
    bare = dataclasses.replace(FIGURE, seed=None, recipe={"model": {"weights": "abcdef"}, "data": "drawn"})
    assert "|m:abcd|n:500|r:" in signature(bare)


@given(
    st.from_regex(r"[a-z]([a-z0-9_.,= -]{0,20}[a-z0-9])?", fullmatch=True).filter(lambda name: "_stderr" not in name),
    st.none() | st.integers(0, 99),
)
def test_it_is_read_back_and_fits_its_figure_alone(name: str, seed: int | None) -> None:
    if name in ("ci", "alias") or name.startswith("by_length.") or name.endswith(",weight"):
        return
    figure = dataclasses.replace(FIGURE, name=name, seed=seed)
    found = parse_signature(f"Table 1: 1.0 (95%: 0.9 to 1.1) {signature(figure)}; see there")
    assert found is not None
    assert found.fits(figure)
    assert not found.fits(dataclasses.replace(figure, name=f"{name}x"))
    assert not found.fits(dataclasses.replace(figure, recipe={**RECIPE, "length": 51}))


def test_other_text_has_no_signature() -> None:
    assert parse_signature("exposure-bias/figure-2") is None
    assert parse_signature("runs/offscript:mine|q.yaml") is None
