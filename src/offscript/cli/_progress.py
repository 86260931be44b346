"""Progress on standard error: what is done, how fast, and the time left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
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
    with progress_bar(quiet=quiet) as bar:
        yield Counter(bar, bar.add_task(description, total=total, note=""))


class Counter:
    """Called with how many more are done; a question tells it first how many there will be."""

    def __init__(self, bar: Bar, task: TaskID) -> None:
        self._bar, self._task = bar, task

    def start(self, total: int) -> "Counter":
        self._bar.update(self._task, total=total, completed=0)
        return self

    def __call__(self, done: int) -> None:
        self._bar.advance(self._task, done)


class TrainingBar:
    """Follows a training run: loss, tokens a second, best validation so far, time left."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        self._bar, self._name, self._best = progress_bar(quiet=quiet), name, ""
        self._task: TaskID | None = None

    def begin(self, step: int, total: int) -> None:
        self._bar.start()
        self._task = self._bar.add_task(self._name, total=total, completed=step, note="")

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        assert self._task is not None
        note = f"loss {loss:.3f}  {tokens_per_second:,.0f} tokens/s{self._best}"
        self._bar.update(self._task, completed=step, note=note)

    def validated(self, step: int, nll: float, best: float) -> None:
        self._best = f"  validation {nll:.3f} (best {best:.3f})"
        if self._bar.disable:
            return
        self._bar.console.print(f"step {step}: validation nll {nll:.4f}, best {best:.4f}")

    def end(self) -> None:
        self._bar.stop()


class AuditBar:
    """Follows an audit: which question, how much of it is done, and the time left."""

    def __init__(self, *, quiet: bool) -> None:
        self._bar, self._task = progress_bar(quiet=quiet), TaskID(0)

    def __enter__(self) -> "AuditBar":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            self._bar.console.print("offscript: stopped; answers so far are stored, and the same command resumes")

    def question(self, number: int, total: int, title: str, *, stored: bool) -> None:
        note = "stored by an earlier run" if stored else ""
        self._task = self._bar.add_task(f"[{number}/{total}] {title}".replace("[", r"\["), total=1, note=note)
        if stored:
            self._bar.update(self._task, completed=1)

    def start(self, total: int) -> Counter:
        return Counter(self._bar, self._task).start(total)
