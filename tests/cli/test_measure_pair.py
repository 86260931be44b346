"""`measure exposure`, `regret` and `recovery` on tables, as a user meets them."""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SURE = {"A": [1, 0], "B": [0, 1]}
EVEN = {"": [0.5, 0.5], "A": [0.5, 0.5], "B": [0.5, 0.5]}
TABLES = {
    "model1": {"": [1, 0], **SURE},
    "oracle1": {"": [0.5, 0.5], **SURE},
    "model2": {"": [0.9, 0.1], "A": [0.9, 0.1], "B": [0.5, 0.5]},
    "oracle2": EVEN,
}
Command = Callable[..., Any]


@pytest.fixture
def measure(offscript: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run `offscript measure …` beside the tables."""
    for name, following in TABLES.items():
        table = {"kind": "tabular", "vocabulary": ["A", "B"], "length": 2, "next": following}
        (tmp_path / f"{name}.json").write_text(json.dumps(table))
    other = {"kind": "tabular", "vocabulary": ["A", "C"], "length": 1, "next": {"": [0.5, 0.5]}}
    (tmp_path / "other.json").write_text(json.dumps(other))
    (tmp_path / "text.txt").write_text("A A\nB B\n" * 50)
    monkeypatch.chdir(tmp_path)
    return partial(offscript, "measure")


def test_exact_examples(measure: Command) -> None:
    first = measure("exposure", "model1.json", "--oracle", "oracle1.json", "--exact", "--json").json
    results = first["results"]["exposure"]
    assert (results["mgd_model.tv"], results["mgd_data.tv"], results["eb_m.tv"]) == (0.5, 0.0, "inf")
    assert results["by_length.mgd_model.tv"] == [0.5]
    second = measure("exposure", "model2.json", "--oracle", "oracle2.json", "--exact", "--json").json
    results = second["results"]["exposure"]
    assert results["cgd_data.tv"] == pytest.approx(0.2)
    assert results["cgd_model.tv"] == pytest.approx(0.36)
    assert results["eb_c.tv"] == pytest.approx(1.8)
    assert results["ci"]["eb_c.tv"] == {
        "lower": results["eb_c.tv"],
        "upper": results["eb_c.tv"],
        "level": 1.0,
        "method": "exact",
    }


def test_sampled_example_holds_the_truth(measure: Command) -> None:
    found = measure("exposure", "model2.json", "--oracle", "oracle2.json", "--samples", "2000", "--json").json
    bounds = found["results"]["exposure"]["ci"]["eb_c.tv"]
    assert bounds["lower"] < 1.8 < bounds["upper"]
    assert found["n-samples"]["exposure"]["effective"] == 2000


def test_exposure_from_sentences(measure: Command) -> None:
    found = measure("exposure", "model1.json", "--corpus", "text.txt", "--json").json
    results = found["results"]["exposure"]
    assert 0.1 < results["mgd_model.js"] < math.log(2)
    assert 0 < results["mgd_gap_p.js"] <= 1
    for bounds in results["ci"].values():  # MGD after the text is 0: no ratio, and nothing infinite or without width
        lower, upper = np.atleast_1d(bounds["lower"]), np.atleast_1d(bounds["upper"])
        assert np.isfinite([lower, upper]).all()
        assert (lower < upper).all()
    assert not {"eb_c.tv", "eb_m.tv", "eb_m_plain.tv", "mgd_gap.gd"} & set(results)


def test_an_anchor_is_for_text_alone(measure: Command) -> None:
    done = measure("exposure", "model2.json", "--oracle", "oracle2.json", "--prefix", "1")
    assert done.code == 2
    assert "--prefix with an oracle" in done.errors
    assert "anchor of 1" in measure("exposure", "model1.json", "--corpus", "text.txt", "--prefix", "1").errors


def test_regret_exactly(measure: Command) -> None:
    found = measure("regret", "model2.json", "--oracle", "oracle2.json", "--exact", "--json").json
    step = 0.9 * math.log(1.8) + 0.1 * math.log(0.2)
    assert found["results"]["regret"]["q_per_sequence"] == pytest.approx(1.9 * step)
    assert found["results"]["regret"]["q_per_token"] == pytest.approx(0.95 * step)


def test_regret_shows_sentences_from_worst_to_best(measure: Command) -> None:
    found = measure("regret", "model2.json", "--oracle", "oracle2.json", "--show", "3", "--json").json
    shown = [(row["Q"], row["text"]) for row in found["sentences"]]
    assert shown[0] == (pytest.approx(math.log(1.8), abs=1e-4), "A A")
    assert [q for q, _ in shown] == sorted((q for q, _ in shown), reverse=True)
    assert "q_nll_correlation,none" not in found["results"]["regret"]  # the oracle finds all samples equally likely


def test_recovery_shows_continuations_side_by_side(measure: Command) -> None:
    sizes = ["--prefix", "1", "--samples", "20", "--show", "2"]
    done = measure("recovery", "model2.json", "--oracle", "oracle2.json", *sizes)
    assert done.code == 2  # a table of two tokens has no room for BLEU-4 after a prefix
    assert "BLEU-4 needs 4 tokens" in done.errors


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_plot(measure: Command, tmp_path: Path, ending: str) -> None:
    done = measure("exposure", "model2.json", "--oracle", "oracle2.json", "--plot", f"chart.{ending}")
    assert done.code == 0, done.errors
    assert "eb_c.tv" in done.output
    drawn = (tmp_path / f"chart.{ending}").read_text(encoding="utf-8")
    assert "history length" in drawn
    assert "EB-C" in drawn
    assert "EB-M" in drawn


def test_plan(measure: Command) -> None:
    found = measure("exposure", "model2.json", "--oracle", "oracle2.json", "--plan", "0.01", "--json").json
    wide = found["results"]["exposure"]["ci"]["eb_c.tv"]
    shrink = ((wide["upper"] - wide["lower"]) / 0.01) ** 2
    assert found["plan"]["samples"]["eb_c.tv"] == pytest.approx(1000 * shrink, rel=0.2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["exposure", "model2.json", "--oracle", "other.json"], "different vocabularies"),
        (["exposure", "model2.json", "--oracle", "oracle2.json", "--samples", "1"], "--samples"),
        (["exposure", "model2.json", "--oracle", "oracle2.json", "--length", "0"], "0 tokens"),
        (["exposure", "model2.json", "--oracle", "oracle2.json", "--distances", "jsd"], "did you mean 'js'"),
        (["exposure", "model2.json", "--oracle", "oracle2.json", "--plot", "chart.pdf"], "cannot write a chart"),
        (["exposure", "model2.json", "--oracle", "oracle2.json", "--plan", "0"], "width 0"),
        (["exposure", "model2.json"], "needs an oracle or a corpus"),
        (["exposure", "model2.json", "--corpus", "text.txt", "--exact"], "--exact takes an oracle"),
        (
            ["exposure", "model2.json", "--corpus", "text.txt", "--length", "9"],
            "9 tokens; ask for a shorter --length",
        ),
        (["regret", "model2.json", "--oracle", "other.json"], "different vocabularies"),
        (["regret", "model2.json", "--oracle", "oracle2.json", "--length", "0"], "0 tokens"),
        (["recovery", "model2.json", "--oracle", "oracle2.json", "--sources", "noise"], "no source of prefixes"),
    ],
)
def test_bad_input_is_one_clear_line(measure: Command, arguments: list[str], message: str) -> None:
    done = measure(*arguments)
    assert (done.code, done.output) == (2, "")
    assert message in done.errors
    assert done.errors.count("\n") == 1
