"""What questions declare, and what a caller gets who leaves an argument out, is what was written down."""

import json

import pinned
import write_defaults

from offscript.measures import questions


def test_what_is_declared_is_what_was_written_down() -> None:
    now = {name: json.loads(json.dumps(pinned.declared(question))) for name, question in questions().items()}
    then = {name: json.loads((pinned.PINNED / f"{name}.json").read_text(encoding="utf-8"))["declared"] for name in now}
    assert now == then, "look at the differences, then run python tools/pinned.py"


def test_defaults_are_those_that_were_written_down() -> None:
    then = write_defaults.WRITTEN.read_text(encoding="utf-8").splitlines()
    assert write_defaults.defaults() == then, "look at the differences, then run python tools/write_defaults.py"
