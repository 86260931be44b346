"""Claims as visitors type them, checked off the event loop: a few at once, a bounded queue, the latest remembered."""

import asyncio
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check
from offscript.factcheck.pipelines import ClaimChecker
from offscript.web.sharing import loads_of_environment

LONGEST_CLAIM = 500
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn"}
Result = TypeVar("Result")


def read_claim(text: str) -> str:
    """A claim on one line without control and format characters; one that is blank or too long is refused."""
    if len(text) > 8 * LONGEST_CLAIM:
        raise _too_long(len(text))
    visible = "".join(" " if unicodedata.category(letter) in _INVISIBLE else letter for letter in text)
    claim = " ".join(visible.split())
    if not claim:
        raise OffscriptError("the claim is empty", next="write a sentence that can be true or false")
    if len(claim) > LONGEST_CLAIM:
        raise _too_long(len(claim))
    return claim


def _too_long(length: int) -> OffscriptError:
    return OffscriptError(
        f"the claim has {length:,} characters", next=f"{LONGEST_CLAIM} are allowed; check one sentence"
    )


class OverloadedError(OffscriptError):
    """The service has more to do than it takes on; the same request may succeed later."""


@dataclass(frozen=True)
class Limits:
    """How much a process checks, keeps waiting and remembers.

    Args:
        at_once: Checks that run at once. A check is work for the interpreter, of which a process has one: more at once
            only wait for each other.
        waiting: Checks that wait for their turn; one more is refused.
        patience: Seconds after which a visitor is asked to come again; the check goes on.
        remembered: Answers that stay in memory.
        checks_a_minute: Checks of one address in a minute, for a service that asks others in its turn; None for any.
    """

    at_once: int = 1
    waiting: int = 200
    patience: float = 30.0
    remembered: int = 256
    checks_a_minute: int | None = None


class Checks:
    """Runs checks in threads. A claim that is being checked or was checked lately is not checked again."""

    def __init__(self, checker: ClaimChecker, limits: Limits) -> None:
        self.checker, self._limits, self._loads = checker, limits, loads_of_environment()
        self._pool = ThreadPoolExecutor(limits.at_once, thread_name_prefix="check")
        self._known: OrderedDict[str, Future[Check]] = OrderedDict()
        self._lock = threading.Lock()
        self.unfinished = 0

    async def of(self, claim: str) -> Check:
        """The check of a claim; `OverloadedError` where too many wait or the wait is too long."""
        waiting = asyncio.shield(asyncio.wrap_future(self._begun(claim)))
        try:
            return await asyncio.wait_for(waiting, self._limits.patience)
        except asyncio.TimeoutError:
            raise OverloadedError(
                f"no answer within {self._limits.patience:g} seconds", next="the check goes on; ask again in a moment"
            ) from None

    async def beside(self, work: Callable[[], Result]) -> Result:
        """Do other work of the same kind in the same threads, in its turn."""
        return await asyncio.wrap_future(self._pool.submit(work))

    @property
    def is_overloaded(self) -> bool:
        """Whether another process of this service has so much less to do that a client does better there."""
        return self._loads is not None and self._loads.is_overloaded

    def _count(self, more: int) -> None:
        self.unfinished += more
        if self._loads is not None:
            self._loads.tell(self.unfinished)

    def close(self) -> None:
        """Let running checks end and begin no others."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _begun(self, claim: str) -> "Future[Check]":
        """The check of a claim, begun now unless it is known."""
        with self._lock:
            if claim in self._known:
                self._known.move_to_end(claim)
                return self._known[claim]
            if self.unfinished >= self._limits.at_once + self._limits.waiting:
                raise OverloadedError("too many claims are being checked", next="try again in a moment")
            self._count(1)
            future = self._known[claim] = self._pool.submit(self.checker.check, claim)
        future.add_done_callback(lambda done: self._settle(claim, done))
        return future

    def _settle(self, claim: str, done: "Future[Check]") -> None:
        """Forget a check that failed, so that the next visitor tries again, and the oldest beyond the limit."""
        with self._lock:
            self._count(-1)
            if done.cancelled() or done.exception() is not None:
                del self._known[claim]
            while len(self._known) - self.unfinished > self._limits.remembered:
                del self._known[next(known for known, future in self._known.items() if future.done())]
