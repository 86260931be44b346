"""Pickles are never opened: doing so can run any code."""

from pathlib import Path

from offscript.errors import OffscriptError

_ENDINGS = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"}


def refuse_pickles(place: Path) -> None:
    """Raise where a file, or a file in a folder, looks like pickled weights."""
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    for file in files:
        if file.suffix in _ENDINGS:
            raise OffscriptError(
                f"{file} looks like a pickle",
                why="opening one can run any code",
                next="convert the weights to safetensors",
            )
