"""Coloured texts, map, statements and pairs in a real browser: by pointer and keyboard, hostile texts as text."""

import base64
import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from offscript.audits.audit import Record, Section
from offscript.report.exhibits import level, views_of
from offscript.report.page import render_page, write_page

Opener = Callable[[Path], list[str]]


def tokens(pieces: list[str], words: list[str]) -> dict[str, Any]:
    """Texts of five tokens each, one of which has the highest value."""
    texts = []
    for first in range(0, len(pieces), 5):
        part = pieces[first : first + 5]
        values = [0.1 * place for place in range(len(part))]
        texts.append(
            {
                "ids": list(range(len(part))),
                "pieces": part,
                "values": {"kl": values, "entropy": [1.0 - value for value in values]},
                "running": values,
                "alternatives": [[[first % len(words), 0], [0, first % len(words)]] for _ in part],
                "probabilities": [[[0.75, 0.05], [0.5, 0.25]] for _ in part],
                "label": words[first % len(words)],
                "focus": 1,
            }
        )
    measures = [{"name": name, "label": words[0], "unit": words[1], "scale": 0.4} for name in ("kl", "entropy")]
    return {
        "kind": "tokens", "title": words[2], "note": words[3], "models": [words[4], words[5]], "measures": measures,
        "running": words[6], "words": words, "columns": [{"title": words[7], "texts": texts}],
    }  # fmt: skip


def drift(rows: int, columns: int, words: list[str]) -> dict[str, Any]:
    levels = bytes((3 * row + 5 * column) % 256 for row in range(rows) for column in range(columns))
    return {
        "kind": "map", "title": words[0], "measure": {"label": words[1], "unit": words[2], "scale": 1.0}, "bound": 0.5,
        "shape": [rows, columns], "levels": base64.b64encode(levels).decode(),
        "starts": [row % columns if row % 3 else -1 for row in range(rows)], "words": words,
        "texts": [[(row * columns + column) % len(words) for column in range(columns)] for row in range(rows)],
        "summary": [{"tokens": words[3], "mean": 0.2, "bad": 0.01}],
    }  # fmt: skip


def statements(words: list[str]) -> dict[str, Any]:
    made = [
        {
            "text": word,
            "verdict": word,
            "tone": "found",
            "confidence": 0.5,
            "evidence": [{"text": word, "source": word}],
        }
        for word in words
    ]
    return {"kind": "statements", "title": words[0], "columns": [{"title": words[1], "statements": made}]}


def pairs(words: list[str]) -> dict[str, Any]:
    sides = [{"label": word, "text": word, "share": 0.5, "told": word} for word in words]
    grouped = [{"sides": sides[place : place + 2]} for place in range(0, len(sides), 2)]
    return {"kind": "pairs", "title": words[0], "note": words[1], "groups": [{"title": words[2], "pairs": grouped}]}


def record(exhibits: list[dict[str, Any]], name: str = "model") -> Record:
    config = {"budget": "quick", "samples": 10, "length": 5, "seed": 1, "seconds": 2.0}
    return Record(name, None, (), config, [Section("likelihood", "Where?", [], exhibits)], [], "now", Path("r.json"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = [f" word{number}" for number in range(40)]
    path = tmp_path_factory.mktemp("exhibits") / "page.html"
    write_page(record([tokens(words, words), drift(500, 50, words), statements(words[:4]), pairs(words[:4])]), path)
    return path


def test_every_token_has_the_colour_of_its_value() -> None:
    words = [f" word{number}" for number in range(40)]
    [view] = views_of([tokens(words, words)])
    for text in view["columns"][0]["texts"]:
        assert [span["level"] for span in text["spans"]] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])


@pytest.mark.parametrize(("value", "share"), [(0.5, 0.5), (3.0, 1.0), (-1.0, 0.0), ("inf", 1.0), (math.nan, 0.0)])
def test_a_colour_stays_between_none_and_full(value: float | str, share: float) -> None:
    assert level(value, 1.0) == share


def test_an_unknown_kind_of_exhibit_is_left_out() -> None:
    assert views_of([{"kind": "hologram"}]) == []


def test_pointing_at_a_token_shows_the_alternatives_of_both_models(page: Any, open_page: Opener, plain: Path) -> None:
    open_page(plain)
    assert page.locator("#alternatives").is_hidden()
    page.locator(".tokens .t").nth(2).hover()
    shown = page.locator("#alternatives")
    assert shown.is_visible()
    assert shown.locator("strong").all_text_contents() == [" word4", " word5"]
    assert shown.locator("li").count() == 4
    assert "75 %" in shown.inner_text()
    page.keyboard.press("Escape")
    assert shown.is_hidden()


def test_a_slider_reaches_every_token_by_keyboard(page: Any, open_page: Opener, plain: Path) -> None:
    open_page(plain)
    slider = page.locator(".ribbon input").first
    slider.focus()
    page.keyboard.press("Home")
    for expected in ("word1", "word2", "word3", "word4"):
        page.keyboard.press("ArrowRight")
        assert page.locator(".t.here").inner_text().strip() == expected
        assert slider.get_attribute("aria-valuetext").startswith(expected)
    assert page.locator("#alternatives").is_visible()


def test_another_measure_colours_the_text_on_request(page: Any, open_page: Opener, plain: Path) -> None:
    open_page(plain)
    page.locator("[data-exhibit=tokens] input[type=radio]").nth(1).check()
    levels = page.eval_on_selector_all(
        ".tokens .t", "tokens => tokens.slice(0, 5).map(token => Number(token.style.getPropertyValue('--v')))"
    )
    assert levels == [1, 1, 1, 1, 1]  # 1 - value is above the scale of 0.4 everywhere


def test_the_map_answers_within_a_frame_and_by_keyboard(page: Any, open_page: Opener, plain: Path) -> None:
    open_page(plain)
    slider = page.locator(".brush .first")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert page.locator(".brushed .place").first.inner_text() == "sample 6, first bad token: 6"
    spent = page.evaluate(
        """() => { const slider = document.querySelector('.brush .first'), began = performance.now();
        for (let row = 1; row <= 100; row++) { slider.value = row; slider.dispatchEvent(new Event('input')); }
        return (performance.now() - began) / 100; }"""
    )
    assert spent < 100  # a tenth of a second feels immediate; it takes about one millisecond
    canvas = page.locator(".plane canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] * 0.5)
    page.mouse.down()
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] * 0.51)
    page.mouse.up()
    numbers = [int(text.split(",")[0].split()[1]) for text in page.locator(".brushed .place").all_inner_texts()]
    assert numbers[0] == pytest.approx(251, abs=2)
    assert len(numbers) >= 4


def test_the_map_is_painted_from_its_levels(page: Any, open_page: Opener, plain: Path) -> None:
    open_page(plain)
    reds = page.evaluate(
        """() => Array.from(document.querySelector('.plane canvas').getContext('2d').getImageData(0, 0, 50, 1).data)
        .filter((_, at) => at % 4 === 2)"""
    )
    assert all(before > after for before, after in pairwise(reds))  # levels rise along the first row
    page.locator(".drift select").select_option("bad")
    assert page.locator(".brushed .place").first.inner_text().endswith("first bad token: 1")


def test_a_hundred_payloads_are_nothing_but_text(
    page: Any, open_page: Opener, payloads: list[str], tmp_path: Path
) -> None:
    assert len(payloads) == 100
    path = tmp_path / "page.html"
    exhibits = [tokens(payloads, payloads), drift(20, 5, payloads), statements(payloads), pairs(payloads)]
    write_page(record(exhibits, payloads[0]), path)
    assert open_page(path) == [path.as_uri()]
    scripts = page.evaluate("document.scripts.length")
    for token in page.locator("[data-exhibit=tokens] .t").all()[:100:7]:
        token.hover(force=True)
    for line in range(1, 21, 3):
        page.locator(".brush .first").fill(str(line))
    page.locator(".statements summary").first.click()
    assert page.evaluate("document.scripts.length") == scripts
    assert page.locator("main iframe, main img, main [onload], main [onerror]").count() == 0
    assert "owned" not in page.evaluate("document.title").replace(payloads[0], "")
    shown = page.locator("[data-exhibit=tokens] .t").all_text_contents()
    assert shown == [payload.replace("\x00", "") for payload in payloads]


def test_embedded_data_cannot_end_its_script(payloads: list[str]) -> None:
    text = render_page(record([tokens(payloads, payloads)]))
    begun = text.index('<script type="application/json">') + len('<script type="application/json">')
    assert json.loads(text[begun : text.index("</script>", begun)])["words"] == payloads


def test_a_page_is_made_again_from_stored_exhibits(tmp_path: Path) -> None:
    words = [f" word{number}" for number in range(40)]
    made = record([tokens(words, words)])
    stored = json.loads(json.dumps(made.answers[0].exhibits))
    again = replace(made, answers=[replace(made.answers[0], exhibits=stored)])
    assert render_page(again) == render_page(made)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong_with_exhibits(
    scheme: str, page: Any, open_page: Opener, plain: Path, violations: Callable[[], list[str]]
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_page(plain)
    page.locator(".tokens .t").nth(2).hover()
    assert violations() == []
