"""Training tokens a second: the shared loop beside a plain `nn.LSTM` + `cross_entropy` + fused Adam loop.

python benchmarks/training.py [--steps 60] [--threads 2]

The two take turns step by step in one process, on the same batches; the loop's step holds everything it does: drawing
the batch, the seeded dropout generator, clipping, the log. Validation and checkpoints come after the last step.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from _side_by_side import Seconds, print_ratio, print_times
from torch import Tensor, nn
from torch.nn import functional

from offscript.training import Recipe, recipe_from, train
from offscript.training.data import open_data

WORDS, ROWS, TIME, HIDDEN = 5000, 64, 20, 512
WARM_UP = 5


def write_corpus(path: Path) -> None:
    """Sentences of random words, as long as a row is with its end token."""
    words = torch.randint(WORDS - 2, (ROWS * 4, TIME - 1), generator=torch.Generator().manual_seed(1))
    path.write_text("\n".join(" ".join(f"w{word}" for word in row) for row in words.tolist()))


def recipe_for(folder: Path, steps: int) -> Recipe:
    """The same work as a recipe."""
    corpus = str(folder / "corpus.txt")
    return recipe_from(
        {
            "model": {"kind": "lstm", "hidden": HIDDEN, "embedding": HIDDEN},
            "data": {
                "train": [corpus],
                "validation": [corpus],
                "vocabulary": {"size": WORDS},
                "batches": {"kind": "fixed", "length": TIME, "size": ROWS},
            },
            "stop": {"epochs": 1000, "steps": steps, "validate_every": steps},
        }
    )


def plain_loop(words: int) -> Callable[[Tensor], None]:
    """What the loop is compared with: one step on tokens at hand."""
    embedding, output = nn.Embedding(words + 1, HIDDEN), nn.Linear(HIDDEN, words)
    recurrence = nn.LSTM(HIDDEN, HIDDEN, batch_first=True)
    parameters = [weight for part in (embedding, recurrence, output) for weight in part.parameters()]
    optimiser = torch.optim.Adam(parameters, fused=True)

    def step(tokens: Tensor) -> None:
        inputs = torch.cat([torch.full_like(tokens[:, :1], words), tokens[:, :-1]], dim=1)
        optimiser.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(output(recurrence(embedding(inputs))[0]).flatten(0, 1), tokens.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()

    return step


class TakingTurns:
    """A watcher that answers each step of the loop with one of the plain loop, and times both."""

    def __init__(self, plain: Callable[[Tensor], None], batches: Callable[[int], Tensor]) -> None:
        self.plain, self.batches = plain, batches
        self.ours: list[Seconds] = []
        self.theirs: list[Seconds] = []

    def begin(self, step: int, total: int) -> None:
        self.last = _now()

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        done, tokens = _now(), self.batches(step - 1)
        begun = _now()
        self.plain(tokens)
        ended = _now()
        self.ours.append(_between(self.last, done))
        self.theirs.append(_between(begun, ended))
        self.last = _now()

    def validated(self, step: int, nll: float, best: float) -> None: ...

    def end(self) -> None: ...


def _now() -> Seconds:
    return Seconds(time.perf_counter(), time.process_time())


def _between(first: Seconds, last: Seconds) -> Seconds:
    return Seconds(last.wall - first.wall, last.cpu - first.cpu)


def summary(choose: Callable[[list[float]], float], steps: list[Seconds]) -> Seconds:
    """One figure for all steps but those that warm up."""
    kept = steps[WARM_UP:]
    return Seconds(choose([step.wall for step in kept]), choose([step.cpu for step in kept]))


def main() -> None:
    """Print the time of a step of both, and the ratio of their speeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "corpus.txt")
        recipe = recipe_for(folder, WARM_UP + asked.steps)
        data = open_data(recipe.data, recipe.seed, device="cpu", folder=folder / "encoded")
        turns = TakingTurns(plain_loop(data.vocabulary.size), lambda step: torch.from_numpy(data.batch(step).tokens))
        train(recipe, folder / "run", observer=turns, checkpoint_seconds=1e9)
    for label, choose in (("fastest step", min), ("median step", median)):
        theirs, ours = summary(choose, turns.theirs), summary(choose, turns.ours)
        print_times({f"{label}: plain loop": theirs, f"{label}: offscript": ours})
        speeds = [f"{ROWS * TIME / seconds.wall:,.0f}" for seconds in (theirs, ours)]
        print(f"  plain loop {speeds[0]} tokens/s, offscript {speeds[1]} tokens/s")
        print_ratio("speed against the plain loop", theirs, ours, goal="≥ 0.95 x")


if __name__ == "__main__":
    main()
