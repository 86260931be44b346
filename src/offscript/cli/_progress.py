"""Progress on standard error: what is done, how fast, and the time left."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar


def progress_bar(*, quiet: bool) -> Bar:
    """A bar on standard error; nothing where it is not a terminal or quiet is asked for."""
    console = Console(stderr=True)
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
        transient=True,
    )


@contextmanager
def counting(description: str, total: int | None = None, *, quiet: bool) -> Iterator["Counter"]:
    """A bar that counts up to a total, which may become known later."""
    with progress_bar(quiet=quiet) as bar, Lines(description, quiet=quiet) as lines:
        lines.start(total or 0)
        yield Counter(bar, bar.add_task(description, total=total, note=""), lines)


class Lines:
    """Off a terminal, what a bar would show: a line after 3 s of work, then one every 30 s.

    Between `with` and its end a thread sees to the lines of work that counts nothing, such as loading a model. With
    `everywhere` they are printed on a terminal too, until `hush` is called because a bar is shown.
    """

    FIRST, NEXT = 3.0, 30.0

    def __init__(self, name: str, *, quiet: bool, everywhere: bool = False) -> None:
        self._stream = sys.stderr  # as it is now: while a model is loaded, another one swallows its library's bars
        self._on_terminal = Console(stderr=True).is_terminal
        self._name, self._silent = name, quiet or (self._on_terminal and not everywhere)
        self._ended, self._lock = threading.Event(), threading.RLock()
        self._watcher: threading.Thread | None = None
        self.start(0)

    def __enter__(self) -> "Lines":
        if not self._silent:
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()  # it must not print to a stream that is closed after this

    def hush(self) -> None:
        """A bar is shown from now on, where there is a terminal."""
        self._silent = self._silent or self._on_terminal

    def begin(self, name: str) -> None:
        """Other work begins."""
        with self._lock:
            self._name = name
            self.start(0)

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            self.advance(0)

    def start(self, total: int) -> None:
        """Begin to count up to a total."""
        with self._lock:
            self._total, self._done, self._began = total, 0, time.monotonic()
            self._due, self._first = self._began + self.FIRST, (0.0, 0)

    def advance(self, done: int, note: str = "") -> None:
        """So many more are done."""
        with self._lock:
            self._done += done
            now = time.monotonic()
            if not self._first[1]:
                self._first = now, self._done  # what comes before, such as loading, says nothing of the rate
            if self._silent or now < self._due:
                return
            self._due, spent = now + self.NEXT, duration(now - self._began)
            progress = f"{self._done:,} of {self._total:,} in {spent}" if self._total else f"{spent} so far"
            self.say(f"{self._name}: {progress}{self._estimate(now)}{note}")

    def _estimate(self, now: float) -> str:
        if not self._first[1] < self._done < self._total:
            return ""
        left = (now - self._first[0]) / (self._done - self._first[1]) * (self._total - self._done)
        return f", about {duration(left)} left"

    def say(self, line: str) -> None:
        """Print a line where there is no bar."""
        if not self._silent:
            print(line, file=self._stream, flush=True)


def duration(seconds: float) -> str:
    """In seconds, or in minutes where there are many."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Counter:
    """Called with how many more are done; a question tells it first how many there will be."""

    def __init__(self, bar: Bar, task: TaskID, lines: Lines) -> None:
        self._bar, self._task, self._lines = bar, task, lines

    def start(self, total: int) -> "Counter":
        self._bar.update(self._task, total=total, completed=0)
        self._lines.start(total)
        return self

    def __call__(self, done: int) -> None:
        self._bar.advance(self._task, done)
        self._lines.advance(done)


class TrainingBar:
    """Follows a training run: that it is being prepared, then loss, tokens per second, best validation, time left."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        self._bar, self._name, self._best, self._quiet = progress_bar(quiet=quiet), name, "", quiet
        self._task: TaskID | None = None
        self._lines, self._step = Lines(f"{name}: preparing", quiet=quiet, everywhere=True), 0
        self._lines.__enter__()

    def __enter__(self) -> "TrainingBar":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()  # a run that fails does not come to its own end

    def begin(self, step: int, total: int) -> None:
        if step and not self._quiet:
            told = f"resumes from step {step:,} of {total:,}" if step < total else f"all {total:,} steps are done"
            print(f"{self._name}: {told}", file=sys.stderr, flush=True)
        self._bar.start()
        self._lines.hush()
        self._lines.begin(self._name)
        self._lines.start(total - step)
        self._step = step
        self._task = self._bar.add_task(self._name, total=total, completed=step, note="")

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        assert self._task is not None
        note = f"loss {loss:.3f}  {tokens_per_second:,.0f} tokens/s{self._best}"
        self._bar.update(self._task, completed=step, note=note)
        self._lines.advance(step - self._step, f"; {note}")
        self._step = step

    def validated(self, step: int, nll: float, best: float) -> None:
        self._best = f"  validation {nll:.3f} (best {best:.3f})"
        if self._bar.disable:
            return
        self._bar.console.print(f"step {step}: validation nll {nll:.4f}, best {best:.4f}")

    def note(self, step: int, text: str) -> None:
        if not self._quiet:
            print(f"{self._name}: step {step:,}: {text}", file=sys.stderr, flush=True)

    def end(self) -> None:
        self._lines.__exit__()
        self._bar.stop()


class AuditBar:
    """Follows an audit: which question, how much of it is done, and the time left."""

    def __init__(self, *, quiet: bool) -> None:
        self._bar, self._began = progress_bar(quiet=quiet), time.monotonic()
        self._task, self._title, self._lines = TaskID(0), "", Lines("Loading and planning", quiet=quiet)

    def __enter__(self) -> "AuditBar":
        self._bar.start()
        self._lines.__enter__()
        self._task = self._bar.add_task("Loading and planning", total=None, note="")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._lines.__exit__()
        if kind is None:
            self._finish()
        self._bar.stop()
        if kind is KeyboardInterrupt:
            self._bar.console.print("offscript: stopped; answers so far are stored, and the same command resumes")

    def say(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        self._lines.say(line)
        if not self._bar.disable:
            self._bar.console.print(escape(line))

    def question(self, number: int, total: int, title: str, *, stored: bool) -> None:
        self._finish()
        self._title, self._began = f"[{number}/{total}] {title}", time.monotonic()
        self._lines.begin(self._title)
        self._lines.say(f"{self._title}{' (stored)' if stored else ''}")
        note = "stored" if stored else ""
        self._task = self._bar.add_task(escape(self._title), total=None, note=note)

    def start(self, total: int) -> Counter:
        return Counter(self._bar, self._task, self._lines).start(total)

    def _finish(self) -> None:
        """Take the bar of the last question away, and say how long it took."""
        if self._task in self._bar.task_ids:
            self._bar.remove_task(self._task)
        if self._title:
            self.say(f"{self._title}: {duration(time.monotonic() - self._began)}")
