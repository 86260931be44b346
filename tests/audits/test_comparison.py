"""Runs compared: in pairs where items are the same, corrected for their number, on one page and in Markdown."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offscript.audits.comparison import compare_runs, read_runs
from offscript.audits.gates import check_gates, parse_gate
from offscript.audits.store import write_results
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement
from offscript.report.comparison import render_comparison, tally
from offscript.report.summary import add_summary, comparison_summary, plain
from offscript.statistics import Curve, Interval, mean_interval, rate_interval
from offscript.statistics.differences import MOVER

DATA = {"hash": "same", "sequences": 200}
COUNTS = np.random.default_rng(0).integers(5, 30, 200).astype(float)
HARDNESS = np.random.default_rng(1).gamma(9, 0.5, 200)


def nll(shift: float, *, model: str = "m", data: Any = DATA, n: int = 200) -> Measurement:
    """Nats a token of sentences that differ far more than the models do."""
    items = HARDNESS[:n] + shift + np.random.default_rng(len(model)).normal(0, 0.05, n)
    return Measurement.of(
        rate_interval(items * COUNTS[:n], COUNTS[:n]), question="likelihood", name="nll", n=n, seed=None, seconds=0.1,
        recipe={"model": model, "weights": model, "data": data}, higher_is_better=False, per_item=items,
        weights=COUNTS[:n],
    )  # fmt: skip


def score(name: str, value: float, reach: float, better: bool | None = None, **fields: Any) -> Measurement:
    return Measurement(
        question="exposure", name=name, value=value, standard_error=reach / 2, n=100, seed=1, seconds=0.1, recipe={},
        interval=Interval(value - reach, value + reach, 0.95, "bootstrap"), higher_is_better=better, **fields,
    )  # fmt: skip


def stored(out: Path, model: str, *measurements: Measurement) -> Path:
    return write_results(out, model, measurements)


def test_pairs_see_what_two_intervals_do_not(tmp_path: Path) -> None:
    paths = [stored(tmp_path, "a", nll(0.0, model="a")), stored(tmp_path, "bb", nll(0.05, model="bb"))]
    (contrast,) = compare_runs(read_runs(paths)).contrasts
    assert contrast.paired
    assert contrast.first.interval.upper > contrast.second.interval.lower
    assert contrast.value == pytest.approx(contrast.second.value - contrast.first.value)
    assert contrast.verdict == "worse"


@pytest.mark.parametrize(
    "other",
    [nll(0.05, model="bb", data={"hash": "other", "sequences": 200}), nll(0.05, model="bb", n=150)],
    ids=["other sentences", "fewer sentences"],
)
def test_other_items_are_compared_by_their_intervals(other: Measurement, tmp_path: Path) -> None:
    paths = [stored(tmp_path, "a", nll(0.0, model="a")), stored(tmp_path, "bb", other)]
    (contrast,) = compare_runs(read_runs(paths)).contrasts
    assert not contrast.paired
    assert contrast.interval.method == MOVER
    assert contrast.verdict == "no significant difference"


def test_the_correction_knows_how_many_were_compared(tmp_path: Path) -> None:
    many = [score(f"f{number}", 0.0, 1.0) for number in range(20)]
    moved = [score("f0", 1.6, 1.0), *many[1:]]
    alone = compare_runs(read_runs([stored(tmp_path, "a", many[0]), stored(tmp_path, "b", moved[0])]))
    among = compare_runs(read_runs([stored(tmp_path, "c", *many), stored(tmp_path, "d", *moved)]))
    assert alone.contrasts[0].verdict == "different"
    assert among.contrasts[0].difference.p_value == alone.contrasts[0].difference.p_value
    assert among.contrasts[0].verdict == "no significant difference"
    assert among.contrasts[0].corrected == pytest.approx(20 * alone.contrasts[0].difference.p_value)


def test_chance_makes_few_runs_differ(tmp_path: Path) -> None:
    false = 0
    for trial in range(60):
        generator = np.random.default_rng([7, trial])
        runs = []
        for model in "ab":
            figures = []
            for number in range(6):
                items = generator.exponential(1.0, 60)
                figures.append(
                    Measurement.of(
                        mean_interval(items),
                        question="regret",
                        name=f"f{number}",
                        n=60,
                        seed=1,
                        seconds=0.0,
                        recipe={},
                        per_item=items,
                    )
                )
            runs.append(stored(tmp_path / str(trial), model, *figures))
        false += bool(compare_runs(read_runs(runs), seed=trial).real)
    assert false <= 8  # of 60, at a family-wise 5 %


@pytest.mark.parametrize(
    ("better", "value", "verdict"),
    [(True, 5.0, "better"), (True, -5.0, "worse"), (False, 5.0, "worse"), (None, 5.0, "different")],
)
def test_verdicts_know_which_way_is_good(better: bool | None, value: float, verdict: str, tmp_path: Path) -> None:
    paths = [
        stored(tmp_path, "a", score("x", 0.0, 1.0, better)),
        stored(tmp_path, "b", score("x", value, 1.0, better)),
    ]
    found = compare_runs(read_runs(paths))
    assert [contrast.verdict for contrast in found.contrasts] == [verdict]
    assert tally(found, "b").startswith(f"1 {verdict}")


def test_an_audit_of_an_earlier_version_is_compared_with_one_of_today(tmp_path: Path) -> None:
    gate = "exposure.top-k;k=5.entropy_3>0"
    before = stored(tmp_path / "before", "m", score("top-k,k=5.entropy_3", 1, 0.1))
    after = stored(tmp_path / "after", "m", score("top-k,k=5.entropy_3", 2, 0.1))
    before.write_text(before.read_text().replace("top-k,k=5", "top-k;k=5"))
    comparison = compare_runs(read_runs([before, after]))
    assert [each.figure for each in comparison.contrasts] == ["exposure.top-k,k=5.entropy_3"]
    [result] = check_gates([parse_gate(gate)], {each.figure: each for each in comparison.contrasts})
    assert result.failed


def test_what_one_run_lacks_or_is_infinite_is_left_out_with_its_reason(tmp_path: Path) -> None:
    infinite = Measurement(
        question="exposure", name="i", value=np.inf, standard_error=np.inf, n=9, seed=1, seconds=0.0, recipe={},
        interval=Interval(1.0, np.inf, 0.95, "bootstrap"),
    )  # fmt: skip
    paths = [
        stored(tmp_path, "a", score("x", 0, 1), score("only a", 0, 1), infinite),
        stored(tmp_path, "b", score("x", 0, 1), score("only b", 0, 1), infinite),
    ]
    found = compare_runs(read_runs(paths))
    assert [contrast.figure for contrast in found.contrasts] == ["exposure.x"]
    assert dict(found.left_out) == {
        "exposure.only a": "only a has it",
        "exposure.only b": "only b has it",
        "exposure.i": "it is infinite",
    }


def test_means_of_few_items_that_are_not_the_same_are_left_out(tmp_path: Path) -> None:
    runs = [stored(tmp_path / "a", "a", nll(0.0, n=200), mean_of_few(11))]
    runs += [stored(tmp_path / "b", "b", nll(0.0, n=200), mean_of_few(10))]
    left_out = dict(compare_runs(read_runs(runs)).left_out)
    assert left_out == {"exposure.few": "it is a mean of fewer than 12 items, which the runs do not share"}
    same = [stored(tmp_path / f"{name} again", name, mean_of_few(11)) for name in "ab"]
    assert compare_runs(read_runs(same)).left_out == ()


def mean_of_few(n: int) -> Measurement:
    values = np.random.default_rng(1).normal(size=n)
    return Measurement.of(
        mean_interval(values),
        question="exposure",
        name="few",
        n=n,
        seed=1,
        seconds=0.0,
        recipe={"data": DATA},
        per_item=values,
    )


def test_bad_runs_are_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "one", "a", score("x", 0, 1))
    other = stored(tmp_path / "two", "a", score("y", 0, 1))
    (tmp_path / "notes.json").write_text("{}")
    for paths, said in (
        ([path], "two or more"),
        ([path, path.parent], "named twice"),
        ([path, tmp_path / "nothing"], "no results"),
        ([path, tmp_path / "notes.json"], "not a file of offscript's results"),
        ([path, other], "share no figure"),
    ):
        with pytest.raises(OffscriptError, match=said):
            compare_runs(read_runs(paths))


def test_runs_of_one_model_have_labels_of_their_own(tmp_path: Path) -> None:
    paths = [stored(tmp_path / folder, "a", score("x", 0, 1)) for folder in ("one", "two")]
    assert [run.label for run in read_runs(paths)] == ["a (1)", "a (2)"]
    assert [run.path for run in read_runs([tmp_path / "one", tmp_path / "two"])] == [path.resolve() for path in paths]


def test_labels_leave_out_folders_of_the_machine_where_that_tells_runs_apart(tmp_path: Path) -> None:
    def labels(*models: str) -> list[str]:
        paths = [stored(tmp_path / str(place), model, score("x", 0, 1)) for place, model in enumerate(models)]
        return [run.label for run in read_runs(paths)]

    assert labels("/a/base", "/a/base,adapter=/b/lora") == ["base", "base,adapter=lora"]
    assert labels("/a/base", "/b/base") == ["/a/base", "/b/base"]
    assert labels("/a/base", "/a/base") == ["base (1)", "base (2)"]


def hostile(tmp_path: Path) -> list[Path]:
    curve = Curve((1.0, 1.2), (0.9, 1.1), (1.1, 1.3), 0.95, "bootstrap")
    return [
        stored(tmp_path, model, score("eb_c.js", value, 0.1, False, by_position=curve), nll(value, model=model))
        for model, value in (("a|b", 1.0), ("<script>alert(1)</script>", 2.0))
    ]


def test_the_page_shows_hostile_names_as_text(tmp_path: Path) -> None:
    page = render_comparison(compare_runs(read_runs(hostile(tmp_path))))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "EB-C (js) by length" in page


def test_the_summary_says_gates_and_differences_and_is_added_to_what_is_there(tmp_path: Path) -> None:
    found = compare_runs(read_runs(hostile(tmp_path)))
    contrasts = {contrast.figure: contrast for contrast in found.contrasts}
    judged = check_gates([parse_gate("exposure.eb_c.js>0.5")], contrasts)
    text = comparison_summary(found, {found.runs[1].label: judged})
    assert r"a\|b" in text
    assert "<script>" not in text
    assert "❌ exposure.eb\\_c.js&gt;0.5" in text
    rows = [line for line in text.splitlines() if line.startswith("| worse")]
    assert len(rows) == 2
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    add_summary(path, text)
    assert path.read_text() == f"before\n{text}"


@pytest.mark.parametrize("text", ["a|b", "`x`", "<b>", "*x* _y_", "[a](b)", "two\nlines", "\\"])
def test_plain_text_keeps_its_place_in_a_table(text: str) -> None:
    shown = plain(text)
    assert "\n" not in shown
    assert "<" not in shown
    assert "|" not in shown.replace("\\|", "")


def test_json_of_results_is_enough(tmp_path: Path) -> None:
    path = stored(tmp_path, "a", score("x", 0, 1))
    for file in path.parent.glob("samples_*"):
        file.unlink()
    assert json.loads(path.read_text())["results"]["exposure"]["x"] == 0
    other = stored(tmp_path, "b", score("x", 0, 1))
    assert len(compare_runs(read_runs([path, other])).contrasts) == 1
