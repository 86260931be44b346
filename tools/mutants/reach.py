"""Which tests reach which lines, from one run of the tests with a tracer."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mutants import PACKAGES, SOURCE

_KEPT_EVERY = 50  # tests: a run that is ended goes on from there
PREFIXES = tuple(str(SOURCE / "offscript" / package) + "/" for package in PACKAGES)


class Tracer:
    """A plug-in for pytest: notes the lines and the seconds of every test that passes."""

    def __init__(self, path: Path) -> None:
        self._path, self._tests = path, load_reach(path)
        self._lines: set[tuple[str, int]] = set()
        self._files: dict[str, str] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what an earlier run has traced."""
        items[:] = [item for item in items if item.nodeid not in self._tests]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run the test, what it sets up included, with the tracer."""
        self._lines.clear()
        began = time.process_time()
        sys.settrace(self._enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            by_file: dict[str, list[int]] = {}
            for name, line in sorted(self._lines):
                by_file.setdefault(name, []).append(line)
            self._tests[item.nodeid] = {"seconds": round(time.process_time() - began, 3), "lines": by_file}
            if len(self._tests) % _KEPT_EVERY == 0:
                self.pytest_sessionfinish()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Forget a test that fails without any change: it can tell nothing."""
        if report.failed or report.skipped:
            self._lines.clear()

    def pytest_sessionfinish(self) -> None:
        """Keep what was seen."""
        self._path.write_text(json.dumps(self._tests), encoding="utf-8")

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(PREFIXES):
            return None
        relative = self._files.setdefault(name, str(Path(name).relative_to(SOURCE)))
        add, number = self._lines.add, frame.f_lineno
        add((relative, number))

        def line(frame: FrameType, event: str, _argument: Any) -> Any:
            if event == "line":
                add((relative, frame.f_lineno))
            return line

        return line


def load_reach(path: Path) -> dict[str, dict[str, Any]]:
    """Seconds and lines of each test, by its name; empty before the first run."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
