"""Retrieval models as Lucene 8 computes them (BE as Lucene 7 did): what a term's occurrences in a document are worth.

tf is the term's frequency in the document, dl the document's length; a `Term` holds the collection's side: N documents
of T tokens, df documents with the term, F occurrences of it. lg is the logarithm to base 2. A query's score for a
document is the sum over its terms. Names are such as `bm25,k1=0.9,b=0.4`, `dfr-be-b-z`, `ib-ll` or `lm-dirichlet,mu=9`.
`dense` goes by the vectors of an index, `hybrid` by these and the default model, `hybrid+bm25` by these and that one.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from offscript._specification import Setting, nearest, parse_specification
from offscript._types import FloatArray
from offscript.errors import OffscriptError

lg = np.log2
DEFAULT_MODEL = "dfr-be-b-z"
TUNED_Z = 1.0
"""Of the default model: the thesis's choice is "a tuned DFR", and FEVER's development claims want this in the place of
Lucene's 0.3, which every other `-z` model keeps; see docs/findings.md."""


@dataclass(frozen=True)
class Term:
    """A term's standing in the collection."""

    documents: int
    tokens: int
    document_frequency: int
    total_frequency: int

    @property
    def average_length(self) -> np.float32:
        """Tokens a document."""
        return np.float32(self.tokens / self.documents)


class Similarity(Protocol):
    """A retrieval model."""

    def score(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        """What a term is worth in documents of length `dl` that hold it `tf` times."""


class Normalization(Protocol):
    """Term frequency made comparable between documents of different lengths."""

    def normalize(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        """The normalised frequency, tfn."""


@dataclass(frozen=True)
class H1:
    """tf · c · avg / dl: a uniform density of the term."""

    c: float = 1.0

    def normalize(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        return tf * self.c * (float(term.average_length) / dl)


@dataclass(frozen=True)
class H2:
    """tf · lg(1 + c · avg / dl): a density that falls with length."""

    c: float = 1.0

    def normalize(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        return tf * lg(1 + self.c * float(term.average_length) / dl)


@dataclass(frozen=True)
class H3:
    """μ · (tf + μ · (F + 1) / (T + 1)) / (dl + μ): a Dirichlet prior."""

    mu: float = 800.0

    def normalize(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        prior = np.float32((term.total_frequency + 1) / (term.tokens + 1))
        return (tf + self.mu * float(prior)) / (dl + self.mu) * self.mu


@dataclass(frozen=True)
class Z:
    """tf · (avg / dl)^z: a Zipfian relation."""

    z: float = 0.30

    def normalize(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        return tf * (float(term.average_length) / dl) ** float(np.float32(self.z))


@dataclass(frozen=True)
class BM25:
    """idf · tf / (tf + k1 · (1 − b + b · dl / avg)) in single precision (Robertson et al., 1994)."""

    k1: float = 1.2
    b: float = 0.75

    def score(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        df = term.document_frequency
        idf = np.float32(math.log(1 + (term.documents - df + 0.5) / (df + 0.5)))
        k1, b = np.float32(self.k1), np.float32(self.b)
        inverse = 1 / (k1 * ((1 - b) + b * dl.astype(np.float32) / term.average_length))
        return (idf - idf / (1 + tf.astype(np.float32) * inverse)).astype(np.float64)


@dataclass(frozen=True)
class Classic:
    """√tf · (ln((N + 1) / (df + 1)) + 1) / √dl: Lucene's tf·idf."""

    def score(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        idf = math.log((term.documents + 1) / (term.document_frequency + 1)) + 1
        return np.sqrt(tf) * idf / np.sqrt(dl)


@dataclass(frozen=True)
class DFI:
    """Divergence from independence (Kocabaş et al., 2014): lg(1 + m) of how far tf exceeds the expected frequency."""

    measure: Literal["standardized", "saturated", "chisquared"] = "standardized"

    def score(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        expected = (term.total_frequency + 1) * dl / (term.tokens + 1)
        excess = np.maximum(tf - expected, 0.0)
        match self.measure:
            case "standardized":
                measured = excess / np.sqrt(expected)
            case "saturated":
                measured = excess / expected
            case "chisquared":
                measured = excess**2 / expected
        return lg(1 + measured)


@dataclass(frozen=True)
class DFR:
    """Divergence from randomness (Amati and Van Rijsbergen, 2002): basic model × after-effect on normalised tf."""

    basic: Literal["be", "g", "if", "in", "ine"] = "be"
    after_effect: Literal["b", "l"] = "b"
    normalization: Normalization = field(default_factory=Z)

    def score(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        tfn = self.normalization.normalize(tf, dl, term)
        risk = (term.total_frequency + 2) / (term.document_frequency + 1) if self.after_effect == "b" else 1.0
        match self.basic:
            case "be":
                return risk * _bose_einstein(tfn, term) / (tfn + 1)
            case "g":
                return risk * _geometric(tfn, term)
            case _:
                return risk * _inverse_frequency(self.basic, term) * (1 - 1 / (1 + tfn))


def _bose_einstein(tfn: FloatArray, term: Term) -> FloatArray:
    """Limiting form of the Bose–Einstein model."""
    frequency = term.total_frequency + 1 + tfn
    documents = frequency + term.documents

    def stirling(n: FloatArray, m: FloatArray) -> FloatArray:
        return (m + 0.5) * lg(n / m) + (n - m) * lg(n)

    return (
        -lg((documents - 1) * np.e)
        + stirling(documents + frequency - 1, documents + frequency - tfn - 2)
        - stirling(frequency, frequency - tfn)
    )


def _geometric(tfn: FloatArray, term: Term) -> FloatArray:
    """Geometric approximation of Bose–Einstein, already times tfn / (1 + tfn)."""
    rate = (term.total_frequency + 1) / (term.documents + term.total_frequency + 1)
    once, always = math.log2(1 + rate), math.log2((1 + rate) / rate)
    return always - (always - once) / (1 + tfn)


def _inverse_frequency(basic: str, term: Term) -> float:
    """Information of a term by its frequency (if), document frequency (in) or expected document frequency (ine)."""
    documents, frequency = term.documents, term.total_frequency
    match basic:
        case "if":
            return math.log2(1 + (documents + 1) / (frequency + 0.5))
        case "in":
            return math.log2((documents + 1) / (term.document_frequency + 0.5))
        case _:
            expected = documents * (1 - ((documents - 1) / documents) ** frequency)
            return math.log2((documents + 1) / (expected + 0.5))


@dataclass(frozen=True)
class InformationBased:
    """Information-based models (Clinchant and Gaussier, 2010): log-logistic or smoothed power law of normalised tf."""

    distribution: Literal["ll", "spl"] = "ll"
    mean: Literal["df", "ttf"] = "ttf"
    normalization: Normalization = field(default_factory=H3)

    def score(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        tfn = self.normalization.normalize(tf, dl, term)
        rate = self._rate(term)
        if self.distribution == "ll":
            return np.log((tfn + rate) / rate)
        return -np.log((rate ** (tfn / (tfn + 1)) - rate) / (1 - rate))

    def _rate(self, term: Term) -> float:
        """λ, moved off 1, where both distributions break down."""
        count = term.total_frequency if self.mean == "ttf" else term.document_frequency
        rate = np.float32((count + 1) / (term.documents + 1))
        return float(np.nextafter(rate, np.float32(0)) if rate == 1 else rate)


@dataclass(frozen=True)
class Dirichlet:
    """Language model with a Dirichlet prior (Zhai and Lafferty, 2001): ln(1 + tf / (μp)) + ln(μ / (dl + μ)), or 0."""

    mu: float = 2000.0

    def score(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        score: FloatArray = np.log(1 + tf / (self.mu * _probability(term))) + np.log(self.mu / (dl + self.mu))
        return score.clip(min=0.0)


@dataclass(frozen=True)
class JelinekMercer:
    """Language model mixed with the collection's (Zhai and Lafferty, 2001): ln(1 + ((1 − λ) tf / dl) / (λp))."""

    weight: float = 0.1

    def score(self, tf: FloatArray, dl: FloatArray, term: Term) -> FloatArray:
        return np.log(1 + ((1 - self.weight) * tf / dl) / (self.weight * _probability(term)))


def _probability(term: Term) -> float:
    """The collection's smoothed probability of the term, p."""
    return (term.total_frequency + 1) / (term.tokens + 1)


_NORMALIZATIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "h1": (H1, "c"),
    "h2": (H2, "c"),
    "h3": (H3, "mu"),
    "z": (Z, "z"),
}
_POSITIVE = {
    "k1": "0 or more",
    "b": "0 to 1",
    "c": "above 0",
    "mu": "above 0",
    "z": "above 0",
    "lambda": "between 0 and 1",
}


DENSE, HYBRID = "dense", "hybrid"


def model_names() -> list[str]:
    """Every name that a searcher knows."""
    return [*_BUILDERS, DENSE, HYBRID]


def is_dense(text: str) -> bool:
    """Whether a model goes by vectors."""
    return text in (DENSE, HYBRID) or text.startswith(f"{HYBRID}+")


def lexical_part(text: str) -> str:
    """The model by words that a hybrid one is fused with; empty for `dense`."""
    return "" if text == DENSE else text.removeprefix(HYBRID).removeprefix("+") or DEFAULT_MODEL


def describe_model(name: str) -> str:
    """A sentence on a model, for lists."""
    about = {
        DENSE: "Cosine of the query's vector with every document's (offscript index --vectors).",
        HYBRID: "The default model and dense, fused by reciprocal rank; hybrid+NAME fuses another with dense.",
    }
    return about.get(name) or (type(retrieval_model(name)).__doc__ or "").partition("\n")[0]


def check_model(text: str) -> None:
    """Refuse a name that no searcher knows."""
    if text != DENSE:
        retrieval_model(lexical_part(text) if is_dense(text) else text)


def retrieval_model(text: str) -> Similarity:
    """The similarity that a name, with settings or without, stands for."""
    specification = parse_specification(text)
    if specification.name not in _BUILDERS:
        raise OffscriptError(
            f"unknown retrieval model {specification.name!r}", next=nearest(specification.name, model_names())
        )
    build, known = _BUILDERS[specification.name]
    for key, value in specification.settings.items():
        if key not in known:
            raise OffscriptError(
                f"{specification.name} has no setting {key!r}", next=nearest(key, known) if known else "leave it out"
            )
        _refuse_out_of_range(text, key, value)
    return build({key: float(value) for key, value in specification.settings.items()})


def _refuse_out_of_range(text: str, key: str, value: Setting) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    bounds = {"k1": (0, float("inf")), "b": (0, 1)}
    if number and key in bounds and bounds[key][0] <= float(value) <= min(bounds[key][1], 1e9):
        return
    if number and key not in bounds and 0 < float(value) < (1 if key == "lambda" else 1e9):
        return
    raise OffscriptError(f"cannot use {key}={value} in {text!r}", next=f"give a number {_POSITIVE[key]}")


def _normalized(family: Callable[..., Similarity], *parts: str, normalization: str) -> "_Builder":
    make, setting = _NORMALIZATIONS[normalization]
    return (lambda settings: family(*parts, make(*settings.values()))), (setting,)


_Builder = tuple[Callable[[dict[str, float]], Similarity], tuple[str, ...]]
_BUILDERS: dict[str, _Builder] = {
    "bm25": (lambda settings: BM25(**settings), ("k1", "b")),
    "classic": (lambda settings: Classic(), ()),
    "dfi-standardized": (lambda settings: DFI("standardized"), ()),
    "dfi-saturated": (lambda settings: DFI("saturated"), ()),
    "dfi-chisquared": (lambda settings: DFI("chisquared"), ()),
    **{
        f"dfr-{basic}-{effect}-{normalization}": _normalized(DFR, basic, effect, normalization=normalization)
        for basic, effect, normalization in itertools.product(
            ("be", "g", "if", "in", "ine"), ("b", "l"), _NORMALIZATIONS
        )
    },
    DEFAULT_MODEL: (lambda settings: DFR("be", "b", Z(settings.get("z", TUNED_Z))), ("z",)),
    "ib-ll": _normalized(InformationBased, "ll", "ttf", normalization="h3"),
    "ib-spl": _normalized(InformationBased, "spl", "ttf", normalization="h3"),
    **{
        f"ib-{distribution}-{mean}-{normalization}": _normalized(
            InformationBased, distribution, mean, normalization=normalization
        )
        for distribution, mean, normalization in itertools.product(("ll", "spl"), ("df", "ttf"), _NORMALIZATIONS)
    },
    "lm-dirichlet": (lambda settings: Dirichlet(*settings.values()), ("mu",)),
    "lm-jelinek-mercer": (lambda settings: JelinekMercer(*settings.values()), ("lambda",)),
}
