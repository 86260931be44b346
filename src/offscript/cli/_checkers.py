"""The checker that a verb's flags describe."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offscript.errors import missing_package

if TYPE_CHECKING:
    from offscript.factcheck.checking import Checker
    from offscript.factcheck.index import Index
    from offscript.factcheck.sources.engines import WebSearch
    from offscript.factcheck.sources.ratings import Ratings as RatingTable

ALMANAC = Path("almanac")
Indexes = Annotated[
    list[Path] | None,
    typer.Option("--index", help="Folder that `offscript index` wrote, or almanac; the almanac without any."),
]
StanceName = Annotated[
    str | None, typer.Option("--stance", help="offscript/stance, lexical, or a trained model's folder.")
]
Engines = Annotated[
    list[str] | None,
    typer.Option("--search", help="A search engine to ask too: google or searxng, set in the environment."),
]
Lexicons = Annotated[Path | None, typer.Option("--lexicons", help="Folder of lexicons for the language of documents.")]
Ratings = Annotated[Path | None, typer.Option("--ratings", help="Table of web sites and how factual they are.")]


def checker_on(
    indexes: Sequence[Path],
    stance: str | None = None,
    ratings: Path | None = None,
    *,
    engines: Sequence[str] = (),
    lexicons: Path | None = None,
) -> "Checker":
    """A checker on these indexes, or on the almanac, and on search engines, with the stance model of that name."""
    from offscript.factcheck.checking import Checker, default_stance, query_words
    from offscript.factcheck.language import language_scores, read_lexicons
    from offscript.factcheck.queries import query_of
    from offscript.factcheck.sources import Kind
    from offscript.factcheck.sources.local import LocalIndex
    from offscript.factcheck.sources.ratings import Ratings as RatingTable
    from offscript.factcheck.sources.ratings import read_ratings
    from offscript.factcheck.stance.registry import stance_model

    judging = stance_model(stance) if stance else default_stance()
    rated = read_ratings(ratings) if ratings else RatingTable()
    cues = read_lexicons(lexicons) if lexicons else None
    local = [
        LocalIndex(_almanac(), kind=Kind.high)
        if folder == ALMANAC and not folder.is_dir()
        else LocalIndex(folder, ratings=rated)
        for folder in indexes or [ALMANAC]
    ]
    return Checker(
        [*local, *(_web_search(name, rated) for name in engines)],
        stance=judging,
        query=query_of if engines else query_words,  # search engines want few words
        language=lambda text: language_scores(text, cues),
    )


def _web_search(name: str, ratings: "RatingTable") -> "WebSearch":
    """The search engine of this name; its modules need the extra `web`, which other checks do without."""
    try:
        from offscript.factcheck.sources.engines import web_search
    except ModuleNotFoundError as error:
        raise missing_package(f"--search {name}", str(error.name), extra="web") from error
    return web_search(name, ratings=ratings)


def _almanac() -> "Index":
    """The almanac, with a word to who waits while it is written for the first time."""
    from offscript.factcheck.almanac import almanac_index, almanac_is_written

    if not almanac_is_written():
        typer.echo("writing the almanac into the cache (once) …", err=True)
    return almanac_index()
