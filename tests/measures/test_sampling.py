"""The sweep: settings share prefixes and random numbers, and algorithms compare in pairs at matched diversity."""

import numpy as np
import pytest
import torch

from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.bleu import leave_one_out_bleu, sentence_bleu
from offscript.measures.sampling.estimation import (
    GRIDS,
    Setting,
    Sweep,
    at_diversity,
    compare_algorithms,
    grid_of,
    prefixes_and_references,
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
    prefixes = torch.tensor([[2, 3], [7, 8], [4, 4]])
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
    assert names == ["top-k;k=3.corpus_bleu_2", "top-k;k=3.self_bleu_2"]


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
    with pytest.raises(OffscriptError, match="need six"):
        prefixes_and_references([[1, 2, 3]] * 5, prefix=2, samples=10, length=5)
