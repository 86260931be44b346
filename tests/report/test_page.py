"""The page: self-contained, escaped, drawn by a real browser without any network request."""

import importlib.util
import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from offscript.audits.audit import Record, Section, plan_audit, run_audit
from offscript.cli.audit import settings_of
from offscript.corpora import WordVocabulary
from offscript.measures.measurement import Measurement
from offscript.measures.subject import Subject, columns_of_texts
from offscript.measures.words import number, short_name, with_interval
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.report.page import command_for, render_page, write_page
from offscript.statistics import Curve, Interval

REPOSITORY = Path(__file__).resolve().parents[2]
Opener = Callable[[Path], list[str]]
HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "</style><style>body { display: none }</style>",
    "\" onmouseover=\"document.title='owned'\" 'quoted'",
    "\u202eright to left\u202c and back",
    "x" * 10_000,
    "<!-- comment --> &amp; ]]> {{ 7 * 7 }} {% raw %}",
]

QUESTIONS_OF_A_PAIR = ("places", "likelihood", "exposure", "regret", "recovery", "sampling", "samples")


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
    answer = Section(
        "likelihood",
        "How well does it predict?",
        [measurement(), measurement("nll", curve), measurement("bpc")],
        [exhibit],
    )
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


def test_the_command_of_a_large_model_names_what_it_was_asked_with() -> None:
    made = record(["text"])
    settings = {"samplers": ["top-k,k=5", "nucleus,p=0.9"], "most_prefixes": 83, "shortest": None}
    large = replace(made, config={**made.config, "pace": 200.0})
    words = shlex.split(command_for(large, "sampling", settings))
    changes = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    assert settings_of(changes) == {"sampling": settings}
    assert words[words.index("--pace") + 1] == "200"
    assert "--set" not in command_for(made, "sampling", settings)


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_no_text_becomes_markup(texts: list[str]) -> None:
    benign = render_page(record(["plain"] * len(texts)))
    hostile = render_page(record(texts))
    for tag in ("<script", "<style", "<li", "<img", "<!--"):
        assert hostile.count(tag) == benign.count(tag)


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """A whole audit of a small pair, with what a hostile model would say among its texts."""
    vocabulary = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(12))])
    with torch.random.fork_rng():
        torch.manual_seed(1)
        student, oracle = (LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval() for _ in range(2))
    student.name, oracle.name = "student", "oracle"
    subject = Subject(student, oracle, length=16, limit=60)
    whole = run_audit(subject, plan_audit(subject, QUESTIONS_OF_A_PAIR), tmp_path_factory.mktemp("audit"))
    said = Section("said", "What does it say?", [], [columns_of_texts([("model", HOSTILE)], "hostile")])
    return replace(whole, answers=[*whole.answers, said], left_out=[("Else?", "no corpus")])


@pytest.fixture(scope="module")
def written(audited: Record, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "audit.html"
    write_page(audited, path)
    return path


def test_every_plot_is_drawn_without_any_request(page: Any, open_page: Opener, written: Path) -> None:
    assert written.stat().st_size < 3_000_000
    assert open_page(written) == [written.as_uri()]
    marks = "['line', 'symbol', 'rect'].map(mark => `.mark-${mark} path`).join()"
    drawn = page.eval_on_selector_all(
        ".chart", f"charts => charts.map(chart => chart.querySelectorAll({marks}).length)"
    )
    assert len(drawn) >= 6
    assert min(drawn) > 0
    for wanted in ("EB-C", "CGD", "Regret", "Quality over diversity", "Continuations"):
        assert page.locator("figcaption", has_text=wanted).count() >= 1


def test_every_question_has_a_verdict_with_an_interval_and_a_command(
    page: Any, open_page: Opener, written: Path
) -> None:
    open_page(written)
    verdicts = page.locator(".scorecard > li:not(.left-out) .verdict").all_text_contents()
    assert page.locator(".scorecard .gauge svg[role=img]").count() == len(QUESTIONS_OF_A_PAIR) - 1
    assert len(verdicts) == len(QUESTIONS_OF_A_PAIR) - 1
    assert all("95%:" in told for told in verdicts)
    commands = page.locator("details code", has_text="offscript audit").all_text_contents()
    assert len(commands) == len(QUESTIONS_OF_A_PAIR) + 1
    assert all(text.startswith("offscript audit student --oracle oracle --only") for text in commands)


def test_hostile_text_shows_as_text(page: Any, open_page: Opener, written: Path) -> None:
    open_page(written)
    assert page.locator("#said li").all_text_contents() == HOSTILE
    assert page.title() == "offscript audit of student"
    assert page.locator("body").is_visible()


def test_hostile_names_show_as_text(page: Any, open_page: Opener, tmp_path: Path) -> None:
    path = tmp_path / "audit.html"
    path.write_text(render_page(record(HOSTILE, CURVE)), encoding="utf-8")
    assert open_page(path) == [path.as_uri()]
    assert page.title() == "offscript audit of model </title>"
    assert page.locator(".exhibit li").all_text_contents() == HOSTILE


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    ("scheme", "ink", "paper"), [("light", "28, 33, 38", "251, 250, 248"), ("dark", "230, 232, 234", "20, 23, 26")]
)
def test_it_fits_phone_and_desk_in_light_and_dark(
    width: int, scheme: str, ink: str, paper: str, page: Any, open_page: Opener, written: Path, tmp_path: Path
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 740})
    open_page(written)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({paper})"
    assert page.evaluate("getComputedStyle(document.querySelector('.chart svg text')).fill") == f"rgb({ink})"
    widths = page.eval_on_selector_all(
        ".chart svg", "charts => charts.map(chart => chart.getBoundingClientRect().width)"
    )
    assert max(widths) <= width
    shot = tmp_path / "page.png"
    page.screenshot(path=shot, full_page=True)
    assert shot.stat().st_size > 20_000


def test_it_prints_in_black_on_white_even_from_the_dark(
    page: Any, open_page: Opener, written: Path, tmp_path: Path
) -> None:
    page.emulate_media(color_scheme="dark", media="print")
    open_page(written)
    assert page.evaluate("getComputedStyle(document.querySelector('.chart svg text')).fill") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong(
    scheme: str, page: Any, open_page: Opener, written: Path, violations: Callable[[], list[str]]
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_page(written)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert violations() == []


def test_a_page_without_an_oracle_is_as_good(
    page: Any, open_page: Opener, violations: Callable[[], list[str]], tmp_path: Path
) -> None:
    words = [f"w{index}" for index in range(12)]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = LSTMLanguageModel(
            WordVocabulary(["<unk>", "<eos>", *words]), LSTMSettings(hidden=8, embedding=8)
        ).eval()
    model.name = "alone"
    corpus, path = tmp_path / "corpus.txt", tmp_path / "audit.html"
    lines = [" ".join(words[(row * step) % 12] for step in range(1, 15)) for row in range(1, 61)]
    corpus.write_text("\n".join(lines))
    subject = Subject(model, corpus=(str(corpus),), length=12, limit=60)
    write_page(run_audit(subject, plan_audit(subject, ("places", "likelihood", "exposure", "samples")), tmp_path), path)
    assert path.stat().st_size < 3_000_000
    assert open_page(path) == [path.as_uri()]
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert violations() == []
    assert "surprise under the model" in page.locator("#places").inner_text()


def test_the_keyboard_reaches_every_control(page: Any, open_page: Opener, written: Path) -> None:
    open_page(written)
    controls = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, input, select, summary')]
        .filter(each => each.checkVisibility({ checkVisibilityCSS: true }) && each.tabIndex < 0)
        .map(each => each.outerHTML)"""
    )
    assert controls == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("?")
    assert page.locator("#glossary").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#glossary").is_hidden()


def test_a_link_to_a_figure_unfolds_its_table(page: Any, open_page: Opener, written: Path) -> None:
    open_page(written)
    page.evaluate("location.hash = '#exposure.eb_c.js'")
    page.wait_for_function("document.getElementById('exposure.eb_c.js').checkVisibility()")
    signature = page.locator("tr[id='exposure.eb_c.js']").get_attribute("data-signature")
    assert signature.startswith("exposure.eb_c.js ")
    assert "|s:1|" in signature


def test_charts_and_figures_can_be_downloaded(page: Any, open_page: Opener, written: Path) -> None:
    open_page(written)
    for label, start in (
        ("Download as CSV", "series,place,value"),
        ("Download all figures as CSV", "question,name,value"),
    ):
        with page.expect_download() as download:
            page.locator(f"button[aria-label^='{label}']").first.click()
        assert Path(download.value.path()).read_text(encoding="utf-8").startswith(start)
    with page.expect_download() as download:
        page.locator("button[aria-label^='Download as SVG']").first.click()
    drawing = Path(download.value.path()).read_text(encoding="utf-8")
    assert drawing.startswith("<svg")
    assert "var(--" not in drawing


def test_one_distance_is_shown_at_a_time(page: Any, open_page: Opener, audited: Record, written: Path) -> None:
    (exposure,) = (answer for answer in audited.answers if answer.name == "exposure")
    ratios = {entry.name for entry in exposure.measurements if entry.name.startswith("eb_c.")}
    assert ratios == {"eb_c.tv", "eb_c.js"}  # 60 samples do not bound eb_c.gd
    open_page(written)
    charts = page.locator("#exposure .stack figure")
    assert [chart.is_visible() for chart in charts.all()] == [True, False]
    page.locator("#exposure .choices input").nth(1).check()
    assert [chart.is_visible() for chart in charts.all()] == [False, True]


def test_the_gallery_has_what_pages_have_today(written: Path) -> None:
    """By kind of exhibit and chart, not by pixels: `make gallery` where this fails."""
    spec = importlib.util.spec_from_file_location("gallery", REPOSITORY / "tools" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    today = tool.structure(written.read_text(encoding="utf-8"))
    kept = json.loads(tool.STRUCTURE.read_text(encoding="utf-8"))
    assert "pair" in kept
    for name in QUESTIONS_OF_A_PAIR:
        assert {**kept["pair"][name], "chart": 0} == {**today[name], "chart": 0}
        assert today[name].get("chart", 0) <= kept["pair"][name].get("chart", 0)  # few samples draw fewer


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("offscript/news-student", "offscript/news-student"),
        ("hf/gpt2@main,dtype=float32", "hf/gpt2@main,dtype=float32"),
        ("runs/gan/model", "runs/gan/model"),
        ("/home/ada/models/SmolLM2.gguf,chat=Hello", "SmolLM2.gguf,chat=Hello"),
        ("/models/base,adapter=/runs/lora/adapter,load=int4", "base,adapter=lora/adapter,load=int4"),
        ("./gan/model", "gan/model"),
        ("~/texts/", "texts"),
        ("C:\\models\\a.gguf", "a.gguf"),
    ],
)
def test_headings_leave_out_folders_of_the_machine(name: str, shown: str) -> None:
    assert short_name(name) == shown
