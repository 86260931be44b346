"""A study in a real browser: twenty participants at once, reloads, broken scripts, and a server that is killed."""

import asyncio
import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from offscript.studies.associations import VALIDATE, WRITE, create_association_study
from offscript.studies.design import StudyDesign, StudyItem, write_study
from offscript.studies.drawing import attention_checks
from offscript.studies.store import RatingStore

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
PEOPLE, KILLS, ITEMS = 20, 10, 5
PHONE, DESKTOP = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
BROKEN = "window.fetch = () => { throw new Error('injected') }; setInterval(() => { throw new Error('injected') }, 50);"


def hostile_study(folder: Path) -> list[str]:
    items = [
        StudyItem(
            item=f"i{n}", system=f"s{n % 2}", prompt=f"the fragment {n}", text=f"the fragment {n} {SCRIPT} & more"
        )
        for n in range(30)
    ]
    design = StudyDesign(kind="rating", title="How expected?", owner="o", per_participant=ITEMS, ratings_per_item=25)
    write_study(folder, design, [*items, *attention_checks(2, seed=1)])
    return RatingStore(folder).invite(PEOPLE)


class Service:
    """`offscript serve --study` on one port, killed and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        program = "from offscript.cli import main; main()"
        arguments = ["serve", "--study", str(folder), "--port", str(self.port)]
        self._command = [sys.executable, "-c", program, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def wait(self) -> None:
        """Until it takes connections."""
        for _ in range(600):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            time.sleep(0.2)
        raise TimeoutError


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Any]:
    running: list[Service] = []

    def start(folder: Path) -> Service:
        running.append(Service(folder))
        running[-1].start()
        return running[-1]

    yield start
    for each in running:
        each.kill()


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


async def crowd(chromium: str, service: Service, codes: list[str]) -> list[Person]:
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
def test_twenty_at_once_and_ten_kills_lose_and_double_nothing(chromium: str, service: Any, tmp_path: Path) -> None:
    codes = hostile_study(tmp_path / "study")
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


def test_a_hidden_page_does_not_count_and_a_reload_does(page: Any, service: Any, tmp_path: Path) -> None:
    codes = hostile_study(tmp_path / "study")
    served = service(tmp_path / "study")
    served.wait()
    page.goto(f"{served.address}/s/{codes[0]}")
    page.get_by_role("button", name="I agree, begin").click()
    page.wait_for_selector("form.answer")
    page.wait_for_timeout(700)
    hide = "Object.defineProperty(document, '{}', {{ get: () => {}, configurable: true }});"
    page.evaluate(hide.format("hidden", "true") + hide.format("visibilityState", "'hidden'"))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(3000)
    page.reload()  # visible again
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.get_by_text("Text 2 of").wait_for()
    [(seconds, clock)] = RatingStore(tmp_path / "study").rows("SELECT seconds, clock FROM ratings")
    assert clock == "page"
    assert 0.7 <= seconds < 3


def test_pages_fit_a_phone_and_everything_is_reached_by_keys(page: Any, service: Any, tmp_path: Path) -> None:
    codes = hostile_study(tmp_path / "study")
    served = service(tmp_path / "study")
    served.wait()
    page.set_viewport_size({"width": 320, "height": 640})
    fits = "document.documentElement.scrollWidth <= window.innerWidth"
    page.goto(f"{served.address}/s/{codes[0]}")
    assert page.evaluate(fits)
    while page.evaluate("document.activeElement.tagName") != "BUTTON":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    for number in range(1, ITEMS + 2):
        page.get_by_text(f"Text {number} of").wait_for()
        assert page.evaluate(fits)
        assert page.title() == "How expected?"
        page.keyboard.press("Tab")
        page.keyboard.press(str(number % 6))
        page.keyboard.press("Enter")
    page.wait_for_selector("#thanks")
    for path in ("/overview/o", f"/s/{codes[0]}/delete", "/"):
        page.goto(served.address + path)
        assert page.evaluate(fits)


def test_what_people_write_is_never_run(page: Any, service: Any, tmp_path: Path) -> None:
    store = create_association_study(
        tmp_path / "a", [("cook", "profession")], tasks=("intersentence",), per_participant=1, validators=1, agreeing=1
    )
    [writer], [validator] = store.invite(1, WRITE), store.invite(1, VALIDATE)
    served = service(tmp_path / "a")
    served.wait()
    page.goto(f"{served.address}/s/{writer}")
    page.get_by_role("button", name="I agree, begin").click()
    page.locator("[name=context]").fill(f"The cook is here {SCRIPT}")
    for place, label in enumerate(("stereotype", "anti-stereotype", "unrelated")):
        page.locator(f"[name={label}]").fill(f"sentence number {place} {SCRIPT}")
    page.get_by_role("button", name="Save and go on").click()
    page.wait_for_selector("#thanks")
    page.goto(f"{served.address}/s/{validator}")
    page.get_by_role("button", name="I agree, begin").click()
    page.wait_for_selector("fieldset")
    assert page.title() == "Association tests"
    assert "<script>" in page.locator("main").inner_text()
    for fieldset in page.locator("fieldset").all():
        fieldset.locator("input").first.check()
    page.get_by_role("button", name="Next").click()
    page.wait_for_selector("#thanks")
    assert store.rows("SELECT COUNT(*) FROM validations") == [(3,)]
