"""The sweep: settings share prefixes and random numbers, and algorithms compare in pairs at matched diversity."""

import dataclasses

import numpy as np
import pytest
import torch

from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.bleu import leave_one_out_bleu, sentence_bleu
from offscript.measures.diversity.estimation import measure_diversity
from offscript.measures.sampling.estimation import (
    GRIDS,
    RealText,
    Setting,
    Sweep,
    at_diversity,
    compare_algorithms,
    grid_of,
    measure_real_text,
    real_text,
    sweep_samplers,
)
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.sampling import Generated, generate, generate_each
from offscript.sampling.transforms import parse_transform
from offscript.statistics import Estimate, Interval


@pytest.fixture(scope="module")
def model() -> LSTMLanguageModel:
    vocabulary = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(40))])
    with torch.random.fork_rng():
        torch.manual_seed(3)
        built = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=16, embedding=16)).eval()
        torch.nn.init.normal_(built.bias, std=1.5)
    return built


@pytest.mark.parametrize("batch_size", [3, 100])
@pytest.mark.parametrize("stop_at_end", [True, False])
def test_drawing_for_many_transforms_equals_drawing_for_each(
    model: LSTMLanguageModel, batch_size: int, stop_at_end: bool
) -> None:
    samplers = ["ancestral", "nucleus,p=0.5", "random-top-k,maximum=9", "greedy"]
    prefixes = torch.arange(10).view(5, 2) + 2
    together = generate_each(
        model,
        [parse_transform(sampler) for sampler in samplers],
        5,
        12,
        seed=4,
        prefixes=prefixes,
        stop_at_end=stop_at_end,
        batch_size=batch_size,
    )
    for sampler, found in zip(samplers, together, strict=True):
        transform = parse_transform(sampler)
        alone = generate(model, 5, 12, seed=4, transform=transform, prefixes=prefixes, stop_at_end=stop_at_end)
        assert torch.equal(found.tokens, alone.tokens)
        assert torch.equal(found.lengths, alone.lengths)


def test_scores_are_those_of_the_whole_sequences(model: LSTMLanguageModel) -> None:
    references = [[2, 3, 4, 5, 6], [7, 8, 9, 10]]
    prefixes = torch.tensor([[2, 3], [7, 8], [4, 4], [5, 6]])
    sweep = sweep_samplers(model, prefixes, references, samplers=["top-k,k=3"], length=8, seed=1, order=2)
    (setting,) = sweep.settings
    rows = [
        [token for token in row[:size] if token != model.vocabulary.end]
        for row, size in zip(setting.generated.tokens.tolist(), setting.generated.lengths.tolist(), strict=True)
    ]
    assert [row[:2] for row in rows] == prefixes.tolist()
    assert np.array_equal(setting.quality, sentence_bleu(rows, references, highest_order=2).scores[:, 1])
    assert np.array_equal(setting.diversity, leave_one_out_bleu(rows, highest_order=2).scores[:, 1])
    names = [entry.name for entry in sweep.measurements()]
    assert names == ["top-k,k=3.corpus_bleu_2", "top-k,k=3.self_bleu_2", "top-k,k=3.entropy_3"]
    [entropy] = [entry.value for entry in measure_diversity(rows, tokenization="ids") if entry.name == "entropy_3"]
    assert setting.entropy is not None
    assert setting.entropy.value == pytest.approx(entropy)


def made_setting(name: str, diversity: float, quality: np.ndarray) -> Setting:
    n = len(quality)
    nothing = Generated(torch.zeros(n, 1), torch.ones(n))
    known = Estimate(diversity, 0.0, Interval.exact(diversity))
    return Setting(name, f"{name},x={diversity}", nothing, quality, np.full(n, diversity), known)


def made_sweep(gap: float, noise: float, n: int = 400) -> Sweep:
    """Two algorithms whose curves are parallel lines `gap` apart; both lean on the same per-prefix noise."""
    generator = np.random.default_rng(0)
    common = generator.normal(size=n) * 0.2
    settings = []
    for name, lift in (("upper", gap), ("lower", 0.0)):
        for diversity in (0.2, 0.4, 0.6):
            own = generator.normal(size=n) * noise
            quality = 0.5 * diversity + lift + common + own
            settings.append(made_setting(name, diversity, quality))
    return Sweep(tuple(settings), 4, {}, 0, 0.0)


def test_a_gap_between_parallel_curves_is_found_with_its_size() -> None:
    compared = compare_algorithms(made_sweep(0.05, 0.02), "upper", "lower", generator=np.random.default_rng(1))
    assert compared.difference.value == pytest.approx(0.05, abs=0.005)
    assert 0.05 in compared.difference.interval
    assert not compared.on_par
    assert compared.difference.interval.width < 0.01  # pairing removes the noise that both share


def test_the_interval_covers_no_difference_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        settings = tuple(
            made_setting(name, d, d + generator.normal(size=100)) for name in ("a", "b") for d in (0.1, 0.5)
        )
        sweep = Sweep(settings, 4, {}, 0, 0.0)
        covered += compare_algorithms(sweep, "a", "b", generator=generator, resamples=300).on_par
    assert 0.90 * 200 <= covered <= 0.99 * 200


def test_curves_that_never_meet_are_refused() -> None:
    settings = tuple(
        made_setting(name, d, np.ones(3)) for name, places in (("a", (0.1, 0.2)), ("b", (0.3, 0.4))) for d in places
    )
    with pytest.raises(OffscriptError, match="no common diversity"):
        compare_algorithms(Sweep(settings, 4, {}, 0, 0.0), "a", "b", generator=np.random.default_rng(0))


def test_samples_for_people_come_from_the_setting_nearest_in_diversity() -> None:
    chosen = at_diversity(made_sweep(0.0, 0.0), 0.45)
    assert {name: setting.sampler for name, setting in chosen.items()} == {
        "upper": "upper,x=0.4",
        "lower": "lower,x=0.4",
    }


def test_a_bare_name_is_its_grid_and_every_grid_parses() -> None:
    assert len(grid_of(["nucleus", "top-k,k=7"])) == len(GRIDS["nucleus"]) + 1
    assert len(grid_of(list(GRIDS))) == sum(map(len, GRIDS.values()))
    with pytest.raises(OffscriptError, match="did you mean 'nucleus'"):
        grid_of(["nucleos"])


def test_too_little_text_is_refused() -> None:
    with pytest.raises(OffscriptError, match="need 8"):  # four values are the fewest that have an interval
        real_text([[1, 2, 3]] * 7, prefix=2, samples=10, length=5)
    assert len(real_text([[1, 2, 3]] * 8, prefix=2, samples=10, length=5).originals) == 4
    with pytest.raises(OffscriptError, match="4 tokens or more and at most 5.*--shortest"):
        real_text([[1, 2, 3]] * 9, prefix=2, samples=10, length=5, shortest=4)


def test_with_a_shortest_length_sentences_are_whole_and_longer_ones_left_out() -> None:
    sentences = [list(range(size)) for size in (3, 4, 5, 6, 7, 4, 5, 4, 5, 5, 4)]
    text = real_text(sentences, prefix=2, samples=10, length=5, shortest=4)
    assert [len(row) for row in (*text.originals, *text.references)] == [4, 5, 4, 5, 4, 5, 5, 4]
    assert text.prefixes(2).shape == (4, 2)


def test_short_continuations_do_not_count(model: LSTMLanguageModel) -> None:
    references, prefixes = [[2, 3, 4, 5, 6], [7, 8, 9, 10]], torch.arange(60).view(30, 2) % 38 + 2
    asked = {"samplers": ["tempered,temperature=2.0"], "length": 30, "seed": 1, "order": 2}
    (whole,) = sweep_samplers(model, prefixes, references, **asked).settings
    sizes = np.array([size - 1 for size in whole.generated.lengths.tolist()])
    shortest = int(np.median(sizes))
    (kept,) = sweep_samplers(model, prefixes, references, shortest=shortest, **asked).settings
    tokens, lengths = whole.generated.tokens.tolist(), whole.generated.lengths.tolist()
    rows = [
        [token for token in row[:size] if token != model.vocabulary.end]
        for row, size in zip(tokens, lengths, strict=True)
    ]
    rows = [row for row in rows if len(row) >= shortest]
    assert 3 <= len(rows) < 30
    assert kept.quality.mean() == pytest.approx(sentence_bleu(rows, references, highest_order=2).scores[:, 1].mean())
    assert kept.diversity.mean() == pytest.approx(kept.self_bleu.value)


def test_real_text_has_its_own_quality_and_entropy(model: LSTMLanguageModel) -> None:
    text = RealText([[2, 3, 4, 5, 1]] * 3, [[2, 3, 4, 5, 6], [7, 8, 9, 10, 1], [2, 3, 4, 9], [3, 3]])
    figures = {entry.name: entry for entry in measure_real_text(model, text, {})}
    assert list(figures) == ["real text.corpus_bleu_4", "real text.self_bleu_4", "real text.entropy_3"]
    assert figures["real text.corpus_bleu_4"].value == 1.0  # the whole original stands in a reference
    assert figures["real text.self_bleu_4"].n == 3


def test_settings_are_held_against_the_best_as_diverse_as_real_text() -> None:
    generator, common = np.random.default_rng(2), np.random.default_rng(1).normal(size=500)
    qualities = {"best": 0.5, "equal": 0.495, "worse": 0.4, "repetitive": 0.9}
    settings = tuple(
        made_setting(name, 0.9 if name == "repetitive" else 0.3, mean + common + 0.05 * generator.normal(size=500))
        for name, mean in qualities.items()
    )
    real = Estimate(0.3, 0.01, Interval(0.28, 0.32, 0.95, "t"))
    figures = {entry.name: entry for entry in Sweep(settings, 4, {}, 0, 0.0).behind_best(real)}
    assert set(figures) == {"equal,x=0.3.behind_best", "worse,x=0.3.behind_best"}
    assert 0 in figures["equal,x=0.3.behind_best"].interval
    assert figures["worse,x=0.3.behind_best"].interval.lower > 0
    assert figures["worse,x=0.3.behind_best"].recipe["best"] == "best,x=0.3"


def test_an_algorithm_is_ahead_by_what_its_curve_lies_above_the_first_ones() -> None:
    common = np.random.default_rng(1).normal(size=400)
    settings = tuple(
        made_setting(name, diversity, mean + diversity + common)
        for name, mean in (("first", 0.0), ("better", 0.25), ("alone", 0.0))
        for diversity in ((0.2, 0.6) if name != "alone" else (0.4,))
    )
    sweep = Sweep(settings, 4, {}, 0, 0.0)
    [better] = sweep.ahead_of_first()
    assert (better.name, better.recipe) == ("better.ahead", {"algorithm": "better", "against": "first"})
    assert better.value == pytest.approx(0.25)
    assert sweep.agreement_of_diversities() == []


def test_measures_of_diversity_agree_where_their_orders_do() -> None:
    settings = tuple(
        dataclasses.replace(
            made_setting(f"s{place}", self_bleu, np.zeros(5)), entropy=Estimate(entropy, 0.1, Interval.exact(entropy))
        )
        for place, (self_bleu, entropy) in enumerate((0.95 / step, float(step**2)) for step in range(1, 11))
    )
    [agreement] = Sweep(settings, 4, {}, 0, 0.0).agreement_of_diversities()
    assert (agreement.name, agreement.value, agreement.n) == ("self_bleu~entropy", pytest.approx(1.0), 10)
