"""A baseline that lays claim and sentence side by side: what they share, what differs, and what denies.

A sentence that says all the claim says agrees. One that says the same of the same subject, but with another name or
number where the claim has its own, disagrees; so does one that denies what the claim asserts.
"""

import functools
import json
from collections.abc import Sequence
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from offscript.factcheck._logistic import FloatArray, Logistic
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.tokens import Token, Tokens, same_number, stem, tokens_of

FEATURES = (
    "coverage",
    "covered",
    "words",
    "names",
    "numbers",
    "subject",
    "neighbours",
    "other name",
    "other number",
    "other value of the subject",
    "other value, same words",
    "negation differs",
    "claim negated",
    "antonym",
    "claim exclusive",
    "length",
)
WEIGHTS = {"word": 1.0, "name": 2.0, "number": 2.0}
LONG = 40  # content words of a long sentence


class LexicalStance:
    """Stance by words alone: no network, some ten thousand sentences a second."""

    name = "lexical"

    def __init__(self, weights: Logistic | None = None) -> None:
        self._weights = weights or shipped_weights()

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        """Stance probabilities [sentences, 4]."""
        if not sentences:
            return np.zeros((0, len(STANCES)))
        return self._weights.probabilities(sentence_features(claim, sentences))

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        """Each document's sentences averaged, weighted by the square of how related they are; [documents, 4]."""
        ends = np.cumsum([len(sentences) for sentences in documents], dtype=np.int64)
        every = self.of_sentences(claim, [sentence for sentences in documents for sentence in sentences])
        return np.array([_averaged(part) for part in np.split(every, ends[:-1])]).reshape(-1, len(STANCES))


def sentence_features(claim: str, sentences: Sequence[str]) -> FloatArray:
    """How each sentence stands to the claim, by `FEATURES`; [sentences, features], all from 0 to 1."""
    said = tokens_of(claim)
    return np.array([_features(said, tokens_of(sentence)) for sentence in sentences]).reshape(-1, len(FEATURES))


@functools.cache
def shipped_weights() -> Logistic:
    """The weights that come with the package."""
    text = (resources.files("offscript.assets") / "stance-lexical" / "weights.json").read_text(encoding="utf-8")
    return Logistic.from_json(json.loads(text)["weights"], STANCES, FEATURES)


def _averaged(stances: FloatArray) -> FloatArray:
    if not len(stances):
        return np.array([0.0, 0.0, 0.0, 1.0])
    related = (1 - stances[:, -1]) ** 2 + 1e-9
    mean: FloatArray = related @ stances / related.sum()
    return mean


def _features(claim: Tokens, sentence: Tokens) -> list[float]:
    missing = [token for token in claim.content if not _is_said(token, sentence)]
    absent = {kind: sum(token.kind == kind for token in missing) for kind in WEIGHTS}
    asked = {kind: sum(token.kind == kind for token in claim.content) for kind in WEIGHTS}
    words, names, numbers = (_share(asked[kind] - absent[kind], asked[kind]) for kind in WEIGHTS)
    coverage = _share(_weight(claim.content) - _weight(missing), _weight(claim.content))
    subject = float(bool(claim.content) and claim.content[0] not in missing)
    other_name = float(absent["name"] > 0 and _has_other_name(claim, sentence))
    other_number = float(absent["number"] > 0 and _has_other_number(missing, claim, sentence))
    other = max(other_name, other_number)
    return [
        coverage,
        float(bool(claim.content) and not missing),
        words,
        names,
        numbers,
        subject,
        _share(len(claim.pairs & sentence.pairs), len(claim.pairs)),
        other_name,
        other_number,
        other * subject,
        other * words * (names if asked["name"] > absent["name"] or not asked["name"] else 0.0),
        float(claim.negated != sentence.negated) * coverage,
        float(claim.negated),
        float(any(antonyms().get(token.key, frozenset()) & sentence.keys for token in missing)),
        float(claim.exclusive),
        min(len(sentence.content), LONG) / LONG,
    ]


def _is_said(token: Token, sentence: Tokens) -> bool:
    if token.kind == "number":
        return any(same_number(token, number) for number in sentence.numbers)
    return token.key in sentence.keys


def _has_other_name(claim: Tokens, sentence: Tokens) -> bool:
    return any(token.kind == "name" and token.key not in claim.keys for token in sentence.content)


def _has_other_number(missing: Sequence[Token], claim: Tokens, sentence: Tokens) -> bool:
    """Whether the sentence has a number of the missing one's sort, years or others, that is not the claim's."""
    sorts = {token.is_year for token in missing if token.kind == "number"}
    return any(number.is_year in sorts and number.key not in claim.keys for number in sentence.numbers)


def _share(part: float, whole: float) -> float:
    """What is asked for and found, 1 where nothing is asked for."""
    return part / whole if whole else 1.0


def _weight(tokens: Sequence[Token]) -> float:
    return sum(WEIGHTS[token.kind] for token in tokens)


@functools.cache
def antonyms() -> dict[str, frozenset[str]]:
    """For every word of the list the words that exclude it, all as stems."""
    text = (resources.files("offscript.factcheck.stance") / "antonyms.txt").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            one, other = map(stem, line.split())
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return {word: frozenset(others - {word}) for word, others in found.items()}
