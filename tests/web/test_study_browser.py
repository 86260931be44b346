"""A study in a real browser: hidden pages and reloads, a phone, keys alone, and markup that people write."""

from pathlib import Path
from typing import Any

from offscript.studies.associations import VALIDATE, WRITE, create_association_study
from offscript.studies.store import RatingStore

ITEMS = 5


def test_a_hidden_page_does_not_count_and_a_reload_does(
    page: Any, service: Any, hostile_study: Any, tmp_path: Path
) -> None:
    codes = hostile_study(tmp_path / "study", 1, ITEMS)
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


def test_pages_fit_a_phone_and_everything_is_reached_by_keys(
    page: Any, service: Any, hostile_study: Any, tmp_path: Path
) -> None:
    codes = hostile_study(tmp_path / "study", 1, ITEMS)
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


def test_what_people_write_is_never_run(page: Any, service: Any, script: str, tmp_path: Path) -> None:
    store = create_association_study(
        tmp_path / "a", [("cook", "profession")], tasks=("intersentence",), per_participant=1, validators=1, agreeing=1
    )
    [writer], [validator] = store.invite(1, WRITE), store.invite(1, VALIDATE)
    served = service(tmp_path / "a")
    served.wait()
    page.goto(f"{served.address}/s/{writer}")
    page.get_by_role("button", name="I agree, begin").click()
    page.locator("[name=context]").fill(f"The cook is here {script}")
    for place, label in enumerate(("stereotype", "anti-stereotype", "unrelated")):
        page.locator(f"[name={label}]").fill(f"sentence number {place} {script}")
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
