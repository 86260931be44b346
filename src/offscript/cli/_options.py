"""Flags that several verbs share."""

from pathlib import Path
from typing import Annotated, Any

import typer


def _place_of_folder(context: typer.Context, parameter: typer.CallbackParam, out: Path | None) -> Path | None:
    return _tried(context, parameter, out, out)


def _place_of_file(context: typer.Context, parameter: typer.CallbackParam, out: Path | None) -> Path | None:
    return _tried(context, parameter, out, out and out.parent)


def _tried(
    context: typer.Context, parameter: typer.CallbackParam, out: Path | None, folder: Path | None
) -> Path | None:
    """What was named, once a file could be made there; a default is tried where it is used."""
    source = context.get_parameter_source(str(parameter.name))
    if out is None or folder is None or (source is not None and source.name.startswith("DEFAULT")):
        return out
    require_writable(folder, f"{parameter.opts[0]} {out}")
    return out


def require_writable(folder: Path, named: str) -> None:
    """Refuse a folder that no file can be made in, or that cannot be made; nothing is left behind.

    Args:
        folder: May not be there yet.
        named: The flag and its value, as messages tell them.
    """
    import tempfile

    from offscript._files import is_there
    from offscript.errors import OffscriptError

    above = next((each for each in (folder, *folder.parents) if is_there(each)), Path())
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as fault:
        raise OffscriptError(f"cannot write to {named}", why=fault.strerror or str(fault)) from fault


def out_folder(help: str) -> Any:
    """`--out` of a folder, with its own words."""
    return typer.Option("--out", help=help, callback=_place_of_folder)


def out_file(help: str) -> Any:
    """`--out` of a file, with its own words."""
    return typer.Option("--out", help=help, callback=_place_of_file)


Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same figures, whatever the batch size.")]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1, mps …")]
BatchSize = Annotated[int, typer.Option("--batch-size", min=1, help="Sequences that go through the model at once.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
Out = Annotated[Path, out_folder("Folder to write to.")]
Model = Annotated[
    str,
    typer.Argument(
        help="offscript/NAME, a folder, a .gguf or tabular .json file, hf/ID[@REVISION] or openai/MODEL@URL."
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Write the charts to .html, .svg or .png.", callback=_place_of_file)
]
Plan = Annotated[float | None, typer.Option("--plan", help="Say how many samples intervals of this width would need.")]


def limit_of(what: str) -> Any:
    """`--limit`, which says what it counts."""
    return Annotated[int | None, typer.Option("--limit", min=1, help=f"Read only this many {what}.")]
