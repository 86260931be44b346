from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction
from nltk.translate.bleu_score import sentence_bleu as nltk_bleu

from offscript.errors import OffscriptError
from offscript.measures.bleu import leave_one_out_bleu, sentence_bleu

ORDERS = range(1, 6)
smoothing = SmoothingFunction().method1

tokens = st.sampled_from(["a", "b", "c", "a b", "b c", " ", "a  b"])
sentence = st.one_of(st.lists(tokens, max_size=9), st.lists(st.just("a"), max_size=12))


def nltk_scores(references: list[list[str]], hypothesis: list[str]) -> list[float]:
    return [
        nltk_bleu(references, hypothesis, weights=(1 / order,) * order, smoothing_function=smoothing)
        for order in ORDERS
    ]


@given(st.lists(sentence, min_size=1, max_size=5), st.lists(sentence, min_size=1, max_size=5))
def test_bleu_equals_nltks(hypotheses: list[list[str]], references: list[list[str]]) -> None:
    expected = np.array([nltk_scores(references, hypothesis) for hypothesis in hypotheses])
    found = sentence_bleu(hypotheses, references)
    assert np.abs(found.scores - expected).max() < 1e-12
    assert found.references == len(references)
    assert found.corpus(4) == pytest.approx(expected[:, 3].mean(), abs=1e-12)


@given(st.lists(sentence, min_size=2, max_size=6))
def test_leave_one_out_bleu_equals_nltks(sentences: list[list[str]]) -> None:
    expected = np.array(
        [nltk_scores([*sentences[:i], *sentences[i + 1 :]], sentences[i]) for i in range(len(sentences))]
    )
    found = leave_one_out_bleu(sentences)
    assert np.abs(found.scores - expected).max() < 1e-12
    assert found.references == len(sentences) - 1


@pytest.mark.parametrize("vocabulary", [3, 30, 1000])
def test_larger_random_corpora_equal_nltks(vocabulary: int) -> None:
    generator = np.random.default_rng(vocabulary)
    lengths = [0, 1, 1, 2, 30, *generator.integers(3, 25, 35)]  # 30 stands alone
    sentences = [[f"w {token}" for token in generator.integers(0, vocabulary, length)] for length in lengths]
    hypotheses, references = sentences[::2], sentences[1::2]
    expected = np.array([nltk_scores(references, hypothesis) for hypothesis in hypotheses])
    assert np.abs(sentence_bleu(hypotheses, references).scores - expected).max() < 1e-12
    among = np.array([nltk_scores(sentences[:i] + sentences[i + 1 :], sentences[i]) for i in range(len(sentences))])
    assert np.abs(leave_one_out_bleu(sentences).scores - among).max() < 1e-12


def test_token_ids_score_as_their_words_do() -> None:
    ids = np.random.default_rng(0).integers(0, 20, (30, 8))
    words = [[f"word {token}" for token in row] for row in ids]
    assert np.array_equal(sentence_bleu(ids[:10], ids[10:]).scores, sentence_bleu(words[:10], words[10:]).scores)
    assert np.array_equal(leave_one_out_bleu(ids).scores, leave_one_out_bleu(words).scores)


def test_lower_orders_do_not_change_with_the_highest() -> None:
    ids = np.random.default_rng(1).integers(0, 5, (20, 8))
    scores = [leave_one_out_bleu(ids, highest_order=order).scores for order in ORDERS]
    for fewer, more in pairwise(scores):
        assert np.array_equal(fewer, more[:, : fewer.shape[1]])


def test_a_sentence_that_stands_twice_is_fully_matched() -> None:
    assert leave_one_out_bleu([["a", "b", "c", "d", "e"]] * 2).scores.tolist() == [[1.0] * 5] * 2


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [([], [["a"]], "BLEU of 0 sentences against 1 references"), ([["a"]], [], "BLEU of 1 sentences against 0")],
)
def test_nothing_to_compare_is_refused(hypotheses: list[list[str]], references: list[list[str]], message: str) -> None:
    with pytest.raises(OffscriptError, match=message):
        sentence_bleu(hypotheses, references)


def test_self_bleu_needs_two_sentences_and_a_positive_order() -> None:
    with pytest.raises(OffscriptError, match=r"self-BLEU of 1 sentence\(s\)"):
        leave_one_out_bleu([["a"]])
    with pytest.raises(OffscriptError, match="BLEU of order 0"):
        leave_one_out_bleu([["a"], ["b"]], highest_order=0)
