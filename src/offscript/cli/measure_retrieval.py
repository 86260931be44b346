"""`offscript measure retrieval`: how well an index finds what was judged relevant."""

from pathlib import Path
from typing import Annotated

import typer

from offscript.cli._options import Json, Limit


def retrieval(
    index: Annotated[Path, typer.Argument(help="Folder that `offscript index` wrote.")],
    queries: Annotated[Path, typer.Option("--queries", help='One {"id": …, "text": …} a line.')],
    judgments: Annotated[Path, typer.Option("--judgments", help="TREC's layout: QUERY 0 DOCUMENT GRADE a line.")],
    model: Annotated[
        str | None,
        typer.Option("--model", help="bm25, lm-dirichlet,mu=1000 … (offscript ls retrieval); DFR by default."),
    ] = None,
    depth: Annotated[int, typer.Option(min=20, help="Documents that are ranked for each query.")] = 1000,
    generate: Annotated[
        bool, typer.Option("--generate-queries", help="Search by a text's names, verbs, nouns and adjectives.")
    ] = False,
    rerank: Annotated[int, typer.Option("--rerank", min=0, help="Order so many of the best by their titles.")] = 0,
    limit: Limit = None,
    as_json: Json = False,
) -> None:
    """Recall@k, mean average precision and nDCG@10 over the queries that have judgments."""
    from offscript._files import sha256_of
    from offscript.cli._results import show
    from offscript.factcheck.evaluation import read_judgments, read_queries
    from offscript.factcheck.index import open_index
    from offscript.factcheck.retrieval import DEFAULT_MODEL
    from offscript.measures.retrieval import measure_retrieval

    model = model or DEFAULT_MODEL
    asked, judged = read_queries(queries)[:limit], read_judgments(judgments)
    origin = [{"name": str(path), "sha256": sha256_of(path)} for path in (queries, judgments)]
    found = measure_retrieval(
        open_index(index),
        asked,
        judged,
        model=model,
        depth=depth,
        generated=generate,
        reranked=rerank,
        recipe={"index": str(index), "queries": origin[0], "judgments": origin[1]},
    )
    show(found, as_json=as_json, title=f"{model} on {index}")
