"""A figure that was cited is found again by its signature, with its recipe."""

import json
from pathlib import Path

import pytest

from offscript.audits.citation import figure_of
from offscript.audits.store import write_results
from offscript.cli.reproduce import reproduce
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement
from offscript.measures.signature import parse_signature, signature
from offscript.statistics import Interval


def figure(seed: int) -> Measurement:
    return Measurement(
        question="sampling", name="nucleus,p=0.9.self_bleu_4", value=0.3, standard_error=0.1, n=10, seed=seed,
        interval=Interval(0.2, 0.4, 0.95, "t"), seconds=0.0, recipe={"seed": seed, "samples": 10},
    )  # fmt: skip


def test_it_is_found_among_others_and_beside_damaged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [write_results(tmp_path / f"run-{seed}", "m", [figure(seed)]) for seed in (1, 2, 3)]
    (tmp_path / "results_9.json").write_text("{")
    asked = parse_signature(signature(figure(2)))
    assert asked is not None
    found = figure_of(asked.fits, tmp_path)
    assert (found.results, found.entry, found.record) == (paths[1], figure(2), None)
    reproduce(f"0.3 {signature(figure(2))}", runs=tmp_path, as_json=True)
    assert json.loads(capsys.readouterr().out)["figure"]["recipe"]["seed"] == 2
    with pytest.raises(OffscriptError, match="no results below .* hold that figure; name the folder"):
        reproduce(signature(figure(4)), runs=tmp_path)


def test_a_figure_of_an_audit_has_the_command_that_measures_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from offscript.audits.audit import plan_audit, run_audit
    from offscript.measures.subject import Subject

    table = tmp_path / "table.json"
    table.write_text(
        '{"kind": "tabular", "vocabulary": ["A", "B"], "length": 2, '
        '"next": {"": [0.7, 0.3], "A": [0.9, 0.1], "B": [0.4, 0.6]}}'
    )
    subject = Subject(str(table), str(table), seed=1, length=2, limit=16)
    record = run_audit(subject, plan_audit(subject, ["likelihood"]), tmp_path / "out")
    entry = record.answers[0].measurements[0]
    monkeypatch.chdir(tmp_path)
    reproduce(signature(entry))
    shown = capsys.readouterr().out
    assert "again    offscript audit table --oracle table --only likelihood" in shown
    assert json.loads(shown[shown.index("{") :]) == entry.recipe
