"""What every verb says of itself."""

import shlex
from collections.abc import Callable
from typing import Any

import pytest
from typer.main import get_command

from offscript.cli.app import app

Command = Callable[..., Any]
COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
VERBS = sorted(name for name, command in COMMANDS.items() if not hasattr(command, "commands"))


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_has_an_example_that_parses(offscript: Command, verb: str) -> None:
    shown = offscript(verb, "-h")
    assert (shown.code, shown.errors) == (0, "")
    assert shown.output == offscript(verb, "--help").output
    assert all(len(line) <= 80 for line in shown.output.splitlines())
    [example] = [line.partition("Example: ")[2] for line in COMMANDS[verb].help.splitlines() if "Example: " in line]
    words = shlex.split(example)
    arguments = words[words.index("offscript") + 1 :]
    assert arguments[0] == verb
    COMMANDS[verb].make_context(verb, arguments[1:])  # refuses an option that is not there


def test_the_shell_can_complete_verbs(offscript: Command) -> None:
    assert "--install-completion" in offscript("-h").output
