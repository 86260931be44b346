"""Beam search against every sequence there is, and against `transformers` for a causal model."""

from itertools import product

import pytest
import torch

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.tabular import Tabular
from offscript.sampling.beams import beam_search

SIZE, LENGTH = 5, 4


@pytest.fixture(scope="module")
def model() -> LSTMLanguageModel:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = LSTMLanguageModel(
            WordVocabulary(["<eos>", "a", "b", "c", "d"], unknown=None), LSTMSettings(hidden=8, embedding=8)
        )
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=1.5)
    return model.eval()


def _finished(model: LSTMLanguageModel) -> dict[tuple[int, ...], float]:
    """The log-probability of every sequence that ends, or is cut at the full length."""
    tokens = torch.tensor(list(product(range(SIZE), repeat=LENGTH)))
    likelihoods = model.log_likelihoods(tokens)
    found = {}
    for row, own in zip(tokens.tolist(), likelihoods, strict=True):
        length = row.index(0) + 1 if 0 in row else LENGTH
        found[tuple(row[:length])] = float(own[:length].sum())
    return found


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
def test_the_best_of_all_sequences_is_a_lower_bound_that_wide_beams_reach(
    model: LSTMLanguageModel, penalty: float
) -> None:
    scores = {row: total / len(row) ** penalty for row, total in _finished(model).items()}
    found = beam_search(model, 1, LENGTH, beams=2, length_penalty=penalty)
    row = tuple(found.tokens[0, : found.lengths[0]].tolist())
    assert float(found.scores[0]) == pytest.approx(scores[row], abs=1e-5)
    assert scores[row] <= max(scores.values()) + 1e-6


def test_one_beam_is_greedy(model: LSTMLanguageModel) -> None:
    log_probs, state = model.start(1)
    greedy: list[int] = []
    while len(greedy) < LENGTH and 0 not in greedy:
        greedy.append(int(log_probs.argmax()))
        log_probs, state = model.advance(state, torch.tensor(greedy[-1:]))
    found = beam_search(model, 1, LENGTH, beams=1)
    assert found.tokens[0, : found.lengths[0]].tolist() == greedy


def test_it_finds_what_greedy_search_misses() -> None:
    """The best first token leads to worse sequences: 0.6 · 0.5 against 0.4 · 0.9."""
    vocabulary = WordVocabulary(["<eos>", "a", "b", "c"], unknown=None)
    following = {
        (): [0.0, 0.6, 0.4, 0.0],
        (1,): [0.5, 0.2, 0.2, 0.1],
        (2,): [0.9, 0.1, 0.0, 0.0],
    }
    model = Tabular(vocabulary, 2, following)
    assert beam_search(model, 1, 2, beams=1).tokens.tolist() == [[1, 0]]
    assert beam_search(model, 1, 2, beams=2).tokens.tolist() == [[2, 0]]


def test_rows_and_batches_do_not_depend_on_each_other(model: LSTMLanguageModel) -> None:
    prefixes = torch.tensor([[1], [2], [3], [4], [1]])
    together = beam_search(model, 5, 6, beams=2, prefixes=prefixes)
    alone = [beam_search(model, 1, 6, beams=2, prefixes=each.unsqueeze(0)).tokens[0].tolist() for each in prefixes]
    assert together.tokens.tolist() == alone
    assert together.tokens[0].tolist() == together.tokens[4].tolist()
    assert beam_search(model, 5, 6, beams=2, prefixes=prefixes, batch_size=2).tokens.tolist() == alone


def test_what_cannot_be_searched_is_refused(model: LSTMLanguageModel) -> None:
    with pytest.raises(OffscriptError, match="9 beams"):
        beam_search(model, 1, 4, beams=9)
    endless = Tabular(WordVocabulary(["a", "b"], end=None, unknown=None), 1, {(): [0.5, 0.5]})
    with pytest.raises(OffscriptError, match="no end token"):
        beam_search(endless, 1, 1)
