"""Model files that could run code or never end: pickles, configurations that name Python files, or endless layers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from offscript._files import is_there
from offscript.errors import OffscriptError

_CONFIGURATIONS = ("config.json", "tokenizer_config.json")
MOST_LAYERS = 1000
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"}


def refuse_remote_code(source: str | Path, *, revision: str | None = None, next: str = "use another model") -> None:
    """Raise where a folder or Hub repository names Python files of its own (`auto_map`) in a configuration.

    `transformers` asks on standard input whether to run them. Callers also pass it `trust_remote_code=False`,
    which holds where a configuration cannot be read here.
    """
    for name in _CONFIGURATIONS:
        path = _local_copy(source, name, revision)
        if path is not None and _names_code(_parsed(path)):
            raise OffscriptError(
                f"the model {str(source)!r} brings Python code of its own",
                why=f"its {name} has an auto_map, and loading it would run that code",
                next=next,
            )


def refuse_pickles(place: Path) -> None:
    """Raise where a file, or a file in a folder, looks like pickled weights."""
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    for file in files:
        if file.suffix in _PICKLES:
            raise OffscriptError(
                f"{file} looks like a pickle",
                why="opening one can run any code",
                next="convert the weights to safetensors",
            )


def refuse_endless_layers(folder: Path) -> None:
    """Refuse a model whose configuration asks for more layers than any network has: making them would take hours."""
    path = folder / "config.json"
    most = max(_layer_counts(_parsed(path)), default=0)
    if most > MOST_LAYERS:
        raise OffscriptError(
            f"{path} asks for {most:,} layers",
            why=f"offscript builds at most {MOST_LAYERS:,}",
            next="copy the file from where the model came from",
        )


def _layer_counts(configuration: Any) -> Iterator[int]:
    """Whole numbers under keys that speak of layers, in a configuration and those within it."""
    left = [configuration]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield from (each for key, each in value.items() if "layer" in key and isinstance(each, int))
            left += value.values()


def hush_hub() -> None:
    """Leave out what the Hub's package logs of every retry: loading a model that is out of reach gives one line.

    Its own module is imported first, since that sets the level anew.
    """
    import logging

    import huggingface_hub.utils.logging  # noqa: F401

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def _local_copy(source: str | Path, name: str, revision: str | None) -> Path | None:
    """A configuration file on this machine: in the folder, or fetched as `transformers` is about to fetch it."""
    if is_there(Path(source)) and Path(source).is_dir():
        path = Path(source) / name
        return path if path.is_file() else None
    from transformers.utils.hub import cached_file

    hush_hub()
    try:
        copy = cached_file(str(source), name, revision=revision)
    except (OSError, ValueError):  # not there, or out of reach: loading it gives the message
        return None
    return None if copy is None else Path(copy)


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # loading it gives the message
        return None


def _names_code(value: Any) -> bool:
    return isinstance(value, dict) and ("auto_map" in value or any(map(_names_code, value.values())))
