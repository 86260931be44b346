"""Re-ranking by the parts of speech that a claim and a title share (Lee et al., 2018; eq. 2.1)."""

from collections import Counter
from collections.abc import Sequence

from offscript.factcheck.sources.source import Found
from offscript.factcheck.tagging import Tagger, Token, default_tagger

# Penn's NN, NNS, NNP, NNPS, JJ and CD by their universal names.
DISCRIMINATING = frozenset({"NOUN", "PROPN", "ADJ", "NUM"})


def rerank_by_title(claim: str, found: Sequence[Found], tagger: Tagger | None = None) -> list[Found]:
    """The documents by falling f_rank = |match| / |claim| · |match| / |title| · score (eq. 2.1), with that score.

    |claim| and |title| count the discriminating words of either, |match| those in both, whatever their case. What ties,
    as all documents do whose titles share no word with the claim, keeps its order.
    """
    asked, *titles = (tagger or default_tagger()).tag([claim, *(each.document.title for each in found)])
    wanted = _keywords(asked)
    ranked = [
        each._replace(score=_share(wanted, _keywords(title)) * each.score)
        for each, title in zip(found, titles, strict=True)
    ]
    return sorted(ranked, key=lambda each: -each.score)


def _keywords(tokens: Sequence[Token]) -> Counter[str]:
    return Counter(token.text.lower() for token in tokens if token.tag in DISCRIMINATING)


def _share(claim: Counter[str], title: Counter[str]) -> float:
    match = (claim & title).total()
    return match**2 / (claim.total() * title.total()) if match else 0.0
