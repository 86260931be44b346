import math
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.measures.bleu import leave_one_out_bleu
from offscript.measures.diversity.estimation import (
    distinct,
    measure_diversity,
    ngram_entropy,
    repetition,
    zipf_coefficient,
)
from offscript.measures.measurement import Measurement
from offscript.statistics import jackknife

corpora = st.lists(st.lists(st.sampled_from("abc"), max_size=9), min_size=4, max_size=7)


def ngrams(sentences: list[list[str]], order: int) -> list[tuple[str, ...]]:
    return [tuple(s[i : i + order]) for s in sentences for i in range(len(s) - order + 1)]


@settings(max_examples=25)
@given(corpora)
def test_every_figure_equals_its_definition(sentences: list[list[str]]) -> None:
    measured = {figure.name: figure for figure in measure_diversity(sentences, tokenization="letters")}
    scores = leave_one_out_bleu(sentences).scores
    for order in range(1, 6):
        grams = ngrams(sentences, order)
        shares = [count / len(grams) for count in Counter(grams).values()]
        assert measured[f"entropy_{order}"].value == pytest.approx(-sum(r * math.log(r) for r in shares), abs=1e-12)
        assert measured[f"distinct_{order}"].value == pytest.approx(len(shares) / max(1, len(grams)))
        assert measured[f"self_bleu_{order}"].value == pytest.approx(scores[:, order - 1].mean(), abs=1e-12)
    fours = [ngrams([sentence], 4) for sentence in sentences]
    rates = [1 - len(set(grams)) / len(grams) if grams else 0.0 for grams in fours]
    assert measured["repetition"].value == pytest.approx(sum(rates) / len(rates), abs=1e-12)
    for figure in measured.values():
        assert figure.value in figure.interval
        assert Measurement.from_json(figure.to_json()) == figure


def test_names_and_recipes() -> None:
    sentences = [["a", "b"], ["b", "c"], ["c", "a"], ["a", "a"]]
    measured = measure_diversity(sentences, tokenization="whitespace", highest_order=2, recipe={"model": "m"})
    assert [figure.name for figure in measured] == [
        *("self_bleu_1", "self_bleu_2", "entropy_1", "entropy_2", "distinct_1", "distinct_2", "zipf", "repetition")
    ]
    for figure in measured:
        assert figure.recipe.items() >= {"tokenization": "whitespace", "sentences": 4, "model": "m"}.items()
    self_bleu_2, repeated = measured[1], measured[-1]
    expected = {"order": 2, "smoothing": "method 1, 0.1", "brevity": "closest reference length", "references": 3}
    assert self_bleu_2.recipe.items() >= expected.items()
    assert repeated.recipe["order"] == 4
    assert [figure.higher_is_better for figure in measured] == [False, False, True, True, True, True, None, False]


def test_entropy_and_distinct_of_known_counts() -> None:
    assert ngram_entropy(np.array([2, 1, 1, 0])) == pytest.approx(1.5 * math.log(2))
    assert distinct(np.array([2, 1, 1, 0])) == 0.75
    assert ngram_entropy(np.array([], dtype=np.int64)) == distinct(np.array([], dtype=np.int64)) == 0.0


def test_zipf_coefficient_of_an_exact_power_law() -> None:
    ranks = np.arange(1, 101)
    assert zipf_coefficient((10**12 / ranks**1.25).astype(np.int64)) == pytest.approx(1.25, abs=1e-6)
    assert zipf_coefficient(np.array([7])) == 0.0


def test_repetition_counts_what_stood_before_in_the_same_sentence() -> None:
    sentences = [list("abcdabcd"), list("abcdabcd")[:4], list("aaaaaa"), ["a"], []]
    assert repetition(sentences).tolist() == pytest.approx([1 / 5, 0, 2 / 3, 0, 0])
    assert repetition(sentences, order=1).tolist() == pytest.approx([1 / 2, 0, 5 / 6, 0, 0])


def test_too_few_sentences_are_refused() -> None:
    with pytest.raises(OffscriptError, match=r"diversity of 2 sentence\(s\)"):
        measure_diversity([["a"], ["b"]], tokenization="letters")


def test_the_jackknife_of_a_mean_is_students_t() -> None:
    values = np.random.default_rng(0).normal(size=20)
    (estimate,) = jackknife(lambda kept: np.array([values[kept].mean()]), len(values))
    assert estimate.standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(20))
    assert estimate.interval.upper - estimate.value == pytest.approx(2.0930240544 * estimate.standard_error)


@pytest.mark.slow
def test_intervals_cover() -> None:
    """95 % intervals of 150 sets of 100 sentences whose words and lengths differ from sentence to sentence.

    The jackknife errs on the wide side (Efron and Stein, 1981), so only its shortfall is bounded.
    """
    generator = np.random.default_rng(5)
    measured = [measure_diversity(_mixed_sentences(generator), tokenization="ids") for _ in range(150)]
    for position, figure in enumerate(measured[0]):
        mean = float(np.mean([figures[position].value for figures in measured]))
        inside = [mean in figures[position].interval for figures in measured]
        assert np.mean(inside) >= 0.9, figure.name


def _mixed_sentences(generator: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """Half of the sentences draw from 4 words, half from 60, both by Zipf's law."""
    sizes = generator.choice([4, 60], 100)
    weights = {size: 1 / np.arange(1, size + 1) for size in (4, 60)}
    shares = {size: weight / weight.sum() for size, weight in weights.items()}
    return [generator.choice(size, generator.integers(5, 15), p=shares[size]) for size in sizes]
