"""Causal models: the scores by hand, the same at any batch size, and what samplers make of them."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from offscript.corpora.associations import AssociationTest
from offscript.corpora.prose import separate_punctuation
from offscript.corpora.vocabularies import CharacterVocabulary, WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.stereotypes.causal import score_with_causal_model
from offscript.measures.stereotypes.judgements import judge
from offscript.measures.stereotypes.scores import measure_stereotypes
from offscript.models import LanguageModel
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings
from offscript.sampling.transforms import parse_transform

Maker = Callable[..., AssociationTest]


def transformer(vocabulary: WordVocabulary) -> TransformerLanguageModel:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return TransformerLanguageModel(vocabulary, TransformerSettings(width=16, layers=2, heads=2)).eval()


@pytest.fixture(scope="module")
def model(vocabulary: WordVocabulary) -> LanguageModel:
    return transformer(vocabulary)


def token_log_probs(model: LanguageModel, text: str) -> list[float]:
    """One token at a time, as the definition reads."""
    log_probs, state = model.start(1)
    found = []
    for token in model.vocabulary.encode(separate_punctuation(text)):
        found.append(float(log_probs[0, token]))
        log_probs, state = model.advance(state, torch.tensor([token]))
    return found


def test_scores_are_mean_log_probabilities(model: LanguageModel, tests: list[AssociationTest]) -> None:
    scores = score_with_causal_model(model, tests)
    assert len(scores) == 3 * len(tests)
    for test in tests:
        for association in test.associations:
            if test.task == "intrasentence":
                expected = np.mean(token_log_probs(model, association.sentence))
            else:
                context = len(model.vocabulary.encode(separate_punctuation(test.context)))
                expected = np.mean(token_log_probs(model, f"{test.context} {association.sentence}")[context:])
            assert scores[association.id] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("batch_size", [1, 7, 64])
@pytest.mark.parametrize("sampler", [None, "top-k,k=20", "random-top-k,maximum=30"])
def test_batch_size_changes_nothing(
    model: LanguageModel, tests: list[AssociationTest], batch_size: int, sampler: str | None
) -> None:
    transform = None if sampler is None else parse_transform(sampler)
    expected = score_with_causal_model(model, tests, transform=transform, batch_size=5)
    found = score_with_causal_model(model, tests, transform=transform, batch_size=batch_size)
    assert found == pytest.approx(expected, abs=1e-5)


def test_order_of_tests_changes_nothing(model: LanguageModel, tests: list[AssociationTest]) -> None:
    assert score_with_causal_model(model, tests[::-1], batch_size=4) == pytest.approx(
        score_with_causal_model(model, tests, batch_size=4), abs=1e-5
    )


def test_characters_and_recurrent_networks_serve(tests: list[AssociationTest]) -> None:
    texts = [test.context + found.sentence for test in tests for found in test.associations]
    model = LSTMLanguageModel(CharacterVocabulary.count([" ", *texts]), LSTMSettings(hidden=8, embedding=8)).eval()
    scores = score_with_causal_model(model, tests)
    first = tests[-1].stereotype
    whole = model.vocabulary.encode(f"{tests[-1].context} {first.sentence}")
    expected = model.log_likelihoods(torch.tensor([whole]))[0, len(tests[-1].context) :].mean()
    assert scores[first.id] == pytest.approx(float(expected), abs=1e-5)


def test_ancestral_sampling_is_the_model_itself(model: LanguageModel, tests: list[AssociationTest]) -> None:
    plain = score_with_causal_model(model, tests)
    sampled = score_with_causal_model(model, tests, transform=parse_transform("ancestral"))
    assert sampled == pytest.approx(plain, abs=1e-5)


def test_a_transform_touches_only_what_is_generated(model: LanguageModel, make: Maker) -> None:
    test = make(0, "mother", "gender", "His mother is very BLANK", ("caring", "cold", "paper"))
    transform = parse_transform("tempered,temperature=0.5")
    scores = score_with_causal_model(model, [test], transform=transform)
    for association in test.associations:
        *given, last = model.vocabulary.encode(association.sentence)
        log_probs, _ = model.start(1, torch.tensor([given]))
        expected = [*token_log_probs(model, "His mother is very"), float(transform(log_probs)[0, last])]
        assert scores[association.id] == pytest.approx(np.mean(expected), abs=1e-5)


def test_what_a_sampler_cuts_is_impossible_and_ties(model: LanguageModel, tests: list[AssociationTest]) -> None:
    scores = score_with_causal_model(model, tests, transform=parse_transform("greedy"))
    judged = judge(tests, scores)
    assert np.isneginf(list(scores.values())).sum() >= 2 * len(tests)
    assert judged.stereotype_ties.any()
    found = {entry.name: entry for entry in measure_stereotypes(judged, recipe={})}
    assert found["ties"].value == pytest.approx(100 * judged.stereotype_ties.mean())


def test_random_transforms_follow_their_seed(model: LanguageModel, tests: list[AssociationTest]) -> None:
    transform = parse_transform("random-mask-all,r=0.3")
    first, again, other = (score_with_causal_model(model, tests, transform=transform, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_sentence_without_tokens_is_named(model: LanguageModel, make: Maker) -> None:
    empty = make(0, "mother", "gender", "My mother came home", ("She cooked .", " ", "A door"), "intersentence")
    with pytest.raises(OffscriptError, match="intersentence-0-1: the sentence adds no token"):
        score_with_causal_model(model, [empty])


@pytest.mark.parametrize("sampler", [None, "greedy"])
def test_words_that_the_model_does_not_know_tie(model: LanguageModel, make: Maker, sampler: str | None) -> None:
    unknown = make(0, "mother", "gender", "His mother is BLANK", ("zealous", "quaint", "vapid"))
    transform = None if sampler is None else parse_transform(sampler)
    judged = judge([unknown], score_with_causal_model(model, [unknown], transform=transform))
    assert judged.stereotype_ties.all()
    assert judged.meaningful_ties.tolist() == [2]


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_two_that_the_model_cannot_tell_apart_tie(model: LanguageModel, make: Maker, batch_size: int) -> None:
    pair = make(0, "mother", "gender", "His mother is BLANK to me", ("zealous", "quaint", "caring"))
    judged = judge([pair], score_with_causal_model(model, [pair], batch_size=batch_size))
    assert judged.stereotype_ties.all()
    assert judged.meaningful_ties.tolist() == [0]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_a_sentence_that_the_others_go_on_from(model: LanguageModel, make: Maker, order: tuple[int, ...]) -> None:
    words = ["caring", "caring to", "caring to me"]
    nested = make(0, "mother", "gender", "His mother is BLANK", tuple(words[place] for place in order))
    scores = score_with_causal_model(model, [nested], batch_size=2)
    for association in nested.associations:
        expected = np.mean(token_log_probs(model, association.sentence))
        assert scores[association.id] == pytest.approx(expected, abs=1e-5)


def test_progress_counts_every_sentence(model: LanguageModel, tests: list[AssociationTest]) -> None:
    seen: list[int] = []
    score_with_causal_model(model, tests, batch_size=4, progress=seen.append)
    assert sum(seen) == 3 * len(tests)


def test_the_whole_development_set(development_set: list[AssociationTest]) -> None:
    texts = (separate_punctuation(found.sentence) for test in development_set for found in test.associations)
    model = transformer(WordVocabulary.count(texts, 1000, lower=True))
    judged = judge(development_set, score_with_causal_model(model, development_set))
    found = {entry.name: entry for entry in measure_stereotypes(judged, recipe={})}
    assert found["ss"].n == 4229
    assert 40 < found["ss"].value < 60
    assert 0 < found["icat"].value < 100
