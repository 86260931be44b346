"""`offscript measure verdicts`: how often the fact checker is right, and whether it knows when it is."""

from pathlib import Path
from typing import Annotated

import typer

from offscript.cli._checkers import ALMANAC, Indexes, Ratings, StanceName, checker_on
from offscript.cli._options import Json, Limit, Quiet, Seed


def verdicts(
    claims: Annotated[Path, typer.Argument(help='One {"id", "claim", "label", "evidence"} a line; FEVER, SciFact.')],
    index: Indexes = None,
    stance: StanceName = None,
    ratings: Ratings = None,
    plot: Annotated[Path | None, typer.Option(help="Write the reliability plot to .html, .svg or .png.")] = None,
    limit: Limit = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Accuracy, F1, FEVER score and calibration error of verdicts on judged claims."""
    from offscript._files import sha256_of
    from offscript.cli._progress import counting
    from offscript.cli._results import show, show_rows
    from offscript.factcheck.claims import read_claims
    from offscript.measures.verdicts import VERDICTS, judge, measure_verdicts
    from offscript.report.charts.reliability import reliability_chart
    from offscript.report.vega import check_chart_path, save_chart
    from offscript.statistics import reliability

    if plot is not None:
        check_chart_path(plot)
    asked = read_claims(claims)[:limit]
    checker = checker_on(index or [], stance, ratings)
    with counting("checking", len(asked), quiet=quiet) as progress:
        judged = judge(checker, asked, progress=progress)
    recipe = {
        "claims": {"name": str(claims), "sha256": sha256_of(claims)},
        "index": [str(folder) for folder in index or [ALMANAC]],
        "stance": checker.stance.name,
        "limit": limit,
    }
    found = measure_verdicts(judged, recipe=recipe, seed=seed)
    if plot is not None:
        save_chart(reliability_chart(reliability(judged)), plot)
    names = [verdict.value for verdict in VERDICTS]
    confusion = {"labels": names, "claims": judged.confusion.tolist()}
    show(found, as_json=as_json, title=f"{checker.stance.name} on {claims}", confusion=confusion)
    if not as_json:
        rows = zip(names, judged.confusion.tolist(), strict=True)
        show_rows([{"right": name, **dict(zip(names, row, strict=True))} for name, row in rows])
