"""All kinds of input by name."""

import functools
from pathlib import Path

from fuzzing.kinds import Kind, slug
from fuzzing.texts import TEXTS_READ

CRASHES = Path(__file__).parent / "crashes"
"""Inputs that were failures once, in a folder for each kind; the tests read them all."""


def light_kinds() -> dict[str, Kind]:
    """Those that are written down here; none has to be made first."""
    from fuzzing.commands import command_kinds
    from fuzzing.packages import package_kinds
    from fuzzing.written import WRITTEN

    return {**TEXTS_READ, **WRITTEN, **package_kinds(), **command_kinds()}


@functools.cache
def all_kinds(place: Path) -> dict[str, Kind]:
    """Every kind; `place` is a folder that examples of stored files are made in."""
    from fuzzing.packages import zim_kinds
    from fuzzing.pretrained import pretrained_kinds
    from fuzzing.served import served_kinds
    from fuzzing.stored import stored_kinds

    made = place / "examples"
    made.mkdir(parents=True, exist_ok=True)
    return {
        **light_kinds(),
        **stored_kinds(made),
        **served_kinds(made),
        **zim_kinds(made),
        **pretrained_kinds(made),
    }


def kind_of_file(path: Path, place: Path) -> tuple[str, Kind]:
    """The kind that a stored input belongs to, by the name of its folder."""
    kinds = light_kinds()
    if path.parent.name not in map(slug, kinds):
        kinds = all_kinds(place)
    for name, kind in kinds.items():
        if slug(name) == path.parent.name:
            return name, kind
    raise SystemExit(f"no kind of input is called {path.parent.name}")
