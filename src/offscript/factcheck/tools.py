"""What an assistant may ask a checker for: a verdict, documents, or where a quotation is from; answers are small."""

from collections.abc import Sequence
from typing import Any

from offscript.errors import OffscriptError
from offscript.factcheck.batch import GivenClaim, summary
from offscript.factcheck.checking import Checker, query_words
from offscript.factcheck.queries import search
from offscript.factcheck.sources import Provider
from offscript.factcheck.texts.quotations import find_quotation

MOST, LONGEST_TEXT = 50, 400
LONGEST_QUERY = 2_000


class Tools:
    """The tools around one checker."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def check(self, claim: str) -> dict[str, Any]:
        """Verdict, confidence and evidence of a claim."""
        checked = self._checker.check(_asked(claim))
        answer = summary(GivenClaim("", claim), checked)
        return {name: value for name, value in answer.items() if name != "id"}

    def search(self, query: str, k: int = 10) -> list[dict[str, Any]]:
        """Documents for a query, best first, each with the beginning of its text."""
        return search_documents(self._checker.providers, query, k)

    def cite(self, quotation: str) -> dict[str, Any]:
        """Where a quotation is from, word for word or altered."""
        return find_quotation(_asked(quotation), self._checker.providers).to_json()


def search_documents(providers: Sequence[Provider], query: str, k: int) -> list[dict[str, Any]]:
    """Documents of providers for a query: those of the first, then those of the next.

    Args:
        providers: What finds documents.
        query: Words.
        k: How many documents, at most `MOST`.

    Returns:
        Id, title, address, date, score and the beginning of the text of each.
    """
    if not 1 <= k <= MOST:
        raise OffscriptError(f"cannot list {k} documents", next=f"ask for 1 to {MOST}")
    words = tuple(query_words(_asked(query)))
    found = [each for provider in providers for each in (search(provider, words, k).found if words else [])]
    return [
        {
            "id": each.document.id,
            "title": each.document.title,
            "url": each.document.url,
            "date": each.document.date,
            "score": round(each.score, 4),
            "text": each.document.text[:LONGEST_TEXT],
        }
        for each in found[:k]
    ]


def _asked(text: str) -> str:
    if not text.strip():
        raise OffscriptError("nothing was asked", next="give some words")
    return text[:LONGEST_QUERY]
