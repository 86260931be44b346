"""Ctrl-C between two steps: a run is stored where it stands before it ends."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class StoppedError(KeyboardInterrupt):
    """Ctrl-C ended a run after a whole step.

    Attributes:
        step: How many steps are done.
        total: How many there are.
        checkpoint: The file that the run resumes from; None where it keeps nothing.
    """

    def __init__(self, step: int, total: int, checkpoint: Path | None) -> None:
        super().__init__(f"stopped at step {step} of {total}")
        self.step, self.total, self.checkpoint = step, total, checkpoint


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Note the first Ctrl-C instead of raising at once: half a step cannot be resumed from. A second one raises.

    Only the main thread can do so, and only where nobody else handles the signal: elsewhere all is as without it.

    Yields:
        Whether Ctrl-C was pressed.
    """
    alone = threading.current_thread() is threading.main_thread()
    if not alone or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    pressed = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        pressed.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
