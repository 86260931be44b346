"""Regret beside a loop over single tokens that computes the same numbers, in the manner of the public tool.

python benchmarks/regret.py [--rows 64] [--length 20] [--repeats 3]

Both get the same next-token distributions; the forward passes, which both need, are timed apart.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import torch
from _side_by_side import print_ratio, print_times, side_by_side
from exposure import VOCABULARY, lstm
from torch import Tensor
from torch.nn import functional

from offscript.measures.regret.estimation import Regrets, regrets_along
from offscript.models.language_model import Scored
from offscript.models.lstm import LSTMLanguageModel
from offscript.sampling.generation import Generated, generate


def main() -> None:
    """Print times and ratios, and check that the numbers agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    compare(arguments.rows, arguments.length, arguments.repeats)


def compare(rows: int, length: int, repeats: int) -> None:
    """Both estimators of Q and the oracle's NLL along the same sequences."""
    model, oracle = (lstm(32, seed=seed, kind=Remembered) for seed in (1, 2))
    drawn = generate(model, rows, length, seed=1)
    for each in (model, oracle):
        each.remember(drawn.tokens)
    ours, theirs = regrets_along(model, oracle, drawn), token_by_token(model, oracle, drawn)
    for name in ("inner", "sampled", "surprise"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-3, atol=1e-5)
    runs = {
        f"{rows} x {length} x V={VOCABULARY:,}: one token at a time": lambda: token_by_token(model, oracle, drawn),
        f"{rows} x {length} x V={VOCABULARY:,}: the same, tightened": lambda: token_by_token(
            model, oracle, drawn, tight=True
        ),
        f"{rows} x {length} x V={VOCABULARY:,}: offscript": lambda: regrets_along(model, oracle, drawn),
    }
    times = side_by_side(runs, repeats)
    print_times(times)
    loop, tight, vectorised = times.values()
    print_ratio("loop / offscript, the same numbers", loop, vectorised, ">= 5")
    print_ratio("tightened loop / offscript", tight, vectorised, "-")


class Remembered(LSTMLanguageModel):
    """A model whose answers for one batch are at hand."""

    answers: list[Scored]

    def remember(self, tokens: Tensor) -> None:
        """Compute the answers."""
        self.answers = list(super().score(tokens))

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        return iter(self.answers)


def token_by_token(model: Remembered, oracle: Remembered, drawn: Generated, *, tight: bool = False) -> Regrets:
    """For every token: look up two probabilities, and the divergence of two distributions.

    The public tool takes `torch.nn.functional.kl_div` of exponentials; `tight` is the least a token can take.
    """
    ours, theirs = (torch.cat([scored.log_probs for scored in each.answers], dim=1) for each in (model, oracle))
    inner, sampled, surprise = (np.zeros(drawn.tokens.shape) for _ in range(3))
    for row, sentence in enumerate(drawn.tokens.tolist()):
        for place, token in enumerate(sentence):
            log_p, log_q = ours[row, place], theirs[row, place]
            sampled[row, place] = log_p[token].item() - log_q[token].item()
            surprise[row, place] = -log_q[token].item()
            if tight:
                inner[row, place] = (log_p.exp() * (log_p - log_q)).sum().item()
            else:
                inner[row, place] = functional.kl_div(log_q, log_p.exp(), reduction="sum").item()
    return Regrets(inner, sampled, surprise, drawn.lengths.double().numpy())


if __name__ == "__main__":
    main()
