"""The random LSTM that the text-GAN papers draw their synthetic data from (Yu et al. 2017, SeqGAN)."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings

GATES = ("i", "f", "c", "og")
"""Input, forget, candidate, output: the files' names for the gates, in the order `torch.nn.LSTM` stacks them."""

FILES = ("embedding", "wo", "bo", *(part + gate for gate in GATES for part in "wub"))
FIRST_INPUT = 0
"""SeqGAN feeds token 0 to a zero state before position 0."""

_REMEDY = "copy the oracle's files again"


def is_seqgan_oracle(folder: Path) -> bool:
    """Whether a folder holds the oracle's parameters, one array a file."""
    return all((folder / f"{name}.npz").is_file() for name in FILES)


def load_seqgan_oracle(folder: Path, *, device: str = "cpu") -> LSTMLanguageModel:
    """The oracle as a language model over the symbols "0" … "4999", without an end.

    Its start symbol stands outside the vocabulary, as every listed vocabulary's does, and is embedded as token 0 is:
    the distributions are SeqGAN's, and a student that shares the vocabulary can be compared with it.
    """
    arrays = {name: _read(folder / f"{name}.npz") for name in FILES}
    size, width = _sizes(arrays, folder)
    vocabulary = WordVocabulary([str(token) for token in range(size)], end=None, unknown=None)
    oracle = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=width, embedding=width))
    oracle.load_state_dict(_weights(arrays))
    oracle.name = str(folder)
    return oracle.to(device).eval()


def _weights(arrays: dict[str, Tensor]) -> dict[str, Tensor]:
    embedding = arrays["embedding"]
    biases = torch.cat([arrays["b" + gate] for gate in GATES])
    return {
        "embedding.weight": torch.cat([embedding, embedding[FIRST_INPUT : FIRST_INPUT + 1]]),
        "recurrence.weight_ih_l0": torch.cat([arrays["w" + gate].t() for gate in GATES]),
        "recurrence.weight_hh_l0": torch.cat([arrays["u" + gate].t() for gate in GATES]),
        "recurrence.bias_ih_l0": biases,
        "recurrence.bias_hh_l0": torch.zeros_like(biases),
        "output.weight": arrays["wo"].t(),
        "bias": arrays["bo"],
    }


def _sizes(arrays: dict[str, Tensor], folder: Path) -> tuple[int, int]:
    """Vocabulary and width, after every array was found to fit them."""
    if arrays["embedding"].dim() != 2:
        raise OffscriptError(f"{folder / 'embedding.npz'} is not a table of embeddings", next=_REMEDY)
    size, width = arrays["embedding"].shape
    expected: dict[str, tuple[int, ...]] = {"embedding": (size, width), "wo": (width, size), "bo": (size,)}
    for gate in GATES:
        expected |= {"w" + gate: (width, width), "u" + gate: (width, width), "b" + gate: (width,)}
    for name, shape in expected.items():
        if tuple(arrays[name].shape) != shape:
            raise OffscriptError(
                f"{folder / name}.npz has the shape {tuple(arrays[name].shape)}",
                why=f"{shape} goes with the embedding",
                next=_REMEDY,
            )
    return size, width


def _read(path: Path) -> Tensor:
    """One array; the files hold NPY content in spite of their names."""
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, OSError) as fault:
        raise OffscriptError(f"{path} cannot be read", why=str(fault), next=_REMEDY) from fault
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise OffscriptError(f"{path} does not hold one array of numbers", next=_REMEDY)
    return torch.from_numpy(array.astype(np.float32))
