"""Training on pairs: batches, every algorithm that makes sense with sources, and resuming."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from offscript.models import load_model
from offscript.models.encoder_decoder import EncoderDecoder
from offscript.sampling.translation import translate
from offscript.training.loop import train
from offscript.training.parallel import ParallelBatches
from offscript.training.recipe import recipe_from

WORDS = {"rot": "red", "blau": "blue", "Hund": "dog", "Katze": "cat", "alt": "old", "jung": "young"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Word by word: what a tiny network can learn."""
    folder, random = tmp_path_factory.mktemp("pairs"), np.random.default_rng(1)
    for part, size in (("train", 400), ("validation", 40)):
        rows = [random.choice(list(WORDS), int(random.integers(1, 5))).tolist() for _ in range(size)]
        lines = [" ".join(row) + "\t" + " ".join(WORDS[word] for word in row) for row in rows]
        (folder / f"{part}.tsv").write_text("\n".join(lines))
    return folder


def _recipe(corpus: Path, **changes: Any) -> Any:
    sizes = {"width": 32, "inner": 32, "encoder_layers": 1, "decoder_layers": 1, "heads": 2, "dropout": 0.1}
    content = {
        "name": "pairs",
        "model": {"kind": "encoder-decoder", **sizes},
        "data": {
            "kind": "parallel",
            "train": [str(corpus / "train.tsv")],
            "validation": [str(corpus / "validation.tsv")],
            "vocabulary": {"size": 300},
            "batches": {"tokens": 160},
        },
        "optimiser": {"learning_rate": 0.01},
        "stop": {"epochs": 2},
    }
    return recipe_from({**content, **changes})


def test_every_epoch_has_each_pair_once_in_batches_of_one_shape(corpus: Path, tmp_path: Path) -> None:
    settings = _recipe(corpus).data
    data = ParallelBatches(settings, 1, tmp_path)
    epochs = []
    for epoch in range(2):
        rows: list[str] = []
        for index in range(data.steps_per_epoch):
            batch = data.batch(epoch * data.steps_per_epoch + index)
            assert batch.sources is not None
            assert len(batch.tokens) * max(batch.tokens.shape[1], batch.sources.tokens.shape[1]) <= 160
            for target, length, source, size in zip(
                batch.tokens, batch.lengths, batch.sources.tokens, batch.sources.lengths, strict=True
            ):
                words = data.vocabulary.decode(source[:size].tolist()).split()
                assert data.vocabulary.decode(target[:length].tolist()) == " ".join(WORDS[word] for word in words)
                rows.append(" ".join(words))
        epochs.append(rows)
    lines = (corpus / "train.tsv").read_text().splitlines()
    assert sorted(epochs[0]) == sorted(epochs[1]) == sorted(line.split("\t")[0] for line in lines)
    assert epochs[0] != epochs[1]


def test_teacher_forcing_learns_to_translate(corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    recipe = _recipe(corpus, stop={"epochs": 8}, algorithm_settings={"label_smoothing": 0.1})
    recipe = recipe.model_copy(update={"data": recipe.data.model_copy(update={"scored": 20})})
    trained = train(recipe, tmp_path / "run")
    model = load_model(str(trained.folder))
    assert isinstance(model, EncoderDecoder)
    assert trained.validation_nll < 1.0  # without the source no model goes below 1.6
    assert translate(model, ["rot Hund"], length=8) == ["red dog"]
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    scores = [line["validation_bleu"] for line in log if "validation_bleu" in line]
    assert len(scores) == 8
    assert scores[-1] > scores[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "scheduled-sampling", "algorithm_settings": {"rate": 0.5, "label_smoothing": 0.1}},
        {"algorithm": "scheduled-sampling", "algorithm_settings": {"rate": 0.5, "drawing": "sequential"}},
        {"algorithm": "minimum-risk-bleu", "algorithm_settings": {"candidates": 4}, "stop": {"steps": 3}},
        {"bfloat16": True},
        {"bfloat16": "auto"},
    ],
    ids=["parallel", "sequential", "risk", "bfloat16", "auto"],
)
def test_other_algorithms_run_with_sources(corpus: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    pytest.importorskip("sacrebleu")
    trained = train(_recipe(corpus, **{"stop": {"epochs": 1}, **changes}), tmp_path)
    assert trained.validation_nll < 6.0


def test_a_stopped_run_resumes_bit_for_bit(corpus: Path, tmp_path: Path) -> None:
    recipe = _recipe(corpus, stop={"epochs": 1})
    train(recipe, tmp_path / "whole")

    class StoppedError(Exception):
        pass

    class Stopper:
        def begin(self, step: int, total: int) -> None: ...
        def note(self, step: int, text: str) -> None: ...

        def validated(self, step: int, nll: float, best: float) -> None: ...
        def end(self) -> None: ...
        def step(self, step: int, loss: float, tokens_per_second: float) -> None:
            if step == 7:
                raise StoppedError

    with pytest.raises(StoppedError):
        train(recipe, tmp_path / "parts", observer=Stopper(), checkpoint_seconds=0.0)
    train(recipe, tmp_path / "parts")
    one, other = (load_model(str(tmp_path / name / "model")) for name in ("whole", "parts"))
    assert one.weight_hash == other.weight_hash
    assert isinstance(one, EncoderDecoder)
    assert all(torch.isfinite(weight).all() for weight in one.parameters())
