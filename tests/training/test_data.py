"""What a run reads: batches addressed by the step alone."""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from offscript.errors import OffscriptError
from offscript.models import load_model
from offscript.sampling import generate
from offscript.training import recipe_from
from offscript.training.data import TrainingData, open_data

WORDS = ("one", "two", "three", "four", "five", "six", "seven")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A hundred and twenty different sentences of two to seven words."""
    generator = np.random.default_rng(1)
    sentences = [
        " ".join(WORDS[index] for index in generator.integers(len(WORDS), size=generator.integers(2, 8)))
        for _ in range(200)
    ]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(sorted(set(sentences))[:120]) + "\n")
    return path


def _open(tmp_path: Path, data: dict[str, Any], seed: int = 1) -> TrainingData:
    settings = recipe_from({"data": data}).data
    return open_data(settings, seed, device="cpu", folder=tmp_path / f"encoded-{seed}")


def _texts(data: TrainingData, batches: Any) -> list[str]:
    return [
        data.vocabulary.decode(row[:length])
        for batch in batches
        for row, length in zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True)
    ]


def _epoch(data: TrainingData, number: int = 0) -> list[str]:
    first = number * data.steps_per_epoch
    return _texts(data, (data.batch(step) for step in range(first, first + data.steps_per_epoch)))


def test_an_epoch_has_every_training_sentence_once(tmp_path: Path, corpus: Path) -> None:
    data = _open(tmp_path, {"train": str(corpus), "batches": {"size": 8}})
    train, validation = _epoch(data), _texts(data, data.validation())
    assert sorted(train + validation) == corpus.read_text().splitlines()
    assert 1 <= len(validation) <= 20
    assert sorted(_epoch(data, 1)) == sorted(train)
    assert _epoch(data, 1) != train


def test_a_batch_depends_on_the_step_alone(tmp_path: Path, corpus: Path) -> None:
    for kind in ("packed", "fixed", "bucketed"):
        settings = {"train": str(corpus), "batches": {"kind": kind, "size": 8, "length": 3}}
        data, again = _open(tmp_path, settings), _open(tmp_path, settings)
        steps = [5, 0, 2 * data.steps_per_epoch + 1, 5]
        for step in steps:
            assert np.array_equal(data.batch(step).tokens, again.batch(step).tokens)
        assert not np.array_equal(data.batch(5).tokens, _open(tmp_path, settings, seed=2).batch(5).tokens)


def test_validation_files_are_taken_as_they_are(tmp_path: Path, corpus: Path) -> None:
    held_out = tmp_path / "held-out.txt"
    held_out.write_text("seven six\none eight\n")
    data = _open(tmp_path, {"train": str(corpus), "validation": str(held_out)})
    assert len(_epoch(data)) == 120
    assert _texts(data, data.validation()) == ["seven six", "one <unk>"]


def test_the_vocabulary_is_counted_on_the_training_sentences(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a a a b b c\nA B\n")
    (tmp_path / "valid.txt").write_text("d d d d d\n")
    settings = {"train": f"{tmp_path}/train.txt", "validation": f"{tmp_path}/valid.txt"}
    data = _open(tmp_path, {**settings, "vocabulary": {"size": 4}})
    assert list(data.vocabulary.symbols()) == ["<unk>", "<eos>", "a", "b"]
    cased = _open(tmp_path, {**settings, "vocabulary": {"size": 5, "lower": False}}, seed=2)
    assert list(cased.vocabulary.symbols()) == ["<unk>", "<eos>", "a", "b", "A"]


@pytest.mark.parametrize(("symbols", "size"), [("text8", 27), ("all", 4)])
def test_characters_can_be_the_vocabulary(tmp_path: Path, symbols: str, size: int) -> None:
    (tmp_path / "train.txt").write_text("ab c\nba\n")
    settings = {"train": f"{tmp_path}/train.txt", "validation": f"{tmp_path}/train.txt"}
    data = _open(tmp_path, {**settings, "vocabulary": {"kind": "character", "symbols": symbols}})
    assert data.vocabulary.size == size
    assert sorted(_epoch(data)) == ["ab c", "ba"]


def test_another_models_vocabulary_can_be_shared(tmp_path: Path, corpus: Path, oracle_file: Path) -> None:
    (tmp_path / "train.txt").write_text("a b\nc\n")
    settings = {"train": f"{tmp_path}/train.txt", "validation": f"{tmp_path}/train.txt"}
    data = _open(tmp_path, {**settings, "vocabulary": {"kind": "model", "name": str(oracle_file)}})
    assert data.vocabulary.fingerprint == load_model(str(oracle_file)).vocabulary.fingerprint


def test_filters_act_in_the_order_of_the_recipe(tmp_path: Path) -> None:
    """`rare` occurs twice, but once in a sentence that is excluded; `common` counts where sentences are too short."""
    lines = ["common", "common", "common twice here", "here twice", "rare here twice", "rare out", "rare out"]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "out.txt").write_text("rare out\n")
    filters = {"exclude": [{"path": f"{tmp_path}/out.txt"}], "minimum_frequency": 3, "shortest": 2}
    settings = {"train": f"{tmp_path}/train.txt", "validation": f"{tmp_path}/train.txt", "filters": filters}
    assert sorted(_epoch(_open(tmp_path, settings))) == ["common twice here", "here twice"]
    repeats = {**settings, "filters": {**filters, "drop_repeats": True, "minimum_frequency": 2}}
    assert sorted(_epoch(_open(tmp_path, repeats, seed=2))) == ["common twice here", "here twice"]


def test_running_text_can_be_cut_into_sentences_and_words(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("It is so. Is it?\n")
    source = {"path": f"{tmp_path}/train.txt", "split_sentences": True, "separate_punctuation": True}
    data = _open(tmp_path, {"train": [source], "validation": [source]})
    assert sorted(_epoch(data)) == ["is it ?", "it is so ."]


def test_the_hash_follows_the_text(tmp_path: Path, corpus: Path) -> None:
    hashes = [_open(tmp_path, {"train": str(corpus)}, seed).data_hash for seed in (1, 2)]
    corpus.write_text(corpus.read_text().replace("one", "two", 1))
    assert hashes[0] == hashes[1] != _open(tmp_path, {"train": str(corpus)}).data_hash


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"train": "nowhere.txt"}, "no such file: nowhere.txt"),
        ({"train": "{corpus}", "filters": {"shortest": 50}}, "train: no sentence to encode"),
        ({"train": "{corpus}", "validation_share": 1e-9}, "validation: no sentence to encode"),
        ({"train": "{corpus}", "batches": {"kind": "fixed", "length": 40}}, "no sentence has 40 tokens"),
        ({"kind": "samples", "model": "nowhere.json"}, "there is no file or folder nowhere.json"),
    ],
)
def test_data_that_give_nothing_are_refused(tmp_path: Path, corpus: Path, data: dict[str, Any], message: str) -> None:
    filled = {key: value.format(corpus=corpus) if isinstance(value, str) else value for key, value in data.items()}
    with pytest.raises(OffscriptError, match=message):
        _open(tmp_path, filled)


def _samples(oracle_file: Path, **settings: Any) -> dict[str, Any]:
    return {"kind": "samples", "model": str(oracle_file), "length": 4, "size": 48, "epoch": 480, **settings}


def test_samples_are_rows_of_one_endless_sample(tmp_path: Path, oracle_file: Path) -> None:
    data = _open(tmp_path, _samples(oracle_file), seed=7)
    assert data.steps_per_epoch == 10
    drawn = generate(load_model(str(oracle_file)), 48 * 25, 4, seed=(7, 0)).tokens
    for step in (11, 0, 24, 10):  # 512 rows are drawn at once: step 10 stands across two of these blocks
        assert np.array_equal(data.batch(step).tokens, drawn[48 * step : 48 * (step + 1)].numpy())


def test_validation_samples_are_others(tmp_path: Path, oracle_file: Path) -> None:
    data = _open(tmp_path, _samples(oracle_file, validation=50), seed=7)
    validation = np.concatenate([batch.tokens for batch in data.validation()])
    assert np.array_equal(validation, generate(load_model(str(oracle_file)), 50, 4, seed=(7, 1)).tokens.numpy())
    assert not np.array_equal(validation[:48], data.batch(0).tokens)


def test_a_limited_sample_is_gone_through_again(tmp_path: Path, oracle_file: Path) -> None:
    data = _open(tmp_path, _samples(oracle_file, distinct=96), seed=7)
    assert data.steps_per_epoch == 2
    drawn = Counter(map(tuple, generate(load_model(str(oracle_file)), 96, 4, seed=(7, 0)).tokens.tolist()))
    orders = []
    for epoch in range(3):
        rows = [tuple(row) for step in (0, 1) for row in data.batch(2 * epoch + step).tokens.tolist()]
        assert Counter(rows) == drawn
        orders.append(rows)
    assert orders[0] != orders[1] != orders[2]


def test_sampled_sequences_end_where_they_ended(tmp_path: Path) -> None:
    (tmp_path / "ending.json").write_text(
        '{"kind": "tabular", "vocabulary": ["a", "."], "end": ".", "length": 3,'
        '"next": {"": [0.5, 0.5], "a": [0.5, 0.5], "a a": [0.5, 0.5]}}'
    )
    settings = {"kind": "samples", "model": f"{tmp_path}/ending.json", "length": 3, "size": 64}
    batch = _open(tmp_path, {**settings, "stop_at_end": True}).batch(0)
    assert set(batch.lengths.tolist()) == {1, 2, 3}
    for row, length in zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True):
        assert row[: length - 1] == [0] * (length - 1)
    whole = _open(tmp_path, settings).batch(0)
    assert set(whole.lengths.tolist()) == {3}


def test_the_hash_of_samples_follows_model_settings_and_seed(tmp_path: Path, oracle_file: Path) -> None:
    hashes = {
        _open(tmp_path, _samples(oracle_file, **settings), seed).data_hash
        for settings, seed in (({}, 1), ({}, 2), ({"length": 3}, 1))
    }
    assert len(hashes) == 3


def test_a_corpus_is_kept_on_disk(tmp_path: Path, corpus: Path) -> None:
    data = _open(tmp_path, {"train": str(corpus)})
    for part in ("train", "validation"):
        assert (tmp_path / "encoded-1" / part / "tokens.bin").stat().st_size > 0
    batch = next(islice(data.validation(), 1))
    assert torch.from_numpy(batch.tokens).dtype == torch.int64
