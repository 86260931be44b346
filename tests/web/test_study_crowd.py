"""Twenty participants of a study at once in real browsers: reloads, broken scripts, and a server that is killed."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from offscript.studies.store import RatingStore

PEOPLE, KILLS, ITEMS = 20, 10, 5
PHONE, DESKTOP = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
BROKEN = "window.fetch = () => { throw new Error('injected') }; setInterval(() => { throw new Error('injected') }, 50);"


def rating_of(code: str, item: str) -> int:
    """What a participant thinks of an item: always the same."""
    return hashlib.sha256(f"{code}{item}".encode()).digest()[0] % 6


class Person:
    """A participant with a browser of their own."""

    def __init__(self, number: int, code: str, address: str) -> None:
        self.number, self.code, self.link = number, code, f"{address}/s/{code}"
        self.thanked: dict[str, int] = {}
        self.reloads = 1 if number in (2, 5, 9) else 0

    async def take_part(self, browser: Any) -> None:
        phone = self.number % 2 == 0
        context = await browser.new_context(
            viewport=PHONE if phone else DESKTOP, java_script_enabled=self.number != 7, has_touch=phone
        )
        if self.number == 4:
            await context.add_init_script(BROKEN)
        page = await context.new_page()
        while not await self._step(page):
            pass
        await context.close()

    async def _step(self, page: Any) -> bool:
        """One page: True at the end. A page that does not load is loaded again, as a person would."""
        from playwright.async_api import Error

        try:
            await page.goto(self.link, timeout=20_000)
            assert await page.title() != "owned"
            if await page.locator("#thanks").count():
                return True
            if await page.get_by_role("button", name="I agree, begin").count():
                await page.get_by_role("button", name="I agree, begin").click(timeout=20_000)
                return False
            await self._rate(page)
        except Error:
            await asyncio.sleep(0.3)
        return False

    async def _rate(self, page: Any) -> None:
        item = await page.locator("input[name=item]").get_attribute("value", timeout=5_000)
        if self.reloads and len(self.thanked) == 2:
            self.reloads -= 1
            await page.reload()
            assert await page.locator("input[name=item]").get_attribute("value") == item
        value = rating_of(self.code, item)
        if self.number % 3 == 1 and self.number not in (4, 7):
            await page.keyboard.press(str(value))
            await page.keyboard.press("Enter")
        else:
            await page.locator(f"input[name=rating][value='{value}']").check(timeout=5_000)
            await page.get_by_role("button", name="Next").click(timeout=5_000)
        await page.locator(f"input[name=item][value='{item}']").wait_for(state="detached", timeout=90_000)
        await page.locator("main").wait_for(timeout=10_000)  # a page of the study, not the browser's own
        self.thanked[item] = value


async def crowd(chromium: str, service: Any, codes: list[str]) -> list[Person]:
    from playwright.async_api import async_playwright

    people = [Person(number, code, service.address) for number, code in enumerate(codes)]
    await asyncio.to_thread(service.wait)

    async def trouble() -> None:
        for _ in range(KILLS):
            await asyncio.sleep(1.0)
            service.kill()
            service.start()
            await asyncio.to_thread(service.wait)

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        await asyncio.gather(trouble(), *(person.take_part(browser) for person in people))
        await browser.close()
    return people


@pytest.mark.slow
def test_twenty_at_once_and_ten_kills_lose_and_double_nothing(
    chromium: str, service: Any, hostile_study: Any, tmp_path: Path
) -> None:
    codes = hostile_study(tmp_path / "study", PEOPLE, ITEMS)
    people = asyncio.run(crowd(chromium, service(tmp_path / "study"), codes))
    store = RatingStore(tmp_path / "study")
    rows = store.rows("SELECT code, item, value, seconds, clock FROM ratings")
    assert len(rows) == len({(code, item) for code, item, *_ in rows}) == PEOPLE * (ITEMS + 1)
    assert all(int(value) == rating_of(code, item) for code, item, value, *_ in rows)
    kept = {(code, item): int(value) for code, item, value, *_ in rows}
    for person in people:
        assert {(person.code, item): value for item, value in person.thanked.items()}.items() <= kept.items()
    clocks = {code: {clock for owner, *_, clock in rows if owner == code} for code in codes}
    assert clocks[codes[7]] == {"server"}
    assert sum(clock == {"page"} for clock in clocks.values()) >= PEOPLE // 2
