"""Target entropy: how far from the target every row ends, and what the solver costs beside one softmax in double.

python benchmarks/target_entropy.py [--rows 64] [--repeats 3]
"""

import argparse

import torch
from _side_by_side import print_ratio, print_times, side_by_side

from offscript.sampling.transforms import MaxEntropy, TargetEntropy

VOCABULARY = 50257
TARGETS = (0.01, 0.1, 0.5, 1.0, 2.75, 5.0, 8.0, 10.0)


def main() -> None:
    """Print the largest gap at each target, then times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    generator = torch.Generator().manual_seed(0)
    scales = torch.logspace(-1, 1, arguments.rows).unsqueeze(1)  # from nearly uniform to nearly one-hot
    logits = (scales * torch.randn(arguments.rows, VOCABULARY, generator=generator)).log_softmax(dim=-1)
    for target in TARGETS:
        gap = (entropies(TargetEntropy(target)(logits)) - target).abs().max()
        excess = (entropies(MaxEntropy(target)(logits)) - target).max()
        print(f"target {target:5.2f}: gap {gap:.1e}, max entropy above its bound by {excess:.1e} (goal <= 1e-3)")
    print_cost(logits, arguments.repeats)


def entropies(log_probs: torch.Tensor) -> torch.Tensor:
    """[rows], in double precision."""
    wide = log_probs.double()
    return -(wide.exp() * wide).nansum(dim=-1)


def print_cost(logits: torch.Tensor, repeats: int) -> None:
    """The solver in softmaxes: about two for each of its steps."""
    times = side_by_side(
        {
            f"log_softmax of {len(logits)} rows, double precision": lambda: logits.double().log_softmax(dim=-1),
            f"target entropy 2.75, {len(logits)} rows": lambda: TargetEntropy(2.75)(logits),
            f"max entropy 2.75, {len(logits)} rows": lambda: MaxEntropy(2.75)(logits),
        },
        repeats,
    )
    print_times(times)
    softmax, target, _ = times.values()
    print_ratio("target entropy in softmaxes", target, softmax, "none")


if __name__ == "__main__":
    main()
