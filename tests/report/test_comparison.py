"""The page of a comparison in a real browser: drawn offline, readable on a phone, hostile names shown as text."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offscript.audits.comparison import compare_runs, read_runs
from offscript.audits.store import write_results
from offscript.measures.measurement import Measurement
from offscript.report.axes import charts_along, numeric_axes
from offscript.report.comparison import headlines, render_comparison, write_comparison
from offscript.report.differences import difference_finding, told
from offscript.report.figures import charts_of_runs, known_question
from offscript.statistics import Curve, mean_interval

Opener = Callable[[Path], list[str]]
HOSTILE = "</script><script>document.title='broken'</script>" + "x" * 200
FIGURES = ("likelihood.nll", "likelihood.bpc", "exposure.eb_c.js", "stereotypes.ss", "stereotypes.icat")


def measured(figure: str, shift: float) -> Measurement:
    question, _, name = figure.partition(".")
    items = np.random.default_rng(1).gamma(9, 1.0, 60) + shift
    curve = Curve((1.0, 1.1, 1.2), (0.9, 1.0, 1.1), (1.1, 1.2, 1.3), 0.95, "bootstrap")
    return Measurement.of(
        mean_interval(items), question=question, name=name, n=60, seed=1, seconds=0.1, recipe={}, per_item=items,
        by_position=curve if question == "exposure" else None, higher_is_better=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    paths = [
        write_results(out, model, [measured(figure, shift) for figure in FIGURES])
        for model, shift in (("first", 0.0), (HOSTILE, 0.5))
    ]
    path = out / "comparison.html"
    write_comparison(compare_runs(read_runs(paths)), path)
    return path


def test_it_is_drawn_without_any_request(page: Any, open_page: Opener, written: Path) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text))
    assert open_page(written) == [written.as_uri()]
    assert page.locator(".chart svg").count() == 3
    assert faults == []
    assert page.title() == "offscript comparison with first"
    assert HOSTILE in page.locator("h1").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(page: Any, open_page: Opener, written: Path, scheme: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme=scheme)
    open_page(written)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong(
    scheme: str, page: Any, open_page: Opener, written: Path, violations: Callable[[], list[str]]
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_page(written)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert violations() == []


def test_runs_share_a_scorecard_and_a_table_that_sorts(page: Any, open_page: Opener, written: Path) -> None:
    open_page(written)
    assert page.locator(".scorecard .gauge svg circle").count() == 6  # two questions, two runs and their difference
    column = "[...document.querySelectorAll('#stereotypes tbody tr td:first-child')].map(cell => cell.textContent)"
    before = page.evaluate(column)
    page.locator("#stereotypes th button").first.click()
    assert page.evaluate(column) == sorted(before)
    page.locator("#stereotypes th button").first.click()
    assert page.evaluate(column) == sorted(before, reverse=True)


def test_a_number_in_which_runs_differ_is_an_axis(tmp_path: Path) -> None:
    paths = [
        write_results(
            tmp_path, f"size={size}", [measured("likelihood.ppl", shift)], config={"size": str(size), "seed": 1}
        )
        for size, shift in ((100, 2.0), (1000, 1.0), (10_000, 0.0))
    ]
    runs = read_runs(paths)
    axes = numeric_axes(runs)
    assert axes == {"size": [100.0, 1000.0, 10_000.0]}
    entries = {run.label: run.figures["likelihood.ppl"] for run in runs}
    [(title, chart)] = charts_along(axes, entries, runs)
    assert title == "perplexity by size"
    assert [point["place"] for point in chart["data"]["values"]] == axes["size"]
    assert title in render_comparison(compare_runs(runs))


def test_many_curves_are_small_multiples() -> None:
    runs = {f"run {number}": {"exposure.eb_c.js": measured("exposure.eb_c.js", 0.0)} for number in range(6)}
    [(_, chart)] = charts_of_runs("exposure", runs)
    assert chart["facet"]["field"] == "series"
    assert len({point["series"] for point in chart["data"]["values"]}) == 6


def test_each_question_leads_with_the_figure_it_is_known_by(tmp_path: Path) -> None:
    paths = [
        write_results(tmp_path, model, [measured(figure, shift) for figure in FIGURES])
        for model, shift in (("a", 0.0), ("b", 1.0))
    ]
    found = headlines(compare_runs(read_runs(paths)))
    assert [contrast.figure for contrast in found] == ["exposure.eb_c.js", "stereotypes.ss"]
    first, second = found[0].first.value, found[0].second.value
    assert told(found[0]).startswith(f"{second:.3f} instead of {first:.3f}, by 1")


def test_a_difference_is_named_in_words() -> None:
    named = {
        ("recovery", "nll_oracle.model"): "the oracle's surprise at its text after model prefixes",
        ("sampling", "top-k,k=5.corpus_bleu_4"): "corpus-BLEU with top-k,k=5",
        ("exposure", "cgd_corrupted_0.3.js"): "CGD after histories corrupted at a rate of 0.3 (js)",
        ("likelihood", "ppl"): "perplexity",
        ("likelihood", "unheard.of"): "unheard.of",
    }
    assert {key: known_question(key[0]).in_words(key[1]) for key in named} == named


def test_the_heading_of_a_comparison_has_no_keys(tmp_path: Path) -> None:
    figures = ("recovery.nll_oracle.model", "exposure.cgd_model.tv", "degeneration.greedy.loops")
    paths = [
        write_results(tmp_path, model, [measured(figure, shift) for figure in figures])
        for model, shift in (("a", 0.0), ("b", 3.0))
    ]
    finding = difference_finding(compare_runs(read_runs(paths)), "b")
    assert "_" not in finding.headline
    assert finding.headline.startswith("The oracle's surprise at its text after model prefixes 35 % higher")
    assert all(f"({figure})" in finding.sentence for figure in figures)


def test_a_figure_that_grows_with_the_number_of_texts_is_compared_at_one_size(tmp_path: Path) -> None:
    paths = [
        write_results(
            tmp_path, model, [replace(measured(figure, 0.0), recipe={"references": references}) for figure in figures]
        )
        for figures in [("recovery.corpus_bleu_4.model", "recovery.nll_oracle.model")]
        for model, references in (("few", 15), ("many", 45), ("as few", 15))
    ]
    few, many, as_few = read_runs(paths)
    apart = compare_runs([few, many])
    reason = "it depends on the number of texts, in which the runs differ"
    assert apart.left_out == (("recovery.corpus_bleu_4.model", reason),)
    assert [contrast.figure for contrast in apart.contrasts] == ["recovery.nll_oracle.model"]
    assert compare_runs([few, as_few]).left_out == ()
