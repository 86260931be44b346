"""What a caller gets who leaves an argument out: the defaults and public numbers of three packages, written down.

    python tools/write_defaults.py      writes tests/measures/defaults.txt anew

`tests/measures/test_declared.py` compares. A difference changes what others compute without a change on their side:
look at it (`git diff`) before it is committed. Left out is what only says how much is held at once (`batch_size`).
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("statistics", "measures", "sampling")
WRITTEN = Path(__file__).resolve().parents[1] / "tests" / "measures" / "defaults.txt"
NUMBERS = (bool, int, float)
LEFT_OUT = {"batch_size"}


def main() -> None:
    """Write the file anew."""
    WRITTEN.write_text("\n".join(defaults()) + "\n", encoding="utf-8")


def defaults() -> list[str]:
    """A line for every public function, method and number, sorted."""
    return sorted({line for module in _modules() for line in _lines(module)})


def _modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        root = importlib.import_module(f"offscript.{package}")
        yield root
        for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            yield importlib.import_module(found.name)


def _lines(module: ModuleType) -> Iterator[str]:
    place = module.__name__.removeprefix("offscript.")
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        if name.isupper() and name != "TYPE_CHECKING" and _plain(value, NUMBERS):
            yield f"{place}.{name} = {value!r}"
        elif inspect.isfunction(value) and value.__module__ == module.__name__:
            yield from _arguments(f"{place}.{name}", value)
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            yield from _methods(f"{place}.{name}", value)


def _methods(place: str, kind: type) -> Iterator[str]:
    for name, value in vars(kind).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            yield from _arguments(f"{place}.{name}", function)


def _arguments(place: str, function: Any) -> Iterator[str]:
    parameters = inspect.signature(function).parameters.values()
    given = [f"{each.name}={each.default!r}" for each in parameters if each.name not in LEFT_OUT and _given(each)]
    if given:
        yield f"{place}({', '.join(given)})"


def _given(parameter: inspect.Parameter) -> bool:
    default = parameter.default
    return default is not inspect.Parameter.empty and (default is None or _plain(default, (*NUMBERS, str)))


def _plain(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) or (isinstance(value, tuple) and all(_plain(each, kinds) for each in value))


if __name__ == "__main__":
    main()
