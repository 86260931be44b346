"""A baseline that lays claim and sentence side by side: what they share, what differs, and what denies.

A sentence that says all the claim says agrees. One that says the same of the same subject, but with another name or
number where the claim has its own, disagrees; so does one that denies what the claim asserts.
"""

import functools
import json
from collections.abc import Sequence
from importlib import resources

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck._logistic import Logistic
from offscript.factcheck.stance.stance import STANCES, UNRELATED
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
    "one thing differs",
    "one thing differs, another stands there",
    "only values differ",
    "only a few words differ",
    "negation differs",
    "claim negated",
    "antonym",
    "claim exclusive",
    "length",
    "said besides",
    "all names",
    "all names and words",
    "all names and numbers",
    "name and words, other value",
)
_FIRST, _SECOND = np.triu_indices(len(FEATURES))
TERMS = (*FEATURES, *(f"{FEATURES[one]} × {FEATURES[other]}" for one, other in zip(_FIRST, _SECOND, strict=True)))
"""What the weights belong to: the features and the products of any two."""

WEIGHTS = {"word": 1.0, "name": 2.0, "number": 2.0}
LONG = 40  # content words of a long sentence
FEW = 3


class LexicalStance:
    """Stance by words alone: no network, some ten thousand sentences a second."""

    name = "lexical"

    def __init__(self, weights: Logistic | None = None) -> None:
        self._weights = weights or shipped_weights()

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        """Stance probabilities [sentences, 4]."""
        if not sentences:
            return np.zeros((0, len(STANCES)))
        table = sentence_features(claim, sentences)
        stances = self._weights.probabilities(with_products(table))
        shares_nothing = table[:, FEATURES.index("coverage")] == 0
        stances[shares_nothing | (not tokens_of(claim).content)] = UNRELATED.probabilities
        return stances

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        """Each document's sentences averaged, weighted by the square of how related they are; [documents, 4]."""
        ends = np.cumsum([len(sentences) for sentences in documents], dtype=np.int64)
        every = self.of_sentences(claim, [sentence for sentences in documents for sentence in sentences])
        return np.array([_averaged(part) for part in np.split(every, ends[:-1])]).reshape(-1, len(STANCES))


def sentence_features(claim: str, sentences: Sequence[str]) -> FloatArray:
    """How each sentence stands to the claim, by `FEATURES`; [sentences, features], all from 0 to 1."""
    said = tokens_of(claim)
    rows = [list(_features(said, tokens_of(sentence)).values()) for sentence in sentences]
    return np.array(rows).reshape(-1, len(FEATURES))


def with_products(table: FloatArray) -> FloatArray:
    """The features [n, features] and the products of any two, in the order of `TERMS`; [n, terms]."""
    return np.concatenate([table, table[:, _FIRST] * table[:, _SECOND]], axis=1)


@functools.cache
def shipped_weights() -> Logistic:
    """The weights that come with the package."""
    text = (resources.files("offscript.assets") / "stance-lexical" / "weights.json").read_text(encoding="utf-8")
    return Logistic.from_json(json.loads(text), STANCES, TERMS)


def _averaged(stances: FloatArray) -> FloatArray:
    if not len(stances):
        return np.array(UNRELATED.probabilities)
    related = (1 - stances[:, -1]) ** 2 + 1e-9
    mean: FloatArray = related @ stances / related.sum()
    return mean


def _features(claim: Tokens, sentence: Tokens) -> dict[str, float]:
    """By name, in the order of `FEATURES`."""
    said = [_is_said(token, sentence) for token in claim.content]
    missing = [token for token, there in zip(claim.content, said, strict=True) if not there]
    asked, absent = _by_kind(claim.content), _by_kind(missing)
    words, names, numbers = (_share(asked[kind] - absent[kind], asked[kind]) for kind in WEIGHTS)
    coverage = _share(_weight(claim.content) - _weight(missing), _weight(claim.content))
    subject = float(said[:1] == [True])
    other_name = float(absent["name"] > 0 and _has_other_name(claim, sentence))
    other_number = float(absent["number"] > 0 and _has_other_number(missing, claim, sentence))
    other = max(other_name, other_number)
    one_run = float(_is_one_run(said))
    besides = [token for token in sentence.content if not _is_said(token, claim)]
    values_differ = _only_values_differ(missing, besides) and any(said)
    words_differ = bool(missing) and 0 < len(besides) <= FEW and any(said) and not values_differ
    return {
        "coverage": coverage,
        "covered": float(bool(claim.content) and not missing),
        "words": words,
        "names": names,
        "numbers": numbers,
        "subject": subject,
        "neighbours": _share(len(claim.pairs & sentence.pairs), len(claim.pairs)),
        "other name": other_name,
        "other number": other_number,
        "other value of the subject": other * subject,
        "other value, same words": other * words * float(any(said)),
        "one thing differs": one_run,
        "one thing differs, another stands there": one_run
        * other
        * float(len(missing) == absent["name"] + absent["number"]),
        "only values differ": float(values_differ),
        "only a few words differ": float(words_differ),
        "negation differs": float(claim.negated != sentence.negated) * coverage,
        "claim negated": float(claim.negated) * coverage,
        "antonym": float(any(antonyms().get(token.key, frozenset()) & sentence.keys for token in missing)) * coverage,
        "claim exclusive": float(claim.exclusive) * coverage,
        "length": min(len(sentence.content), LONG) / LONG,
        "said besides": len(besides) / max(len(sentence.content), 1),
        "all names": float(names == 1),
        "all names and words": float(names == 1 and words == 1),
        "all names and numbers": float(names == 1 and numbers == 1),
        "name and words, other value": float(
            asked["name"] > absent["name"] and words == 1 and bool(missing) and bool(besides)
        ),
    }


def _by_kind(tokens: Sequence[Token]) -> dict[str, int]:
    return {kind: sum(token.kind == kind for token in tokens) for kind in WEIGHTS}


def _only_values_differ(missing: Sequence[Token], besides: Sequence[Token]) -> bool:
    """Whether each says names or numbers that the other does not, and nothing else stands between them."""
    both = (*missing, *besides)
    return bool(missing) and bool(besides) and all(token.kind != "word" for token in both)


def _is_one_run(said: Sequence[bool]) -> bool:
    """Whether the claim's missing words stand together and at least two others are there: one thing is told anew."""
    absent = [place for place, there in enumerate(said) if not there]
    return bool(absent) and len(said) - len(absent) >= 2 and absent[-1] - absent[0] + 1 == len(absent)


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
