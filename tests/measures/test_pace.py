"""Tokens per second, by which audits of large models are planned."""

import time

import pytest
import torch
from torch import Tensor

from offscript.corpora.pieces import PieceVocabulary
from offscript.corpora.vocabularies import WordVocabulary
from offscript.measures.pace import FEW, MANY, measure_pace
from offscript.models.encoder_decoder import EncoderDecoder, EncoderDecoderSettings
from offscript.models.language_model import HistoryModel


class Paced(HistoryModel):
    """Takes so many seconds per step, and counts the rows of each."""

    def __init__(self, seconds: float) -> None:
        self.vocabulary = WordVocabulary(["a", "b", "c"], end=None, unknown=None)
        self.name, self.seconds, self.rows = "paced", seconds, list[int]()

    def predict(self, histories: Tensor) -> Tensor:
        time.sleep(self.seconds)
        self.rows.append(len(histories))
        return torch.full((len(histories), 3), 1 / 3).log()


def test_a_slow_model_is_measured_on_few_rows() -> None:
    slow = Paced(0.3)
    pace = measure_pace([slow])
    rows, tokens = FEW
    assert slow.rows == [rows] * (2 + tokens)
    assert 0.3 * rows / 0.3 < pace <= float(f"{rows / 0.3:.2g}")
    assert pace == float(f"{pace:.2g}")


def test_a_fast_model_is_measured_on_a_batch_and_two_take_longer_than_one() -> None:
    fast = Paced(0.01)
    alone = measure_pace([fast])
    assert fast.rows[-1] == MANY[0]
    assert measure_pace([fast, Paced(0.01)]) < alone
    assert measure_pace([fast], rows=4) == pytest.approx(4 / 0.01, rel=0.7)


def test_a_model_with_an_encoder_is_measured_on_made_up_sources() -> None:
    vocabulary = PieceVocabulary.learn(["a red dog", "a very old woman runs"] * 3, 300)
    small, large = (
        EncoderDecoder(
            vocabulary,
            EncoderDecoderSettings(width=width, inner=width, encoder_layers=2, decoder_layers=2, heads=2),
        ).eval()
        for width in (8, 512)
    )
    paces = [measure_pace([each], rows=16) for each in (small, large)]
    assert paces[0] > paces[1] > 0
