import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from offscript.errors import OffscriptError
from offscript.factcheck.stance.lexical import LexicalStance
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.registry import Committee, stance_model, stances_of_pairs
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.teaching import StanceRecipe, stance_recipe, train_stance
from offscript.factcheck.stance.teaching.mtranssan import train_mtranssan
from offscript.factcheck.stance.teaching.recipe import training_pairs

CLAIM = "the president died"
DOCUMENTS = [["report says the president died not true hoax"], ["police report in paris"], []]


class KilledError(Exception):
    """What a run that is killed raises in these tests."""


class Killer:
    """Ends a run after so many steps."""

    def __init__(self, after: int) -> None:
        self.left = after

    def begin(self, step: int, total: int) -> None: ...

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        self.left -= 1
        if not self.left:
            raise KilledError

    def note(self, step: int, text: str) -> None: ...

    def validated(self, step: int, nll: float, best: float) -> None: ...

    def end(self) -> None: ...


@pytest.fixture
def recipe(encoder_folder: Path, small_data: Path) -> StanceRecipe:
    return _recipe(encoder_folder, small_data)


def _recipe(encoder: Path, data: Path, **changes: Any) -> StanceRecipe:
    content: dict[str, Any] = {
        "data": str(data),
        "encoder": {"name": str(encoder), "length": 16, "characters": 80},
        "pretraining": {"tasks": {"fever": 0, "sst": 0}},
        "beside": {"tasks": {"fever": 6}},
        "epochs": 2,
        "batch_size": 4,
    }
    return stance_recipe({**content, **changes})


def test_what_a_recipe_needs_in_the_end_is_named_at_once(
    encoder_folder: Path, small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(OffscriptError, match=r'needs onnx; it is not installed; pip install -e "\.\[stance\]"'):
        train_mtranssan(_recipe(encoder_folder, small_data, fine_tuning="heads"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("after", [3, 14])  # in pre-training, and in fine-tuning
def test_a_killed_run_goes_on_to_the_same_weights(recipe: StanceRecipe, tmp_path: Path, after: int) -> None:
    whole = train_mtranssan(recipe, tmp_path / "whole")
    with pytest.raises(KilledError):
        train_mtranssan(recipe, tmp_path / "killed", observer=Killer(after), checkpoint_seconds=0.0)
    resumed = train_mtranssan(recipe, tmp_path / "killed")
    expected, found = load_file(whole / "weights.safetensors"), load_file(resumed / "weights.safetensors")
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_the_same_seed_gives_the_same_scores_and_another_does_not(
    recipe: StanceRecipe, encoder_folder: Path, small_data: Path, tmp_path: Path
) -> None:
    other = _recipe(encoder_folder, small_data, seed=2)
    models = [train_stance(each, tmp_path / str(n)).folder for n, each in enumerate((recipe, recipe, other))]
    first, again, different = (stance_model(str(folder)).of_documents(CLAIM, DOCUMENTS) for folder in models)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - different).max() > 1e-6
    np.testing.assert_allclose(first.sum(axis=1), 1, atol=1e-6)


def test_the_served_graph_says_what_the_network_says(encoder_folder: Path, small_data: Path, tmp_path: Path) -> None:
    recipe = _recipe(encoder_folder, small_data, fine_tuning="heads", served=True)
    trained = train_stance(recipe, tmp_path / "run")
    served, network = stance_model(str(trained.folder)), stance_model(str(tmp_path / "run" / "model"))
    sentences = ["the president died in paris", "police deny", ""]
    close = np.abs(served.of_sentences(CLAIM, sentences) - network.of_sentences(CLAIM, sentences)).max()
    assert close < 0.1  # int8 against full precision
    assert served.of_documents(CLAIM, DOCUMENTS).shape == (3, len(STANCES))
    assert served.of_sentences(CLAIM, []).shape == (0, len(STANCES))


@pytest.mark.parametrize("kind", ["features", "boosting", "hierarchy"])
def test_baselines_learn_what_they_are_shown(small_data: Path, tmp_path: Path, kind: str) -> None:
    recipe = stance_recipe(
        {"data": str(small_data), "kind": kind, "epochs": 60, "head_learning_rate": 0.01, "adaptation": 0.1}
    )
    model = stance_model(str(train_stance(recipe, tmp_path / kind).folder))
    answers = model.of_documents(CLAIM, DOCUMENTS)
    np.testing.assert_allclose(answers.sum(axis=1), 1, atol=1e-6)
    assert model.of_documents(CLAIM, []).shape == (0, len(STANCES))
    assert model.of_sentences(CLAIM, ["the president died"]).shape == (1, len(STANCES))
    pairs = [Pair(claim, tuple(text), "", "") for text in DOCUMENTS for claim in (CLAIM, "cats eat fish")]
    for judge in (model, LexicalStance(), Committee([model, LexicalStance()])):
        apart = [judge.of_documents(pair.claim, [pair.sentences])[0] for pair in pairs]
        np.testing.assert_allclose(stances_of_pairs(judge, pairs), apart, atol=1e-6)
    if kind == "features":
        assert STANCES[int(answers[0].argmax())] == "disagree"
        assert STANCES[int(answers[1].argmax())] == "unrelated"


def test_a_first_level_that_reads_words_is_the_thesiss(small_data: Path, tmp_path: Path) -> None:
    """It tells a text of the training part by heart that a cosine, here nothing, does not tell."""
    content = {"data": str(small_data), "kind": "hierarchy", "epochs": 80, "head_learning_rate": 0.01}
    related = {}
    for level in ("words", "likeness"):
        recipe = stance_recipe({**content, "first_level": level})
        model = stance_model(str(train_stance(recipe, tmp_path / level).folder))
        known, unknown = model.of_documents("zebra", [["report says the president died"], ["police report in paris"]])
        related[level] = (known[:3].sum(), unknown[:3].sum())
    assert related["words"][0] > 0.8
    assert related["words"][1] < 0.2
    assert related["likeness"][0] == pytest.approx(related["likeness"][1], abs=1e-6)


def test_fevers_training_set_gives_as_many_pairs_of_each_label(tmp_path: Path) -> None:
    rows = [
        {"claim": f"claim {n}", "label": "SUPPORTS", "evidence": [f"It is -LRB- {n} -RRB- .", "Yes ."]} for n in "123"
    ]
    rows += [{"claim": "claim 4", "label": "REFUTES", "evidence": ["No ."]}]
    rows += [{"claim": f"claim {n}", "label": "NOT ENOUGH INFO", "evidence": [], "retrieved": ["near"]} for n in "56"]
    (tmp_path / "fever-train").mkdir()
    (tmp_path / "fever-train" / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    recipe = stance_recipe({"data": str(tmp_path), "kind": "features", "collection": "fever-train"})
    pairs = {pair.label: pair for pair in training_pairs(recipe)}
    assert len(training_pairs(recipe)) == len(pairs) == 3
    assert pairs["disagree"].sentences == ("No .",)
    assert pairs["agree"].sentences[0].startswith("It is ( ")
    assert pairs["unrelated"].claim in ("claim 5", "claim 6")
    assert pairs["unrelated"].sentences != ("near",)


def test_a_recipe_without_the_newer_settings_keeps_its_digest(small_data: Path) -> None:
    content = {"data": str(small_data), "kind": "hierarchy"}
    plain = stance_recipe(content)
    spelt = stance_recipe({**content, "first_level": "likeness", "collection": "fnc-1", "adapted_from": "fever"})
    assert plain.digest == spelt.digest != stance_recipe({**content, "first_level": "words"}).digest


def test_another_recipes_run_is_refused(
    recipe: StanceRecipe, encoder_folder: Path, small_data: Path, tmp_path: Path
) -> None:
    with pytest.raises(KilledError):
        train_mtranssan(recipe, tmp_path, observer=Killer(2), checkpoint_seconds=0.0)
    with pytest.raises(OffscriptError, match="another recipe"):
        train_mtranssan(_recipe(encoder_folder, small_data, seed=5), tmp_path)


def test_pretraining_serves_every_recipe_that_shares_it(
    recipe: StanceRecipe, encoder_folder: Path, small_data: Path, tmp_path: Path
) -> None:
    other = _recipe(encoder_folder, small_data, class_weights=0.0)
    whole = train_mtranssan(other, tmp_path / "whole")
    train_mtranssan(recipe, tmp_path / "first")
    (tmp_path / "second").mkdir()
    shutil.copy(tmp_path / "first" / "pretraining.safetensors", tmp_path / "second")
    shared = train_mtranssan(other, tmp_path / "second")
    expected, found = load_file(whole / "weights.safetensors"), load_file(shared / "weights.safetensors")
    assert all((found[name] == array).all() for name, array in expected.items())


def test_weights_of_answers_are_chosen_where_pairs_are_held_out(small_data: Path) -> None:
    with pytest.raises(OffscriptError, match="nothing is held out to choose stance_weights on"):
        stance_recipe({"data": str(small_data), "served": True, "split": "all"})
    weights = (1.0, 2.0, 1.0, 0.5)
    recipe = stance_recipe({"data": str(small_data), "served": True, "split": "all", "stance_weights": weights})
    assert recipe.stance_weights == weights


def test_a_wrong_key_is_named(small_data: Path) -> None:
    with pytest.raises(OffscriptError, match="unknown key 'epoch'; did you mean 'epochs'"):
        stance_recipe({"data": str(small_data), "epoch": 3})
    with pytest.raises(OffscriptError, match="no data folder"):
        stance_recipe({"data": "/nowhere"})
