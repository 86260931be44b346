"""Documents from each kind of source separately, re-ranked within their kind (sections 2.2.1 and 2.2.2)."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple

from offscript.factcheck.queries import search
from offscript.factcheck.retrieval.reranking import rerank_by_title
from offscript.factcheck.sources import Found, Kind, Provider, Scale

FETCHED = 50
"""Documents of each kind that are re-ranked, as in lines 14 and 15 of Table 2.1."""
SIDE_BY_SIDE = 8
Rerank = Callable[[str, Sequence[Found]], list[Found]]


class Retrieved(NamedTuple):
    """The documents of every kind that has any, best first, and the score of the best one on each scale."""

    documents: dict[Kind, list[Found]]
    best: dict[Scale, float]


@dataclass(frozen=True)
class KindOfProvider:
    """One kind of source of a provider, as a provider of its own; `find` is what query relaxation asks."""

    provider: Provider
    kind: Kind

    @property
    def scale(self) -> Scale:
        """What the provider's scores are."""
        return getattr(self.provider, "scale", Scale.scores)

    def find(self, query: str, k: int) -> list[Found]:
        """The k best documents of this kind: the provider searches the kind alone if it can."""
        restricted = getattr(self.provider, "find_kind", None)
        if restricted is not None:
            found: list[Found] = restricted(query, k, self.kind)
            return found
        return [each for each in self.provider.find(query, k) if each.kind is self.kind]


@dataclass(frozen=True)
class RanksAlone:
    """A provider that tells the places of its documents and not their scores, as search engines on the web do."""

    provider: Provider
    scale = Scale.ranks

    def find(self, query: str, k: int) -> list[Found]:
        """The provider's documents; the score is one over the place."""
        return [each._replace(score=1 / (1 + place)) for place, each in enumerate(self.provider.find(query, k))]

    def find_kind(self, query: str, k: int, kind: Kind) -> list[Found]:
        """The same of one kind of source."""
        found = KindOfProvider(self.provider, kind).find(query, k)
        return [each._replace(score=1 / (1 + place)) for place, each in enumerate(found)]


def find_by_kind(
    providers: Sequence[Provider],
    claim: str,
    query: Sequence[str],
    k: int,
    *,
    kinds: Sequence[Kind] = tuple(Kind),
    rerank: Rerank = rerank_by_title,
) -> Retrieved:
    """Search every kind of source of every provider by itself, and re-rank within it (eq. 2.1).

    Scores are compared only within one kind of one provider, so web pages and local documents each have their places:
    where several providers have documents of a kind, they alternate.

    Args:
        providers: What finds documents. One with `find_kind(query, k, kind)` searches a kind by itself.
        claim: What the documents are re-ranked by.
        query: The search words; final ones are dropped while nothing is found.
        k: Documents of each kind.
        kinds: The kinds of sources to ask for.
        rerank: Orders the documents that one provider found of one kind.

    Returns:
        At most k documents of each kind, and the score of the most relevant one on each scale of scores.
    """
    parts = [KindOfProvider(provider, kind) for kind in kinds for provider in providers]
    best: dict[Scale, float] = {}
    lists: dict[Kind, list[list[Found]]] = {}
    for part, found in zip(parts, _found(parts, tuple(query)), strict=True):
        ranked = rerank(claim, found)
        if ranked:
            lists.setdefault(part.kind, []).append(ranked)
            best[part.scale] = max(best.get(part.scale, 0.0), ranked[0].score)
    return Retrieved({kind: alternating(own)[:k] for kind, own in lists.items()}, best)


def _found(parts: Sequence[KindOfProvider], query: tuple[str, ...]) -> list[list[Found]]:
    """What every part finds; parts that wait for the network wait together."""
    if not any(part.scale is Scale.ranks for part in parts):
        return [search(part, query, FETCHED).found for part in parts]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return list(pool.map(lambda part: search(part, query, FETCHED).found, parts))


def alternating(lists: Sequence[Sequence[Found]]) -> list[Found]:
    """The first of each list, then the second of each, and so on; a document that was met before is left out."""
    met: dict[tuple[str, str], Found] = {}
    for each in chain.from_iterable(zip_longest(*lists)):
        if each is not None:
            met.setdefault((each.document.id, each.document.url), each)
    return list(met.values())
