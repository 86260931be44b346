import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from offscript.errors import OffscriptError
from offscript.models import load_model
from offscript.models.storage import SEQGAN_FILES, is_seqgan_oracle, load_seqgan_oracle
from offscript.sampling import generate

SIZE, WIDTH = 7, 3
Arrays = dict[str, NDArray[np.float32]]


def arrays(seed: int = 1) -> Arrays:
    generator = np.random.default_rng(seed)
    shapes = {"embedding": (SIZE, WIDTH), "wo": (WIDTH, SIZE), "bo": (SIZE,)}
    for gate in ("i", "f", "c", "og"):
        shapes |= {f"w{gate}": (WIDTH, WIDTH), f"u{gate}": (WIDTH, WIDTH), f"b{gate}": (WIDTH,)}
    return {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, array in arrays().items():
        with (tmp_path / f"{name}.npz").open("wb") as stream:
            np.save(stream, array)
    return tmp_path


def sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-values))


def step_by_step(read: Arrays, tokens: list[int]) -> NDArray[np.float64]:
    """SeqGAN's own recurrence, one token at a time: log-probabilities [len(tokens), V]."""
    hidden, cell, answers = np.zeros(WIDTH), np.zeros(WIDTH), []
    for token in [0, *tokens[:-1]]:
        seen = read["embedding"][token].astype(np.float64)
        gates = {
            gate: seen @ read["w" + gate] + hidden @ read["u" + gate] + read["b" + gate]
            for gate in ("i", "f", "og", "c")
        }
        cell = sigmoid(gates["f"]) * cell + sigmoid(gates["i"]) * np.tanh(gates["c"])
        hidden = sigmoid(gates["og"]) * np.tanh(cell)
        logits = hidden @ read["wo"] + read["bo"]
        answers.append(logits - math.log(np.exp(logits).sum()))
    return np.stack(answers)


def test_predicts_as_seqgan_does(folder: Path) -> None:
    tokens = [3, 0, 6, 2, 2, 5]
    oracle = load_seqgan_oracle(folder)
    [scored] = oracle.score(torch.tensor([tokens]))
    assert scored.log_probs[0].numpy() == pytest.approx(step_by_step(arrays(), tokens), abs=1e-5)
    assert oracle.vocabulary.decode(tokens) == "3 0 6 2 2 5"
    assert oracle.vocabulary.end is None


def test_a_folder_of_its_files_is_a_model_string(folder: Path) -> None:
    assert load_model(str(folder)).weight_hash == load_seqgan_oracle(folder).weight_hash
    with pytest.raises(OffscriptError, match="dtype"):
        load_model(f"{folder},dtype=float16")


def test_fewer_symbols_are_the_first_ones_renormalised(folder: Path) -> None:
    tokens = torch.tensor([[3, 0, 2, 2]])
    cut = load_model(f"{folder},symbols=4")
    [scored], [whole] = cut.score(tokens), load_seqgan_oracle(folder).score(tokens)
    assert torch.allclose(scored.log_probs, whole.log_probs[:, :, :4].log_softmax(dim=-1), atol=1e-5)
    for wrong in ("1", "8", "all"):
        with pytest.raises(OffscriptError, match="give a number from 2 to 7"):
            load_model(f"{folder},symbols={wrong}")


def test_a_folder_that_lacks_a_file_is_not_the_oracle(folder: Path) -> None:
    (folder / "bog.npz").unlink()
    assert not is_seqgan_oracle(folder)
    with pytest.raises(OffscriptError, match="holds no model"):
        load_model(str(folder))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bo", np.zeros(SIZE + 1, dtype=np.float32), r"has the shape \(8,\)"),
        ("embedding", np.zeros(SIZE, dtype=np.float32), "not a table of embeddings"),
        ("wi", np.zeros((WIDTH, WIDTH), dtype=np.int64), "one array of numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    folder: Path, name: str, content: NDArray[np.generic], message: str
) -> None:
    with (folder / f"{name}.npz").open("wb") as stream:
        np.save(stream, content)
    with pytest.raises(OffscriptError, match=message):
        load_seqgan_oracle(folder)


def test_pickles_are_refused(folder: Path) -> None:
    with (folder / "wi.npz").open("wb") as stream:
        np.save(stream, np.array([{"code": "any"}], dtype=object), allow_pickle=True)
    with pytest.raises(OffscriptError, match="cannot be read"):
        load_seqgan_oracle(folder)


def test_truncated_files_are_refused(folder: Path) -> None:
    content = (folder / "wo.npz").read_bytes()
    (folder / "wo.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(OffscriptError, match="cannot be read"):
        load_seqgan_oracle(folder)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_text_gans_oracle_has_the_entropy_they_report(data_folder: Path, tmp_path: Path, seed: int) -> None:
    """5.75 nats per token over sequences of 20, to two decimals whatever the seed.

    What the oracle expects of each next token varies less than what is drawn, and both have the same mean.
    """
    for name in SEQGAN_FILES:
        shutil.copy(data_folder / "seqgan-oracle" / f"{name}.npz", tmp_path)
    oracle = load_model(str(tmp_path))
    assert oracle.vocabulary.size == 5000
    surprises, entropies = [], []
    for tokens in generate(oracle, 3000, 20, seed=seed, batch_size=500).tokens.split(500):
        surprises.append(-oracle.log_likelihoods(tokens).double())
        entropies.extend(
            -(scored.log_probs.exp() * scored.log_probs).sum(-1).double() for scored in oracle.score(tokens)
        )
    surprise = torch.cat(surprises).mean(dim=1)
    expected = float(torch.cat([entropy.flatten() for entropy in entropies]).mean())
    error = float(surprise.std()) / math.sqrt(len(surprise))
    assert error < 0.015
    assert expected == pytest.approx(5.753, abs=0.01)
    assert float(surprise.mean()) == pytest.approx(expected, abs=3 * error)
