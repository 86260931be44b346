"""Answers of a server that were paid for, kept on disk, and a budget that is never exceeded."""

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from offscript.errors import OffscriptError

_WAIT = 60.0
"""Seconds that a process waits for another one which writes to the same ledger."""

_MOST_BYTES = 1 << 28
"""Of one answer."""

_EFFORT = 1
"""Of packing: whole vocabularies are numbers, which more effort makes hardly smaller and much slower."""

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS spent (one INTEGER PRIMARY KEY CHECK (one = 1), requests INTEGER, tokens INTEGER,
                                  seconds REAL, drawn INTEGER);
INSERT OR IGNORE INTO spent VALUES (1, 0, 0, 0.0, 0);
"""


class Ledger:
    """The answers of one model behind one address, and what they cost.

    Every answer is written as it arrives, so a killed run loses none. A request is counted before it is sent, with the
    most tokens that it can take, and what it did not take is given back: whenever a run is killed, at most the budget
    was spent. Threads and processes may share a ledger.

    Args:
        path: The file.
        most_requests: The most requests of all runs together; None for no limit.
        most_tokens: The most tokens, those of prompts included; None for no limit.
    """

    def __init__(self, path: Path, *, most_requests: int | None = None, most_tokens: int | None = None) -> None:
        self.path, self.most_requests, self.most_tokens = path, most_requests, most_tokens
        self._using = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.executescript(_TABLES)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as fault:
            raise OffscriptError(
                f"cannot keep answers in {path}", why=str(fault), next="set OFFSCRIPT_CACHE to another folder"
            ) from fault

    @property
    def spent(self) -> tuple[int, int]:
        """Requests and tokens so far."""
        with self._using, self._reading():
            requests, tokens = self._connection.execute("SELECT requests, tokens FROM spent").fetchone()
            return int(requests), int(tokens)

    @property
    def pace(self) -> float:
        """Tokens per second of one connection so far; 0 where nothing was asked yet."""
        with self._using, self._reading():
            seconds, drawn = self._connection.execute("SELECT seconds, drawn FROM spent").fetchone()
            return float(drawn / seconds) if seconds else 0.0

    def find(self, key: str) -> Any:
        """A kept answer, or None."""
        with self._using, self._reading():
            row = self._connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            return None if row is None else json.loads(_unpacked(row[0]))

    def reserve(self, tokens: int) -> None:
        """Count a request that is about to be sent, and the most tokens it can take; refuse it beyond the budget."""
        with self._writing():
            requests, used = self.spent
            self._require("requests", requests, 1, self.most_requests)
            self._require("tokens", used, tokens, self.most_tokens)
            self._connection.execute("UPDATE spent SET requests = requests + 1, tokens = tokens + ?", (tokens,))

    def give_back(self, tokens: int) -> None:
        """Tokens that were reserved and not taken."""
        with self._writing():
            self._connection.execute("UPDATE spent SET tokens = tokens - ?", (tokens,))

    def keep(self, key: str, answer: Any, *, unused: int, seconds: float, drawn: int) -> None:
        """Store an answer, and give back the tokens that it did not take, in one step.

        Args:
            key: What was asked.
            answer: Plain data.
            unused: How many of the reserved tokens it did not take.
            seconds: How long it took.
            drawn: How many tokens the server read and wrote.
        """
        packed = zlib.compress(json.dumps(answer, separators=(",", ":")).encode(), _EFFORT)
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, packed))
            change = "UPDATE spent SET tokens = tokens - ?, seconds = seconds + ?, drawn = drawn + ?"
            self._connection.execute(change, (unused, seconds, drawn))

    def _require(self, what: str, used: int, more: int, most: int | None) -> None:
        if most is not None and used + more > most:
            raise OffscriptError(
                f"the budget of {most:,} {what} is spent",
                why=f"{used:,} are used and the next request may take {more:,}; all answers so far are kept",
                next=f"raise max_{what}= in the model string and run the same command again",
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Refuse a file that another program or a broken disk has changed: what it says was spent cannot be trusted."""
        try:
            yield
        except (sqlite3.Error, zlib.error, ValueError, TypeError, OverflowError, RecursionError) as fault:
            raise OffscriptError(
                f"{self.path} is damaged", why=str(fault), next="delete the file: answers are then asked for again"
            ) from fault

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._using:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except sqlite3.Error as fault:
                raise OffscriptError(f"cannot write to {self.path}", why=str(fault)) from fault
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


def _unpacked(packed: bytes) -> bytes:
    """A kept answer; no server's is larger than the limit, so that a damaged file cannot fill the memory."""
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(packed, _MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("an answer is cut off or too large")
    return content
