"""Likelihood with and without the token that ends each text."""

import math

import pytest

from offscript.corpora.vocabularies import WordVocabulary
from offscript.measures.likelihood.estimation import measure_likelihood
from offscript.measures.texts import Texts, encode_texts
from offscript.models.tabular import Tabular
from offscript.report.figures import finding_of

MODEL = Tabular(
    WordVocabulary(["a", "b", "<end>"], end="<end>", unknown=None),
    3,
    {
        (): [0.5, 0.25, 0.25],
        (0,): [0.25, 0.25, 0.5],
        (1,): [0.5, 0.25, 0.25],
        (0, 1): [0.125, 0.125, 0.75],
        **{history: [0.5, 0.25, 0.25] for history in ((0, 0), (1, 0), (1, 1))},
    },
)


def test_the_end_counts_or_not() -> None:
    texts = encode_texts(["a", "a b"] * 2, MODEL.vocabulary)
    figures = {entry.name: entry for entry in measure_likelihood(MODEL, texts)}
    words, ends = -math.log(0.5 * 0.5 * 0.25), -math.log(0.5 * 0.75)
    assert figures["nll"].value == pytest.approx((words + ends) / 5)
    assert figures["nll_without_end"].value == pytest.approx(words / 3)
    assert figures["ppl_without_end"].value == pytest.approx(math.exp(words / 3))
    finding = finding_of("likelihood", list(figures.values()))
    assert finding is not None
    assert "Without the token that ends each text: perplexity" in finding.sentence


def test_texts_that_are_cut_have_no_end_to_leave_out() -> None:
    cut = encode_texts(["a b"] * 4, MODEL.vocabulary, longest=2)
    assert {entry.name for entry in measure_likelihood(MODEL, cut)} == {"nll", "ppl", "bpc"}


def test_a_text_of_nothing_but_its_end_has_no_figure_without_it() -> None:
    texts = Texts([[2], [0, 2]] * 2, [1, 2] * 2, {})
    assert {entry.name for entry in measure_likelihood(MODEL, texts)} == {"nll", "ppl", "bpc"}
