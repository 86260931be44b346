import json
import math
import multiprocessing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.audits.store import Store, model_folder, read_results, results_files, write_results
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement
from offscript.measures.question import Answer
from offscript.statistics import Curve, Interval

RECIPE = {"model": "offscript/news-student", "oracle": "offscript/news", "samples": 4, "machine": "Linux x86_64"}
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)


def exposure(name: str = "eb_c.js", **changes: Any) -> Measurement:
    fields: dict[str, Any] = {
        "question": "exposure",
        "name": name,
        "value": 1.02,
        "standard_error": 0.005,
        "interval": Interval(1.01, 1.03, 0.95, "bootstrap"),
        "n": 4,
        "seed": 1,
        "seconds": 2.0,
        "recipe": RECIPE,
        "by_position": Curve((1.0, 1.04), (0.98, 1.0), (1.02, math.inf), 0.95, "bootstrap"),
        "higher_is_better": False,
        "per_item": np.array([[0.1, math.inf], [math.nan, 0.4]]),
        "weights": np.array([3.0, 5.0]),
    }
    return Measurement(**{**fields, **changes})


def run() -> list[Measurement]:
    infinite = exposure("eb_m.tv", value=math.inf, standard_error=math.inf, interval=Interval(3.0, math.inf, 0.95, "b"))
    other_recipe = exposure("ppl", question="likelihood", recipe={**RECIPE, "samples": 9}, n=9, by_position=None)
    no_items = exposure("nll", question="likelihood", per_item=None, higher_is_better=None, seed=None)
    return [exposure(), infinite, other_recipe, no_items]


def assert_same_items(found: list[Measurement], expected: list[Measurement]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one.per_item is None) == (other.per_item is None)
        if other.per_item is not None:
            np.testing.assert_array_equal(one.per_item, other.per_item)
        assert (one.weights is None) == (other.weights is None)
        if other.weights is not None:
            np.testing.assert_array_equal(one.weights, other.weights)


def test_what_was_stored_is_read_back(tmp_path: Path) -> None:
    path = write_results(tmp_path, "hf/gpt2@main", run(), config={"budget": "quick"})
    assert path.parent == tmp_path / "hf__gpt2@main"
    assert read_results(path) == run()
    assert all(entry.per_item is None for entry in read_results(path))
    assert_same_items(read_results(path, with_items=True), run())


def test_readers_of_the_harness_find_what_they_look_for(tmp_path: Path) -> None:
    path = write_results(tmp_path, "gpt2", run(), config={"budget": "quick"}, time=MOMENT)
    assert path.name == "results_2026-01-02T03-04-05.000006.json"
    document = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not strict JSON"))
    results = document["results"]["exposure"]
    assert (results["eb_c.js"], results["eb_c.js_stderr"]) == (1.02, 0.005)
    assert results["ci"]["eb_c.js"] == {"lower": 1.01, "upper": 1.03, "level": 0.95, "method": "bootstrap"}
    assert results["by_length.eb_c.js"] == [1.0, 1.04]
    assert results["ci"]["by_length.eb_c.js"]["upper"] == [1.02, "inf"]
    assert (results["eb_m.tv"], results["ci"]["eb_m.tv"]["upper"]) == ("inf", "inf")
    assert document["higher_is_better"]["exposure"]["eb_c.js"] is False
    assert document["n-samples"]["likelihood"] == {"original": 9, "effective": 9}
    assert document["config"] == {"model": "gpt2", "budget": "quick"}
    assert document["date"] == MOMENT.timestamp()
    assert set(document["versions"]) == {"exposure", "likelihood"}


def test_items_are_lines_beside_the_results(tmp_path: Path) -> None:
    unweighted = exposure("cgd_model.js", per_item=np.ones(3), weights=None)
    write_results(tmp_path, "gpt2", [exposure(), unweighted], time=MOMENT)
    lines = (tmp_path / "gpt2" / "samples_exposure_2026-01-02T03-04-05.000006.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"doc_id": 0, "eb_c.js": [0.1, "inf"], "eb_c.js,weight": 3.0, "cgd_model.js": 1.0},
        {"doc_id": 1, "eb_c.js": [None, 0.4], "eb_c.js,weight": 5.0, "cgd_model.js": 1.0},
        {"doc_id": 2, "cgd_model.js": 1.0},
    ]


def test_two_runs_at_the_same_moment_both_stay(tmp_path: Path) -> None:
    first = write_results(tmp_path, "gpt2", [exposure()], time=MOMENT)
    second = write_results(tmp_path, "gpt2", [exposure(value=1.025)], time=MOMENT)
    assert results_files(tmp_path, "gpt2") == results_files(tmp_path) == [first, second]
    assert [read_results(path)[0].value for path in (first, second)] == [1.02, 1.025]
    assert sorted(path.name[:7] for path in first.parent.iterdir()) == ["results", "results", "samples", "samples"]


def test_the_same_thing_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="measured twice"):
        write_results(tmp_path, "gpt2", [exposure(), exposure()])
    assert not list(tmp_path.rglob("*"))


def test_a_run_may_have_texts_alone(tmp_path: Path) -> None:
    assert read_results(write_results(tmp_path, "gpt2", [])) == []


def test_a_cell_is_skipped_once_it_exists(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells")
    assert not store.has(RECIPE)
    path = store.save(Answer(run()), RECIPE)
    assert path == store.cell_path(RECIPE)
    assert store.has(dict(reversed(RECIPE.items())))
    assert store.has({**RECIPE, "machine": "Darwin arm64"})
    assert not store.has({**RECIPE, "samples": 5})
    assert store.load(RECIPE).measurements == run()
    assert_same_items(store.load(RECIPE).measurements, run())


def test_names_of_earlier_versions_are_read_as_todays_with_their_items(tmp_path: Path) -> None:
    new = [exposure("nucleus,p=0.9,temperature=0.5.self_bleu_4")]
    cell, results = Store(tmp_path).save(Answer(new), RECIPE), write_results(tmp_path, "gpt2", new)
    for path in (cell, *results.parent.iterdir()):
        path.write_text(path.read_text().replace("nucleus,p=0.9,temp", "nucleus;p=0.9;temp"))
    for found in (Store(tmp_path).load(RECIPE).measurements, read_results(results, with_items=True)):
        assert found == new
        assert_same_items(found, new)


def test_a_write_that_fails_leaves_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    store = Store(tmp_path)
    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        store.save(Answer([exposure()]), RECIPE)
    assert not store.has(RECIPE)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"measurements": {"exposure": {}}}', '{"measurements": [1]}']
)
def test_a_file_that_is_not_ours_gets_one_clear_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "results_x.json"
    path.write_text(content)
    with pytest.raises(OffscriptError, match=r"results_x\.json is not a file of offscript's results"):
        read_results(path)
    store = Store(tmp_path)
    store.cell_path(RECIPE).write_text(content)
    with pytest.raises(OffscriptError, match="is not a file of offscript's results"):
        store.load(RECIPE)


def test_a_cell_that_was_never_computed_gets_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no results at"):
        Store(tmp_path).load(RECIPE)


@pytest.mark.parametrize(
    ("model", "folder"),
    [
        ("hf/gpt2@main", "hf__gpt2@main"),
        ("hf/gpt2@main,dtype=float32", "hf__gpt2@main,dtype=float32"),
        ("offscript/news", "offscript__news"),
        ("Qwen2.5-0.5B_base", "Qwen2.5-0.5B_base"),
        ("/runs/student", "__runs__student"),
    ],
)
def test_model_names_stay_legible(model: str, folder: str) -> None:
    assert model_folder(model) == folder


DANGEROUS = [
    "..",
    ".",
    "../..",
    "a\\b",
    "~",
    "C:\\x",
    "a/../../etc",
    "a\0b",
    "a\nb",
    "x" * 500,
    "модель",
    "CON ",
    "a__b",
]


@given(
    st.lists(st.text(min_size=1) | st.sampled_from(DANGEROUS) | st.text("ab_/.", min_size=1), min_size=2, max_size=2)
)
def test_model_folders_are_one_safe_component_and_never_shared(models: list[str]) -> None:
    folders = [model_folder(model) for model in models]
    for folder in folders:
        assert Path("out", folder).parent == Path("out")
        assert folder not in (".", "..")
        assert not folder.startswith((".", "-"))
        assert len(folder.encode()) <= 255
        assert folder.isascii()
        assert folder.isprintable()
    assert (folders[0] == folders[1]) == (models[0] == models[1])


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(OffscriptError, match="without a name"):
        model_folder("")


def _write_often(folder: str, writer: int) -> None:
    store = Store(Path(folder) / "cells")
    for turn in range(10):
        write_results(Path(folder), "gpt2", [exposure(value=float(10 * writer + turn))], time=MOMENT)
        store.save(Answer([exposure(value=float(writer))]), RECIPE)
        assert store.load(RECIPE).measurements[0].value in range(4)


def test_processes_that_write_at_once_do_no_harm(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_often, args=(str(tmp_path), writer)) for writer in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    values = sorted(read_results(path)[0].value for path in results_files(tmp_path))
    assert values == [float(value) for value in range(40)]
    assert_same_items([exposure()], Store(tmp_path / "cells").load(RECIPE).measurements)
    assert not list(tmp_path.rglob(".*"))
