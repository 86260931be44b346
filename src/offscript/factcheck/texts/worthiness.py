"""Which sentences of a text are worth checking: those that state something of the world, by how they are written."""

import functools
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck._logistic import Logistic
from offscript.factcheck.inference.claim_kinds import STATEMENT, claim_kind
from offscript.factcheck.language import language_scores

ASSET = Path(__file__).parents[2] / "assets" / "worthiness" / "weights.json"
LABELS = ("other", "claim")
THRESHOLD = 0.35  # below one half: a claim that is missed is never checked, one too many costs a tenth of a second
MOST = 4.0  # counts beyond it say nothing more
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_PATTERNS = {
    "first_person": r"\b(?:i|we|me|us|my|our|mine|ours|i['’]\w+|we['’]\w+)\b",
    "second_person": r"\b(?:you|your|yours|you['’]\w+)\b",
    "obligation": r"\b(?:should|must|ought|need to|needs to|have to|has to|let['’]s)\b",
    "possibility": r"\b(?:may|might|could|would|perhaps|maybe|probably|seems?|appears?)\b",
    "number": r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|million|billion|half|first|"
    r"second)\b",
    "year": r"\b(?:1[0-9]|20)\d\d\b",
    "being": r"\b(?:is|are|was|were|has|had|have|became|remains?)\b",
    "past": r"\b\w{3,}ed\b|\b(?:won|made|took|went|wrote|built|led|held|began|born|sold|said|came|gave|found|ran|"
    r"grew)\b",
    "relation": r"\b(?:in|of|by|from|between|during|since|until|after|before)\s+(?:the\s+)?\w+",
    "evaluation": r"\b(?:good|bad|best|worst|better|great|nice|awful|terrible|beautiful|love|hate|enjoy\w*|amazing|"
    r"excellent|boring|fun|funny|wonderful|horrible|recommend\w*|worth|sadly|fortunately|interesting|important)\b",
    "contraction": r"\b\w+['’](?:s|t|re|ve|ll|d|m)\b",
}
_FOUND = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _PATTERNS.items()}
FEATURES = (*_FOUND, "subjective", "length", "short", "question", "exclamation", "no_claim_kind", "no_verb")


def features_of(sentence: str) -> list[float]:
    """How a sentence is written; none of it depends on capitals, or on what the sentence is about."""
    words = _WORD.findall(sentence)
    found = {name: min(len(pattern.findall(sentence)), MOST) for name, pattern in _FOUND.items()}
    extra = {
        "subjective": language_scores(sentence).get("subjective", 0.0),
        "length": math.log1p(len(words)),
        "short": float(len(words) < 4),
        "question": float(sentence.rstrip(" \"'”’)").endswith("?")),
        "exclamation": float("!" in sentence),
        "no_claim_kind": float(claim_kind(sentence) != STATEMENT),
        "no_verb": float(not found["being"] and not found["past"]),
    }
    return [{**found, **extra}[name] for name in FEATURES]


def table_of(sentences: Sequence[str]) -> FloatArray:
    """Features of sentences; [sentences, features]."""
    return np.array([features_of(each) for each in sentences], dtype=np.float64).reshape(len(sentences), len(FEATURES))


@functools.cache
def worthiness_model() -> Logistic:
    """The weights that ship, fitted by `tools/fit_worthiness.py`."""
    return Logistic.from_json(json.loads(ASSET.read_text(encoding="utf-8")), LABELS, FEATURES)


def worthiness(sentences: Sequence[str]) -> FloatArray:
    """The probability of each sentence that it states something that can be checked; [sentences]."""
    if not sentences:
        return np.zeros(0)
    return worthiness_model().probabilities(table_of(sentences))[:, LABELS.index("claim")]


def is_worth_checking(sentence: str, probability: float) -> bool:
    """Whether a sentence of that probability is checked; what is a question, a command or an opinion never is."""
    return probability >= THRESHOLD and claim_kind(sentence) == STATEMENT
