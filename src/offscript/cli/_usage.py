"""Bad usage told as bad input is: one line, and what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from offscript.errors import OffscriptError

_BAD_USAGE: Any = typer.BadParameter.__mro__[1]  # of all kinds; this one is the only one that typer makes public


class OneLineUsage(TyperGroup):
    """The group of all verbs: what its parsers refuse, and those of the verbs below, becomes an `OffscriptError`."""

    def make_context(self, *given: Any, **settings: Any) -> Any:
        """As the base class does."""
        with _in_one_line():
            return super().make_context(*given, **settings)

    def invoke(self, ctx: Any) -> Any:
        """As the base class does."""
        with _in_one_line():
            return super().invoke(ctx)


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except _BAD_USAGE as fault:
        told = str(fault.format_message())
        if "\n" in told:  # no verb was given: the answer is the whole help
            raise
        context = getattr(fault, "ctx", None)
        verb = "offscript" if context is None else context.command_path
        raise OffscriptError(told[:1].lower() + told[1:].rstrip("."), next=f"see {verb} --help") from fault
