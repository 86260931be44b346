"""The options that describe a checker."""

from pathlib import Path
from typing import Annotated

import typer

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
