"""Nucleus, top-k and temperature beside Hugging Face's warpers on [512 x 50257] logits, same threads, same run.

python benchmarks/nucleus.py [--rows 512] [--repeats 5]
"""

import argparse
import math

import torch
from _side_by_side import print_ratio, print_times, side_by_side
from transformers.generation import logits_process as peers

from offscript.sampling.transforms import Nucleus, Tempered, TopK

VOCABULARY = 50257
CASES = (("peaked, p=0.9", 3.0, 0.9), ("flat, p=0.9", 1.0, 0.9), ("whole vocabulary, p=1", 1.0, 1.0))


def main() -> None:
    """Print times and ratios, and check that the same tokens are cut."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    noise = torch.randn(arguments.rows, VOCABULARY, generator=torch.Generator().manual_seed(0))
    for label, scale, p in CASES:
        compare_nucleus(label, (scale * noise).log_softmax(dim=-1), p, arguments.repeats)
    compare_boundary(arguments.rows)
    compare_simple(3 * noise, arguments.repeats)


def compare_nucleus(label: str, logits: torch.Tensor, p: float, repeats: int) -> None:
    """One shape of distribution."""
    peer, ours = peers.TopPLogitsWarper(p), Nucleus(p)
    same = torch.equal(peer(None, logits).isneginf(), ours(logits).isneginf())
    runs = {
        f"nucleus, {label}: Hugging Face": lambda: peer(None, logits),
        f"nucleus, {label}: offscript, normalised": lambda: ours(logits),
    }
    times = side_by_side(runs, repeats)
    print_times(times)
    print_ratio(f"Hugging Face / offscript, {'identical' if same else 'DIFFERENT'} masks", *times.values(), ">= 3")


def compare_boundary(rows: int) -> None:
    """Sums that reach p exactly, and ties across the boundary."""
    halves = torch.arange(VOCABULARY).clamp(max=120).mul(-math.log(2)).repeat(rows, 1)
    coarse = torch.randn(rows, VOCABULARY, generator=torch.Generator().manual_seed(1)).bfloat16().float()
    for label, logits in (("a sum that reaches p exactly", halves), ("ties at the boundary", coarse)):
        same = [
            torch.equal(peers.TopPLogitsWarper(p)(None, logits).isneginf(), Nucleus(p)(logits).isneginf())
            for p in (0.5, 0.75, 0.9)
        ]
        print(f"  {label}: {'identical' if all(same) else 'DIFFERENT'} masks")


def compare_simple(logits: torch.Tensor, repeats: int) -> None:
    """Top-k and temperature as logits processors (what Hugging Face times) and with the normalisation added."""
    pairs = (
        ("top-k, k=50", peers.TopKLogitsWarper(50), TopK(50)),
        ("temperature 0.7", peers.TemperatureLogitsWarper(0.7), Tempered(0.7)),
    )
    for label, peer, ours in pairs:
        runs = {
            f"{label}: Hugging Face": lambda peer=peer: peer(None, logits),
            f"{label}: offscript's logits processor": lambda ours=ours: ours.log_weights(logits),
            f"{label}: offscript, normalised": lambda ours=ours: ours(logits),
            f"{label}: Hugging Face, then log_softmax": lambda peer=peer: peer(None, logits).log_softmax(dim=-1),
        }
        times = side_by_side(runs, 3 * repeats)
        print_times(times)
        plain, processor, normalised, plain_normalised = times.values()
        print_ratio("offscript's processor / Hugging Face", processor, plain, "<= 1.1")
        print_ratio("offscript normalised / Hugging Face then log_softmax", normalised, plain_normalised, "<= 1.1")
        print_ratio("offscript normalised / Hugging Face not normalised", normalised, plain, "none")


if __name__ == "__main__":
    main()
