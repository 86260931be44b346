"""Trainers: a recipe's algorithm finds its own, and another package can add one in a line."""

import json
from pathlib import Path

import pytest

from offscript._config import expanded, find_recipe, read_mapping, shipped_recipes
from offscript.cli.app import app
from offscript.factcheck.stance.teaching import StanceRecipe
from offscript.learning import TRAINERS, find_trainer
from offscript.training import ALGORITHMS, Recipe

PLUGIN = """
from offscript._config import Section, checked
from offscript.learning import TRAINERS, Trained, Trainer

class Shout(Section):
    name: str = "shout"
    algorithm: str
    word: str

class Shouted(Trained):
    def __init__(self, folder, word):
        self.folder, self.seconds, self.word = folder, 0.0, word
    def figures(self):
        return {"word": self.word}
    def __str__(self):
        return self.word

def train(recipe, folder, **options):
    return Shouted(folder, recipe.word.upper())

TRAINERS.register("shout", Trainer(lambda content, origin: checked(Shout, content, origin), train))
"""


@pytest.mark.parametrize("name", sorted(shipped_recipes()))
def test_every_shipped_recipe_has_a_trainer(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFSCRIPT_DATA", str(tmp_path))
    content = expanded(read_mapping(find_recipe(name), "recipe"))
    assert find_trainer(content).recipe(content, name).name == name.rpartition("/")[2]


def test_algorithms_find_their_trainers() -> None:
    language_models = find_trainer({})
    assert {find_trainer({"algorithm": name}) for name in (*ALGORITHMS, "unknown")} == {language_models}
    assert isinstance(language_models.recipe({"data": {"train": "a.txt"}}, "mine"), Recipe)
    others = {find_trainer({"algorithm": name}) for name in TRAINERS}
    assert len(others) == len(TRAINERS)


def test_a_stance_recipe_is_checked_as_such(tmp_path: Path) -> None:
    content = {"algorithm": "stance", "data": str(tmp_path)}
    assert isinstance(find_trainer(content).recipe(content, "mine"), StanceRecipe)


def test_a_plug_in_adds_a_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    (tmp_path / "shouting.py").write_text(PLUGIN)
    (tmp_path / "shout.yaml").write_text("{algorithm: shout, word: hello}")
    monkeypatch.setattr(TRAINERS, "_things", dict(TRAINERS._things))
    monkeypatch.setenv("OFFSCRIPT_PLUGINS", str(tmp_path / "shouting.py"))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["train", "shout.yaml", "word=bye", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == {"word": "BYE"}
