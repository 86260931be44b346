"""Whatever predicts the next token, behind one contract. Nothing here draws, trains or measures."""

from offscript.models.hub import HubLanguageModel
from offscript.models.language_model import LanguageModel, Scored, State
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.registry import load_model, shipped_models
from offscript.models.storage import save
from offscript.models.tabular import Tabular
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings

__all__ = [
    "HubLanguageModel",
    "LSTMLanguageModel",
    "LSTMSettings",
    "LanguageModel",
    "Scored",
    "State",
    "Tabular",
    "TransformerLanguageModel",
    "TransformerSettings",
    "load_model",
    "save",
    "shipped_models",
]
