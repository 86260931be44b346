"""How well an index finds what was judged relevant: recall@k, MAP and nDCG@k over queries."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offscript.errors import OffscriptError
from offscript.measures.question import Answer, Compared, Lack, Progress, Question, Settings, setting

if TYPE_CHECKING:
    from offscript.measures.subject import Subject


class RetrievalSettings(Settings):
    """What is searched, by which model, and who says what is relevant."""

    index: Path | None = setting(None, "Folder that `offscript index` wrote.", argument=True)
    queries: Path | None = setting(None, 'One {"id": …, "text": …} per line.')
    judgments: Path | None = setting(None, "TREC's layout: QUERY 0 DOCUMENT GRADE per line.")
    collection: dict[str, Any] | None = setting(None, "FEVER's claims and pages instead of files.", hidden=True)
    model: str | None = setting(None, "bm25, lm-dirichlet,mu=1000 … (offscript ls retrieval); DFR by default.")
    depth: int = setting(1000, "Documents that are ranked for each query.", ge=20)
    generated: bool = setting(
        False, "Search by a text's names, verbs, nouns and adjectives.", flag="--generate-queries"
    )
    reranked: int = setting(0, "Order this many of the best by their titles.", flag="--rerank", ge=0)


class Retrieval(Question[RetrievalSettings]):
    """A retrieval model on a collection with judged queries."""

    name = "retrieval"
    title = "Does retrieval find what is relevant?"
    about = "Recall@k, mean average precision and nDCG@10 over the queries that have judgments."
    Settings = RetrievalSettings
    limited = "queries"
    example = "index --queries queries.jsonl --judgments judgments.txt"
    needs = ()
    needs_instead = "an index with queries and judgments"
    flags = ("limit", "seed")
    headlines = ("map",)
    figure_names = ("recall@*", "map", "ndcg@10")
    compared = (Compared("map"), Compared("ndcg@10"), Compared("recall@10"))

    def missing(self, subject: "Subject", given: Mapping[str, Any]) -> Lack | None:
        """One of two inputs will do."""
        met = {"index", "queries", "judgments"} <= given.keys() or "collection" in given
        return None if met else Lack(self.needs_instead, "--set retrieval.index=…")

    def measure(self, subject: "Subject", settings: RetrievalSettings, progress: Progress) -> Answer:
        """Rank every query's documents once."""
        from offscript.factcheck.retrieval import DEFAULT_MODEL
        from offscript.measures.retrieval.estimation import measure_retrieval

        searched, recipe, where = _collection(subject, settings)
        model = settings.model or DEFAULT_MODEL
        measurements = measure_retrieval(
            searched.index,
            searched.queries,
            searched.judgments,
            model=model,
            depth=settings.depth,
            generated=settings.generated,
            reranked=settings.reranked,
            recipe=recipe,
        )
        return Answer(measurements, title=f"{model} on {where}")


def _collection(subject: "Subject", settings: RetrievalSettings) -> tuple[Any, dict[str, Any], str]:
    """What is searched, how it is told in the recipe, and in the title."""
    from offscript._files import sha256_of
    from offscript.factcheck.evaluation import read_judgments, read_queries
    from offscript.factcheck.index import open_index
    from offscript.measures.retrieval.collections import Collection, open_collection

    if settings.collection is not None:
        opened = open_collection(**settings.collection, seed=subject.seed)
        return opened, {"collection": settings.collection}, "FEVER"
    if settings.index is None or settings.queries is None or settings.judgments is None:
        raise OffscriptError("nothing to search", next="give INDEX, --queries FILE and --judgments FILE")
    origin = [{"name": str(path), "sha256": sha256_of(path)} for path in (settings.queries, settings.judgments)]
    queries, judgments = read_queries(settings.queries)[: subject.limit], read_judgments(settings.judgments)
    opened = Collection(open_index(settings.index), queries, judgments)
    recipe = {"index": str(settings.index), "queries": origin[0], "judgments": origin[1]}
    return opened, recipe, str(settings.index)
