"""SeqGAN's rewards by roll-outs that go on from their prefix's state, beside roll-outs that read it again each time.

    python benchmarks/adversarial.py [--rows 64] [--length 20] [--roll-outs 4] [--repeats 1]

The re-run is written as the best-known public code does it: for every roll-out of every position the generator is fed
the prefix token by token from an empty state, and goes on drawing with `torch.multinomial`.
"""

import argparse
from collections.abc import Callable

import torch
from _side_by_side import print_ratio, print_times, side_by_side
from torch import Tensor

from offscript.corpora import WordVocabulary
from offscript.models.discriminator import ConvolutionalDiscriminator, ConvolutionSettings
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.sampling import generate
from offscript.sampling.randomness import Draws
from offscript.training.adversarial import rewards_by_position

SIZE, HIDDEN = 5000, 32


def main() -> None:
    """Print both times, their ratio, and the mean reward that each finds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--roll-outs", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    vocabulary = WordVocabulary([f"word{index}" for index in range(SIZE)], end=None, unknown=None)
    model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=HIDDEN, embedding=HIDDEN))
    judge = ConvolutionalDiscriminator(SIZE, ConvolutionSettings()).eval()
    tokens = generate(model, asked.rows, asked.length, seed=1).tokens

    def worth(sequences: Tensor) -> Tensor:
        with torch.no_grad():
            return judge(sequences).sigmoid()

    found: dict[str, Tensor] = {}
    runs: dict[str, Callable[[], None]] = {
        "from the prefixes' states": lambda: found.update(
            ours=rewards_by_position(model, tokens, worth, asked.roll_outs, Draws(1), end=None)
        ),
        "read again each time": lambda: found.update(theirs=reread(model, tokens, worth, asked.roll_outs)),
    }
    times = side_by_side(runs, asked.repeats)
    print(
        f"rewards of {asked.rows} x {asked.length} tokens, {asked.roll_outs} roll-outs, {SIZE} symbols, {HIDDEN} units"
    )
    print_times(times)
    print_ratio(
        "read again over from states", times["read again each time"], times["from the prefixes' states"], "2.5 x"
    )
    print(f"  mean reward {float(found['ours'].mean()):.5f} and {float(found['theirs'].mean()):.5f}")


@torch.no_grad()
def reread(model: LSTMLanguageModel, tokens: Tensor, worth: Callable[[Tensor], Tensor], roll_outs: int) -> Tensor:
    """Rewards [rows, time], every prefix read anew."""
    rows, time = tokens.shape
    rewards = torch.zeros(roll_outs, time, rows)
    for number in range(roll_outs):
        for given in range(1, time + 1):
            rewards[number, given - 1] = worth(continued(model, tokens[:, :given], time))
    return rewards.mean(dim=0).t()


def continued(model: LSTMLanguageModel, prefix: Tensor, time: int) -> Tensor:
    """The prefix [rows, given], and what the model draws after it up to `time` tokens."""
    rows, given = prefix.shape
    read, state, sequence = torch.full((rows,), model.vocabulary.start), None, prefix
    for position in range(time):
        features, state = model.recurrence(model.embedding(read).unsqueeze(1), state)
        log_probs = model.unnormalised(features.squeeze(1)).log_softmax(dim=-1)
        if position < given:
            read = prefix[:, position]
            continue
        read = torch.multinomial(log_probs.exp(), 1).squeeze(1)
        sequence = torch.cat([sequence, read.unsqueeze(1)], dim=1)
    return sequence


if __name__ == "__main__":
    main()
