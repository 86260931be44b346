"""The papers' tables and figures as YAML files, by paper; listing them imports nothing heavy."""

from pathlib import Path
from typing import Any

from offscript._config import read_mapping

_FOLDER = Path(__file__).parent


def experiments() -> dict[str, Path]:
    """Every experiment by name, `PAPER/TABLE`."""
    return {str(path.relative_to(_FOLDER).with_suffix("")): path for path in sorted(_FOLDER.glob("*/*.yaml"))}


def scales_of(name: str) -> tuple[str, list[str]]:
    """An experiment's title and the scales it can be run at."""
    content = content_of(experiments()[name])
    return content["title"], list(content["scales"])


def content_of(path: Path) -> dict[str, Any]:
    """A file's keys; those it leaves out are of the experiment that it `extends`."""
    content = read_mapping(path, "experiment")
    extended = content.pop("extends", None)
    return content if extended is None else {**content_of(experiments()[extended]), **content}
