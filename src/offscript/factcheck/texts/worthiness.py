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
from offscript.factcheck.tagging import default_tagger

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
FEATURES = (
    *_FOUND,
    "subjective",
    "length",
    "short",
    "question",
    "exclamation",
    "no_claim_kind",
    "no_verb",
    "named_subject",
)
_VERBS, _WITHIN_NAMES = ("VERB", "AUX"), ("PROPN", "ADP", "CCONJ", "NUM", "PART")
FEW = 5  # words of a sentence whose name and verb decide
SUBJECT = 6  # words of a name that a sentence begins with


def features_of(sentence: str) -> list[float]:
    """How a sentence is written, and whether it says something of a name; none of it depends on which name."""
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
        "named_subject": float(_has_named_subject(sentence)),
    }
    return [{**found, **extra}[name] for name in FEATURES]


def _has_named_subject(sentence: str) -> bool:
    """Whether a sentence begins with a name and a verb follows: `Germany borders Denmark`.

    The tagger takes some verbs between two names for nouns; where the sentence has no other verb, such a word is one.
    """
    tokens = [token for token in default_tagger().tag([sentence])[0] if token.tag not in ("DET", "PUNCT")]
    verbless = not any(token.tag in _VERBS for token in tokens)
    for place, token in enumerate(tokens[: SUBJECT + 1]):
        if place == 0 or token.tag in _WITHIN_NAMES:
            if place == 0 and token.tag != "PROPN":
                return False
            continue
        guessed = verbless and token.tag == "NOUN" and token.text.endswith("s") and place + 1 < len(tokens)
        return token.tag in _VERBS or guessed
    return False


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
    """Whether a sentence of that probability is checked; what is a question, a command or an opinion never is.

    Sentences of few words are mostly no claims, and the weights say so; one that says something of a name is all the
    same: `Germany borders Denmark`.
    """
    if claim_kind(sentence) != STATEMENT:
        return False
    return probability >= THRESHOLD or (len(_WORD.findall(sentence)) <= FEW and _states_of_a_name(sentence))


def _states_of_a_name(sentence: str) -> bool:
    personal = any(_FOUND[name].search(sentence) for name in ("first_person", "second_person", "evaluation"))
    return not personal and "!" not in sentence and _has_named_subject(sentence)
