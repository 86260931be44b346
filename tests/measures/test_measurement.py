import dataclasses
import hashlib
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement, as_json, environment, recipe_hash
from offscript.statistics import Curve, Estimate, Interval

FIELDS = {
    "question": "exposure",
    "name": "eb_c.js",
    "n": 1000,
    "seed": 7,
    "seconds": 1.5,
    "recipe": {"model": "offscript/news-student", "samples": 1000, "sampler": {"name": "nucleus", "p": 0.9}},
}
BAND = Interval(1.0, 1.1, 0.95, "bootstrap")

numbers = st.floats(allow_nan=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def read_back(measurement: Measurement) -> Measurement:
    return Measurement.from_json(json.loads(json.dumps(measurement.to_json(), allow_nan=False)))


@st.composite
def measurements(draw: st.DrawFn) -> Measurement:
    lower, value, upper = sorted(draw(st.tuples(numbers, numbers, numbers)))
    points = draw(st.lists(st.tuples(numbers, numbers, numbers), max_size=4))
    curve = Curve(*(zip(*points, strict=True) if points else ((), (), ())), level=0.9, method="t")  # type: ignore[misc]
    return Measurement(
        question=draw(st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)),
        name=draw(
            st.sampled_from(
                ["ppl", "self_bleu_4", "f1.NOT ENOUGH INFO", "top-k,k=5.entropy_3", "gender.intrasentence.lms"]
            )
        ),
        value=value,
        standard_error=draw(st.floats(min_value=0)),
        interval=Interval(lower, upper, draw(st.floats(min_value=0.01, max_value=1)), "bootstrap"),
        n=draw(st.integers(min_value=0)),
        seed=draw(st.none() | st.integers()),
        seconds=draw(st.floats(min_value=0, max_value=1e9)),
        recipe=draw(st.dictionaries(st.text(), json_values, max_size=4)),
        by_position=draw(st.sampled_from([None, curve])),
        higher_is_better=draw(st.sampled_from([None, True, False])),
    )


@given(measurements())
def test_every_measurement_survives_strict_json(measurement: Measurement) -> None:
    assert read_back(measurement) == measurement


def test_infinities_are_strings_in_json() -> None:
    infinite = Measurement(
        value=math.inf, standard_error=math.inf, interval=Interval(2.0, math.inf, 0.95, "x"), **FIELDS
    )
    written = infinite.to_json()
    assert (written["value"], written["interval"]["lower"], written["interval"]["upper"]) == ("inf", 2.0, "inf")
    assert read_back(infinite) == infinite


@pytest.mark.parametrize("value", [None, math.nan])
def test_a_figure_without_a_value_cannot_be_made(value: float | None) -> None:
    with pytest.raises(OffscriptError, match="a figure needs a value"):
        Measurement(value=value, standard_error=0.1, interval=BAND, **FIELDS)  # type: ignore[arg-type]


def test_a_figure_without_an_interval_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="interval"):
        Measurement(value=1.0, standard_error=0.1, **FIELDS)  # type: ignore[call-arg]
    with pytest.raises(OffscriptError, match="no interval"):
        Measurement(value=1.0, standard_error=0.1, interval=None, **FIELDS)  # type: ignore[arg-type]


def test_a_sampler_in_an_old_name_is_written_as_it_is_typed() -> None:
    new = Measurement(value=1.0, standard_error=0.1, interval=BAND, **FIELDS)
    assert (
        Measurement.from_json({**new.to_json(), "name": "nucleus;p=0.9.self_bleu_4"}).name
        == "nucleus,p=0.9.self_bleu_4"
    )


@pytest.mark.parametrize(
    "name", ["", "ci", "alias", "ppl_stderr", "by_length.eb_c.js", "ppl,weight", " ppl", "two\nlines"]
)
def test_names_that_results_keep_for_other_things_are_refused(name: str) -> None:
    with pytest.raises(OffscriptError, match="a measurement named"):
        Measurement(value=1.0, standard_error=0.1, interval=BAND, **{**FIELDS, "name": name})


@pytest.mark.parametrize("question", ["", "../exposure", "a/b", "Exposure", "a b", ".", "-x"])
def test_questions_are_plain_words(question: str) -> None:
    with pytest.raises(OffscriptError, match="a question named"):
        Measurement(value=1.0, standard_error=0.1, interval=BAND, **{**FIELDS, "question": question})


def test_an_enumerated_figure_is_its_own_interval() -> None:
    exact = Measurement.exact(1.8, **FIELDS)
    assert (exact.value, exact.standard_error, exact.interval) == (1.8, 0.0, Interval(1.8, 1.8, 1.0, "exact"))
    with pytest.raises(OffscriptError, match="outside its exact interval"):
        dataclasses.replace(exact, value=1.7)


def test_an_estimate_becomes_a_measurement() -> None:
    made = Measurement.of(Estimate(1.05, 0.02, BAND), **FIELDS)
    assert (made.value, made.standard_error, made.interval) == (1.05, 0.02, BAND)


def test_values_behind_a_figure_stay_out_of_json_and_comparison() -> None:
    bare = Measurement.exact(1.8, **FIELDS)
    full = dataclasses.replace(bare, per_item=np.ones(3, dtype=np.float32))
    assert full.per_item is not None
    assert full.per_item.dtype == np.float64
    assert full == bare
    assert "per_item" not in full.to_json()


def test_a_recipe_is_held_as_json_holds_it() -> None:
    recipe = {"lengths": (1, 2), "rate": np.float32(0.5), "limit": math.inf, "n": np.int64(3), "on": np.True_}
    assert as_json(recipe) == {"lengths": [1, 2], "rate": 0.5, "limit": "inf", "n": 3, "on": True}


@pytest.mark.parametrize("recipe", [{"model": object()}, {1: "a"}, {"rate": math.nan}, {"values": np.ones(2)}])
def test_a_recipe_that_json_cannot_hold_is_refused(recipe: dict[str, object]) -> None:
    with pytest.raises(OffscriptError):
        as_json(recipe)


def test_the_hash_knows_every_setting_but_not_their_order_or_the_machine() -> None:
    recipe = {"model": "a", "sampler": {"p": 0.9, "k": 3}, "machine": "Linux x86_64"}
    same = {"sampler": {"k": 3, "p": 0.9}, "machine": "Darwin arm64", "model": "a"}
    assert recipe_hash(recipe) == recipe_hash(same)
    for other in ({**recipe, "model": "b"}, {**recipe, "sampler": {"p": 0.95, "k": 3}}, {**recipe, "seed": 0}):
        assert recipe_hash(other) != recipe_hash(recipe)


def test_the_hash_is_that_of_the_recipe_as_text() -> None:
    """Stored answers are found by it: it must not change, also where a name is not ASCII."""
    text = '{"length":3,"model":"modèle/ß"}'
    assert recipe_hash({"model": "modèle/ß", "length": 3}) == hashlib.sha256(text.encode()).hexdigest()[:32]


def test_numbers_of_different_kind_hash_differently_only_if_json_writes_them_differently() -> None:
    assert recipe_hash({"p": np.float64(0.9)}) == recipe_hash({"p": 0.9})
    assert recipe_hash({"p": "0.9"}) != recipe_hash({"p": 0.9})


def test_the_environment_names_versions_and_machine() -> None:
    import torch

    known = environment()
    assert known["versions"]["numpy"] == np.__version__
    assert known["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert {"offscript", "python"} <= known["versions"].keys()
    assert known == as_json(known)


@pytest.mark.parametrize(
    ("method", "items"),
    [
        ("t", None),
        ("t", np.array([1.0])),
        ("t", np.array([1.0, np.nan, 2.0])),
        ("t", np.array([1.0, 2.0, 30.0])),
        ("t", np.ones((3, 2))),
        ("jackknife", np.array([1.0, 2.0, 6.0])),
    ],
)
def test_items_that_do_not_make_the_figure_or_depend_on_each_other_do_not_contribute(
    method: str, items: np.ndarray | None
) -> None:
    estimate = Estimate(3.0, 1.0, Interval(1.0, 5.0, 0.95, method))
    assert Measurement.of(estimate, per_item=items, **FIELDS).contributions() is None


def test_independent_items_contribute() -> None:
    items = np.array([1.0, 2.0, 6.0])
    contributions = Measurement.of(
        Estimate(3.0, 1.0, Interval(1.0, 5.0, 0.95, "t")), per_item=items, **FIELDS
    ).contributions()
    assert contributions is not None
    np.testing.assert_allclose(contributions, items)


def test_a_measurement_is_made_from_names() -> None:
    fields = ("likelihood", "nll", 1.0, 0.1, Interval(0.8, 1.2, 0.95, "test"), 9, 1, 0.0, {})
    make: Any = Measurement
    with pytest.raises(TypeError, match="positional argument"):
        make(*fields)
