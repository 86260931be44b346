"""Teaching the inference model: a killed run goes on to the same weights, and what is served is what was taught."""

import hashlib
import json
import lzma
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import offscript.assets
from offscript._config import read_mapping
from offscript.errors import OffscriptError
from offscript.factcheck.inference.examples import Example
from offscript.factcheck.inference.model import InferenceModel
from offscript.factcheck.inference.served_weights import served_weights
from offscript.factcheck.inference.stance import InferenceStance
from offscript.factcheck.inference.training import (
    InferenceRecipe,
    Rows,
    inference_recipe,
    load_classifier,
    rate_at,
    train_inference,
)
from offscript.learning import find_trainer

ASSETS = Path(offscript.assets.__path__[0])
LABELS = ("entailment", "contradiction", "neutral")
PREMISES = ("the president died in paris today", "cats eat fish", "police deny the report")


class KilledError(Exception):
    """What a run that is killed raises in these tests."""


class Killer:
    """An observer that kills the run after some steps."""

    def __init__(self, after: int) -> None:
        self._after = after

    def begin(self, step: int, total: int) -> None:
        pass

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        if step == self._after:
            raise KilledError

    def note(self, step: int, text: str) -> None: ...

    def validated(self, step: int, nll: float, best: float) -> None:
        pass

    def end(self) -> None:
        pass


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inference-data")
    (folder / "nli-mnli").mkdir()
    with lzma.open(folder / "nli-mnli" / "mnli.jsonl.xz", "wt") as stream:
        for number in range(30):
            record = {
                "premise": PREMISES[number % 3],
                "hypothesis": ("the president died", "cats eat", "police report")[number // 3 % 3],
                "label": LABELS[number % 3],
            }
            stream.write(json.dumps(record) + "\n")
    return folder


@pytest.fixture
def recipe(encoder_folder: Path, data: Path) -> InferenceRecipe:
    return InferenceRecipe(
        data=str(data), encoder=str(encoder_folder), shares={"mnli": 0.7, "templates": 0.3}, pairs=64, batch_size=8,
        warmup=2, length=32,
    )  # fmt: skip


@pytest.mark.parametrize("after", [1, 5])
def test_a_killed_run_goes_on_to_the_same_weights(recipe: InferenceRecipe, tmp_path: Path, after: int) -> None:
    train_inference(recipe, tmp_path / "whole")
    with pytest.raises(KilledError):
        train_inference(recipe, tmp_path / "killed", observer=Killer(after), checkpoint_seconds=0.0)
    train_inference(recipe, tmp_path / "killed")
    expected, resumed = (load_file(tmp_path / name / "last.safetensors") for name in ("whole", "killed"))
    assert expected.keys() == resumed.keys()
    assert all(torch.equal(expected[name], resumed[name]) for name in expected)


def test_what_is_served_says_what_was_taught(recipe: InferenceRecipe, tmp_path: Path) -> None:
    served = train_inference(recipe, tmp_path).folder
    model = InferenceModel(served, threads=1)
    pairs = [("cats eat", "cats eat fish"), ("cats eat", "police deny the report"), ("", ""), ("cats " * 200, "fish")]
    probabilities = model.probabilities(pairs)
    assert probabilities.shape == (4, 3)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(probabilities[1:2], model.probabilities(pairs[1:2]))
    assert model.probabilities([]).shape == (0, 3)
    assert model.card["data"]["mnli"]["licence"] == "OANC"
    further, _ = load_classifier(str(tmp_path / "trained"), seed=recipe.seed + 1)
    learnt = load_file(tmp_path / "last.safetensors")["network/model/classifier.weight"]
    assert torch.equal(further.classifier.weight, learnt)
    stances = InferenceStance(model).of_sentences("cats eat", ["cats eat fish", "police"])
    assert stances.shape == (2, 4)
    assert np.allclose(stances.sum(axis=1), 1)
    documents = InferenceStance(model).of_documents("cats eat", [["police"], ["cats eat fish", "police"], []])
    assert documents[0].tolist() == [0, 0, 0, 1]
    assert documents[1, 3] < 1


def test_a_served_model_is_trained_further_from_its_whole_numbers(recipe: InferenceRecipe, tmp_path: Path) -> None:
    first = train_inference(recipe, tmp_path / "first").folder
    learnt = load_file(tmp_path / "first" / "trained" / "model.safetensors")
    served = served_weights(first / "inference.onnx")
    assert served.keys() == learnt.keys()
    for name, weights in learnt.items():
        step = float(weights.abs().max()) / 127
        assert np.abs(served[name] - weights.numpy()).max() <= step + 1e-6
    further = recipe.model_copy(update={"start": str(first), "pairs": 8, "learning_rate": 1e-9})
    second = train_inference(further, tmp_path / "second").folder
    pairs = [("cats eat", "cats eat fish"), ("cats eat", "police deny the report")]
    assert np.allclose(InferenceModel(first).logits(pairs), InferenceModel(second).logits(pairs), atol=0.1)
    card = InferenceModel(second).card
    assert card["before"]["recipe"]["pairs"] == 64
    assert card["before"]["sha256"] == hashlib.sha256((first / "inference.onnx").read_bytes()).hexdigest()


def test_a_model_to_start_from_must_be_one(recipe: InferenceRecipe, tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no served inference model"):
        train_inference(recipe.model_copy(update={"start": str(tmp_path)}), tmp_path / "run")
    (tmp_path / "inference.onnx").write_bytes(b"no graph")
    with pytest.raises(OffscriptError, match="is no served inference model"):
        train_inference(recipe.model_copy(update={"start": str(tmp_path)}), tmp_path / "run")
    with pytest.raises(OffscriptError, match="not trained from this encoder"):
        train_inference(recipe.model_copy(update={"start": "offscript/inference"}), tmp_path / "run")


def test_rows_are_padded_only_to_the_longest_of_their_batch(encoder_folder: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(encoder_folder / "tokenizer.json"))
    examples = [Example("cats", ("cats eat fish today",) * (1 + number % 3), number % 3, "") for number in range(12)]
    rows = Rows.of(tokenizer, examples, 64)
    batches = rows.batches(4, seed=1)
    assert sorted(np.concatenate(batches).tolist()) == list(range(12))
    shapes = sorted(rows.batch(batch)["input_ids"].shape for batch in batches)
    assert shapes == [(4, 8), (4, 12), (4, 16)]
    first = rows.batch(np.array([0, 2]))
    assert first["attention_mask"].sum(axis=1).tolist() == [8, 16]
    assert first["token_type_ids"].sum(axis=1).tolist() == [5, 13]


def test_the_rate_rises_stays_and_falls() -> None:
    recipe = InferenceRecipe(data=".", warmup=9, decay=0.5)
    rates = [rate_at(step, 100, recipe) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[20] == rates[50] == 1
    assert rates[75] == pytest.approx(0.5)
    assert 0 < rates[99] < 0.05


def test_a_recipe_is_found_by_its_algorithm_and_refused_without_data() -> None:
    content = {"algorithm": "inference", "data": "/nowhere"}
    assert find_trainer(content).recipe is inference_recipe
    with pytest.raises(OffscriptError, match="no data folder"):
        inference_recipe(content)


def test_an_unknown_source_is_named(recipe: InferenceRecipe, tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no source 'mnly'"):
        train_inference(recipe.model_copy(update={"shares": {"mnly": 1.0}}), tmp_path)


@pytest.mark.parametrize("name", ["inference", "inference-further"])
def test_shipped_recipes_are_right(name: str, tmp_path: Path) -> None:
    content = read_mapping(ASSETS / "recipes" / f"{name}.yaml", "recipe")
    recipe = inference_recipe({**content, "data": str(tmp_path)})
    assert recipe.name == name
    assert sum(recipe.shares.values()) == pytest.approx(1.0, abs=0.06)


def test_the_served_graph_says_what_the_network_says(recipe: InferenceRecipe, tmp_path: Path) -> None:
    import torch

    from offscript.factcheck.inference.exporting import export_graph

    network, tokenizer = load_classifier(recipe.encoder, seed=3)
    export_graph(network.eval(), tmp_path / "inference.onnx", int8=False)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "card.json").write_text("{}")
    pairs = [("cats eat", "cats eat fish"), ("police", "police deny the report " * 5), ("", "the president died")]
    for pair, found in zip(pairs, InferenceModel(tmp_path).logits(pairs), strict=True):
        tokenizer.no_truncation()
        row = tokenizer.encode(*pair)
        shown = {"input_ids": torch.tensor([row.ids]), "token_type_ids": torch.tensor([row.type_ids])}
        with torch.no_grad():
            assert found == pytest.approx(network(**shown).logits[0].numpy(), abs=1e-5)


def test_only_an_encoder_of_a_known_kind_is_served(tmp_path: Path) -> None:
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    from offscript.factcheck.inference.exporting import export_graph

    network = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=20, dim=8, n_heads=2, n_layers=1))
    with pytest.raises(OffscriptError, match="only a BERT encoder can be served"):
        export_graph(network, tmp_path / "inference.onnx")


def test_a_source_that_there_is_not_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no source 'strangrs'; choose from .*strangers"):
        inference_recipe({"name": "x", "algorithm": "inference", "data": str(tmp_path), "shares": {"strangrs": 1.0}})
