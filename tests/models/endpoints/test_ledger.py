"""A ledger that something else has changed: one line, never another answer."""

import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from offscript.errors import OffscriptError
from offscript.models import load_model
from offscript.models.endpoints import ledger as ledgers
from offscript.models.endpoints.address import parse_address
from offscript.models.endpoints.ledger import Ledger


def changed(path: Path, command: str, *values: object) -> Ledger:
    kept = Ledger(path)
    kept.keep("a", [{"text": "One."}], unused=0, seconds=1.0, drawn=3)
    with sqlite3.connect(path) as connection:
        connection.execute(command, values)
    return Ledger(path)


@pytest.mark.parametrize(
    ("command", "value", "read"),
    [
        ("UPDATE answers SET answer = ?", b"noise", lambda kept: kept.find("a")),
        ("UPDATE answers SET answer = ?", zlib.compress(b"[1, 2]")[:-3], lambda kept: kept.find("a")),
        ("UPDATE answers SET answer = ?", zlib.compress(b"[" * 100_000), lambda kept: kept.find("a")),
        ("UPDATE answers SET answer = ?", 17, lambda kept: kept.find("a")),
        ("UPDATE spent SET tokens = ?", None, lambda kept: kept.reserve(1)),
        ("UPDATE spent SET drawn = ?", "many", lambda kept: kept.pace),
        ("DELETE FROM spent WHERE one = ?", 1, lambda kept: kept.spent),
    ],
)
def test_damage_is_one_line(tmp_path: Path, command: str, value: object, read: Callable[[Ledger], object]) -> None:
    kept = changed(tmp_path / "kept.sqlite", command, value)
    if command.startswith("DELETE"):
        kept._connection.execute("DELETE FROM spent")  # a ledger that is opened begins at 0
    with pytest.raises(OffscriptError, match=r"kept.sqlite is damaged; .*; delete the file") as caught:
        read(kept)
    assert "\n" not in str(caught.value)


def test_an_answer_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "_MOST_BYTES", 1000)
    bomb = zlib.compress(b'"' + b"a" * 2000 + b'"')
    with pytest.raises(OffscriptError, match="too large"):
        changed(tmp_path / "kept.sqlite", "UPDATE answers SET answer = ?", bomb).find("a")


@pytest.mark.parametrize("text", ["x" * 5000 + ".json", "a.json+" + "b" * 5000 + ".json", "./" + "c" * 5000])
def test_a_name_that_no_file_has_is_one_line(text: str) -> None:
    with pytest.raises(OffscriptError, match="there is no file or folder"):
        load_model(text)


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(OffscriptError, match="characters that no name has"):
        parse_address("\udcf8@http://127.0.0.1:9/v1")
