"""Intersentence associations by a next-sentence head, on causal and masked models."""

import pytest
import torch

from offscript.corpora.associations import AssociationTest
from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.stereotypes.next_sentence import score_with_next_sentence_head
from offscript.models.hub import MaskedLanguageModel
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.next_sentence import CausalPairs, MaskedPairs, NextSentenceHead, PairEncoder, encoder_from
from offscript.models.tabular import Tabular


@pytest.fixture(params=["causal", "masked"])
def encoder(request: pytest.FixtureRequest, vocabulary: WordVocabulary, masked: MaskedLanguageModel) -> PairEncoder:
    if request.param == "masked":
        return MaskedPairs(masked)
    return CausalPairs(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval())


@pytest.fixture
def head(encoder: PairEncoder) -> NextSentenceHead:
    return NextSentenceHead(encoder, generator=torch.Generator().manual_seed(1)).eval()


def test_only_what_follows_a_context_is_scored(head: NextSentenceHead, tests: list[AssociationTest]) -> None:
    scores = score_with_next_sentence_head(head, tests)
    assert set(scores) == {found.id for test in tests[4:] for found in test.associations}
    context, follower = tests[4].context, tests[4].stereotype
    with torch.inference_mode():
        assert scores[follower.id] == pytest.approx(float(head([(context, follower.sentence)])), abs=1e-5)


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_batch_size_changes_nothing(head: NextSentenceHead, tests: list[AssociationTest], batch_size: int) -> None:
    expected = score_with_next_sentence_head(head, tests, batch_size=5)
    assert score_with_next_sentence_head(head, tests, batch_size=batch_size) == pytest.approx(expected, abs=1e-5)


def test_pairs_are_cut_to_their_longest(encoder: PairEncoder) -> None:
    with torch.inference_mode():
        short = encoder.pooled([("He is a chess player .", "He must be smart .")], 6)
        longer = encoder.pooled([("He is a chess player .", "He is a fool .")], 6)
    assert short.shape == (1, encoder.width)
    assert torch.isfinite(longer).all()


def test_causal_features_are_the_mean_over_both_sentences(vocabulary: WordVocabulary) -> None:
    model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
    row = torch.tensor([[vocabulary.start, *vocabulary.encode("he is a fool . he runs fast .")]])
    with torch.inference_mode():
        found = CausalPairs(model).pooled([("He is a fool.", "He runs fast.")], 50)
        assert torch.allclose(found, model.features(row).mean(dim=1), atol=1e-6)


def test_a_table_has_no_features() -> None:
    table = Tabular.from_json({"vocabulary": ["A"], "length": 1, "next": {"": [1.0]}})
    with pytest.raises(OffscriptError, match="no features"):
        encoder_from(table)
