"""Whatever predicts the next token, behind one contract. Nothing here draws, trains or measures."""

from offscript._catalogue import shipped_models
from offscript.models.approximated import Approximated, approximate, draws_needed
from offscript.models.generator import Generator, TokenSource
from offscript.models.hub import HubLanguageModel
from offscript.models.language_model import HistoryModel, LanguageModel, Scored, State
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.registry import load_model
from offscript.models.storage import save
from offscript.models.tabular import Tabular
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings

__all__ = [
    "Approximated",
    "Generator",
    "HistoryModel",
    "HubLanguageModel",
    "LSTMLanguageModel",
    "LSTMSettings",
    "LanguageModel",
    "Scored",
    "State",
    "Tabular",
    "TokenSource",
    "TransformerLanguageModel",
    "TransformerSettings",
    "approximate",
    "draws_needed",
    "load_model",
    "save",
    "shipped_models",
]
