"""Measures of what is no language model: a retriever, a stance model, a fact checker.

An experiment asks them with a seed and settings that are plain data; a variant without a model tells by its settings
which system it is.
"""

from collections.abc import Callable, Mapping
from typing import Any

from offscript.measures.measurement import Measurement


def _retrieval(*, seed: int, collection: Mapping[str, Any], **settings: Any) -> list[Measurement]:
    """A retrieval model on a collection with judged queries."""
    from offscript.audits.collections import open_collection
    from offscript.measures.retrieval import measure_retrieval

    opened = open_collection(**collection, seed=seed)
    return measure_retrieval(
        opened.index, opened.queries, opened.judgments, recipe={"collection": dict(collection)}, **settings
    )


def _verdicts(
    *,
    seed: int,
    fever: str,
    part: str = "test",
    claims: int | None = None,
    labels: int = 3,
    stance: str | None = None,
) -> list[Measurement]:
    """The fact checker on FEVER's claims of three labels, or of the two that evidence decides, among all evidence."""
    from offscript.audits.verdicts import fever_verdicts

    return fever_verdicts(fever, part=part, claims=claims, labels=labels, stance=stance, seed=seed)


def _stance(**settings: Any) -> list[Measurement]:
    """A stance model on claims with documents or sentences."""
    from offscript.audits.stance import stance_scores

    return stance_scores(**settings)


SYSTEMS: dict[str, Callable[..., list[Measurement]]] = {
    "retrieval": _retrieval,
    "stance": _stance,
    "verdicts": _verdicts,
}
"""By question; each is called as `measure(seed=…, **settings)`."""
