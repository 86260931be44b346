"""The ways a claim can be checked: the standard checker, and FAKTA as in the thesis."""

from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from offscript.errors import OffscriptError

if TYPE_CHECKING:  # the command line reads the names of pipelines, and nothing more unless a claim is checked
    from datetime import date

    from offscript.factcheck.checked import Check
    from offscript.factcheck.stance.stance import StanceModel


class Pipeline(str, Enum):
    """By name, as `--pipeline` takes it."""

    standard = "standard"
    fakta = "fakta"


class ClaimChecker(Protocol):
    """Whatever checks a claim; several threads use it at once."""

    def check(self, claim: str) -> "Check":
        """The claim's whole way to a verdict."""


class ClaimPipeline(ClaimChecker, Protocol):
    """Checks claims, with a stance model."""

    @property
    def stance(self) -> "StanceModel":
        """How a text stands to a claim."""


def build_pipeline(
    pipeline: Pipeline | str = Pipeline.standard,
    indexes: Sequence[Path | str] = (),
    stance: str | None = None,
    ratings: Path | None = None,
    *,
    engines: Sequence[str] = (),
    lexicons: Path | None = None,
    risk: float | None = None,
    as_of: "date | None" = None,
    retrieval: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> ClaimPipeline:
    """A checker of the named pipeline on these indexes, or on the almanac, and on search engines.

    Args:
        pipeline: `standard`, or `fakta` for the pipeline of chapter 2 of the thesis.
        indexes: Folders that `offscript index` wrote, or `almanac`; the almanac without any.
        stance: A stance model by name; else the pipeline's own.
        ratings: A table of web sites and how factual they are. FAKTA searches the web only on its sites and Wikipedia.
        engines: Search engines to ask too: `google` or `searxng`.
        lexicons: A folder of lexicons for the language of documents.
        risk: Decide only where at most this share of decisions is wrong; of the standard pipeline only.
        as_of: Leave out documents that are dated after this day; of the standard pipeline only.
        retrieval: The model that finds documents in indexes, as in `offscript ls retrieval`; the default one without.
        announce: Told what takes a while, and what is not searched.

    Returns:
        Whatever checks a claim: `check(claim)` gives the verdict, the evidence and the documents.
    """
    from offscript.factcheck.checking import build_checker, open_providers

    if Pipeline(pipeline) is Pipeline.standard:
        return build_checker(
            indexes,
            stance,
            ratings,
            engines=engines,
            lexicons=lexicons,
            risk=risk,
            as_of=as_of,
            retrieval=retrieval,
            announce=announce,
        )
    if as_of is not None:
        raise OffscriptError("--as-of does not work with --pipeline fakta", next="leave out one of the two")
    if risk is not None:
        raise OffscriptError(
            "--risk does not work with --pipeline fakta",
            why="FAKTA decides by a threshold on the retrieval score",
            next="leave out one of the two",
        )
    from offscript.factcheck.fakta import Fakta
    from offscript.factcheck.language import language_scores, read_lexicons
    from offscript.factcheck.stance.registry import stance_model

    if engines and ratings is None and announce is not None:
        announce(
            "only Wikipedia is searched on the web: --ratings FILE names the sites of high, mixed and low factuality"
        )
    cues = read_lexicons(lexicons) if lexicons else None
    return Fakta(
        open_providers(indexes, ratings, engines=engines, retrieval=retrieval, announce=announce),
        stance=stance_model(stance) if stance else None,
        language=lambda text: language_scores(text, cues),
    )
