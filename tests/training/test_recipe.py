"""Recipes: what they say, what changes do to them, and what a wrong one is told."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from offscript._config import find_recipe, shipped_recipes
from offscript.errors import OffscriptError
from offscript.learning import OptimiserSettings, StopSettings
from offscript.training import ALGORITHMS, Recipe, read_recipe, recipe_from
from offscript.training.recipe import (
    BatchSettings,
    CorpusData,
    SampledData,
    Source,
    kind_and_settings,
)

PLAIN: dict[str, Any] = {"data": {"train": "train.txt"}}
SAMPLED: dict[str, Any] = {"data": {"kind": "samples", "model": "offscript/news"}}


@pytest.fixture
def recipe_file(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump({**PLAIN, "model": {"kind": "lstm", "hidden": 64}}), encoding="utf-8")
    return path


def _refusal(content: dict[str, Any]) -> str:
    with pytest.raises(OffscriptError) as caught:
        recipe_from(content)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plain_recipe_needs_only_its_data() -> None:
    recipe = recipe_from(PLAIN)
    assert isinstance(recipe.data, CorpusData)
    assert [source.path for source in recipe.data.train] == ["train.txt"]
    assert recipe.data.vocabulary.kind == "word"
    assert recipe.algorithm == "teacher-forcing"
    assert kind_and_settings(recipe.model) == ("lstm", {})


def test_sources_are_paths_or_descriptions() -> None:
    data = {"train": ["a.txt", {"path": "b.csv", "field": "body"}], "validation": "c.txt"}
    recipe = recipe_from({"data": data})
    assert isinstance(recipe.data, CorpusData)
    assert [(source.path, source.field) for source in recipe.data.train] == [("a.txt", "text"), ("b.csv", "body")]
    assert recipe.data.validation[0].path == "c.txt"


def test_sampled_data_names_a_model() -> None:
    recipe = recipe_from(SAMPLED)
    assert isinstance(recipe.data, SampledData)
    assert recipe.data.model == "offscript/news"


def test_the_manual_shows_recipes_that_are_right_and_names_every_key() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    shown = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", manual, re.DOTALL)]
    for content in shown:
        recipe = recipe_from(content)
        ALGORITHMS[recipe.algorithm].Settings(**recipe.algorithm_settings)
    assert {content.get("algorithm", "teacher-forcing") for content in shown} == {"teacher-forcing", "minimum-risk"}
    parts = (Recipe, CorpusData, SampledData, Source, BatchSettings, OptimiserSettings, StopSettings)
    keys = {key for part in parts for key in part.model_fields}
    assert {key for key in (*keys, *ALGORITHMS) if f"`{key}`" not in manual and f"{key}:" not in manual} == set()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({**PLAIN, "modle": {}}, "unknown key 'modle'; did you mean 'model'?"),
        (
            {**PLAIN, "optimiser": {"learning_rte": 1}},
            "unknown key 'optimiser.learning_rte'; did you mean 'learning_rate'?",
        ),
        ({**PLAIN, "stop": {"epoch": 1}}, "unknown key 'stop.epoch'; did you mean 'epochs'?"),
        (
            {**PLAIN, "model": {"hiden": 3}},
            "model: the settings of the lstm do not fit; unknown key 'hiden'; did you mean 'hidden'?",
        ),
        (
            {**PLAIN, "model": {"kind": "transfomer"}},
            "model: unknown kind of model 'transfomer'; did you mean 'transformer'?",
        ),
        (
            {**PLAIN, "model": {"kind": "transformer", "hidden": 3}},
            "unknown key 'hidden'; known: context, dropout, heads",
        ),
        ({"data": {"train": "a", "vocabulry": {}}}, "unknown key 'data.vocabulry'; did you mean 'vocabulary'?"),
        (
            {"data": {"train": "a", "vocabulary": {"sise": 9}}},
            "unknown key 'data.vocabulary.sise'; did you mean 'size'?",
        ),
        (
            {"data": {"train": "a", "vocabulary": {"kind": "hub", "nam": "gpt2"}}},
            "data.vocabulary.name: Field required",
        ),
        (
            {"data": {"train": "a", "vocabulary": {"kind": "hub", "name": "gpt2", "nam": 1}}},
            "unknown key 'data.vocabulary.nam'; did you mean 'name'?",
        ),
        (
            {"data": {"train": "a", "vocabulary": {"kind": "model", "name": "m", "modl": 1}}},
            "unknown key 'data.vocabulary.modl'; known: kind, name",
        ),
        (
            {"data": {"train": "a", "vocabulary": {"kind": "character", "symbol": "all"}}},
            "unknown key 'data.vocabulary.symbol'; did you mean 'symbols'?",
        ),
        (
            {"data": {"train": ["a", {"path": "b", "feild": "x"}]}},
            "unknown key 'data.train[1].feild'; did you mean 'field'?",
        ),
        ({"data": {"train": "a", "filters": {"long": 3}}}, "unknown key 'data.filters.long'; did you mean 'longest'?"),
        ({"data": {"train": "a", "batches": {"sise": 3}}}, "unknown key 'data.batches.sise'; did you mean 'size'?"),
        (
            {"data": {"kind": "samples", "model": "m", "lenght": 3}},
            "unknown key 'data.lenght'; did you mean 'length'?",
        ),
    ],
)
def test_a_wrong_key_is_named_with_what_is_near(content: dict[str, Any], message: str) -> None:
    assert message in _refusal(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "data: Field required"),
        ({"data": 3}, "data: "),
        ({"data": {"train": []}}, "data.train: List should have at least 1 item"),
        ({"data": {"kind": "sampels", "model": "m"}}, "'sampels'"),
        ({"data": {"train": "a", "vocabulary": {"kind": "words"}}}, "'words'"),
        (
            {"data": {"train": "a", "vocabulary": {"size": 2}}},
            "data.vocabulary.size: Input should be greater than or equal to 3",
        ),
        ({**PLAIN, "optimiser": {"learning_rate": "fast"}}, "optimiser.learning_rate: Input should be a valid number"),
        ({**PLAIN, "optimiser": {"learning_rate": 0}}, "optimiser.learning_rate: Input should be greater than 0"),
        ({**PLAIN, "optimiser": {"schedule": "cosin"}}, "optimiser.schedule: Input should be 'constant', 'linear'"),
        ({**PLAIN, "stop": {"patience": 1.5}}, "stop.patience: Input should be a valid integer"),
        ({**PLAIN, "stop": None}, "stop: "),
        ({**PLAIN, "seed": -1}, "seed: Input should be greater than or equal to 0"),
        ({**PLAIN, "name": "a/b"}, "name: String should match pattern"),
        ({**PLAIN, "model": {"hidden": "wide"}}, "hidden: Input should be a valid integer"),
        ({**PLAIN, "model": {"tied": True, "hidden": 2}}, "a tied output needs embedding = hidden"),
        ({**PLAIN, "model": "lstm"}, "model: Input should be a valid dictionary"),
    ],
)
def test_a_wrong_value_is_named(content: dict[str, Any], message: str) -> None:
    assert message in _refusal(content)


def test_a_refusal_says_where_the_recipe_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("data: {train: a.txt}\nsed: 1\n")
    with pytest.raises(OffscriptError, match=r"mine\.yaml: unknown key 'sed'; did you mean 'seed'\?"):
        read_recipe(path)


@pytest.mark.parametrize(
    ("change", "place", "value"),
    [
        ("seed=7", ("seed",), 7),
        ("model.hidden=128", ("model", "hidden"), 128),
        ("model.dropout=1e-1", ("model", "dropout"), "1e-1"),
        ("optimiser.learning_rate=1e-4", ("optimiser", "learning_rate"), 1e-4),
        ("optimiser.clip=null", ("optimiser", "clip"), None),
        ("stop={epochs: 3, patience: 2}", ("stop", "patience"), 2),
        ("data.vocabulary.size=50", ("data", "vocabulary", "size"), 50),
        ("data.train=[x.txt, y.txt]", ("data", "train", 1, "path"), "y.txt"),
    ],
)
def test_changes_are_applied(recipe_file: Path, change: str, place: tuple[Any, ...], value: Any) -> None:
    found: Any = read_recipe(recipe_file, [change]).model_dump()
    for part in place:
        found = found[part]
    assert found == value


def test_the_last_change_counts(recipe_file: Path) -> None:
    assert read_recipe(recipe_file, ["seed=2", "seed=3"]).seed == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("seed", "'seed' is not key=value; write e.g. model.hidden=128"),
        ("=3", "'=3' is not key=value"),
        ("name=a=b", "name: String should match pattern"),
        ("seed.low=3", "'seed.low' cannot be set; 'seed' holds no keys"),
        ("data.train.path=x", "'data.train.path' cannot be set; 'train' holds no keys"),
        ("seed=[1", "the value is not YAML"),
        ("model.hiden=3", "did you mean 'hidden'?"),
    ],
)
def test_changes_that_cannot_be_made_are_refused(recipe_file: Path, change: str, message: str) -> None:
    recipe_file.write_text("seed: 1\ndata: {train: [a.txt]}\n")
    with pytest.raises(OffscriptError) as caught:
        read_recipe(recipe_file, [change])
    assert message in str(caught.value)


@given(key=st.text(max_size=8), value=st.text(max_size=8))
def test_any_change_is_applied_or_refused(tmp_path_factory: pytest.TempPathFactory, key: str, value: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text("data: {train: [a.txt]}\n")
    with contextlib.suppress(OffscriptError):
        read_recipe(path, [f"{key}={value}"])


def test_variables_are_filled_in(recipe_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "/somewhere")
    recipe = read_recipe(
        recipe_file, ["data.train=[$HERE/a.txt, '${HERE}/b.txt']", "data.filters.exclude=[{path: $HERE/c}]"]
    )
    assert isinstance(recipe.data, CorpusData)
    assert [source.path for source in recipe.data.train] == ["/somewhere/a.txt", "/somewhere/b.txt"]
    assert recipe.data.filters.exclude[0].path == "/somewhere/c"


def test_an_unset_variable_is_named(recipe_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    with pytest.raises(OffscriptError, match=r"names the variable NOWHERE, which is not set; export NOWHERE=…"):
        read_recipe(recipe_file, ["data.train=$NOWHERE/a.txt"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"- a\n- b\n", "is not a recipe"),
        (b"a: [", "is not YAML"),
        (b"\xff\xfe", "is not YAML"),
        (b"", "is not a recipe"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_bytes(content)
    with pytest.raises(OffscriptError, match=message):
        read_recipe(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no recipe at"):
        read_recipe(tmp_path / "none.yaml")
    with pytest.raises(OffscriptError, match="no recipe at"):
        read_recipe(tmp_path)


def test_recipes_are_found_by_path_or_name(recipe_file: Path) -> None:
    assert find_recipe(str(recipe_file)) == recipe_file
    assert find_recipe("news") == shipped_recipes()["news"]
    with pytest.raises(OffscriptError, match="no recipe 'newz'; .* did you mean 'news'"):
        find_recipe("newz")


OTHER_TRAINERS = {"stance", "fakta", "fever-perceptron", "inference", "inference-further"}  # read in tests/factcheck


@pytest.mark.parametrize("name", sorted(shipped_recipes().keys() - OTHER_TRAINERS))
def test_shipped_recipes_are_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFSCRIPT_DATA", "/data")
    recipe = read_recipe(find_recipe(name))
    assert recipe.name == name.rpartition("/")[2]
    assert recipe.algorithm in {*ALGORITHMS, "next-sentence"}


def test_the_digest_tells_recipes_apart() -> None:
    recipes = [
        recipe_from(PLAIN),
        recipe_from({**PLAIN, "seed": 2}),
        recipe_from({**PLAIN, "stop": {"epochs": 3}}),
        recipe_from({**PLAIN, "model": {"hidden": 3}}),
        recipe_from(SAMPLED),
    ]
    assert len({recipe.digest for recipe in recipes}) == len(recipes)
    assert recipe_from({**PLAIN, "about": "other words"}).digest == recipes[0].digest


def test_a_recipe_comes_back_from_its_own_json() -> None:
    for content in (PLAIN, SAMPLED):
        recipe = recipe_from(content)
        again = Recipe.model_validate_json(recipe.model_dump_json())
        assert again == recipe
        assert again.digest == recipe.digest
