"""The command line in this process: what a command prints, and how it ends."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from offscript.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    output: str
    errors: str

    @property
    def json(self) -> Any:
        """The document on standard output; bad usage leaves none, and fails the test with its line."""
        assert self.code != 2, self.errors
        return json.loads(self.output)


@pytest.fixture
def offscript(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run a command as the installed script does."""

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # main sets its own
        monkeypatch.setattr(sys, "argv", ["offscript", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return Done(int(ended.value.code or 0), shown.out, shown.err)

    return run
