"""Cases at the edge of what questions accept, and choices that only show in small samples."""

import random
import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from offscript.corpora.ratings import RatedText, Ratings
from offscript.errors import OffscriptError
from offscript.measures.charts import curve_chart
from offscript.measures.exposure import Exposure, ExposureSettings
from offscript.measures.exposure.anchored import measure_exposure_gap
from offscript.measures.exposure.estimation import deviations_of_rows
from offscript.measures.exposure.studentised import Split
from offscript.measures.likelihood import Likelihood
from offscript.measures.measurement import Measurement
from offscript.measures.memorisation.estimation import _Sampled
from offscript.measures.memorisation.search import window_hashes
from offscript.measures.pace import measure_pace
from offscript.measures.question import Silent
from offscript.measures.ratings.automatic import diversity_figures
from offscript.measures.ratings.estimation import convergence_by_items
from offscript.measures.recovery.estimation import _likelihoods
from offscript.measures.subject import Subject, _whole
from offscript.models.registry import load_model
from offscript.sampling import generate
from offscript.statistics import Curve, Estimate, Interval

STUDENT, ORACLE = "offscript/news-student", "offscript/news"


def test_three_texts_of_a_system_are_enough() -> None:
    texts = [RatedText(f"i{number}", system, f"a {number} b c {system}") for system in "st" for number in range(3)]
    assert {name.partition(".")[2] for name in diversity_figures(texts)} == {"s", "t"}
    assert {name.partition(".")[2] for name in diversity_figures(texts[:-1])} == {"s"}


def test_texts_are_chosen_by_their_hashes_whatever_their_order() -> None:
    texts = [f"text {number}" for number in range(60)]
    for seed in range(5):
        ordered = sorted(texts, key=lambda text: zlib.crc32(text.encode(), seed))
        shuffled = random.Random(seed).sample(texts, len(texts)) + texts[:9]
        chosen = _Sampled(7, 1, 100, seed)
        assert list(chosen.along(shuffled)) == shuffled
        assert sorted(chosen.texts()) == sorted(ordered[:7])


def test_a_text_as_long_as_a_window_has_one_hash() -> None:
    data = np.arange(8, dtype=np.uint8)
    assert [len(window_hashes(data[:size], 8)) for size in (7, 8)] == [0, 1]


def test_a_model_that_says_its_pace_is_not_timed() -> None:
    model: Any = SimpleNamespace(pace=250.0)
    assert measure_pace([model]) == 250.0
    assert measure_pace([model, model]) == 120.0  # 125 by two digits


def test_a_chart_without_curves_has_no_ticks() -> None:
    [line] = [layer for layer in curve_chart({}, x="x", y="y")["layer"] if layer.get("mark", {}).get("type") == "line"]
    assert line["encoding"]["x"]["axis"] == {"values": [], "format": "d"}


def test_domains_share_the_samples_and_each_has_two() -> None:
    subject: Any = SimpleNamespace(
        affordable=lambda length: 7, usual_length=int, samples=7, corpus=("a",), length=9, domains=dict.fromkeys("abcd")
    )
    assert Likelihood().plan(subject).samples == 2
    subject.domains = {}
    assert Likelihood().plan(subject).samples == 7


def test_one_own_token_and_one_to_predict_follow_an_anchor() -> None:
    model = load_model(STUDENT)
    text = generate(load_model(ORACLE), 30, 6, seed=1, stop_at_end=False).tokens
    found = measure_exposure_gap(model, text, samples=30, length=6, seed=1, prefix=4, distances=("js",))
    assert "mgd_gap.js" in {each.name for each in found}
    with pytest.raises(OffscriptError, match="after an anchor of 5"):
        measure_exposure_gap(model, text, samples=30, length=6, seed=1, prefix=5, distances=("js",))


@pytest.mark.parametrize("marginal", [False, True])
def test_deviations_found_elsewhere_are_taken_where_nothing_else_is_measured(marginal: bool) -> None:
    asked: list[dict[str, Any]] = []

    def found_elsewhere(**settings: Any) -> Any:
        asked.append(settings)
        rows = range(settings.pop("samples"))
        return deviations_of_rows(load_model(STUDENT), load_model(ORACLE), rows, **settings)

    subject = Subject(STUDENT, ORACLE, shared_deviations=found_elsewhere)
    settings = ExposureSettings(samples=12, length=5, marginal=marginal)
    found = {each.name: each.value for each in Exposure().measure(subject, settings, Silent()).measurements}
    alone = Exposure().measure(Subject(STUDENT, ORACLE), settings, Silent()).measurements
    assert len(asked) == (not marginal)
    assert found["eb_c.js"] == next(each.value for each in alone if each.name == "eb_c.js")


def _figure(name: str, value: float, curve: tuple[float, ...] | None = None) -> Measurement:
    estimate = Estimate(value, 0.1, Interval(value - 0.2, value + 0.2, 0.95, "test"))
    along = None if curve is None else Curve.of(np.array(curve), (np.array(curve), np.array(curve)), 0.95, "test")
    shared = {"question": "exposure", "seed": 1, "seconds": 0.0, "higher_is_better": None, "recipe": {}}
    return Measurement.of(estimate, name=name, n=9, by_position=along, **shared)


def test_a_single_rating_has_a_mean_without_bounds() -> None:
    unknown = np.array([np.nan])
    one = Ratings(np.array(["i"]), np.array(["r"]), np.array(["s"]), np.array([4.0]), unknown, unknown)
    (row,) = convergence_by_items(one, seed=1)
    assert (row["items"], row["mean"], row["ci"]) == (1, 4.0, [-np.inf, np.inf])


def test_resamples_beyond_a_truth_are_counted_from_it() -> None:
    scores = np.linspace(-3, 3, 199)[:, None] * 0.1
    split = Split(np.full(1, 0.35), scores, np.zeros((199, 1)), np.full(1, 0.01), np.full((199, 1), 0.01), 50)
    assert [split.tail(truth) for truth in (0.35 - 0.21, 0.35 + 0.21)] == [int((scores >= 0.21).sum())] * 2


def test_a_ratio_that_cannot_be_computed_says_why() -> None:
    def reason(on_model: float, on_data: float, curve: tuple[float, ...] | None = None) -> str:
        entries = [_figure("cgd_model.js", on_model), _figure("cgd_data.js", on_data, curve)]
        return Exposure().reason(_figure("eb_c.js", 1.0), {entry.name: entry for entry in entries})

    assert reason(0.0, 0.0) == "both deviations are zero"
    assert reason(0.1, 0.0) == "the data-side deviation is zero"
    assert reason(0.1, 0.2, (0.2, 0.0)) == "the data-side deviation is zero at some lengths"
    assert "zero" not in reason(0.1, 0.2, (0.2, 0.3))
    assert "zero" not in reason(0.1, 0.2)


@pytest.mark.parametrize(
    ("text", "whole"), [("offscript/news", True), ("hf/gpt2", True), ("openai/gpt-4@http://host", False)]
)
def test_which_models_surely_give_distributions(text: str, whole: bool) -> None:
    assert _whole(text) is whole


def test_a_gap_that_is_infinite_on_one_side_is_kept_and_one_on_both_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from offscript.measures.recovery import estimation

    tables = {
        "data": np.array([[1.0], [2.0], [4.0], [np.inf]]),
        "a": np.array([[np.inf], [2.0], [5.0], [3.0]]),
        "b": np.array([[np.inf], [2.0], [5.0], [np.inf]]),
    }
    monkeypatch.setattr(estimation, "_surprise", lambda oracle, rows, *_: rows.numpy())
    sequences = {source: torch.from_numpy(table) for source, table in tables.items()}
    model: Any = None
    found = _likelihoods(model, sequences, ("data", "a", "b"), 1, 0.95, 1, None)
    assert set(found) == {"nll_oracle.data", "nll_oracle.a", "nll_oracle.b", "nll_gap.b"}
