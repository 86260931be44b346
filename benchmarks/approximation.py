"""Approximate bits per character by counts that are drawn all at once, beside a loop that draws one sample at a time.

    python benchmarks/approximation.py [--draws 2000] [--rows 4] [--length 30] [--repeats 1]

The loop is Algorithm 1 as it is written: the generator runs over the gold histories once for each draw. A second loop
keeps the generator's distributions, which Algorithm 1 does not have, and draws from them one sample after the other.
"""

import argparse
import math
from collections.abc import Callable

import torch
from _side_by_side import print_ratio, print_times, side_by_side
from torch import Tensor

from offscript.models import approximate, load_model
from offscript.models.generator import FLOOR
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling import generate


def main() -> None:
    """Print the times, the ratios and both figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=4, help="texts to predict")
    parser.add_argument("--length", type=int, default=30, help="characters of a text")
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model("offscript/text8")
    assert isinstance(model, NeuralLanguageModel)
    gold = generate(model, asked.rows, asked.length, seed=1).tokens
    runs: dict[str, Callable[[], float]] = {
        "all at once": lambda: bits(approximate(model, asked.draws).log_likelihoods(gold)),
        "one by one": lambda: bits(one_by_one(model, gold, asked.draws)),
        "one by one, distributions kept": lambda: bits(from_kept(model, gold, asked.draws)),
    }
    times = side_by_side(runs, asked.repeats)
    print(f"{asked.draws} draws after each of {asked.rows} x {asked.length} histories, 27 symbols")
    print_times(times)
    print_ratio("one by one over all at once", times["one by one"], times["all at once"], "100 x")
    print_ratio("with distributions kept", times["one by one, distributions kept"], times["all at once"], "none")
    for name, run in runs.items():
        print(f"  bits per character, {name:<38} {run():8.4f}")
    print(f"  bits per character, {'the model itself':<38} {bits(model.log_likelihoods(gold)):8.4f}")


def one_by_one(model: NeuralLanguageModel, gold: Tensor, draws: int) -> Tensor:
    """Log-probabilities of the gold tokens: the generator runs, and draws one token at every position, n times over."""
    counts = torch.zeros(*gold.shape, model.vocabulary.size)
    for _ in range(draws):
        with torch.no_grad():
            probabilities = model.logits(gold).softmax(dim=-1)
        add_one_draw(counts, probabilities)
    return smoothed(counts, gold, draws)


def from_kept(model: NeuralLanguageModel, gold: Tensor, draws: int) -> Tensor:
    """As `one_by_one`, but the generator runs once."""
    counts = torch.zeros(*gold.shape, model.vocabulary.size)
    with torch.no_grad():
        probabilities = model.logits(gold).softmax(dim=-1)
    for _ in range(draws):
        add_one_draw(counts, probabilities)
    return smoothed(counts, gold, draws)


def add_one_draw(counts: Tensor, probabilities: Tensor) -> None:
    """One token a position, as a one-hot vector."""
    drawn = torch.multinomial(probabilities.flatten(0, 1), 1).view(*counts.shape[:2], 1)
    counts.scatter_add_(2, drawn, torch.ones_like(drawn, dtype=counts.dtype))


def smoothed(counts: Tensor, gold: Tensor, draws: int) -> Tensor:
    """Log-probabilities with the same floor."""
    shares = (counts + FLOOR) / (draws + FLOOR * counts.shape[-1])
    return shares.gather(-1, gold.unsqueeze(-1)).squeeze(-1).log()


def bits(log_likelihoods: Tensor) -> float:
    """Bits a character."""
    return float(-log_likelihoods.mean()) / math.log(2)


if __name__ == "__main__":
    main()
