"""Checks off the event loop: a few at once, a bounded queue, and the latest remembered."""

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check


class ClaimChecker(Protocol):
    """Whatever checks a claim; several threads use it at once."""

    def check(self, claim: str) -> Check:
        """The claim's whole way to a verdict."""


class OverloadedError(OffscriptError):
    """The service has more to do than it takes on; the same request may succeed later."""


@dataclass(frozen=True)
class Limits:
    """How many checks run at once, how many wait for their turn, for how long, and how many stay in memory."""

    at_once: int = 2
    waiting: int = 200
    patience: float = 30.0
    remembered: int = 256


class Checks:
    """Runs checks in threads. A claim that is being checked or was checked lately is not checked again."""

    def __init__(self, checker: ClaimChecker, limits: Limits) -> None:
        self._checker, self._limits = checker, limits
        self._pool = ThreadPoolExecutor(limits.at_once, thread_name_prefix="check")
        self._known: OrderedDict[str, asyncio.Task[Check]] = OrderedDict()
        self.unfinished = 0

    async def of(self, claim: str) -> Check:
        """The check of a claim; `OverloadedError` where too many wait or the wait is too long."""
        task = self._known.get(claim) or self._begun(claim)
        self._known.move_to_end(claim)
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._limits.patience)
        except asyncio.TimeoutError:
            raise OverloadedError(
                f"no answer within {self._limits.patience:g} seconds", next="the check goes on; ask again in a moment"
            ) from None

    def close(self) -> None:
        """Let running checks end and begin no others."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _begun(self, claim: str) -> "asyncio.Task[Check]":
        if self.unfinished >= self._limits.at_once + self._limits.waiting:
            raise OverloadedError("too many claims are being checked", next="try again in a moment")
        self.unfinished += 1
        task = asyncio.create_task(self._run(claim))
        task.add_done_callback(lambda done: self._settle(claim, done))
        self._known[claim] = task
        return task

    async def _run(self, claim: str) -> Check:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._checker.check, claim)

    def _settle(self, claim: str, task: "asyncio.Task[Check]") -> None:
        """Forget a check that failed, so that the next visitor tries again, and the oldest beyond the limit."""
        self.unfinished -= 1
        if task.cancelled() or task.exception() is not None:
            self._known.pop(claim, None)
        finished = [known for known, other in self._known.items() if other.done()]
        for oldest in finished[: max(0, len(self._known) - self._limits.remembered)]:
            del self._known[oldest]
