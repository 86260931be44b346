"""How good rankings are: recall@k, average precision, nDCG@k and reciprocal rank, query by query.

Definitions are trec_eval's: what is not judged is not relevant, and nDCG's gain is the judged grade.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript._specification import nearest
from offscript.corpora.lines import Lines
from offscript.corpora.records import Identifier, Schema, read_records, whole_number
from offscript.errors import OffscriptError

Grades = Mapping[str, int]
"""The grade of every judged document of a query; above 0 is relevant."""


class Query(NamedTuple):
    """What is asked, under the name that the judgments use."""

    id: str
    text: str


class QueryRecord(Schema):
    """A query as a JSON record."""

    noun = "a query"
    hint = 'write {"id": "…", "text": "…"} per line'

    id: Identifier
    text: str


def read_queries(path: Path | str) -> list[Query]:
    """Queries of a file with one `{"id": …, "text": …}` per line."""
    return [Query(record.id, record.text) for record in read_records(Lines(path), QueryRecord, unique="id")]


def read_judgments(path: Path | str) -> dict[str, dict[str, int]]:
    """TREC judgments: lines of query, iteration, document, grade."""
    lines = Lines(path)
    judgments: dict[str, dict[str, int]] = {}
    for line in lines:
        if not (parts := line.split()):
            continue
        try:
            query, _, document, grade = parts
            number = whole_number(grade)
        except ValueError as error:
            raise lines.fault("not a judgment", next="write QUERY 0 DOCUMENT GRADE per line") from error
        if judgments.setdefault(query, {}).setdefault(document, number) != number:
            raise lines.fault(f"{document} has two grades for {query}", next="judge every document once")
    return judgments


def recall(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the relevant documents among the first k."""
    return float(_gains(ranking[:k], grades).astype(bool).sum() / _relevant(grades))


def average_precision(ranking: Sequence[str], grades: Grades) -> float:
    """The mean over relevant documents of the precision at their rank, 0 for those not found."""
    found = _gains(ranking, grades) > 0
    precisions = np.cumsum(found) / np.arange(1, len(found) + 1)
    return float(precisions[found].sum() / _relevant(grades))


def ndcg(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """Discounted gain of the first k, over that of the best ranking there could be."""
    ideal = np.sort([grade for grade in grades.values() if grade > 0])[::-1][:k]
    return float(_discounted(_gains(ranking[:k], grades)) / _discounted(ideal.astype(np.float64)))


def reciprocal_rank(ranking: Sequence[str], grades: Grades) -> float:
    """One over the rank of the first relevant document, 0 if there is none."""
    found = np.flatnonzero(_gains(ranking, grades) > 0)
    return 1.0 / (int(found[0]) + 1) if found.size else 0.0


def evaluate(
    rankings: Mapping[str, Sequence[str]], judgments: Mapping[str, Grades], measures: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Values of `recall@k`, `ndcg@k`, `map` and `mrr` for every query that has a relevant document, in their order.

    A query that has no ranking counts as one for which nothing was found.
    """
    asked = {query: grades for query, grades in judgments.items() if any(grade > 0 for grade in grades.values())}
    if not asked:
        raise OffscriptError(
            "no query has a relevant document", next="check that the judgments are those of the queries"
        )
    chosen = {name: _measure(name) for name in measures}
    return {
        name: np.array([measure(rankings.get(query, ()), grades) for query, grades in asked.items()])
        for name, measure in chosen.items()
    }


def _measure(name: str) -> Callable[[Sequence[str], Grades], float]:
    kind, _, depth = name.partition("@")
    if kind in ("recall", "ndcg") and depth.isdecimal() and int(depth) > 0:
        function = recall if kind == "recall" else ndcg
        return lambda ranking, grades: function(ranking, grades, int(depth))
    if name in ("map", "mrr"):
        return average_precision if name == "map" else reciprocal_rank
    raise OffscriptError(f"unknown measure {name!r}", next=nearest(name, ("recall@10", "ndcg@10", "map", "mrr")))


def _gains(ranking: Sequence[str], grades: Grades) -> NDArray[np.float64]:
    return np.array([max(grades.get(document, 0), 0) for document in ranking], dtype=np.float64)


def _relevant(grades: Grades) -> int:
    return sum(grade > 0 for grade in grades.values())


def _discounted(gains: NDArray[np.float64]) -> float:
    return float((gains / np.log2(np.arange(len(gains)) + 2)).sum())
