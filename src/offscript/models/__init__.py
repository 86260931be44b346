"""Whatever predicts the next token, behind one contract. Nothing here draws, trains or measures."""

from offscript._catalogue import shipped_models
from offscript.models.approximated import approximate, draws_needed
from offscript.models.generator import TokenSource
from offscript.models.language_model import HistoryModel, LanguageModel, Scored, State
from offscript.models.registry import load_model

__all__ = [
    "HistoryModel",
    "LanguageModel",
    "Scored",
    "State",
    "TokenSource",
    "approximate",
    "draws_needed",
    "load_model",
    "shipped_models",
]
