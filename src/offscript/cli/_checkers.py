"""The options that describe a checker."""

from pathlib import Path
from typing import Annotated

import typer

from offscript.factcheck.pipelines import Pipeline

Indexes = Annotated[
    list[Path] | None,
    typer.Option("--index", help="Folder that `offscript index` wrote, or almanac; the almanac without any."),
]
StanceName = Annotated[
    str | None, typer.Option("--stance", help="offscript/inference, offscript/stance, lexical, or a folder.")
]
PipelineName = Annotated[
    Pipeline,
    typer.Option("--pipeline", help="standard, or fakta: the thesis's, with sources of each kind searched separately."),
]
Risk = Annotated[
    float | None,
    typer.Option("--risk", help="Decide only where at most this share of decisions is wrong: 0.05, 0.1, 0.15 or 0.2."),
]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="Leave out documents that are dated later, as 2020-12-31.")
]
Engines = Annotated[
    list[str] | None,
    typer.Option(
        "--search",
        help="Search engines to ask too: google, searxng, set in the environment; commas, or repeated.",
    ),
]
Lexicons = Annotated[Path | None, typer.Option("--lexicons", help="Folder of lexicons for the language of documents.")]
Ratings = Annotated[Path | None, typer.Option("--ratings", help="Table of web sites and how factual they are.")]
