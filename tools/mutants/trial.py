"""Run the tests that reach a change in a forked process with the changed code."""

import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from mutants.changes import Mutant

SPARE = 3.0  # times the processor seconds that the tests take without a change, and ten more
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow and not browser and not data"]
_OUTCOMES = {0: "survived", 1: "killed", 5: "no test"}
Noted = Callable[[Mutant, str, float], None]


class Trials:
    """A plug-in for pytest: in the place of the tests it runs, for each change in a function, those that reach it.

    Args:
        changes: Each with the names of its tests and the processor seconds that they take.
        note: Gets the change, what became of it, and the processor seconds.
    """

    def __init__(self, changes: Sequence[tuple[Mutant, list[str], float]], note: Noted) -> None:
        self._changes, self._note = changes, note
        self._sound: set[str] = set()
        self._unsound: set[str] = set()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork for every change; True keeps pytest from running the tests itself."""
        items = {item.nodeid: item for item in session.items}
        functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
        gc.freeze()
        for mutant, names, seconds in self._changes:
            self._note(mutant, *self._try(mutant, [items[name] for name in names if name in items], seconds, functions))
        return True

    def _try(
        self, mutant: Mutant, items: list[pytest.Item], seconds: float, functions: list[FunctionType]
    ) -> tuple[str, float]:
        """What becomes of a change; tests that fail in a forked process without any change tell nothing."""
        while items := [item for item in items if item.nodeid not in self._unsound]:
            reader, writer = os.pipe()
            outcome, taken = in_child(functools.partial(_run, mutant, items, functions, writer), SPARE * seconds + 10)
            os.close(writer)
            with os.fdopen(reader, encoding="utf-8") as stream:
                noticed = stream.read()
            if outcome != "killed" or noticed in self._sound:
                return outcome, taken
            (item,) = (each for each in items if each.nodeid == noticed)
            alone, _ = in_child(functools.partial(_run, None, [item], functions, None), SPARE * seconds + 10)
            if alone == "survived":
                self._sound.add(noticed)
                return outcome, taken
            self._unsound.add(noticed)
        return "no test", 0.0


def in_child(run: Callable[[], int], most: float) -> tuple[str, float]:
    """`killed`, `survived`, `timeout`, `no test` or `broken`, and the processor seconds, of a forked process."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(most) + 1, int(most) + 2))
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
            code = run()
        finally:
            os._exit(code)
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        return "timeout", seconds
    return _OUTCOMES.get(os.waitstatus_to_exitcode(status), "broken"), seconds


def _run(mutant: Mutant | None, items: list[pytest.Item], functions: list[FunctionType], noticed: int | None) -> int:
    """1 as soon as a test fails, whose name goes to the file `noticed`, else 0; without a change if there is none."""
    if mutant is not None and not put_in(mutant, functions):
        if mutant.module in sys.modules:
            return 70
        sys.meta_path.insert(0, _Finder(mutant))  # a test is going to import it
    for item, following in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            if noticed is not None:
                os.write(noticed, item.nodeid.encode())
            return 1
    return 0


def put_in(mutant: Mutant, functions: Sequence[FunctionType]) -> int:
    """Give the changed code to every function object that has the original; how many there are.

    A function keeps its identity, so that whoever has imported it runs the changed code as well.
    """
    changed = {(code.co_qualname, code.co_firstlineno): code for code in _codes(mutant.code())}
    count = 0
    for function in functions:
        own = function.__code__
        if own.co_filename == str(mutant.path):
            other = changed.get((own.co_qualname, own.co_firstlineno))
            if other is not None and other != own:
                function.__code__ = other
                count += 1
    return count


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def import_changed(mutant: Mutant, names: list[str]) -> int:
    """pytest's exit code for some tests, in a process that has not imported the module yet."""
    import numba

    sys.meta_path.insert(0, _Finder(mutant))
    with tempfile.TemporaryDirectory() as folder:
        numba.config.CACHE_DIR = folder  # machine code that was kept is that of the unchanged module
        code = int(pytest.main(["-x", *OPTIONS, *names]))
    return 1 if code == 2 else code  # a module that cannot be imported is noticed


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed module to whoever imports it."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant, self._code = mutant, mutant.code()

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """The changed module's, and nothing for any other."""
        if name != self._mutant.module:
            return None
        places = [str(self._mutant.path.parent)] if self._mutant.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, self._mutant.path, loader=self, submodule_search_locations=places
        )

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed module."""
        exec(self._code, module.__dict__)
