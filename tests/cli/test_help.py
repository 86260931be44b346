"""What every verb says of itself."""

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.main import get_command

from offscript.cli.app import app

Command = Callable[..., Any]


def all_verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every verb below a group, questions and studies included."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    with command.make_context("offscript", [], resilient_parsing=True) as context:
        for name in command.list_commands(context):
            yield from all_verbs(command.get_command(context, name), (*path, name))


VERBS = dict(all_verbs(get_command(app)))


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_help_has_an_example_that_parses(offscript: Command, verb: tuple[str, ...]) -> None:
    shown, command = offscript(*verb, "-h"), VERBS[verb]
    assert (shown.code, shown.errors) == (0, "")
    assert shown.output == offscript(*verb, "--help").output
    assert all(len(line) <= 80 for line in shown.output.splitlines())
    [example] = [line.partition("Example: ")[2] for line in command.help.splitlines() if "Example: " in line]
    words = shlex.split(example)
    arguments = words[words.index("offscript") + 1 :]
    assert tuple(arguments[: len(verb)]) == verb
    command.make_context(verb[-1], arguments[len(verb) :])  # refuses an option that is not there


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_limits_say_of_what(verb: tuple[str, ...]) -> None:
    helps = [each.help for each in VERBS[verb].params if each.name == "limit"]
    assert not [text for text in helps if not re.search(r"this many \w+", text)]


def test_the_shell_can_complete_verbs(offscript: Command) -> None:
    assert "--install-completion" in offscript("-h").output
