"""What EB-C costs beyond the forward passes it needs, and how its memory grows.

python benchmarks/exposure.py [--rows 256] [--length 20] [--repeats 3] [--vocabulary 5000] [--memory 2000 20000]
python benchmarks/exposure.py --models MODEL ORACLE --rows 32 --memory

The forward passes are what no implementation can save: both models score both histories at the measured positions.
Networks with random weights stand for models, or those that `--models` names.
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
from offscript.measures.exposure.anchored import _continued, measure_exposure_gap, usual_prefix
from offscript.measures.exposure.conditional import conditional_deviations, conditional_figures
from offscript.measures.exposure.estimation import measure_exposure
from offscript.measures.regret.estimation import regrets_along
from offscript.models.language_model import LanguageModel, Scored, checked_positions, chunks_of
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.registry import load_model
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
    parser.add_argument("--vocabulary", type=int, default=VOCABULARY)
    parser.add_argument("--memory", type=int, nargs="*", default=[2000, 20000])
    parser.add_argument("--models", nargs=2, metavar=("MODEL", "ORACLE"), help="measure these instead of LSTMs")
    parser.add_argument("--peak-of", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.peak_of is not None:
        print_peak(arguments.peak_of)
        return
    sizes = {"rows": arguments.rows, "length": arguments.length, "repeats": arguments.repeats}
    if arguments.models:
        compare("model", *map(load_model, arguments.models), **sizes)
    else:
        for hidden in (512, 32):
            size = arguments.vocabulary
            compare(f"LSTM-{hidden}", lstm(hidden, seed=1, size=size), lstm(512, seed=2, size=size), **sizes)
    for samples in arguments.memory:
        command = [sys.executable, __file__, "--peak-of", str(samples), "--threads", str(arguments.threads)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def compare(name: str, model: LanguageModel, oracle: LanguageModel, *, rows: int, length: int, repeats: int) -> None:
    """A model beside its oracle."""
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

    drawn = generate(model, rows, length, seed=1, stop_at_end=False, batch_size=rows)

    def own() -> None:
        for source in (model, oracle):
            for _ in source.score(drawn.tokens):
                pass

    label = f"{name} beside its oracle, 2 x {rows} x {length} tokens x V={model.vocabulary.size:,}"
    runs = {
        f"{label}: forward passes": forward,
        f"{label}: EB-C, tv js gd, with intervals": lambda: bias(PAPERS),
        f"{label}: EB-C, all six distances": lambda: bias(EVERY),
        f"{label}: forward passes along own text": own,
        f"{label}: regret": lambda: regrets_along(model, oracle, drawn),
    }
    times = side_by_side(runs, repeats)
    print_times(times)
    alone, papers, every, along, regret = times.values()
    print_ratio("EB-C by three distances / forward passes", papers, alone, "<= 1.15")
    print_ratio("EB-C by six distances / forward passes", every, alone, "-")
    print_ratio("regret / its forward passes", regret, along, "<= 1.15")
    compare_gap(name, model, oracle, rows=rows, length=length, repeats=repeats)


def compare_gap(
    name: str, model: LanguageModel, oracle: LanguageModel, *, rows: int, length: int, repeats: int
) -> None:
    """EB-M from text with its interval, beside drawing and reading alone; both draw again what ends early."""
    text = generate(oracle, rows, length, seed=3, stop_at_end=False, batch_size=rows).tokens
    anchor = usual_prefix(length)

    def forward() -> None:
        for sequences in _continued(model, text, anchor, 1, batch_size=rows):
            for _ in model.score(sequences, range(anchor + 1, length)):
                pass

    def gap() -> None:
        measure_exposure_gap(model, text, samples=rows, length=length, seed=1, batch_size=rows)

    label = f"{name}, {rows} x {length} tokens x V={model.vocabulary.size:,}"
    times = side_by_side({f"{label}: drawing and reading": forward, f"{label}: EB-M and its gap": gap}, repeats)
    print_times(times)
    alone, measured = times.values()
    print_ratio("EB-M with its gap and interval / drawing and reading", measured, alone, "<= 1.3")


def lstm(
    hidden: int, *, seed: int, kind: type[LSTMLanguageModel] = LSTMLanguageModel, size: int = VOCABULARY
) -> LSTMLanguageModel:
    """A network with random weights; time does not depend on what they are."""
    vocabulary = WordVocabulary([str(token) for token in range(size)], end=None, unknown=None)
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
