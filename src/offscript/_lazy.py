"""Public names of a package that load on first use, so that importing one of its modules does not import them all."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def public_names(places: Mapping[str, str]) -> list[str]:
    """Every name of a table from modules to the names they define, with blanks between; for `__all__`."""
    return sorted(name for names in places.values() for name in names.split())


def loader(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """What a package calls `__getattr__`: it finds a public name in the module that defines it."""
    modules = {name: f"{package}.{module}" for module, names in places.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return load
