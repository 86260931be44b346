"""Choices that questions make: what is asked for, how samples are shared, and which words stand for which side."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from offscript.errors import OffscriptError
from offscript.measures import stance
from offscript.measures.calibration import Calibration, _drift
from offscript.measures.calibration.estimation import read_along
from offscript.measures.charts import _end_late
from offscript.measures.degeneration import Degeneration
from offscript.measures.exposure import Exposure, ExposureSettings
from offscript.measures.exposure.gap import _gap_figure
from offscript.measures.factuality.estimation import is_checkable
from offscript.measures.measurement import Measurement
from offscript.measures.places.estimation import trace
from offscript.measures.places.exhibits import _around, map_exhibit
from offscript.measures.question import TextSettings, _split
from offscript.measures.recovery import Recovery
from offscript.measures.regret import Regret, _of_samples
from offscript.measures.sampling import AUDITED, Sampling, _count
from offscript.measures.sampling.estimation import grid_of
from offscript.measures.stance import StanceSettings
from offscript.measures.stance.estimation import as_labels
from offscript.measures.stereotypes import StereotypeSettings, systems
from offscript.measures.subject import Subject
from offscript.measures.text_distance import TextDistance
from offscript.measures.translation import Translation, TranslationSettings
from offscript.measures.translation.words import copied_share
from offscript.models import language_model
from offscript.models.registry import load_model
from offscript.sampling import generate
from offscript.sampling.generation import _asked_for
from offscript.statistics import Curve, Estimate, Interval, mean_interval

STUDENT = "offscript/news-student"


def test_stances_become_labels_that_add_up_to_one() -> None:
    stances = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.8, 0.1, 0.0], [0.25, 0.25, 0.25, 0.25]])
    shares = as_labels(stances, ("supported", "refuted", "not enough"))
    assert shares == pytest.approx(np.array([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]))
    assert as_labels(stances, ("supported", "refuted"))[0] == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize(("ends", "late"), [((5, 10), True), ((4, 10), False), ((3, 3), False)])
def test_lines_that_reach_the_right_half_are_named_at_their_ends(ends: tuple[int, int], late: bool) -> None:
    points = [
        {"series": name, "place": place} for name, end in zip("ab", ends, strict=True) for place in range(end + 1)
    ]
    assert _end_late(points, 10) is late


class _Server:
    """Answers with the seeds that it is given."""

    name = "server"

    def __init__(self, end: int | None) -> None:
        self.vocabulary = SimpleNamespace(end=end)
        self.asked: list[list[int]] = []

    def continue_texts(self, prefixes: Any, most: int, drawing: Any, seeds: list[int]) -> list[list[int]]:
        self.asked.append(seeds)
        return [[7] * min(2, most) for _ in prefixes]


@pytest.mark.parametrize(("end", "filler"), [(None, 0), (5, 5)])
def test_a_servers_rows_have_seeds_of_their_own_whatever_is_asked_for_at_once(end: int | None, filler: int) -> None:
    def drawn(rows: int, first_row: int, batch_size: int) -> tuple[_Server, Any]:
        server: Any = _Server(end)
        asking: dict[str, Any] = {"seed": 3, "prefixes": None, "first_row": first_row, "progress": None}
        return server, _asked_for(server, None, rows, 4, batch_size=batch_size, **asking)

    whole, found = drawn(5, 0, 2)
    together = [seed for part in whole.asked for seed in part]
    assert [len(part) for part in whole.asked] == [2, 2, 1]
    assert len(set(together)) == 5
    assert drawn(5, 0, 5)[0].asked == [together]
    assert drawn(2, 3, 2)[0].asked == [together[3:]]
    assert found.tokens.tolist() == [[7, 7, filler, filler]] * 5
    assert found.lengths.tolist() == [2] * 5


def test_gaps_of_translations_need_translations_without_a_prefix() -> None:
    subject: Any = None
    without = Translation().figures(subject, TranslationSettings(pairs="p", kinds=("data", "random")))
    assert not [name for name in without if "_gap." in name]
    beside = Translation().figures(subject, TranslationSettings(pairs="p", kinds=("normal", "random")))
    assert [name for name in beside if "_gap." in name] == ["content_gap.random", "chrf_gap.random"]


def test_predictions_are_compared_with_the_tokens_at_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(STUDENT)
    tokens = generate(model, 4, 7, seed=1, stop_at_end=False).tokens
    whole = read_along(model, tokens, 2, batch_size=4)
    monkeypatch.setattr(language_model, "SCORE_BUDGET", 1)
    monkeypatch.setattr(language_model, "FEWEST_AT_ONCE", 1)
    parts = read_along(model, tokens, 2, batch_size=4)
    assert np.array_equal(whole.right, parts.right, equal_nan=True)
    assert whole.confidence == pytest.approx(parts.confidence, rel=1e-4, nan_ok=True)


def test_a_map_says_what_its_bound_comes_from() -> None:
    model = load_model(STUDENT)
    own, real = (trace(model, None, generate(model, 5, 6, seed=seed), batch_size=5) for seed in (1, 2))
    assert map_exhibit(model, None, own, None)["bound_of"] == "its own text"
    assert map_exhibit(model, None, own, real)["bound_of"] == "real text"


def test_a_subject_is_made_again_by_the_names_of_its_models() -> None:
    assert Subject(STUDENT).named()["model"] == STUDENT
    with pytest.raises(OffscriptError, match="the model has no name"):
        Subject(load_model(STUDENT)).named()


@pytest.mark.parametrize(("value", "told"), [(-0.5, "falls"), (0.5, "rises")])
def test_entropy_falls_or_rises(value: float, told: str) -> None:
    estimate = Estimate(value, 0.1, Interval(value - 0.2, value + 0.2, 0.95, "test"))
    shared: dict[str, Any] = {"question": "calibration", "seed": 1, "seconds": 0.0, "recipe": {}}
    drift = Measurement.of(estimate, name="entropy_drift", n=9, higher_is_better=None, **shared)
    assert f"its entropy {told}" in _drift({"entropy_drift": drift}, {"entropy_drift": 0.01})
    assert "no change" in _drift({"entropy_drift": drift}, {"entropy_drift": 0.05})
    assert "no change" in _drift({"entropy_drift": drift}, {"entropy_drift": 0.2})


def test_exchanges_that_change_nothing_count_on_both_sides() -> None:
    estimate = Estimate(1.0, 0.25, Interval(0.5, 1.5, 0.95, "test"))
    gap: Any = SimpleNamespace(
        tail=lambda truth: 0,
        linear=np.zeros((99, 2)),
        figure=lambda level, limits: SimpleNamespace(estimate=estimate, by_length=None),
    )
    data: Any = SimpleNamespace(unbiased=np.array([5.0]), standard_errors=np.array([1.0]))
    figures = _gap_figure("js", gap, data, (0.3, np.full(99, 0.3)), 0.95, 1.0)
    assert figures["mgd_gap_p.js"].estimate.value == 1.0


@pytest.mark.parametrize(
    ("deviation", "observed", "p_value"),
    [(0.0, 0.3, 0.01), (1.0, 0.3, 0.01), (1.001, 0.3, 0.81), (1.0, -0.3, 1.0), (1.001, -0.3, 0.81)],
)
def test_a_deviation_within_one_standard_error_leaves_it_to_the_exchange(
    deviation: float, observed: float, p_value: float
) -> None:
    """No exchange comes as far as 0.3, so that p = 1 / 100; 40 of 99 resamples lie beyond 0: p = (2 · 40 + 1) / 100.

    Where the exchange decides and says that the gap, which is 1, is below 0, p = 1.
    """
    estimate = Estimate(1.0, 0.25, Interval(0.5, 1.5, 0.95, "test"))
    gap: Any = SimpleNamespace(
        tail=lambda truth: 40,
        linear=np.zeros((99, 2)),
        figure=lambda level, limits: SimpleNamespace(estimate=estimate, by_length=None),
    )
    data: Any = SimpleNamespace(unbiased=np.array([deviation]), standard_errors=np.array([min(deviation, 1.0)]))
    figures = _gap_figure("js", gap, data, (observed, np.zeros(99)), 0.95, 1.0)
    assert figures["mgd_gap_p.js"].estimate.value == pytest.approx(p_value)


def test_a_stance_model_is_trained_only_where_a_recipe_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from offscript.factcheck.stance import teaching

    monkeypatch.setattr(teaching, "trained_model", lambda recipe, seed: f"trained by {recipe['a']} with {seed}")
    for model, training, expected in (
        (None, None, None),
        ("lexical", None, "lexical"),
        ("lexical", {"a": 1}, "lexical"),
        (None, {"a": 1}, "trained by 1 with 5"),
    ):
        assert stance._model(StanceSettings(data="d", model=model, training=training), 5) == expected


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(OffscriptError, match="there is no baseline 'idael'"):
        systems._baseline_system("idael", StereotypeSettings(), [], 1)


@pytest.mark.parametrize(
    ("settings", "has_model", "made"),
    [
        ({"against": "other"}, True, True),
        ({"against": "other"}, False, True),
        ({"sampler": "greedy"}, True, True),
        ({"sampler": "greedy"}, False, False),
        ({}, True, False),
    ],
)
def test_what_a_system_is_compared_with(
    settings: dict[str, str], has_model: bool, made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "_model_system", lambda *_, **named: named)
    subject: Any = SimpleNamespace(has_model=has_model)
    progress: Any = None
    found = systems.second_system(subject, StereotypeSettings(**settings), [], progress)
    assert (found is not None) is made


@pytest.mark.parametrize(("affordable", "distance", "degeneration"), [(1, 20, 3), (19, 20, 19), (21, 21, 21)])
def test_plans_ask_for_as_many_texts_as_a_figure_needs(affordable: int, distance: int, degeneration: int) -> None:
    subject: Any = SimpleNamespace(
        affordable=lambda *_, **__: affordable, usual_length=lambda samples: 30, samples=affordable, length=30,
        corpus=(), is_large=False, part=1.0, budget=SimpleNamespace(value="quick"),
    )  # fmt: skip
    assert TextDistance().plan(subject).samples == distance
    assert Degeneration().plan(subject).samples == degeneration


@pytest.mark.parametrize(
    ("prefixes_of_all", "asked", "left_out"),
    [(100, {5, 10, 20, 40, 80, 160, 400}, set()), (60, {5, 20, 80, 400}, {10}), (45, {5, 40, 400}, {20, 80})],
)
def test_every_second_or_third_setting_is_asked_about_where_all_would_have_too_few_prefixes(
    prefixes_of_all: int, asked: set[int], left_out: set[int]
) -> None:
    most = prefixes_of_all * _count(AUDITED) * 30
    subject: Any = SimpleNamespace(
        affordable=lambda tokens: most // tokens, usual_length=lambda samples: 30, samples=500, length=30,
        corpus=(), budget=SimpleNamespace(value="quick"),
    )  # fmt: skip
    settings = Sampling().plan(subject)
    named = {int(each.partition("=")[2]) for _, each in grid_of(settings.samplers) if each.startswith("top-k,k=")}
    assert named == asked
    assert not named & left_out
    assert settings.most_prefixes is not None
    assert settings.most_prefixes >= 100


def test_a_list_of_names_is_split_and_other_lists_are_left_alone() -> None:
    assert _split("greedy,top-k,k=5") == ("greedy", "top-k,k=5")
    assert _split(["greedy", "top-k,k=5"]) == ("greedy", "top-k,k=5")
    assert _split([1, 2]) == [1, 2]
    assert _split(["a", 2]) == ["a", 2]


@pytest.mark.parametrize(
    ("reading", "sentences", "aligned"),
    [({}, 2, True), ({}, 3, False), ({"half": "first"}, 2, False), ({"pieces": 4}, 2, False)],
)
def test_sentences_must_belong_to_sources(reading: dict[str, Any], sentences: int, aligned: bool) -> None:
    subject: Any = SimpleNamespace(
        model=SimpleNamespace(conditions=2), sentences=lambda reading: iter(["text"] * sentences)
    )
    if aligned:
        Subject._require_aligned(subject, TextSettings(**reading), None)
    else:
        with pytest.raises(OffscriptError, match="2 sources for another number of sentences"):
            Subject._require_aligned(subject, TextSettings(**reading), None)


@pytest.mark.parametrize(
    ("sentence", "checkable"), [("Paris is in France.", True), ("It is France.", False), ("Is Paris in France?", False)]
)
def test_four_words_can_be_checked(sentence: str, checkable: bool) -> None:
    assert is_checkable(sentence) is checkable


@pytest.mark.parametrize("level", [0.0, -0.1, 1.1])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(OffscriptError, match="cannot use a level"):
        mean_interval([1.0, 2.0, 3.0, 4.0], level=level)


def test_a_curve_of_one_point_is_a_curve() -> None:
    point = Estimate(1.0, 0.1, Interval(0.5, 1.5, 0.9, "test"))
    assert Curve.along([point]) == Curve((1.0,), (0.5,), (1.5,), 0.9, "test")


@pytest.mark.parametrize(
    ("place", "before", "after"), [(12, False, True), (13, True, True), (0, False, True), (27, True, False)]
)
def test_a_part_of_a_text_says_on_which_side_it_was_cut(place: int, before: bool, after: bool) -> None:
    text = {"ids": list(range(40)), "values": {"kl": [0.5] * 40}}
    makes: Any = SimpleNamespace(measures=[{"name": "kl", "unit": "nats"}])
    part = _around(text, place, makes, "text 1")
    assert (part["cut_before"], part["cut_after"]) == (before, after)
    assert part["ids"][part["focus"]] == place


@pytest.mark.parametrize(("oracle", "corpus", "histories"), [(False, "", ()), (True, "c", ()), (True, "", ("random",))])
def test_enumeration_takes_an_oracle_alone(oracle: bool, corpus: str, histories: tuple[str, ...]) -> None:
    named: Any = SimpleNamespace(name="m", vocabulary=None)
    subject: Any = SimpleNamespace(
        model=named, required_oracle=named, has_oracle=oracle, corpus=(corpus,) if corpus else ()
    )
    progress: Any = None
    with pytest.raises(OffscriptError, match="--exact takes an oracle"):
        Exposure().measure(subject, ExposureSettings(exact=True, length=3, histories=histories), progress)


def test_no_words_are_copied_of_an_empty_text() -> None:
    assert copied_share("", "der Hund", "the dog") == 0.0


@pytest.mark.parametrize(("longest", "enough"), [(5, False), (6, True)])
def test_recovery_needs_texts_with_a_prefix_and_an_n_gram(longest: int, enough: bool, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(["the"] * (longest - 1)) for _ in range(9)), encoding="utf-8")
    subject = Subject(STUDENT, corpus=[str(text)])
    subject.__dict__["usual_length"] = lambda samples: longest
    assert (Recovery().missing(subject, {}) is None) is enough


def test_gold_tokens_of_an_oracle_end_where_it_ends() -> None:
    subject = Subject(STUDENT, "offscript/news", seed=3)
    rows = subject.tokens(count=30, length=40)
    assert rows == generate(subject.required_oracle, 30, 40, seed=(3, 1), stop_at_end=True).rows()
    assert min(map(len, rows)) < 40


def _figure(name: str, value: float, lower: float, upper: float) -> Measurement:
    estimate = Estimate(value, 0.1, Interval(lower, upper, 0.95, "test"))
    return Measurement.of(estimate, question="any", name=name, n=10, seed=1, seconds=0.0, recipe={})


@pytest.mark.parametrize(
    ("bounds", "headline", "status"),
    [
        ((0.98, 1.0999), "No exposure bias detected", "fine"),
        ((0.98, 1.1), "No exposure bias detected", "cannot tell"),
        ((0.0, 1.5), "No exposure bias detected", "cannot tell"),
        ((0.5, math.inf), "No exposure bias detected", "cannot tell"),
        ((0.0, math.inf), "Too few samples to tell", "cannot tell"),
        ((1.0, 1.5), "No exposure bias detected", "cannot tell"),
        ((0.5, 1.0), "No exposure bias detected", "fine"),
    ],
)
def test_a_ratio_whose_bound_is_exactly_the_limit_is_not_decided(
    bounds: tuple[float, float], headline: str, status: str
) -> None:
    finding = Exposure().conclude({"eb_c.js": _figure("eb_c.js", 1.0, *bounds)}, {"eb_c.js": 0.01})
    assert finding is not None
    assert (finding.headline, finding.status) == (headline, status)


@pytest.mark.parametrize(
    ("bounds", "p_value", "headline"),
    [
        ((0.001, 0.0024), 0.01, "Negligible exposure bias"),
        ((0.001, 0.0025), 0.01, "Exposure bias found"),
        ((0.0, 0.004), 0.01, "Too few samples to tell"),
        ((-0.001, 0.0), 0.01, "No exposure bias detected"),
        ((-0.001, 0.0024), 0.5, "No exposure bias detected"),
        ((-0.001, 0.0025), 0.5, "Too few samples to tell"),
    ],
)
def test_a_gap_is_small_only_below_the_margin(bounds: tuple[float, float], p_value: float, headline: str) -> None:
    gap = _figure("mgd_gap.js", sum(bounds) / 2, *bounds)
    finding = Exposure().conclude({gap.name: gap}, {gap.name: p_value})
    assert finding is not None
    assert finding.headline == headline


@pytest.mark.parametrize(("lower", "noise"), [(0.0, "Both deviations are"), (0.5, "The deviation after the text is")])
def test_without_a_ratio_it_is_said_which_deviation_is_within_noise(lower: float, noise: str) -> None:
    figures = [_figure("mgd_gap.js", 0.1, -0.1, 0.3), _figure("mgd_model.js", 0.6, lower, 0.7)]
    finding = Exposure().conclude({entry.name: entry for entry in figures}, {"mgd_gap.js": 0.5})
    assert finding is not None
    assert f"{noise} within noise, so there is no ratio." in finding.sentence


@pytest.mark.parametrize(
    ("on_model", "on_data", "told"),
    [
        (0.0, 0.0, "both deviations are zero"),
        (0.5, 0.0, "the data-side deviation is zero"),
        (0.5, math.inf, "the data-side deviation is infinite: the two distributions have different supports"),
    ],
)
def test_why_a_ratio_has_no_value(on_model: float, on_data: float, told: str) -> None:
    entry = _figure("eb_c.kl", 1.0, 0.0, math.inf)
    deviations = {"cgd_model.kl": on_model, "cgd_data.kl": on_data}
    figures = {name: _figure(name, value, value, value) for name, value in deviations.items()}
    assert Exposure().reason(entry, figures) == told


@pytest.mark.parametrize(
    ("question", "name", "beside", "margin", "small"),
    [
        (Regret(), "q_per_token", ("nll_oracle",), 0.01, "Its text is within 0.01 nats per token of the oracle's"),
        (Recovery(), "nll_gap.random", (), 0.05, "It recovers from bad prefixes"),
        (Recovery(), "bleu_gap.random", (), 0.01, "It recovers from bad prefixes"),
        (Calibration(), "overconfidence", ("right", "confidence"), 0.02, "It is as sure as it is right"),
    ],
)
def test_a_bound_that_is_exactly_the_margin_is_not_within_it(
    question: Any, name: str, beside: tuple[str, ...], margin: float, small: str
) -> None:
    others = {other: _figure(other, 0.5, 0.4, 0.6) for other in beside}
    for lower, upper, within in (
        (-0.9 * margin, 0.9 * margin, True),
        (-0.9 * margin, margin, False),
        (-0.9 * margin, 1.1 * margin, False),
    ):
        finding = question.conclude({name: _figure(name, 0.001, lower, upper), **others}, {name: 0.5})
        assert (finding.headline == small) is within
        assert finding.status == ("fine" if within else "cannot tell")
    lowest = question.conclude({name: _figure(name, -0.001, -margin, 0.0), **others}, {name: 0.5})
    assert (lowest.status == "fine") is (name != "overconfidence")  # losses have no lower margin


@pytest.mark.parametrize(
    ("question", "name", "beside", "harm"),
    [
        (Regret(), "q_per_token", ("nll_oracle",), "Its text drifts from the oracle's"),
        (Recovery(), "nll_gap.random", (), "Its text is worse after random prefixes"),
    ],
)
@pytest.mark.parametrize(("value", "p_value", "found"), [(0.2, 0.049, True), (0.2, 0.05, False), (-0.2, 0.01, False)])
def test_harm_is_found_below_a_p_value_of_5_percent_and_above_zero(
    question: Any, name: str, beside: tuple[str, ...], harm: str, value: float, p_value: float, found: bool
) -> None:
    others = {other: _figure(other, 0.5, 0.4, 0.6) for other in beside}
    finding = question.conclude({name: _figure(name, value, value - 0.1, value + 0.4), **others}, {name: p_value})
    assert (finding.headline == harm) is found


@pytest.mark.parametrize(("upper", "status"), [(0.549, "fine"), (0.55, "cannot tell")])
def test_texts_can_hardly_be_told_apart_below_55_percent(upper: float, status: str) -> None:
    figures = {"mauve": _figure("mauve", 0.9, 0.8, 1.0), "told_apart": _figure("told_apart", 0.5, 0.4, upper)}
    finding = TextDistance().conclude(figures, {"frontier": 0.5, "classifier": 0.5})
    assert finding is not None
    assert finding.status == status


@pytest.mark.parametrize(
    ("regrets", "costs", "known"),
    [
        ([1, 2, 3, 4, 5, 7], [2, 1, 4, 3, 6, 5], True),
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 6], False),
        ([1] * 6, [2, 1, 4, 3, 6, 5], False),
        ([1, 2, 3, 4, 5, 7], [2] * 6, False),
    ],
)
def test_regret_and_cost_of_six_samples_that_differ_go_together(
    regrets: list[float], costs: list[float], known: bool
) -> None:
    columns = {"q_per_token_sampled": regrets, "nll_oracle": costs}
    found = _of_samples(
        [replace(_figure(name, 1.0, 0.5, 1.5), per_item=np.array(values)) for name, values in columns.items()]
    )
    expected = [np.corrcoef(regrets, costs)[0, 1]] if known else []
    assert [entry.value for entry in found] == pytest.approx(expected)
