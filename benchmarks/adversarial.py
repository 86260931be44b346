"""An adversarial epoch of SeqGAN at its original sizes, beside TextGAN-PyTorch's, part by part.

    python benchmarks/adversarial.py --textgan PATH/TO/TextGAN-PyTorch [--repeats 3] [--batches 4] [--roll-outs 16]

5,000 symbols, 20 tokens, an LSTM-32 with embeddings of 32, batches of 64, 16 roll-outs, and a discriminator with
windows of 1 to 20 tokens, 1,720 filters and one highway matrix over embeddings of 64. Parts are timed in turn, by
processor time of one thread, the fastest of the repeats. TextGAN-PyTorch's epoch (`run_seqgan.py`) is one update of the
generator and, for the discriminator, 4 times 10,000 draws and 2 passes over them and as much data: the table adds the
parts up in these proportions. Its own evaluation after each epoch is left out.

Two floors are given, at the speed of one large matrix product that is timed in turn with the rest: the multiplications
of the plain formulas, and those that are left where a maximum passes its gradient to one window only and windows within
a prefix are read once. The gradient of the maxima adds vectors instead of multiplying matrices and cannot reach that
speed. Where the processor has instructions for bfloat16, a third side is the same epoch with the factors of the
discriminator's matrix products in that precision (`discriminator_bfloat16: auto`); the floors are those of float32.
"""

import argparse
import math
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from _side_by_side import Seconds, side_by_side
from torch.nn import functional

from offscript.corpora import WordVocabulary
from offscript.learning import Fleet, OptimiserSettings, in_bfloat16, update
from offscript.models.discriminator import ORIGINAL_FILTERS, ORIGINAL_WINDOWS, ConvolutionSettings
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.training.adversarial import AdversarialSettings, SeqGAN
from offscript.training.algorithm import Step, TokenBatch, draw_batch

SIZE, HIDDEN, LENGTH, BATCH, EMBEDDING = 5000, 32, 20, 64, 64
DRAWS, UPDATES = 4 * 10_000, 4 * 2 * (20_000 // BATCH)
"""Of an epoch: sequences drawn for the discriminator, and its updates."""

PEER = "TextGAN-PyTorch"
PRODUCT, PRODUCT_SIZES, PRODUCT_REPEATS = "large product", (1024, 640, 1024), 10

Parts = dict[str, Callable[[], Any]]


def main() -> None:
    """Print the parts of both, the epochs they add up to, and the floor."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--textgan", type=Path, help="a checkout of williamSYSU/TextGAN-PyTorch; without it, ours alone"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batches", type=int, default=4, help="batches of draws and of updates that are timed")
    parser.add_argument("--roll-outs", type=int, default=16)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    sides = {"offscript": ours(asked.roll_outs, asked.batches)}
    if in_bfloat16("auto", torch.device("cpu")):
        sides["in bfloat16"] = ours(asked.roll_outs, asked.batches, bfloat16=True)
    if asked.textgan is not None:
        sides[PEER] = theirs(asked.textgan, asked.roll_outs, asked.batches)
    runs = {f"{side}/{part}": run for side, parts in sides.items() for part, run in parts.items()}
    times = side_by_side({**runs, PRODUCT: large_product()}, asked.repeats)
    report(sides, times, asked.batches, asked.roll_outs)


def report(sides: dict[str, Parts], times: dict[str, Seconds], batches: int, roll_outs: int) -> None:
    """The table: seconds of processor time in an epoch."""
    often = {"generator": 1.0, "draws": DRAWS / (BATCH * batches), "discriminator": UPDATES / batches}
    epochs = {
        side: {part: times[f"{side}/{part}"].cpu * often[part] for part in parts} for side, parts in sides.items()
    }
    speed = math.prod(PRODUCT_SIZES) * PRODUCT_REPEATS / times[PRODUCT].cpu
    for name, counts in multiplications(roll_outs).items():
        epochs[f"{name} floor"] = {part: count / speed for part, count in counts.items()}
    for own in epochs.values():
        own["epoch"] = sum(own.values())
    ours = [side for side in sides if side != PEER]
    ratios = [f"{PEER} / {side}" for side in ours] if PEER in sides else []
    print("".join(f"{name:>31}" for name in ["processor seconds of an epoch", *epochs, *ratios]))
    for part in [*often, "epoch"]:
        taken = "".join(f"{own[part]:31.1f}" for own in epochs.values())
        faster = "".join(f"{epochs[PEER][part] / epochs[side][part]:31.2f}" for side in ours[: len(ratios)])
        print(f"{part:>31}{taken}{faster}")
    near = epochs["offscript"]["epoch"] / epochs["reduced floor"]["epoch"]
    print(f"offscript takes {near:.2f} times the reduced floor")
    print(f"a large matrix product: {speed / 1e9:.1f} billion multiplications per second")


def large_product() -> Callable[[], Any]:
    """The matrix product whose speed the floors assume, several times."""
    rows, inner, columns = PRODUCT_SIZES
    left, right = torch.randn(rows, inner), torch.randn(inner, columns)
    return lambda: [left @ right for _ in range(PRODUCT_REPEATS)]


def ours(roll_outs: int, batches: int, bfloat16: bool = False) -> Parts:
    """The parts of an epoch, with the package's own algorithm; its discriminator may learn in bfloat16."""
    vocabulary = WordVocabulary([f"word{index}" for index in range(SIZE)], end=None, unknown=None)
    model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=HIDDEN, embedding=HIDDEN))
    sizes = ConvolutionSettings(
        embedding=EMBEDDING, windows=ORIGINAL_WINDOWS, filters=ORIGINAL_FILTERS, highway="shared"
    )
    algorithm = SeqGAN(AdversarialSettings(discriminator=sizes, roll_outs=roll_outs, begins_at=None))
    algorithm.prepare(model, OptimiserSettings(clip=None), Fleet("cpu"))
    algorithm.discriminator.eval()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
    tokens = torch.randint(SIZE, (BATCH, LENGTH))
    batch = TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))
    data = torch.randint(SIZE, (BATCH * batches // 2, LENGTH))

    def discriminator() -> None:
        algorithm.discriminator.train()
        for part in data.split(BATCH // 2):
            # As theirs, the data stand for draws too. A batch that can be told apart would be learnt by heart within
            # 20 updates; half of the gradients are 0 then, and the sparse gradient skips those.
            with algorithm.discriminator.bfloat16_products(bfloat16):
                loss = algorithm.discriminator_loss(part, part)
            update(algorithm._optimiser, loss)
        algorithm.discriminator.eval()

    def generator() -> None:
        update(optimiser, algorithm._followed(model, batch, Step(0, 1, (1,))).total)

    def draws() -> None:
        draw_batch(model, BATCH * batches, LENGTH, seed=(1,), stop_at_end=False)

    return {"generator": generator, "draws": draws, "discriminator": discriminator}


def theirs(folder: Path, roll_outs: int, batches: int) -> Parts:
    """The same parts with their networks, their roll-outs, their loss and their data loader."""
    sys.path.insert(0, str(folder))
    for name, content in {"config": _their_settings(), "nltk": {}}.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        sys.modules.setdefault(name, module)
    from models.SeqGAN_D import SeqGAN_D  # type: ignore[import-not-found]
    from models.SeqGAN_G import SeqGAN_G  # type: ignore[import-not-found]
    from utils.data_loader import DisDataIter, GenDataIter  # type: ignore[import-not-found]
    from utils.rollout import ROLLOUT  # type: ignore[import-not-found]

    drawing, telling = SeqGAN_G(HIDDEN, HIDDEN, SIZE, LENGTH, 0), SeqGAN_D(EMBEDDING, SIZE, 0)
    optimisers = [torch.optim.Adam(network.parameters(), lr=0.01) for network in (drawing, telling)]
    rolling, data = ROLLOUT(drawing, gpu=False), torch.randint(SIZE, (BATCH * batches // 2, LENGTH))

    def generator() -> None:
        inputs, target = GenDataIter.prepare(drawing.sample(BATCH, BATCH))
        rewards = rolling.get_reward(target, roll_outs, telling)
        update(optimisers[0], drawing.batchPGLoss(inputs, target, rewards))

    def draws() -> None:
        drawing.sample(BATCH * batches, BATCH * batches)

    def discriminator() -> None:
        for part in DisDataIter(data, data).loader:
            update(optimisers[1], functional.cross_entropy(telling(part["input"]), part["target"]))

    return {"generator": generator, "draws": draws, "discriminator": discriminator}


def _their_settings() -> dict[str, Any]:
    """What their networks read from `config.py`, which cannot be imported without a GPU."""
    return {
        "gen_init": "normal", "dis_init": "uniform", "start_letter": 1, "padding_idx": 0, "batch_size": BATCH,
        "max_seq_len": LENGTH, "data_shuffle": False, "if_real_data": False, "CUDA": False, "vocab_size": SIZE,
        "samples_num": 10_000, "temperature": 1, "k_label": 2, "dataset": "oracle", "clip_norm": 5.0,
    }  # fmt: skip


def multiplications(roll_outs: int) -> dict[str, dict[str, float]]:
    """In the parts of an epoch: by the plain formulas, and those that are left here.

    Here a maximum passes its gradient to one window only, and windows within the prefix of a roll-out are read once.
    """
    every = _of_windows(lambda window: LENGTH + 1 - window)
    later = [
        _of_windows(lambda window, kept=kept: min(LENGTH + 1 - window, LENGTH - kept)) for kept in range(1, LENGTH)
    ]
    highway = sum(ORIGINAL_FILTERS) ** 2
    token = HIDDEN * (SIZE + 8 * HIDDEN)  # the projection, and the gates
    rolled = BATCH * roll_outs * (LENGTH - 1)
    drawing = rolled * token * LENGTH / 2 + 4 * BATCH * LENGTH * token
    draws = DRAWS * LENGTH * token
    return {
        "plain": {
            "generator": drawing + rolled * (every + highway),
            "draws": draws,
            "discriminator": UPDATES * BATCH * 3 * (every + highway),
        },
        "reduced": {
            "generator": drawing + rolled * (sum(later) / len(later) + highway),
            "draws": draws,
            "discriminator": UPDATES * BATCH * (every + 2 * _of_windows(lambda window: 1) + 3 * highway),
        },
    }


def _of_windows(count: Callable[[int], int]) -> int:
    """Multiplications of all filters in a sequence, each with so many windows."""
    sizes = zip(ORIGINAL_WINDOWS, ORIGINAL_FILTERS, strict=True)
    return sum(window * EMBEDDING * filters * count(window) for window, filters in sizes)


if __name__ == "__main__":
    main()
