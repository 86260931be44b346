"""Several processes that share a service's work: which of them has least to do, so that clients move to it.

A client keeps its connection, and so its worker, for as long as it asks. Whoever accepted more clients than the others
therefore stays slower for all of them. Each worker tells the others how many checks it has yet to do; one that has more
than another closes a connection after an answer, and the client comes again to whoever is free.
"""

import fcntl
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TABLE = "OFFSCRIPT_LOADS"  # the environment variable that names the table to workers
MOST_WORKERS = 256
SLACK = 2  # checks more than the least loaded worker has: less is gone before a client comes again
_ROW = struct.Struct("ii")  # the worker's process, and its unfinished checks


class Loads:
    """The table of all workers' loads, in a file that they map into memory.

    Args:
        path: The file, which `shared_table` makes.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._table = mmap.mmap(file.fileno(), 0)
            fcntl.flock(file, fcntl.LOCK_EX)  # two workers that start at once take two rows
            self._row = next(row for row in range(MOST_WORKERS) if not _lives(self._read(row)[0]))
            self.tell(0)
            fcntl.flock(file, fcntl.LOCK_UN)  # the mapping keeps the file open

    def tell(self, unfinished: int) -> None:
        """Write down how many checks this worker has yet to do."""
        _ROW.pack_into(self._table, self._row * _ROW.size, os.getpid(), unfinished)

    @property
    def is_overloaded(self) -> bool:
        """Whether another worker has so much less to do that a client does better there."""
        own = self._read(self._row)[1]
        if own < SLACK:
            return False
        rows = [row for row in _ROW.iter_unpack(self._table[:]) if row[0]]
        return any(own >= unfinished + SLACK and _lives(process) for process, unfinished in rows)

    def _read(self, row: int) -> tuple[int, int]:
        process, unfinished = _ROW.unpack_from(self._table, row * _ROW.size)
        return process, unfinished


@contextmanager
def shared_table() -> Iterator[None]:
    """A table for the workers that are started meanwhile."""
    with tempfile.NamedTemporaryFile(prefix="offscript-loads-") as file:
        file.write(bytes(MOST_WORKERS * _ROW.size))
        file.flush()
        os.environ[TABLE] = file.name
        try:
            yield
        finally:
            os.environ.pop(TABLE, None)


def loads_of_environment() -> Loads | None:
    """The table of this process and its like; None where it is alone."""
    path = os.environ.get(TABLE)
    return None if path is None else Loads(Path(path))


def _lives(process: int) -> bool:
    if not process:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
