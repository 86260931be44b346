"""Where documents come from: providers that find them, and how factual their publishers are."""

from enum import Enum
from typing import NamedTuple, Protocol

from offscript.factcheck.documents.document import Document


class Kind(str, Enum):
    """How factual the publisher of a document is held to be; `unrated` where nobody said."""

    wikipedia = "wikipedia"
    high = "high"
    mixed = "mixed"
    low = "low"
    unrated = "unrated"


class Scale(str, Enum):
    """What a provider's scores are: a retrieval model's, or 1 / (1 + place) where an engine tells places alone."""

    scores = "scores"
    ranks = "ranks"


class Found(NamedTuple):
    """A document that a provider found for a query, with the provider's own score: higher is better."""

    document: Document
    score: float
    kind: Kind


class Provider(Protocol):
    """Finds documents for a query of words: a local index, or a search engine on the web."""

    def find(self, query: str, k: int) -> list[Found]:
        """At most k documents, best first; none if nothing matches."""
