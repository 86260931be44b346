"""Flags that several verbs share."""

from pathlib import Path
from typing import Annotated, Any

import typer

Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same figures, whatever the batch size.")]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1, mps …")]
BatchSize = Annotated[int, typer.Option("--batch-size", min=1, help="Sequences that go through the model at once.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
Out = Annotated[Path, typer.Option("--out", help="Folder to write to.")]
Model = Annotated[
    str,
    typer.Argument(
        help="offscript/NAME, a folder, a .gguf or tabular .json file, hf/ID[@REVISION] or openai/MODEL@URL."
    ),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Write the charts to .html, .svg or .png.")]
Plan = Annotated[float | None, typer.Option("--plan", help="Say how many samples intervals of this width would need.")]


def limit_of(what: str) -> Any:
    """`--limit`, which says what it counts."""
    return Annotated[int | None, typer.Option("--limit", min=1, help=f"Read only this many {what}.")]
