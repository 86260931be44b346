"""The stance model that ships, and the layout of a stance model's folder; no torch is loaded.

Documents that hold too little of the claim are unrelated (the first level), the others are read with it by an int8 ONNX
graph (the second).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from offscript import __version__
from offscript._files import replacing, sha256_of, write_json, write_text
from offscript._types import FloatArray
from offscript.errors import OffscriptError, missing_package
from offscript.factcheck.stance.pairs import EVIDENCE, Pair
from offscript.factcheck.stance.registry import CARD, PairModel, StanceKind, read_card
from offscript.factcheck.stance.relatedness import Relatedness, Terms, choose_sentences, features_of_pairs
from offscript.factcheck.stance.stance import STANCES

GRAPH, TOKENIZER, FIRST_LEVEL = "stance.onnx", "tokenizer.json", "relatedness.safetensors"
STANCE, EVIDENCE_HEAD = "stance", "evidence"


class PairReader(Protocol):
    """Reads claims with texts; gives the probabilities of each of its heads [pairs, labels]."""

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> dict[str, FloatArray]:
        """By the head's name."""


@dataclass(frozen=True)
class Reading:
    """What is read, and how answers are weighed; all of it is chosen on training bodies.

    Documents less related than `threshold` are not read. `characters` bound the chosen sentences. `weights` multiply
    the stances' probabilities, since the model was taught as if classes were more alike in number than they are.
    """

    threshold: float = 0.0
    characters: int = 0
    weights: tuple[float, ...] = (1.0,) * len(STANCES)
    shares: tuple[float, ...] = (0.27, 0.06, 0.67)


class TwoLevelModel(PairModel):
    """Relatedness first, then a reader of pairs."""

    def __init__(self, name: str, relatedness: Relatedness, reader: PairReader, reading: Reading) -> None:
        super().__init__(name)
        self.relatedness, self.reader, self.reading = relatedness, reader, reading

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        features, coverage = features_of_pairs(self.relatedness.terms, pairs)
        related = np.where([bool(pair.sentences) for pair in pairs], self.relatedness.of(features), 0.0)
        answers = np.column_stack([np.outer(related, self.reading.shares), 1 - related])
        read = np.flatnonzero(related >= self.reading.threshold).tolist()
        if read:
            shown = [(pairs[row].claim, read_text(pairs[row], coverage[row], self.reading.characters)) for row in read]
            answers[read] = _weighed(self.reader(shown)[STANCE], self.reading.weights)
        return answers

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        """What neither supports nor refutes discusses the claim by as much of it as the sentence holds."""
        if not sentences:
            return np.zeros((0, len(STANCES)))
        evidence = self.reader([(claim, sentence) for sentence in sentences])[EVIDENCE_HEAD]
        held = self.relatedness.terms.coverage([claim], sentences)[0]
        rest = evidence[:, EVIDENCE.index("not enough")]
        return np.column_stack([evidence[:, 0], evidence[:, 1], rest * held, rest * (1 - held)])


def read_text(pair: Pair, coverage: FloatArray, characters: int) -> str:
    """The chosen sentences of a document."""
    chosen = choose_sentences(coverage, pair.sentences, characters)
    return " ".join(pair.sentences[number] for number in chosen)


def _weighed(probabilities: FloatArray, weights: Sequence[float]) -> FloatArray:
    """Probabilities times the weights of their classes, made to add up to one."""
    products = probabilities * np.asarray(weights)
    shares: FloatArray = products / products.sum(axis=1, keepdims=True)
    return shares


class PairEncoder:
    """Packs claims with texts as rows of word pieces, cut to `length` tokens, the longer of the two first."""

    def __init__(self, tokenizer: Tokenizer, length: int, *, padding: int = 0) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())  # its own, as truncation is a state of it
        self._tokenizer.enable_truncation(length, strategy="longest_first")
        self._tokenizer.enable_padding(pad_id=padding)

    def __call__(self, pairs: Sequence[tuple[str, str | None]]) -> dict[str, NDArray[np.int64]]:
        """Arrays [rows, time]: `tokens` and `types`, and masks of what is `real`, of the `claim` and of the `text`."""
        rows = self._tokenizer.encode_batch([pair[0] if pair[1] is None else pair for pair in pairs])
        places = [[2 if place is None else place for place in row.sequence_ids] for row in rows]
        sequence = np.array(places, dtype=np.int64)
        return {
            "tokens": np.array([row.ids for row in rows], dtype=np.int64),
            "types": np.array([row.type_ids for row in rows], dtype=np.int64),
            "real": np.array([row.attention_mask for row in rows], dtype=np.int64),
            "claim": (sequence == 0).astype(np.int64),
            "text": (sequence == 1).astype(np.int64),
        }


class OnnxReader:
    """An ONNX graph whose outputs are the heads.

    It reads one pair at a time: int8 activations are scaled by the largest of a whole batch, so what is read beside a
    pair would move its probabilities (by 0.25 were seen); and nothing is padded.
    """

    def __init__(self, path: Path, packed: PairEncoder, *, threads: int | None = None) -> None:
        self.session, self.packed = _session(path, threads), packed
        self._inputs = [given.name for given in self.session.get_inputs()]
        self._heads = [given.name for given in self.session.get_outputs()]

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> dict[str, FloatArray]:
        found = [self._read(pair) for pair in pairs]
        return {
            head: np.concatenate([answers[place] for answers in found]).astype(np.float64)
            for place, head in enumerate(self._heads)
        }

    def _read(self, pair: tuple[str, str]) -> list[NDArray[np.float32]]:
        """Each head's probabilities [1, labels]."""
        arrays = self.packed([pair])
        answers: list[NDArray[np.float32]] = self.session.run(None, {name: arrays[name] for name in self._inputs})
        return answers


def load(folder: Path, name: str = "", *, threads: int | None = None) -> TwoLevelModel:
    """A folder with `stance.onnx`, a tokenizer, the first level and a card."""
    card = read_card(folder)
    relatedness = read_first_level(folder)
    packed = PairEncoder(
        relatedness.terms.tokenizer, card["recipe"]["encoder"]["length"], padding=card.get("padding", 0)
    )
    reader = OnnxReader(folder / GRAPH, packed, threads=threads)
    return TwoLevelModel(name or str(folder), relatedness, reader, reading_of(card))


ONNX = StanceKind(load)


def _session(path: Path, threads: int | None) -> Any:
    try:
        import onnxruntime
    except ImportError as fault:
        raise missing_package("the stance model", "onnxruntime") from fault
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.OnnxRuntimeException as fault:
        raise OffscriptError(f"the stance model {path} cannot be loaded", why=str(fault)[:300]) from fault


def unlimited(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer without the truncation and padding that its file asks for."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def write_first_level(folder: Path, relatedness: Relatedness, tokenizer: Tokenizer) -> None:
    """The tokenizer, and the relatedness network with its terms' weights."""
    write_text(folder / TOKENIZER, tokenizer.to_str())
    with replacing(folder / FIRST_LEVEL) as temporary:
        save_file(relatedness.tensors(), temporary)


def read_first_level(folder: Path) -> Relatedness:
    """What `write_first_level` wrote."""
    tokenizer = unlimited(Tokenizer.from_file(str(folder / TOKENIZER)))
    arrays = load_file(folder / FIRST_LEVEL)
    weights = arrays.pop("weights")
    return Relatedness(Terms(tokenizer, weights), **{name: each.astype(np.float64) for name, each in arrays.items()})


def write_card(folder: Path, kind: str, recipe: Mapping[str, Any], reading: Reading, **more: Any) -> None:
    """What the folder holds, with the hashes of its files."""
    files = sorted(path for path in folder.iterdir() if path.name != CARD and not path.name.startswith("."))
    card = {
        "layout": 1,
        "kind": kind,
        "offscript": __version__,
        "sha256": {path.name: sha256_of(path) for path in files},
        "reading": asdict(reading),
        "recipe": recipe,
    }
    write_json(folder / CARD, {**card, **more})


def reading_of(card: Mapping[str, Any]) -> Reading:
    """How the model reads documents."""
    written = card["reading"]
    return Reading(written["threshold"], written["characters"], tuple(written["weights"]), tuple(written["shares"]))
