"""What EB-C costs beyond the forward passes it needs, and how its memory grows.

python benchmarks/exposure.py [--rows 256] [--length 20] [--repeats 3] [--memory 2000 20000]

The forward passes are what no implementation can save: both models score both histories at the measured positions.
`--memory 100000` runs the papers' 100k x 50 sequences in full, with models whose answers cost nothing.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from _side_by_side import print_ratio, print_times, side_by_side
from torch import Tensor

from offscript.corpora.vocabularies import WordVocabulary
from offscript.measures.exposure.conditional import conditional_deviations, conditional_figures
from offscript.measures.exposure.estimation import measure_exposure
from offscript.models.language_model import Scored, checked_positions, chunks_of
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.sampling import generate

VOCABULARY = 5000
PAPERS, EVERY = ("tv", "js", "gd"), ("tv", "js", "gd", "kl", "kl_reverse", "hellinger")


def main() -> None:
    """Print times, ratios and peak memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", type=int, nargs="*", default=[2000, 20000])
    parser.add_argument("--peak-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.peak_of is not None:
        print_peak(arguments.peak_of)
        return
    for hidden in (512, 32):
        compare(hidden, arguments.rows, arguments.length, arguments.repeats)
    for samples in arguments.memory:
        command = [sys.executable, __file__, "--peak-of", str(samples), "--threads", str(arguments.threads)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def compare(hidden: int, rows: int, length: int, repeats: int) -> None:
    """A student of the given width beside an oracle of 512."""
    model, oracle = lstm(hidden, seed=1), lstm(512, seed=2)
    histories = [
        generate(source, rows, length, seed=1, stop_at_end=False, batch_size=rows).tokens for source in (model, oracle)
    ]

    def forward() -> None:
        for sequences in histories:
            for source in (model, oracle):
                for _ in source.score(sequences, range(1, length)):
                    pass

    def bias(names: tuple[str, ...]) -> None:
        found = [conditional_deviations(model, oracle, sequences, names, batch_size=rows) for sequences in histories]
        conditional_figures(*found, paired=True, seed=1)

    label = f"LSTM-{hidden} of LSTM-512, 2 x {rows} x {length} tokens"
    runs = {
        f"{label}: forward passes": forward,
        f"{label}: EB-C, tv js gd, with intervals": lambda: bias(PAPERS),
        f"{label}: EB-C, all six distances": lambda: bias(EVERY),
    }
    times = side_by_side(runs, repeats)
    print_times(times)
    alone, papers, every = times.values()
    print_ratio("EB-C by three distances / forward passes", papers, alone, "<= 1.15")
    print_ratio("EB-C by six distances / forward passes", every, alone, "-")


def lstm(hidden: int, *, seed: int, kind: type[LSTMLanguageModel] = LSTMLanguageModel) -> LSTMLanguageModel:
    """A network with random weights; time does not depend on what they are."""
    vocabulary = WordVocabulary([str(token) for token in range(VOCABULARY)], end=None, unknown=None)
    model = kind(vocabulary, LSTMSettings(hidden=hidden, embedding=hidden))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return model.eval()


class Instant(LSTMLanguageModel):
    """Answers of the right size at next to no cost: the same distributions at every position."""

    def project(self, features: Tensor) -> Tensor:
        return self.bias.detach().log_softmax(0).expand(len(features), -1)

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        asked = checked_positions(tokens, positions)
        for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
            yield Scored(chunk, self.bias.detach().log_softmax(0).expand(len(tokens), len(chunk), -1).contiguous())


def print_peak(samples: int, length: int = 50) -> None:
    """Peak memory of this process after EB-M and EB-C with intervals on samples of 50 tokens."""
    vocabulary = WordVocabulary([str(token) for token in range(VOCABULARY)], end=None, unknown=None)
    model, oracle = (Instant(vocabulary, LSTMSettings(hidden=4, embedding=4)) for _ in range(2))
    with torch.no_grad():
        oracle.bias.copy_(torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(1)))
    before = peak_memory()
    measure_exposure(model, oracle, samples=samples, length=length, seed=1, distances=PAPERS)
    told = f"EB-M and EB-C, {samples:>7,} x {length} x V={VOCABULARY:,}"
    print(f"{told}: peak {peak_memory():,.0f} MB ({before:,.0f} before it began)")


def peak_memory() -> float:
    """Megabytes this process has held at most (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
