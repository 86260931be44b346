"""The next-sentence head: it learns what follows, resumes exactly, and is saved with the model it stands on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models import load_model
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.next_sentence import encoder_from, load_head
from offscript.models.storage import save
from offscript.training import recipe_from
from offscript.training.next_sentence import Documents, train_next_sentence

NOUNS = ["car", "door", "wall", "hat", "tree", "boat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of two sentences, the second of which begins with "then", and a model that knows their words."""
    place = tmp_path_factory.mktemp("head")
    lines = [f"The {first} is old. Then the {second} came." for first in NOUNS for second in NOUNS]
    (place / "documents.txt").write_text("\n".join(lines))
    words = ["<unk>", "<eos>", ".", "the", "is", "old", "then", "came", *NOUNS]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = LSTMLanguageModel(WordVocabulary(words, lower=True), LSTMSettings(hidden=16, embedding=8))
    save(model, place / "model")
    return place


def recipe(folder: Path, **changes: Any) -> Any:
    content = {
        "name": "head",
        "algorithm": "next-sentence",
        "warm_start": str(folder / "model"),
        "data": {
            "train": [str(folder / "documents.txt")],
            "validation_share": 0.2,
            "batches": {"size": 32, "length": 40},
        },
        "optimiser": {"learning_rate": 0.01},
        "stop": {"epochs": 10},
    }
    return recipe_from(content | changes)


def test_strangers_come_from_other_documents() -> None:
    documents = Documents([["a1", "a2", "a3"], ["b1"], ["c1", "c2"]])
    assert documents.pairs == [(0, 0), (0, 1), (2, 0)]
    strangers = set()
    for seed in range(50):
        pairs, labels = documents.labelled([0, 2], np.random.default_rng(seed))
        assert pairs[0] == ("a1", "a2")
        assert pairs[2] == ("c1", "c2")
        assert labels.tolist() == [1, 0, 1, 0]
        strangers.add((pairs[1][1], pairs[3][1]))
    assert {first for first, _ in strangers} == {"b1", "c1", "c2"}
    assert {second for _, second in strangers} == {"a1", "a2", "a3", "b1"}


@pytest.mark.parametrize("fine_tune", [False, True])
def test_a_head_learns_and_is_saved(folder: Path, tmp_path: Path, fine_tune: bool) -> None:
    settings = {"fine_tune": fine_tune}
    trained = train_next_sentence(recipe(folder, algorithm_settings=settings), tmp_path)
    card = json.loads((trained.folder / "card.json").read_text())
    assert trained.accuracy > 0.6
    assert card["validation"]["accuracy"] == trained.accuracy
    assert any(key.startswith("network.") for key in load_file(trained.folder / "weights.safetensors")) == fine_tune
    encoder = encoder_from(load_model(str(folder / "model")))
    head = load_head(trained.folder, encoder)
    with torch.inference_mode():
        follows, strange = head([("The car is old.", "Then the hat came."), ("The car is old.", "The hat is old.")])
    assert float(follows) > float(strange)


def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(folder: Path, tmp_path: Path) -> None:
    whole = train_next_sentence(recipe(folder, stop={"epochs": 2}), tmp_path / "whole")

    class Interrupting:
        def begin(self, step: int, total: int) -> None: ...

        def step(self, step: int, loss: float, tokens_per_second: float) -> None:
            if step == 4:
                raise KeyboardInterrupt

        def note(self, step: int, text: str) -> None: ...

        def validated(self, step: int, nll: float, best: float) -> None: ...

        def end(self) -> None: ...

    with pytest.raises(KeyboardInterrupt):
        train_next_sentence(
            recipe(folder, stop={"epochs": 2}), tmp_path / "cut", observer=Interrupting(), checkpoint_seconds=0
        )
    resumed = train_next_sentence(recipe(folder, stop={"epochs": 2}), tmp_path / "cut")
    first, second = (load_file(run.folder / "weights.safetensors") for run in (whole, resumed))
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert resumed.validation_nll == whole.validation_nll


def test_a_head_belongs_to_its_model(folder: Path, tmp_path: Path) -> None:
    trained = train_next_sentence(recipe(folder, stop={"steps": 1}), tmp_path)
    other = load_model(str(folder / "model"))
    other.name = "another"
    with pytest.raises(OffscriptError, match="not for another"):
        load_head(trained.folder, encoder_from(other))
    weights = trained.folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(OffscriptError, match="not what its card describes"):
        load_head(trained.folder, encoder_from(load_model(str(folder / "model"))))
    with pytest.raises(OffscriptError, match="not a next-sentence head"):
        load_head(folder / "model", encoder_from(other))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"warm_start": None}, "warm_start"),
        ({"algorithm_settings": {"tuned": True}}, "tuned"),
        ({"data": {"kind": "samples", "model": "x"}}, "learns from documents"),
    ],
)
def test_recipes_that_cannot_be_run(folder: Path, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(OffscriptError, match=said):
        train_next_sentence(recipe(folder, **changes), tmp_path)


def test_text_without_documents_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("One sentence.\nAnother one.\n")
    with pytest.raises(OffscriptError, match="two documents"):
        train_next_sentence(recipe(folder, data={"train": [str(tmp_path / "lines.txt")]}), tmp_path)


def test_a_folder_of_another_recipe_is_refused(folder: Path, tmp_path: Path) -> None:
    train_next_sentence(recipe(folder, stop={"steps": 1}), tmp_path)
    with pytest.raises(OffscriptError, match="another recipe"):
        train_next_sentence(recipe(folder, stop={"steps": 2}), tmp_path)
