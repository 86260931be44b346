"""Training tokens a second: the shared loop beside a plain `nn.LSTM` + `cross_entropy` + fused Adam loop."""

import argparse
import tempfile
from pathlib import Path

import torch
from _side_by_side import print_ratio, print_times, side_by_side
from torch import nn
from torch.nn import functional

from offscript.training import recipe_from, train

WORDS, ROWS, TIME, HIDDEN = 5000, 64, 20, 512


def write_corpus(path: Path, sentences: int) -> None:
    """Sentences of random words, exactly as long as a row."""
    words = torch.randint(WORDS - 2, (sentences, TIME), generator=torch.Generator().manual_seed(1))
    path.write_text("\n".join(" ".join(f"w{word}" for word in row) for row in words.tolist()))


def plain(steps: int) -> None:
    """What the loop is held against, with data at hand."""
    embedding, output = nn.Embedding(WORDS + 1, HIDDEN), nn.Linear(HIDDEN, WORDS)
    recurrence = nn.LSTM(HIDDEN, HIDDEN, batch_first=True)
    parameters = [weight for part in (embedding, recurrence, output) for weight in part.parameters()]
    optimiser = torch.optim.Adam(parameters, fused=True)
    tokens = torch.randint(WORDS, (ROWS, TIME), generator=torch.Generator().manual_seed(1))
    for _ in range(steps):
        optimiser.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(output(recurrence(embedding(tokens))[0]).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimiser.step()


class Timed:
    """Trains by recipe; only the steps count, not the reading of the data."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.folder, self.steps, self.runs = folder, steps, 0
        write_corpus(folder / "corpus.txt", ROWS * 4)

    def __call__(self) -> None:
        self.runs += 1
        recipe = recipe_from(
            {
                "model": {"kind": "lstm", "hidden": HIDDEN, "embedding": HIDDEN},
                "data": {
                    "train": [str(self.folder / "corpus.txt")],
                    "validation": [str(self.folder / "corpus.txt")],
                    "vocabulary": {"size": WORDS},
                    "batches": {"kind": "fixed", "length": TIME, "size": ROWS},
                },
                "stop": {"epochs": 1000, "steps": self.steps, "validate_every": 10 * self.steps},
            }
        )
        train(recipe, self.folder / f"{self.steps}-{self.runs}", checkpoint_seconds=1e9)


def main() -> None:
    """Print both times and the ratio; the loop's includes one validation, one checkpoint and the final save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    with tempfile.TemporaryDirectory() as folder:
        short, long = Timed(Path(folder), 5), Timed(Path(folder), 5 + asked.steps)
        times = side_by_side(
            {"plain loop": lambda: plain(asked.steps), "start and end": short, "start, end and the steps": long},
            asked.repeats,
        )
    print_times(times)
    loop = type(times["plain loop"])(
        times["start, end and the steps"].wall - times["start and end"].wall,
        times["start, end and the steps"].cpu - times["start and end"].cpu,
    )
    tokens = asked.steps * ROWS * TIME
    print(f"plain loop {tokens / times['plain loop'].wall:,.0f} tokens/s, offscript {tokens / loop.wall:,.0f} tokens/s")
    print_ratio("speed against the plain loop", times["plain loop"], loop, goal="≥ 0.95 x")


if __name__ == "__main__":
    main()
