import math
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.distances import DISTANCES
from offscript.measures.enumeration import levels
from offscript.measures.exposure.conditional import conditional_deviations, conditional_figures
from offscript.measures.exposure.estimation import measure_exposure, measure_exposure_exactly
from offscript.measures.exposure.marginal import Averages, Marginals, marginal_figures
from offscript.measures.measurement import Measurement, plan_samples
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.tabular import Tabular
from offscript.sampling.generation import generate

FIGURES = ("eb_m", "mgd_model", "mgd_data", "eb_c", "cgd_model", "cgd_data")
REPEATS, SEQUENCES = 200, 200


def by_name(measurements: list[Measurement]) -> dict[str, Measurement]:
    return {entry.name: entry for entry in measurements}


# --- Brute force: every history, one at a time, in plain Python.


def apart(name: str, p: list[float], q: list[float]) -> float:
    pairs = list(zip(p, q, strict=True))
    middle = [(a + b) / 2 for a, b in pairs]
    return {
        "tv": lambda: sum(abs(a - b) for a, b in pairs) / 2,
        "js": lambda: (divergence(p, middle) + divergence(q, middle)) / 2,
        "gd": lambda: float(p.index(max(p)) != q.index(max(q))),
        "kl": lambda: divergence(p, q),
        "kl_reverse": lambda: divergence(q, p),
        "hellinger": lambda: math.sqrt(sum((math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in pairs) / 2),
    }[name]()


def divergence(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def probability(table: dict[tuple[int, ...], list[float]], history: tuple[int, ...]) -> float:
    return math.prod(table[history[:time]][token] for time, token in enumerate(history))


def brute_force(pair: Any, name: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {figure: [] for figure in FIGURES}
    for length in range(1, pair.length):
        conditional, marginal = {"model": 0.0, "data": 0.0}, {"mm": [0.0] * pair.size, "md": [0.0] * pair.size}
        truth = [0.0] * pair.size
        for history in product(range(pair.size), repeat=length):
            ours, theirs = pair.model_table[history], pair.oracle_table[history]
            on_model, on_data = probability(pair.model_table, history), probability(pair.oracle_table, history)
            conditional["model"] += on_model * apart(name, ours, theirs)
            conditional["data"] += on_data * apart(name, ours, theirs)
            for token in range(pair.size):
                marginal["mm"][token] += on_model * ours[token]
                marginal["md"][token] += on_data * ours[token]
                truth[token] += on_data * theirs[token]
        deviations = {"model": apart(name, marginal["mm"], truth), "data": apart(name, marginal["md"], truth)}
        for kind, values in (("mgd", deviations), ("cgd", conditional)):
            found[f"{kind}_model"].append(values["model"])
            found[f"{kind}_data"].append(values["data"])
            found[f"eb_{kind[0]}"].append(quotient(values["model"], values["data"]))
    return found


def quotient(top: float, bottom: float) -> float:
    if top == bottom:
        return 1.0
    return top / bottom if bottom else math.inf


@pytest.mark.parametrize("name", DISTANCES)
def test_enumeration_is_brute_force(random_pairs: list[Any], name: str) -> None:
    for pair in random_pairs:
        exact = by_name(measure_exposure_exactly(pair.model, pair.oracle, length=pair.length, distances=[name]))
        for figure, values in brute_force(pair, name).items():
            measured = exact[f"{figure}.{name}"]
            assert measured.by_position is not None
            assert measured.by_position.values == pytest.approx(values, abs=1e-9)
            assert measured.value == pytest.approx(np.mean(values), abs=1e-9)
            assert (measured.interval.lower, measured.interval.upper) == (measured.value, measured.value)


# --- The paper's examples.

SURE = {"A": [1.0, 0.0], "B": [0.0, 1.0]}
EVEN = {"": [0.5, 0.5], "A": [0.5, 0.5], "B": [0.5, 0.5]}
EXAMPLES = {
    "example 1": ({"": [1.0, 0.0], **SURE}, {"": [0.5, 0.5], **SURE}),
    "example 2": ({"": [0.9, 0.1], "A": [0.9, 0.1], "B": [0.5, 0.5]}, EVEN),
    "footnote 6": ({"": [0.1, 0.9], "A": [0.9, 0.1], "B": [0.5, 0.5]}, EVEN),
}
ANSWERS = [
    ("example 1", "mgd_model.tv", 0.5),
    ("example 1", "mgd_data.tv", 0.0),
    ("example 1", "eb_m.tv", math.inf),
    ("example 1", "eb_c.tv", 1.0),
    ("example 2", "cgd_data.tv", 0.2),
    ("example 2", "cgd_model.tv", 0.36),
    ("example 2", "eb_c.tv", 1.8),
    ("footnote 6", "eb_c.tv", 0.2),
]


@pytest.mark.parametrize(("example", "figure", "answer"), ANSWERS)
def test_examples(written_down: Callable[..., Tabular], example: str, figure: str, answer: float) -> None:
    model, oracle = (written_down(following) for following in EXAMPLES[example])
    exact = by_name(measure_exposure_exactly(model, oracle, length=2))[figure]
    assert exact.value == pytest.approx(answer, abs=1e-12)
    sampled = by_name(measure_exposure(model, oracle, samples=2000, length=2, seed=1))[figure]
    assert sampled.interval.lower <= answer <= sampled.interval.upper
    assert sampled.value == pytest.approx(answer, rel=0.1)


def test_example_1_from_sentences_alone(written_down: Callable[..., Tabular]) -> None:
    model, oracle = (written_down(following) for following in EXAMPLES["example 1"])
    sentences = generate(oracle, 3000, 2, seed=5, stop_at_end=False).tokens
    found = by_name(measure_exposure(model, data=sentences, samples=2000, length=2, seed=1))
    assert set(found) == {f"{figure}.{name}" for figure in FIGURES[:3] for name in ("tv", "js", "gd")}
    assert found["mgd_model.tv"].interval.lower <= 0.5 <= found["mgd_model.tv"].interval.upper
    assert found["mgd_data.tv"].value == 0.0
    assert found["eb_m.tv"].value == math.inf
    assert found["eb_m.tv"].to_json()["value"] == "inf"


# --- Intervals hold what they promise.


def coverage(random_pairs: list[Any], figures_of: Callable[[Any], Iterator[dict[str, Any]]]) -> dict[str, list[bool]]:
    """Whether each interval held the truth, by figure; what is the same in every sample is left out."""
    held: dict[str, list[bool]] = {}
    for pair in random_pairs:
        truth = by_name(
            measure_exposure_exactly(pair.model, pair.oracle, length=pair.length, distances=("tv", "js", "gd"))
        )
        for figures in figures_of(pair):
            for name, figure in figures.items():
                bounds = [(figure.estimate.interval.lower, truth[name].value, figure.estimate.interval.upper)]
                true_curve = truth[name].by_position
                assert true_curve is not None
                bounds += zip(figure.by_length.lower, true_curve.values, figure.by_length.upper, strict=True)
                for place, (lower, value, upper) in enumerate(bounds):
                    if max(upper - lower, abs(value - lower)) > 1e-9:
                        held.setdefault(name if place == 0 else f"by_length.{name}", []).append(lower <= value <= upper)
    return held


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
def test_conditional_intervals_cover(random_pairs: list[Any], paired: bool) -> None:
    names = ("tv", "js", "gd") if paired else ("tv",)

    def figures_of(pair: Any) -> Iterator[dict[str, Any]]:
        rows, oracle_seed = REPEATS * SEQUENCES, 1 if paired else 2
        own = generate(pair.model, rows, pair.length, seed=1, batch_size=rows, stop_at_end=False).tokens
        given = generate(pair.oracle, rows, pair.length, seed=oracle_seed, batch_size=rows, stop_at_end=False).tokens
        on_model, on_data = (
            conditional_deviations(pair.model, pair.oracle, histories, names, batch_size=rows)
            for histories in (own, given)
        )
        for repeat in range(REPEATS):
            part = slice(repeat * SEQUENCES, (repeat + 1) * SEQUENCES)
            values = [{name: values[part] for name, values in side.items()} for side in (on_model, on_data)]
            yield conditional_figures(*values, paired=paired, seed=repeat, resamples=200)

    held = coverage(random_pairs, figures_of)
    assert len(held) == 6 * len(names)
    assert {name: np.mean(hits) for name, hits in held.items() if not 0.93 <= np.mean(hits) <= 0.97} == {}


@pytest.mark.slow
@pytest.mark.parametrize("counted", [False, True])
def test_marginal_intervals_cover(random_pairs: list[Any], counted: bool) -> None:
    def figures_of(pair: Any) -> Iterator[dict[str, Any]]:
        rows, length = REPEATS * SEQUENCES, pair.length
        own = generate(pair.model, rows, length, seed=1, batch_size=rows, stop_at_end=False).tokens
        given = generate(pair.oracle, rows, length, seed=2 if counted else 1, batch_size=rows, stop_at_end=False).tokens
        tables = [predictions(pair.model, own), predictions(pair.model, given), predictions(pair.oracle, given)]
        for repeat in range(REPEATS):
            part = slice(repeat * SEQUENCES, (repeat + 1) * SEQUENCES)
            averages = [Averages(SEQUENCES, length - 1, pair.size) for _ in tables]
            for average, table in zip(averages, tables, strict=True):
                average.add(slice(0, SEQUENCES), slice(0, length - 1), table[part])
            if counted:
                averages[2] = Averages(SEQUENCES, length - 1, pair.size)
                averages[2].count(given[part, 1:])
            yield marginal_figures(Marginals(*averages, paired=not counted), ("tv", "js"), seed=repeat)

    held = coverage(random_pairs, figures_of)
    assert len(held) == 12
    assert {name: np.mean(hits) for name, hits in held.items() if not 0.93 <= np.mean(hits) <= 0.97} == {}


def predictions(model: Tabular, histories: Tensor) -> Tensor:
    """[n, lengths, V]."""
    return torch.cat([scored.log_probs for scored in model.score(histories, range(1, histories.shape[1]))], dim=1)


def test_what_sampling_adds_is_taken_off() -> None:
    """Averages of 400 distributions over 300 tokens lie far apart even if the distributions they estimate do not."""
    size, sequences, lengths = 300, 400, 5
    generator = np.random.default_rng(1)
    model, oracle = (-np.log(np.arange(1, size + 1)) + 0.15 * generator.normal(size=(2, size)))[:, None, None, :]
    noise = 2 * generator.normal(size=(200, 100, 1, size))
    true = [np.mean([normalised(side + part).mean(axis=0) for part in noise], axis=0)[0] for side in (model, oracle)]
    apart_truly = apart("js", true[0].tolist(), true[1].tolist())
    averages = []
    for side in (model, oracle):
        average = Averages(sequences, lengths, size)
        drawn = normalised(side[0] + 2 * generator.normal(size=(sequences, lengths, size)))
        average.add(slice(0, sequences), slice(0, lengths), torch.from_numpy(drawn).log())
        averages.append(average)
    plain = [apart("js", *(a.sums.sum(dim=0)[place].div(sequences).tolist() for a in averages)) for place in range(5)]
    marginals = Marginals(averages[0], averages[1], averages[1], paired=False)
    found = marginal_figures(marginals, ["js"], seed=1)["mgd_model.js"].estimate
    assert np.mean(plain) > 3 * apart_truly
    assert found.value == pytest.approx(apart_truly, rel=0.25)
    assert found.interval.lower <= apart_truly <= found.interval.upper
    assert found.interval.method == "jackknife, bias taken off"


@pytest.mark.slow
@pytest.mark.parametrize("counted", [False, True])
def test_intervals_cover_what_sampling_adds(counted: bool) -> None:
    """Wide rather than wrong: over 300 tokens the plain distance is often far off, its interval not."""
    size, sequences, repeats = 300, 400, 30
    generator = np.random.default_rng(2)
    sides = -np.log(np.arange(1, size + 1)) + 0.3 * generator.normal(size=(2, 1, size))
    noise = 2 * generator.normal(size=(30, 1000, size))
    true = [np.mean([normalised(side + part).mean(axis=0) for part in noise], axis=0) for side in sides]
    held = []
    for repeat in range(repeats):
        averages = []
        for side in sides:
            drawn = normalised(side[:, None] + 2 * generator.normal(size=(sequences, 1, size)))
            averages.append(Averages(sequences, 1, size))
            averages[-1].add(slice(0, sequences), slice(0, 1), torch.from_numpy(drawn).log())
        if counted:
            averages[1] = Averages(sequences, 1, size)
            uniform = generator.random((sequences, 1, 1))
            averages[1].count(torch.from_numpy((drawn.cumsum(axis=-1) < uniform).sum(axis=-1).clip(max=size - 1)))
        marginals = Marginals(averages[0], averages[0], averages[1], paired=False)
        for name, figure in marginal_figures(marginals, ["js", "tv"], seed=repeat).items():
            if name.startswith("mgd_model"):
                truth = apart(name.partition(".")[2], true[0].tolist(), true[1].tolist())
                held.append(figure.estimate.interval.lower <= truth <= figure.estimate.interval.upper)
    assert len(held) == 2 * repeats
    assert np.mean(held) >= 0.93


@pytest.mark.parametrize("sequences", [100, 400])
def test_fewer_sentences_than_tokens_bound_nothing_from_below(sequences: int) -> None:
    """The plain distance is several times the true one, and so is what extrapolation leaves of it."""
    size, lengths, repeats = 1000, 20, 5
    generator = np.random.default_rng(3)
    sides = normalised(-np.log(np.arange(1, size + 1)) + 0.3 * generator.normal(size=(2, size)))
    held = []
    for repeat in range(repeats):
        known, counted = Averages(sequences, lengths, size), Averages(sequences, lengths, size)
        same = torch.from_numpy(sides[0]).log().expand(sequences, lengths, size)
        known.add(slice(0, sequences), slice(0, lengths), same)
        counted.count(torch.from_numpy(generator.choice(size, size=(sequences, lengths), p=sides[1])))
        figures = marginal_figures(Marginals(known, known, counted, paired=False), ["js", "tv"], seed=repeat)
        for name in ("js", "tv"):
            found, truth = figures[f"mgd_model.{name}"].estimate, apart(name, *sides.tolist())
            assert found.value > 1.5 * truth
            held.append(found.interval.lower <= truth <= found.interval.upper)
    assert np.mean(held) >= 0.9


def normalised(logits: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 8))
def test_no_token_that_could_be_first_is_passed_over(seed: int, groups: int, size: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    averages = Averages(groups, 1, size)
    averages.sums = torch.randint(0, 4, (groups, 1, size), generator=generator).double()
    weights = torch.randint(0, 5, (20, groups), generator=generator).double()
    weights[:, 0] += 1
    expected = (weights @ averages.sums[:, 0]).numpy()
    found = averages.most_probable(weights, 0)
    assert (np.take_along_axis(expected, found.numpy()[:, None], axis=1)[:, 0] == expected.max(axis=1)).all()


def test_greedy_marginal_deviation_is_in_doubt_where_two_tokens_tie(written_down: Callable[..., Tabular]) -> None:
    model, oracle = (written_down(following) for following in EXAMPLES["example 1"])
    found = by_name(measure_exposure(model, oracle, samples=1000, length=2, seed=1))["mgd_model.gd"]
    assert (found.interval.lower, found.interval.upper) == (0.0, 1.0)


# --- Histories.


def test_wrong_histories_are_those_of_the_paper(random_pairs: list[Any]) -> None:
    pair = random_pairs[0]
    wished = ["corrupted,rate=0", "corrupted,rate=1", "random", "shuffled"]
    found = by_name(
        measure_exposure(
            pair.model, pair.oracle, samples=4000, length=pair.length, seed=1, distances=["tv"], histories=wished
        )
    )
    uniform = [
        np.mean(
            [apart("tv", pair.model_table[h], pair.oracle_table[h]) for h in product(range(pair.size), repeat=length)]
        )
        for length in range(1, pair.length)
    ]
    assert found["cgd_corrupted_0.tv"].value == found["cgd_model.tv"].value
    for name in ("cgd_corrupted_1.tv", "cgd_random.tv"):
        assert found[name].value == pytest.approx(np.mean(uniform), abs=4 * found[name].standard_error)
    assert found["cgd_shuffled.tv"].value != found["cgd_data.tv"].value


def test_corruption_moves_a_model_away_from_what_it_learned() -> None:
    """Right after the histories it was made for (all A), wrong after any other: CGD rises with the rate (Figure 3)."""
    length = 4
    histories = [h for time in range(length) for h in product(range(2), repeat=time)]
    oracle = {h: [0.95, 0.05] for h in histories}
    model = {h: [0.95, 0.05] if not any(h) else [0.4, 0.6] for h in histories}
    vocabulary = WordVocabulary(["A", "B"], end=None, unknown=None)
    rates = (0.1, 0.3, 0.6)
    found = by_name(
        measure_exposure(
            Tabular(vocabulary, length, model),
            Tabular(vocabulary, length, oracle),
            samples=3000,
            length=length,
            seed=1,
            distances=["tv"],
            histories=[f"corrupted,rate={rate}" for rate in rates],
        )
    )
    rising = [found["cgd_data.tv"], *(found[f"cgd_corrupted_{rate}.tv"] for rate in rates)]
    for lower, higher in pairwise(rising):
        assert lower.interval.upper < higher.interval.lower


def test_coupled_histories_narrow_the_interval(random_pairs: list[Any]) -> None:
    pair = random_pairs[4]
    close = {
        history: [0.9 * o + 0.1 * m for o, m in zip(pair.oracle_table[history], distribution, strict=True)]
        for history, distribution in pair.model_table.items()
    }
    model = Tabular(pair.oracle.vocabulary, pair.length, close)
    settings: dict[str, Any] = {"samples": 2000, "length": pair.length, "seed": 1, "distances": ["tv"]}
    together, apart_ = (
        by_name(measure_exposure(model, pair.oracle, coupled=coupled, **settings))["eb_c.tv"]
        for coupled in (True, False)
    )
    widths = [
        np.subtract(found.by_position.upper, found.by_position.lower)
        for found in (together, apart_)
        if found.by_position is not None
    ]
    assert (widths[0] < 0.7 * widths[1]).all()
    assert (together.recipe["coupled"], apart_.recipe["coupled"]) == (True, False)


def test_no_mismatch_seen_is_not_no_mismatch(written_down: Callable[..., Tabular]) -> None:
    model, oracle = (written_down(following) for following in EXAMPLES["example 2"])
    found = by_name(measure_exposure(model, oracle, samples=300, length=2, seed=1))["cgd_model.gd"]
    assert found.value == 0.0
    assert 0.005 < found.interval.upper < 0.02


# --- How it is computed.


def small_lstm(seed: int, size: int = 11) -> LSTMLanguageModel:
    words = WordVocabulary([str(token) for token in range(size)], end=None, unknown=None)
    model = LSTMLanguageModel(words, LSTMSettings(hidden=8, embedding=8))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    model.name = f"lstm-{seed}"
    return model


def test_figures_do_not_depend_on_the_batch_size() -> None:
    model, oracle = small_lstm(1), small_lstm(2)
    first, second = (
        by_name(measure_exposure(model, oracle, samples=50, length=6, seed=3, batch_size=size)) for size in (7, 50)
    )
    assert first.keys() == second.keys()
    for name, entry in first.items():
        assert second[name].value == pytest.approx(entry.value, rel=1e-5)


def test_enumeration_serves_any_small_model() -> None:
    model, oracle = small_lstm(1, size=4), small_lstm(2, size=4)
    exact = by_name(measure_exposure_exactly(model, oracle, length=4))
    sampled = by_name(measure_exposure(model, oracle, samples=4000, length=4, seed=1))
    assert exact.keys() == sampled.keys()
    for name in ("eb_c.js", "cgd_model.tv", "cgd_data.gd", "eb_m.tv"):
        error = sampled[name].standard_error
        assert sampled[name].value == pytest.approx(exact[name].value, abs=4 * error)


def test_one_pass_serves_every_length_and_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    model, oracle = small_lstm(1), small_lstm(2)
    histories = generate(model, 30, 6, seed=1, stop_at_end=False).tokens
    projected: list[int] = []
    project = LSTMLanguageModel.project

    def counting(self: LSTMLanguageModel, features: Tensor) -> Tensor:
        projected.append(features[..., 0].numel())
        return project(self, features)

    monkeypatch.setattr(LSTMLanguageModel, "project", counting)
    found = conditional_deviations(model, oracle, histories, tuple(DISTANCES), batch_size=10)
    assert {name: values.shape for name, values in found.items()} == dict.fromkeys(DISTANCES, (30, 5))
    assert sum(projected) == 2 * 30 * 5


def test_plan_tells_how_many_samples_a_width_needs(random_pairs: list[Any]) -> None:
    pair = random_pairs[0]
    settings: dict[str, Any] = {"length": pair.length, "distances": ["tv"], "marginal": False}
    pilot = measure_exposure(pair.model, pair.oracle, samples=500, seed=1, **settings)
    wished = by_name(pilot)["eb_c.tv"].interval.width / 3
    needed = plan_samples(pilot, wished)["eb_c.tv"]
    assert needed == pytest.approx(9 * 500, rel=0.2)
    fulfilled = by_name(measure_exposure(pair.model, pair.oracle, samples=needed, seed=2, **settings))
    assert fulfilled["eb_c.tv"].interval.width == pytest.approx(wished, rel=0.2)


# --- Bad input.


def nan_model() -> LSTMLanguageModel:
    model = small_lstm(1)
    with torch.no_grad():
        model.bias[0] = math.nan
    return model


@pytest.mark.parametrize(
    ("model", "oracle", "changes", "message"),
    [
        (small_lstm(1), small_lstm(2, size=12), {}, "different vocabularies"),
        (small_lstm(1), small_lstm(2), {"samples": 1}, "1 sample"),
        (small_lstm(1), small_lstm(2), {"length": 0}, "sequences of 0 tokens"),
        (small_lstm(1), small_lstm(2), {"length": 1}, "the shortest history has one token"),
        (small_lstm(1), nan_model(), {}, "(?i)nan"),
        (small_lstm(1), None, {}, "neither an oracle nor data"),
        (small_lstm(1), None, {"data": torch.zeros(5, 4).long()}, "too few or too short"),
        (small_lstm(1), small_lstm(2), {"distances": ["jsd"]}, "did you mean 'js'"),
        (small_lstm(1), small_lstm(2), {"distances": []}, "no distance"),
        (small_lstm(1), small_lstm(2), {"histories": ["shufled"]}, "did you mean 'shuffled'"),
        (small_lstm(1), small_lstm(2), {"histories": ["corrupted"]}, "corrupted,rate=0.1"),
        (small_lstm(1), small_lstm(2), {"histories": ["corrupted,rate=2"]}, "between 0 and 1"),
        (small_lstm(1), None, {"data": torch.zeros(20, 4).long(), "histories": ["random"]}, "needs an oracle"),
    ],
)
def test_bad_input_is_refused(model: Any, oracle: Any, changes: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"samples": 10, "length": 4, "seed": 1, **changes}
    with pytest.raises(OffscriptError, match=message):
        measure_exposure(model, oracle, **settings)


def test_sequences_of_one_token_are_enumerated_and_those_of_none_are_not() -> None:
    (level,) = levels(small_lstm(1), small_lstm(2), 1)
    assert level.length == 0
    with pytest.raises(OffscriptError, match="cannot enumerate sequences of 0 tokens"):
        next(levels(small_lstm(1), small_lstm(2), 0))


def test_enumeration_of_too_much_is_refused() -> None:
    with pytest.raises(OffscriptError, match="too many to enumerate"):
        measure_exposure_exactly(small_lstm(1), small_lstm(2), length=20)
