"""A checker put together from names: folders of indexes, search engines, a stance model, tables of ratings."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from offscript.errors import missing_package
from offscript.factcheck.almanac import almanac_index, almanac_is_written
from offscript.factcheck.checking import Checker, default_stance, default_verdicts, query_words
from offscript.factcheck.index import Index
from offscript.factcheck.language import language_scores, read_lexicons
from offscript.factcheck.queries import query_of
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.sources.ratings import Ratings, read_ratings
from offscript.factcheck.stance.registry import stance_model

if TYPE_CHECKING:
    from offscript.factcheck.sources.engines import WebSearch

ALMANAC = "almanac"


def build_checker(
    indexes: Sequence[Path | str] = (),
    stance: str | None = None,
    ratings: Path | None = None,
    *,
    engines: Sequence[str] = (),
    lexicons: Path | None = None,
    risk: float | None = None,
    announce: Callable[[str], None] | None = None,
) -> Checker:
    """A checker on these indexes, or on the almanac, and on search engines.

    Args:
        indexes: folders that `offscript index` wrote, or `almanac`; the almanac without any.
        stance: `offscript/inference`, `offscript/stance`, `lexical` or a trained model's folder; else the default.
        ratings: a table of web sites and how factual they are.
        engines: search engines to ask too: `google` or `searxng`.
        lexicons: a folder of lexicons for the language of documents.
        risk: decide only where at most this share of decisions is wrong, if the stance model knows where that is.
        announce: told when the almanac has to be written first, which takes a while.

    Returns:
        A checker; `check(claim)` gives the verdict, the evidence and the documents.
    """
    rated = read_ratings(ratings) if ratings else Ratings()
    cues = read_lexicons(lexicons) if lexicons else None
    local = [
        LocalIndex(_almanac(announce), kind=Kind.high)
        if str(folder) == ALMANAC and not Path(folder).is_dir()
        else LocalIndex(Path(folder), ratings=rated)
        for folder in indexes or [ALMANAC]
    ]
    stances = stance_model(stance) if stance else default_stance()
    return Checker(
        [*local, *(_web_search(name, rated) for name in engines)],
        stance=stances,
        verdicts=None if risk is None else default_verdicts(stances).at_risk(risk),
        query=query_of if engines else query_words,  # search engines want few words
        language=lambda text: language_scores(text, cues),
    )


def _web_search(name: str, ratings: Ratings) -> "WebSearch":
    """The search engine of this name; its modules need the extra `web`, which other checks do without."""
    try:
        from offscript.factcheck.sources.engines import web_search
    except ModuleNotFoundError as error:
        raise missing_package(f"--search {name}", str(error.name), extra="web") from error
    return web_search(name, ratings=ratings)


def _almanac(announce: Callable[[str], None] | None) -> Index:
    if announce is not None and not almanac_is_written():
        announce("writing the almanac into the cache (once) …")
    return almanac_index()
