"""Checks off the event loop: shared, bounded, remembered, and gone after a failure."""

import asyncio
import threading

import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check, Verdict
from offscript.web.checks import Checks, Limits, OverloadedError


def empty_check(claim: str) -> Check:
    chances = dict.fromkeys(Verdict, 1 / 3)
    return Check(claim, (), Verdict.unknown, 1 / 3, chances, (), (), {}, 0.0)


class Gated:
    """Holds every check until the gate opens, and counts how many are inside at once."""

    def __init__(self) -> None:
        self.gate, self.calls = threading.Event(), list[str]()
        self._lock, self._inside, self.most_inside = threading.Lock(), 0, 0

    def check(self, claim: str) -> Check:
        with self._lock:
            self.calls.append(claim)
            self._inside += 1
            self.most_inside = max(self.most_inside, self._inside)
        self.gate.wait(10)
        with self._lock:
            self._inside -= 1
        return empty_check(claim)


class Failing:
    def __init__(self) -> None:
        self.calls = 0

    def check(self, claim: str) -> Check:
        self.calls += 1
        raise OffscriptError("no luck")


def test_the_same_claim_is_checked_once_for_all_who_ask() -> None:
    async def ask() -> list[Check]:
        waiting = [asyncio.create_task(checks.of("a")) for _ in range(20)]
        await asyncio.sleep(0)
        checker.gate.set()
        return await asyncio.gather(*waiting, checks.of("a"))

    checker = Gated()
    checks = Checks(checker, Limits())
    assert len(asyncio.run(ask())) == 21
    assert checker.calls == ["a"]
    assert checks.unfinished == 0


def test_no_more_run_at_once_than_allowed_and_no_more_wait() -> None:
    async def ask() -> None:
        waiting = [asyncio.create_task(checks.of(str(number))) for number in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match="too many claims"):
            await checks.of("one more")
        checker.gate.set()
        await asyncio.gather(*waiting)
        await checks.of("one more")

    checker = Gated()
    checks = Checks(checker, Limits(at_once=2, waiting=3))
    asyncio.run(ask())
    assert checker.most_inside <= 2
    assert len(checker.calls) == 6


def test_an_impatient_visitor_finds_the_result_later() -> None:
    async def ask() -> Check:
        with pytest.raises(OverloadedError, match="no answer within 0.01 seconds"):
            await checks.of("slow")
        checker.gate.set()
        while checks.unfinished:
            await asyncio.sleep(0.01)
        return await checks.of("slow")

    checker = Gated()
    checks = Checks(checker, Limits(patience=0.01))
    assert asyncio.run(ask()).claim == "slow"
    assert checker.calls == ["slow"]


def test_a_failure_is_told_and_not_remembered() -> None:
    async def ask() -> None:
        for _ in range(2):
            with pytest.raises(OffscriptError, match="no luck"):
                await checks.of("a")

    checker = Failing()
    checks = Checks(checker, Limits())
    asyncio.run(ask())
    assert checker.calls == 2


def test_the_oldest_are_forgotten() -> None:
    async def ask() -> None:
        for claim in ("a", "b", "a", "c", "a", "b"):
            await checks.of(claim)

    checker = Gated()
    checker.gate.set()
    checks = Checks(checker, Limits(remembered=2))
    asyncio.run(ask())
    assert checker.calls == ["a", "b", "c", "b"]
