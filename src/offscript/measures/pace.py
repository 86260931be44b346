"""How fast a model is on this machine: tokens per second, for budgets and estimates."""

import time
from collections.abc import Sequence

from offscript.models.language_model import LanguageModel
from offscript.models.sources import Seq2SeqLanguageModel, Sources
from offscript.sampling.generation import generate
from offscript.sampling.transforms import parse_transform

FEW, MANY = (32, 6), (256, 16)
"""Rows and tokens of what is drawn to measure a pace: of slow models as few as use every core, of fast ones a batch."""

_FAST = 0.5  # seconds in which a fast model draws two tokens of few rows
_TRANSFORM = "nucleus,p=0.9"  # sorts the vocabulary, as most samplers do


def measure_pace(models: Sequence[LanguageModel], *, rows: int = MANY[0]) -> float:
    """Tokens per second that pass through all the models, to two digits.

    Args:
        models: The model, and an oracle where there is one.
        rows: How many sequences go through a model at once.

    Returns:
        The rate at which short sequences are drawn, sampling included.
    """
    seconds = sum(_seconds_per_token(model, rows) for model in models)
    return float(f"{1 / seconds:.2g}")


def _seconds_per_token(model: LanguageModel, rows: int) -> float:
    """By a first draw of two tokens, which also warms up, and a second one; a model with an encoder reads ten."""
    if (known := model.pace) is not None:
        return 1 / known
    if isinstance(model, Seq2SeqLanguageModel):
        model = model.given(Sources.of([[0] * 10]))
    first = _draw(model, min(rows, FEW[0]), 2)
    most, tokens = MANY if first < _FAST else FEW
    rows = min(rows, most)
    return max(_draw(model, rows, tokens) / (rows * tokens), 1e-9)


def _draw(model: LanguageModel, rows: int, tokens: int) -> float:
    """Seconds that drawing takes."""
    began = time.monotonic()
    transform = parse_transform(_TRANSFORM)
    generate(model, rows, tokens, seed=0, transform=transform, stop_at_end=False, batch_size=rows)
    return time.monotonic() - began
