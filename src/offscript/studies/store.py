"""What participants answered, in SQLite: an answer is on disk before anybody is thanked for it.

The database is in WAL mode with full synchronisation, so that a commit survives a kill and a power cut. Nothing about a
person is stored: a participant is a code, which is also their link, and a number by which exports call them.
"""

import contextlib
import random
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from offscript.errors import OffscriptError
from offscript.studies.design import CHECK, DATABASE, StudyDesign, StudyItem, new_secret, read_design, read_items

_PARTICIPANTS = """
CREATE TABLE IF NOT EXISTS participants (
    code TEXT PRIMARY KEY,
    rater TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL DEFAULT 'rate',
    consented INTEGER NOT NULL DEFAULT 0,
    passed INTEGER
);
"""
_RATINGS = """
CREATE TABLE IF NOT EXISTS assignments (
    code TEXT NOT NULL REFERENCES participants(code) ON DELETE CASCADE,
    item TEXT NOT NULL,
    position INTEGER NOT NULL,
    assigned REAL NOT NULL,
    shown REAL,
    PRIMARY KEY (code, item)
);
CREATE TABLE IF NOT EXISTS ratings (
    code TEXT NOT NULL REFERENCES participants(code) ON DELETE CASCADE,
    item TEXT NOT NULL,
    value TEXT NOT NULL,
    seconds REAL,
    clock TEXT NOT NULL,
    PRIMARY KEY (code, item)
);
CREATE INDEX IF NOT EXISTS ratings_of_items ON ratings (item);
CREATE INDEX IF NOT EXISTS assignments_of_items ON assignments (item);
"""
LONGEST_SECONDS = 24 * 3600.0
ABANDONED_SECONDS = 24 * 3600.0
"""Items that a participant has not rated after so long are given to others, too."""


class Step(NamedTuple):
    """What a participant sees next: an item, and how far they are."""

    item: StudyItem
    number: int
    total: int


class Database:
    """A study's database; every thread has its own connection."""

    tables = _PARTICIPANTS

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.design: StudyDesign = read_design(folder)
        self._local = threading.local()
        with self.changing() as database:
            for statement in self.tables.split(";"):
                database.execute(statement)

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if known is None:
            with self._explaining():
                known = sqlite3.connect(self.folder / DATABASE, timeout=60, isolation_level=None)
                for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
                    known.execute(f"PRAGMA {pragma}")
            self._local.connection = known
        return known

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that no other one can come between; it is on disk when the block ends."""
        with self._explaining():
            self.connection.execute("BEGIN IMMEDIATE")
            with contextlib.ExitStack() as undo:
                undo.callback(self.connection.execute, "ROLLBACK")
                yield self.connection
                undo.pop_all()
            self.connection.execute("COMMIT")

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._explaining():
            return self.connection.execute(query, values).fetchall()

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        """Convert the errors of a database that is damaged, full or locked into one line."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as fault:
            raise OffscriptError(
                f"the answers in {self.folder / DATABASE} cannot be read or written",
                why=str(fault),
                next="check the disk, or restore the folder from a copy",
            ) from fault

    def invite(self, count: int, role: str = "rate") -> list[str]:
        """New participants; each gets a code, which is their link."""
        codes = [new_secret() for _ in range(count)]
        with self.changing() as database:
            for code in codes:
                values = (code, f"r{secrets.token_hex(5)}", role)
                database.execute("INSERT INTO participants (code, rater, role) VALUES (?, ?, ?)", values)
        return codes

    def codes(self) -> list[tuple[str, str]]:
        """Codes with their roles."""
        return [
            (str(code), str(role)) for code, role in self.rows("SELECT code, role FROM participants ORDER BY rowid")
        ]

    def role(self, code: str) -> str | None:
        """What a participant does; None for a code that is not known."""
        rows = self.rows("SELECT role FROM participants WHERE code = ?", code)
        return str(rows[0][0]) if rows else None

    def consented(self, code: str) -> bool:
        """Whether a participant has agreed to take part."""
        rows = self.rows("SELECT consented FROM participants WHERE code = ?", code)
        return bool(rows and rows[0][0])

    def forget(self, code: str) -> bool:
        """Delete a participant and everything they answered; False for a code that is not known."""
        with self.changing() as database:
            deleted = database.execute("DELETE FROM participants WHERE code = ?", (code,)).rowcount
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return bool(deleted)


class RatingStore(Database):
    """Assigns items to participants and keeps their ratings.

    Args:
        folder: The study's.
    """

    tables = _PARTICIPANTS + _RATINGS

    def __init__(self, folder: Path | str) -> None:
        super().__init__(folder)
        self.items = {item.item: item for item in read_items(folder)}

    def consent(self, code: str) -> None:
        """A participant agrees: they are assigned their items, once."""
        with self.changing() as database:
            row = database.execute("SELECT consented FROM participants WHERE code = ?", (code,)).fetchone()
            if row is None:
                raise OffscriptError("this link is not known", next="ask whoever sent it to you")
            if row[0]:
                return
            database.execute("UPDATE participants SET consented = 1 WHERE code = ?", (code,))
            for position, item in enumerate(self._chosen(database)):
                values = (code, item, position, time.time())
                database.execute("INSERT INTO assignments VALUES (?, ?, ?, ?, NULL)", values)

    def next_step(self, code: str) -> Step | None:
        """The first item that a participant has not rated; None when they are done."""
        rows = self.rows("SELECT item FROM assignments WHERE code = ? ORDER BY position", code)
        rated = {item for (item,) in self.rows("SELECT item FROM ratings WHERE code = ?", code)}
        left = [item for (item,) in rows if item not in rated]
        if not left:
            return None
        with self.changing() as database:
            values = (time.time(), code, left[0])
            database.execute("UPDATE assignments SET shown = ? WHERE code = ? AND item = ? AND shown IS NULL", values)
        return Step(self.items[left[0]], len(rows) - len(left) + 1, len(rows))

    def rate(self, code: str, item: str, value: int, seconds: float | None) -> bool:
        """Keep a rating; the first one counts. False if there was one already.

        Args:
            code: Whose it is.
            item: One of theirs.
            value: A point of the scale.
            seconds: What the page measured while it was visible; the server's clock is the upper limit, and serves
                where the page could not measure.

        Returns:
            Whether it is new.
        """
        now = time.time()
        with self.changing() as database:
            row = database.execute("SELECT shown FROM assignments WHERE code = ? AND item = ?", (code, item)).fetchone()
            if row is None:
                raise OffscriptError("this text is not among yours", next="reload the page")
            passed = min(max(0.0, now - (row[0] or now)), LONGEST_SECONDS)
            database.execute(
                "UPDATE assignments SET assigned = 0, shown = NULL WHERE code = ? AND item = ?", (code, item)
            )
            if self._full(database, code, item):
                database.execute("DELETE FROM assignments WHERE code = ? AND item = ?", (code, item))
                return False
            measured = seconds is not None and 0 <= seconds <= passed + 1
            values = (code, item, str(value), seconds if measured else passed, "page" if measured else "server")
            added = database.execute("INSERT OR IGNORE INTO ratings VALUES (?, ?, ?, ?, ?)", values)
            return bool(added.rowcount)

    def counts(self) -> dict[str, int]:
        """Ratings of each item."""
        return {str(item): int(n) for item, n in self.rows("SELECT item, COUNT(*) FROM ratings GROUP BY item")}

    def progress(self) -> dict[str, Any]:
        """How far the study is, without what anybody answered."""
        counts, limit = self.counts(), self.design.ratings_per_item
        wanted = [item for item in self.items.values() if item.system != CHECK]
        (invited, consented), *_ = self.rows("SELECT COUNT(*), SUM(consented) FROM participants")
        systems: dict[str, list[int]] = {}
        for item in wanted:
            entry = systems.setdefault(item.system, [0, 0, 0])
            entry[0] += 1
            entry[1] += counts.get(item.item, 0)
            entry[2] += counts.get(item.item, 0) >= limit
        return {
            "invited": int(invited or 0),
            "begun": int(consented or 0),
            "ratings": sum(entry[1] for entry in systems.values()),
            "wanted": len(wanted) * limit,
            "systems": [{"system": s, "items": n, "ratings": r, "complete": c} for s, (n, r, c) in systems.items()],
        }

    def add_ratings(
        self, entries: Sequence[tuple[str, str, str, float | None]], failed: Mapping[str, bool] | None = None
    ) -> int:
        """Ratings (item, rater, value, seconds) that were given elsewhere; those that are there already are left.

        Args:
            entries: The ratings.
            failed: Whether a rater failed a check of attention, by rater; others are unknown.

        Returns:
            How many are new.
        """
        unknown = [item for item, *_ in entries if item not in self.items]
        if unknown:
            raise OffscriptError(f"the study has no item {unknown[0]!r}", next="import ratings of this study's items")
        added = 0
        with self.changing() as database:
            for item, rater, value, seconds in entries:
                code = f"import:{rater}"
                passed = None if failed is None or rater not in failed else int(not failed[rater])
                person = (code, f"import-{rater}", passed)
                database.execute(
                    "INSERT OR IGNORE INTO participants (code, rater, consented, passed) VALUES (?, ?, 1, ?)", person
                )
                row = (code, item, value, seconds, "imported")
                added += database.execute("INSERT OR IGNORE INTO ratings VALUES (?, ?, ?, ?, ?)", row).rowcount
        return added

    def _full(self, database: sqlite3.Connection, code: str, item: str) -> bool:
        """Whether others have rated an item as often as it may be; checks have no limit."""
        if self.items[item].system == CHECK:
            return False
        query = "SELECT COUNT(*) FROM ratings WHERE item = ? AND code != ?"
        return bool(database.execute(query, (item, code)).fetchone()[0] >= self.design.ratings_per_item)

    def _chosen(self, database: sqlite3.Connection) -> list[str]:
        """Items for one participant: those with the fewest raters so far, of different prompts, and the checks."""
        query = """
            SELECT item, COUNT(*) FROM assignments LEFT JOIN ratings USING (code, item)
            WHERE value IS NOT NULL OR assigned > ? GROUP BY item
        """
        taken: dict[str, int] = dict(database.execute(query, (time.time() - ABANDONED_SECONDS,)))
        source = random.Random(secrets.randbits(64))
        kinds = list(self.items.values())
        source.shuffle(kinds)
        open_items = [i for i in kinds if i.system != CHECK and taken.get(i.item, 0) < self.design.ratings_per_item]
        open_items.sort(key=lambda item: taken.get(item.item, 0))  # stable: equals stay shuffled
        chosen = _spread(open_items, self.design.per_participant)
        if not chosen:
            return []
        chosen += [item.item for item in kinds if item.system == CHECK][: self.design.checks]
        source.shuffle(chosen)
        return chosen


def _spread(items: Sequence[StudyItem], count: int) -> list[str]:
    """The first items with different prompts and, as far as they go, of different systems in turn."""
    chosen: list[StudyItem] = []
    left = list(items)
    while left and len(chosen) < count:
        uses: dict[str, int] = {}
        for item in chosen:
            uses[item.system] = uses.get(item.system, 0) + 1
        best = min(range(len(left)), key=lambda place: (uses.get(left[place].system, 0), place))
        taken = left.pop(best)
        chosen.append(taken)
        others = [item for item in left if not taken.prompt or item.prompt != taken.prompt]
        left = others or left
    return [item.item for item in chosen]
