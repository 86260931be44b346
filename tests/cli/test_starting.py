"""`offscript init` and `offscript data`: files to start from, and data sets that experiments need."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from offscript._config import read_mapping, shipped_recipes
from offscript.experiments.datasets import SOURCES, data_sets
from offscript.training import read_recipe


def test_starters_are_valid_and_never_replace_a_file(tmp_path: Path, offscript: Callable[..., Any]) -> None:
    (tmp_path / "grid.yaml").write_text("mine")
    report = offscript("init", tmp_path, "--json").json
    assert report["kept"] == [str(tmp_path / "grid.yaml")]
    assert sorted(report["written"]) == sorted(
        [str(tmp_path / "recipe.yaml"), str(tmp_path / ".github/workflows/audit.yml")]
    )
    assert (tmp_path / "grid.yaml").read_text() == "mine"
    assert read_recipe(tmp_path / "recipe.yaml").name == "mine"
    assert "jobs" in read_mapping(tmp_path / ".github/workflows/audit.yml", "workflow")


def test_data_sets_say_where_they_come_from_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offscript: Callable[..., Any]
) -> None:
    monkeypatch.setenv("OFFSCRIPT_DATA", str(tmp_path))
    (tmp_path / "seqgan-oracle").mkdir()
    rows = {row["data set"]: row for row in offscript("data", "--json").json}
    assert set(rows) <= set(SOURCES)
    assert rows["seqgan-oracle"]["here"] == "yes"
    assert rows["text8"]["here"] == "no"
    assert "text8" in rows["text8"]["needed by"]
    parts = ("test", "train", "valid")
    assert rows["wikitext-2"]["missing"] == [f"wikitext-2/{part}.txt.xz" for part in parts]


def test_every_data_set_that_is_needed_is_known() -> None:
    assert [each.name for each in data_sets() if each.name not in SOURCES] == []
    assert {user for each in data_sets() for user in each.needed_by} & set(shipped_recipes())
