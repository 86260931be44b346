"""`offscript init`: files to start from."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from offscript.cli._options import Json

STARTERS = {"recipe.yaml": "recipe.yaml", "grid.yaml": "grid.yaml", "audit.yml": ".github/workflows/audit.yml"}
"""What is written where, below the folder."""


def init(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; it is made if it is not there.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a training recipe, a sweep grid and a CI workflow to start from. Existing files are kept.

    Example: offscript init my-project
    """
    import json

    from offscript._files import write_text
    from offscript.errors import OffscriptError

    written, kept = [], []
    for name, place in STARTERS.items():
        path = folder / place
        if path.exists():
            kept.append(str(path))
            continue
        try:
            write_text(path, files("offscript.assets").joinpath("starter", name).read_text(encoding="utf-8"))
        except OSError as fault:
            raise OffscriptError(f"cannot write {path}", why=str(fault.strerror), next="name another FOLDER") from fault
        written.append(str(path))
    if as_json:
        typer.echo(json.dumps({"written": written, "kept": kept}, ensure_ascii=False))
        return
    for path_written in written:
        typer.echo(f"wrote {path_written}")
    for path_kept in kept:
        typer.echo(f"kept {path_kept}: it was there before")
