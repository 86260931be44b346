"""Bad usage told as bad input is: one line, and what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from offscript.errors import OffscriptError

_BAD_USAGE: Any = typer.BadParameter.__mro__[1]  # of all kinds; this one is the only one that typer makes public


INTERRUPTED = 130
"""The exit code of what Ctrl-C ends, as shells have it; 1 would look like a gate that failed."""


class OneLineUsage(TyperGroup):
    """The group of all verbs: what its parsers refuse, and those of the verbs below, becomes an `OffscriptError`."""

    def make_context(self, info_name: Any, args: list[str], *given: Any, **settings: Any) -> Any:
        """As the base class does; `--plugin` may also stand after a verb."""
        with _in_one_line():
            return super().make_context(info_name, _plugins_first(args), *given, **settings)

    def invoke(self, ctx: Any) -> Any:
        """As the base class does."""
        with _in_one_line():
            return super().invoke(ctx)


def _plugins_first(arguments: list[str]) -> list[str]:
    """The arguments with `--debug` and every `--plugin X` first: plug-ins are loaded before a verb is looked up."""
    first, others, rest = [], [], iter(arguments)
    for argument in rest:
        if argument == "--":
            others += [argument, *rest]
        elif argument == "--plugin":
            place = next(rest, None)
            if place is None:
                return [argument]  # its value is missing, and is asked for
            first += [argument, place]
        else:
            (first if argument == "--debug" or argument.startswith("--plugin=") else others).append(argument)
    return first + others


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except _BAD_USAGE as fault:
        told = str(fault.format_message())
        if "\n" in told:  # no verb was given: the answer is the whole help
            raise
        context = getattr(fault, "ctx", None)
        verb = "offscript" if context is None else context.command_path
        raise OffscriptError(told[:1].lower() + told[1:].rstrip("."), next=f"see {verb} --help") from fault
