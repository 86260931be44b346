"""What another package or file can add: registries by name, entry points, and plug-in files.

A `Registry` holds things of one kind in order: the built-in ones, those of an entry point group, and those that
plug-ins register. Built-in ones and entry points are references (`module:attribute`) that are imported when they are
looked up, so listing names imports nothing.

    SAMPLERS: Registry[type[Transform]] = Registry(
        "sampler", "offscript.samplers", {"nucleus": "offscript.sampling.transforms:Nucleus"}
    )
    SAMPLERS.find("nucleus")      # imported now
    list(SAMPLERS)                # names, in order; nothing is imported

A plug-in file registers with a decorator, `@SAMPLERS.add("flatten")`.
"""

import contextlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from offscript._specification import Setting, nearest
from offscript.errors import OffscriptError

T = TypeVar("T")
Added = TypeVar("Added")

PLUGINS_VARIABLE = "OFFSCRIPT_PLUGINS"
"""Names plug-ins as `--plugin` does, several divided as in PATH. Worker processes read it."""


class Registry(Mapping[str, T], Generic[T]):
    """Things of one kind by name. `registry[name]` is a thing or a KeyError, `find` a thing or one clear line.

    Args:
        kind: What a thing is called in messages, such as `sampler`.
        group: The entry point group that other packages add to, such as `offscript.samplers`.
        builtin: Where the built-in things are, `module:attribute` by name.
    """

    def __init__(self, kind: str, group: str, builtin: Mapping[str, str] | None = None) -> None:
        self.kind, self.group = kind, group
        self.builtin = tuple(builtin or ())
        self._things: dict[str, T | EntryPoint] = {
            name: EntryPoint(name, place, group) for name, place in (builtin or {}).items()
        }
        self._is_read = False

    def register(self, name: str, thing: T) -> T:
        """Add a thing under a name that is free; in the place of an entry point it is what that stands for."""
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
            raise OffscriptError(f"{name!r} cannot name a {self.kind}", next="use letters, digits, '-', '_' and '.'")
        present = self._things.get(name)
        if name in self.builtin or not (present is None or isinstance(present, EntryPoint)):
            raise OffscriptError(f"there already is a {self.kind} {name!r}", next="give yours another name")
        self._things[name] = thing
        return thing

    def add(self, name: str) -> Callable[[Added], Added]:
        """A decorator that registers what it stands on."""

        def register(thing: Added) -> Added:
            self.register(name, thing)  # type: ignore[arg-type]
            return thing

        return register

    def find(self, name: str) -> T:
        """The thing of that name; an unknown name is refused, with the nearest known one."""
        if name not in self:
            raise OffscriptError(f"no {self.kind} {name!r}", next=nearest(name, self))
        return self[name]

    @property
    def added(self) -> list[str]:
        """The names that are not built in."""
        return [name for name in self if name not in self.builtin]

    def __getitem__(self, name: str) -> T:
        self._read()
        thing = self._things[name]
        if isinstance(thing, EntryPoint):
            self._things[name] = thing = self._loaded(thing)
        return thing

    def __contains__(self, name: object) -> bool:
        self._read()
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        self._read()
        return iter(list(self._things))

    def __len__(self) -> int:
        self._read()
        return len(self._things)

    def _read(self) -> None:
        """Take in the entry points once, and the plug-ins that the environment names."""
        if not self._is_read:
            for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
                self._take_in(point)
            self._is_read = True
        for place in os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep):
            if place:
                load_plugin(place)

    def _take_in(self, point: EntryPoint) -> None:
        present = self._things.setdefault(point.name, point)  # a plug-in named by hand goes before an entry point
        if isinstance(present, EntryPoint) and present != point:
            raise OffscriptError(
                f"two packages have a {self.kind} {point.name!r}",
                why=f"one is {present.value}, the other {point.value}",
                next="remove one of them",
            )

    def _loaded(self, point: EntryPoint) -> T:
        """What an entry point names: the thing, or a module that registers it."""
        try:
            thing = point.load()
        except (ImportError, AttributeError) as fault:
            raise OffscriptError(f"the {self.kind} {point.name!r} cannot be imported", why=str(fault)) from fault
        if isinstance(thing, ModuleType):
            thing = self._things[point.name]
            if isinstance(thing, EntryPoint):
                raise OffscriptError(f"{point.value} registers no {self.kind} {point.name!r}", next="register it there")
        return thing  # type: ignore[no-any-return]


def settings_for(
    function: Callable[..., Any], what: str, given: Mapping[str, Setting], also: tuple[str, ...] = (), **offered: Any
) -> dict[str, Any]:
    """The named arguments of a call: the settings given, the function's defaults, and what it takes of `offered`.

    The first parameter is not a setting. `what` is named where a setting is unknown or missing; `also` are settings
    that someone else reads, for the hint.
    """
    _, *parameters = inspect.signature(function).parameters.values()
    known = {each.name: each.default for each in parameters if each.kind is not each.VAR_KEYWORD}
    open_ended = len(known) < len(parameters)
    settings = {name: default for name, default in known.items() if name not in offered}
    for key in given:
        if key not in settings and (not open_ended or key in offered):
            hint = nearest(key, (*settings, *also)) if settings else "leave it out"
            raise OffscriptError(f"{what} takes no setting {key!r}", next=hint)
    settings |= given
    for key, value in settings.items():
        if value is inspect.Parameter.empty:
            raise OffscriptError(f"{what} needs a setting {key!r}", next=f"add {key}=…")
    return settings | {name: value for name, value in offered.items() if name in known or open_ended}


def load_plugin(place: str) -> ModuleType:
    """Import a plug-in once: a Python file (`mine.py`, `/there/mine.py`) or a module (`package.mine`).

    Args:
        place: A `.py` file or the name of an importable module.

    Returns:
        The imported module.
    """
    is_file = place.endswith(".py")
    if not is_file and not all(part.isidentifier() for part in place.split(".")):
        raise OffscriptError(f"{place!r} is not a plug-in", next="name a .py file or an installed module")
    try:
        return _file_module(Path(place)) if is_file else importlib.import_module(place)
    except SyntaxError as fault:
        why = f"{fault.msg}, line {fault.lineno} of {fault.filename}"
        raise OffscriptError(f"the plug-in {place!r} is not valid Python", why=why) from fault
    except ImportError as fault:
        next = "install it" if is_file else "name a .py file or an installed module"
        raise OffscriptError(f"the plug-in {place!r} cannot be imported", why=str(fault), next=next) from fault


def load_plugins(places: list[str]) -> None:
    """Import plug-ins, and have the processes that this one starts import them too."""
    shared = [place for place in os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep) if place]
    for place in places:
        load_plugin(place)
        lasting = str(Path(place).resolve()) if place.endswith(".py") else place
        if lasting not in shared:
            shared.append(lasting)
    if shared:
        os.environ[PLUGINS_VARIABLE] = os.pathsep.join(shared)


def _file_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise OffscriptError(f"there is no plug-in {path}", next="check the path")
    path = path.resolve()
    name = f"offscript_plugin_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with contextlib.ExitStack() as undo:
        sys.modules[name] = module  # before it runs, as an import does: it may come back here
        undo.callback(sys.modules.pop, name)
        spec.loader.exec_module(module)
        undo.pop_all()
    return module
