"""Re-ranking: documents that were found by their words, ordered by their titles or by meaning."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document
from offscript.factcheck.retrieval.searcher import Hit
from offscript.factcheck.sources import Found
from offscript.factcheck.stance.tokens import STOP_WORDS
from offscript.factcheck.tagging import Tagger, Token, default_tagger

# Penn's NN, NNS, NNP, NNPS, JJ and CD by their universal names.
DISCRIMINATING = frozenset({"NOUN", "PROPN", "ADJ", "NUM"})
NAMED = 3  # places among the documents that are read for those whose whole title the claim names
PREFERENCE = 0.5  # what a title with all of the claim's keywords and no others adds to a score
Encoder = Callable[[Sequence[str]], NDArray[np.floating]]
"""Texts to vectors [texts, dimensions], such as the `encode` of a sentence-transformers model."""


def rerank_by_title(claim: str, found: Sequence[Found], tagger: Tagger | None = None) -> list[Found]:
    """The documents by falling f_rank = |match| / |claim| · |match| / |title| · score (eq. 2.1), with that score.

    |claim| and |title| count the discriminating words of either, |match| those in both, whatever their case. What ties,
    as all documents do whose titles share no word with the claim, keeps its order.
    """
    shares = _title_shares(claim, found, tagger)
    ranked = [each._replace(score=share * each.score) for each, share in zip(found, shares, strict=True)]
    return sorted(ranked, key=lambda each: -each.score)


def prefer_titles(claim: str, found: Sequence[Found], tagger: Tagger | None = None) -> list[Found]:
    """The documents by falling score · (1 + f / 2), where f is the share of eq. 2.1; a title can help but not harm.

    Eq. 2.1 alone puts every document last whose title has none of the claim's words. On FEVER's development claims, on
    SciFact's training claims and on the almanac this one finds the right document among the first ten as often as the
    better of eq. 2.1 and no re-ranking (`python benchmarks/titles.py`).
    """
    shares = _title_shares(claim, found, tagger)
    ranked = [
        each._replace(score=each.score * (1 + PREFERENCE * share)) for each, share in zip(found, shares, strict=True)
    ]
    return sorted(ranked, key=lambda each: -each.score)


def with_named(claim: str, ranked: Sequence[Found], kept: int) -> list[Found]:
    """The first documents; the last places go to those further back whose whole title the claim names.

    "The capital of France is Paris" finds twenty districts of Paris in short documents before the long one on France,
    which alone has the capital.

    Args:
        claim: What is checked.
        ranked: All that was found, the best first.
        kept: How many are read.

    Returns:
        At most `kept` documents, in the order of their ranking.
    """
    named = [place for place in range(kept, len(ranked)) if _names(claim, ranked[place].document.title)][
        : min(NAMED, kept)
    ]
    first = range(max(0, min(kept, len(ranked)) - len(named)))
    return [ranked[place] for place in (*first, *named)]


def _names(claim: str, title: str) -> bool:
    """Whether a title stands in a claim as it is written: `It` in `It rains` is no name, `France` is one."""
    if title not in claim or title.lower() in (title, *STOP_WORDS):
        return False
    return re.search(rf"(?<!\w){re.escape(title)}(?!\w)", claim) is not None


def _title_shares(claim: str, found: Sequence[Found], tagger: Tagger | None) -> list[float]:
    """The share of eq. 2.1 for every document's title."""
    wanted = _keywords((tagger or default_tagger()).tag([claim])[0])
    titles = [each.document.title for each in found]
    if tagger is None:
        return [_share(wanted, _title_keywords(title)) for title in titles]
    return [_share(wanted, _keywords(tokens)) for tokens in tagger.tag(titles)]


@functools.lru_cache(maxsize=1 << 14)
def _title_keywords(title: str) -> Counter[str]:
    """By the tagger that ships; claims about one thing find the same titles."""
    return _keywords(default_tagger().tag([title])[0])


def _keywords(tokens: Sequence[Token]) -> Counter[str]:
    return Counter(token.text.lower() for token in tokens if token.tag in DISCRIMINATING)


def _share(claim: Counter[str], title: Counter[str]) -> float:
    match = sum(min(count, title[word]) for word, count in claim.items() if word in title)
    return match**2 / (claim.total() * title.total()) if match else 0.0


def rerank(query: str, documents: Sequence[Document], encode: Encoder) -> list[Hit]:
    """The documents by falling cosine between the query's vector and theirs; equal ones keep their order."""
    if not documents:
        return []
    vectors = np.asarray(encode([query, *(document.searched for document in documents)]), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(documents) + 1:
        raise OffscriptError(
            f"the encoder gave an array of shape {vectors.shape} for {len(documents) + 1} texts",
            next="give an encoder that returns one vector per text",
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms == 0, 1, norms)
    cosines = unit[1:] @ unit[0]  # [documents]
    return [Hit(documents[place].id, float(cosines[place])) for place in np.argsort(-cosines, kind="stable")]
