"""The page: self-contained, escaped, drawn by a real browser without any network request."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.audits.audit import Answered, Record
from offscript.measures.intervals import Curve, Interval
from offscript.measures.measurement import Measurement
from offscript.report.page import command_for, render_page
from offscript.report.words import number, with_interval

HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "</style><style>body { display: none }</style>",
    "\" onmouseover=\"document.title='owned'\" 'quoted'",
    "\u202eright to left\u202c and back",
    "x" * 10_000,
    "<!-- comment --> &amp; ]]> {{ 7 * 7 }} {% raw %}",
]


def measurement(name: str = "ppl", curve: Curve | None = None) -> Measurement:
    return Measurement(
        question="likelihood",
        name=name,
        value=12.3456,
        standard_error=0.1,
        interval=Interval(12.0, 12.7, 0.95, "delta"),
        n=1000,
        seed=None,
        seconds=1.0,
        recipe={"model": HOSTILE[0]},
        by_position=curve,
    )


def record(texts: list[str], curve: Curve | None = None) -> Record:
    exhibit = {"kind": "texts", "title": texts[0], "columns": [{"title": "model", "texts": texts}]}
    answer = Answered("likelihood", "How well does it predict?", [measurement(), measurement("nll", curve)], [exhibit])
    config = {
        "oracle": "oracle",
        "corpus": [],
        "budget": "quick",
        "samples": 10,
        "length": 5,
        "seed": 1,
        "seconds": 2.0,
    }
    return Record(
        "model </title>", "oracle", (), config, [answer], [("Else?", "no corpus")], "today", Path("results.json")
    )


CURVE = Curve((1.0, 1.1, 1.2), (0.9, 1.0, 1.1), (1.1, 1.2, 1.3), 0.95, "delta")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (1.0, "1.000"), (12.3456, "12.35"), (1234.56, "1,235"), (0.00123, "0.001230"), (float("inf"), "∞")],
)
def test_numbers_keep_four_digits(value: float, shown: str) -> None:
    assert number(value) == shown


def test_a_figure_is_told_with_its_interval() -> None:
    assert with_interval(measurement()) == "12.35 (95%: 12.00 to 12.70)"


def test_the_command_makes_the_same_question_again() -> None:
    assert command_for(record(["text"]), "likelihood") == (
        "offscript audit 'model </title>' --oracle oracle --only likelihood "
        "--budget quick --seed 1 --length 5 --limit 10"
    )


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_no_text_becomes_markup(texts: list[str]) -> None:
    benign = render_page(record(["plain"] * len(texts)))
    hostile = render_page(record(texts))
    for tag in ("<script", "<style", "<li", "<img", "<!--"):
        assert hostile.count(tag) == benign.count(tag)


def test_the_page_shows_hostile_text_as_text_and_draws_offline(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "audit.html"
    path.write_text(render_page(record(HOSTILE, CURVE)), encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".chart svg")
    assert page.title() == "offscript audit of model </title>"
    assert page.locator("li").all_text_contents() == HOSTILE
    assert page.locator("body").is_visible()
    assert requests == [path.as_uri()]


def test_the_page_fits_a_phone_in_the_dark(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "audit.html"
    path.write_text(render_page(record(HOSTILE, CURVE)), encoding="utf-8")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(path.as_uri())
    page.wait_for_selector(".chart svg")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(20, 23, 26)"
