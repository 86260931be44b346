"""How fast a model is on this machine: tokens per second, for budgets and estimates."""

import time
from collections.abc import Sequence

import torch

from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate
from offscript.sampling.transforms import parse_transform

ROWS, TOKENS = 32, 6
"""Of what is drawn to measure a pace: enough rows to use every core, as the questions do."""

_TRANSFORM = "nucleus,p=0.9"  # sorts the vocabulary, as most samplers do
_ENOUGH = 0.5  # seconds after which the first measurement stands


def measure_pace(models: Sequence[LanguageModel], *, rows: int = ROWS) -> float:
    """Tokens per second that pass through all the models, to two digits.

    Args:
        models: The model, and an oracle where there is one.
        rows: How many sequences go through a model at once, at most `ROWS`.

    Returns:
        The rate at which short sequences are drawn, sampling included.
    """
    seconds = sum(_seconds_per_token(model, min(rows, ROWS)) for model in models)
    return float(f"{1 / seconds:.2g}")


def _seconds_per_token(model: LanguageModel, rows: int) -> float:
    """By a first draw of few tokens, which also warms up, and a second one where that was fast."""
    fastest = float("inf")
    for tokens in (2, TOKENS):
        began = time.monotonic()
        with torch.inference_mode():
            generate(
                model, rows, tokens, seed=0, transform=parse_transform(_TRANSFORM), stop_at_end=False, batch_size=rows
            )
        spent = time.monotonic() - began
        fastest = min(fastest, spent / (rows * tokens))
    return max(fastest, 1e-9)
