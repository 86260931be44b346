"""Corpus-BLEU and self-BLEU beside fast-bleu (pip install fast-bleu), same run, same two cores.

python benchmarks/bleu.py [--sentences 10000] [--repeats 3]
"""

import argparse

import numpy as np
import numpy.typing as npt
from _side_by_side import print_ratio, print_times, side_by_side

from offscript.measures.bleu import leave_one_out_bleu, sentence_bleu

LENGTH, VOCABULARY = 20, 5000


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    references, samples = (zipf_sentences(arguments.sentences, generator) for _ in range(2))
    beside_fast_bleu(samples, references, arguments.repeats)
    growth(arguments.sentences, generator, arguments.repeats)
    orders(samples, references, arguments.repeats)


def zipf_sentences(sentences: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """Token ids [sentences, 20] with frequencies as 1 / rank."""
    shares = 1 / np.arange(1, VOCABULARY + 1)
    return generator.choice(VOCABULARY, (sentences, LENGTH), p=shares / shares.sum())


def beside_fast_bleu(samples: npt.NDArray[np.int64], references: npt.NDArray[np.int64], repeats: int) -> None:
    """BLEU-4 of all against all."""
    try:
        import fast_bleu
    except ImportError:
        print("fast-bleu is not installed: pip install fast-bleu")
        return
    weights = {4: (0.25,) * 4}
    ids, other_ids = samples.tolist(), references.tolist()
    words, other_words = ([list(map(str, row)) for row in rows] for rows in (ids, other_ids))
    times = side_by_side(
        {
            "corpus-BLEU-4: fast-bleu": lambda: fast_bleu.BLEU(other_words, weights).get_score(words),
            "corpus-BLEU-4: offscript, arrays of ids": lambda: sentence_bleu(samples, references, highest_order=4),
            "corpus-BLEU-4: offscript, lists of ids": lambda: sentence_bleu(ids, other_ids, highest_order=4),
            "corpus-BLEU-4: offscript, lists of words": lambda: sentence_bleu(words, other_words, highest_order=4),
            "self-BLEU-4: fast-bleu": lambda: fast_bleu.SelfBLEU(words, weights).get_score(),
            "self-BLEU-4: offscript, arrays of ids": lambda: leave_one_out_bleu(samples, highest_order=4),
            "self-BLEU-4: offscript, lists of words": lambda: leave_one_out_bleu(words, highest_order=4),
        },
        repeats,
    )
    print_times(times)
    peer, arrays, lists, strings, self_peer, self_arrays, self_strings = times.values()
    print_ratio("corpus-BLEU-4, fast-bleu / offscript from arrays of ids", peer, arrays, ">= 15")
    print_ratio("corpus-BLEU-4, fast-bleu / offscript from lists of ids", peer, lists, ">= 15")
    print_ratio("corpus-BLEU-4, fast-bleu / offscript from words", peer, strings, "none")
    print_ratio("self-BLEU-4, fast-bleu / offscript from arrays of ids", self_peer, self_arrays, ">= 60")
    print_ratio("self-BLEU-4, fast-bleu / offscript from words", self_peer, self_strings, "none")


def growth(sentences: int, generator: np.random.Generator, repeats: int) -> None:
    """What twice as many sentences cost."""
    sizes = (sentences, 2 * sentences)
    (samples, references), (more, more_references) = (
        (zipf_sentences(size, generator), zipf_sentences(size, generator)) for size in sizes
    )
    times = side_by_side(
        {
            f"corpus-BLEU, {sizes[0]} x {sizes[0]}": lambda: sentence_bleu(samples, references),
            f"corpus-BLEU, {sizes[1]} x {sizes[1]}": lambda: sentence_bleu(more, more_references),
            f"self-BLEU, {sizes[0]}": lambda: leave_one_out_bleu(samples),
            f"self-BLEU, {sizes[1]}": lambda: leave_one_out_bleu(more),
        },
        5 * repeats,
    )
    print_times(times)
    small, large, self_small, self_large = times.values()
    print_ratio("corpus-BLEU, twice as many sentences", large, small, "<= 2.3")
    print_ratio("self-BLEU, twice as many sentences", self_large, self_small, "<= 2.3")


def orders(samples: npt.NDArray[np.int64], references: npt.NDArray[np.int64], repeats: int) -> None:
    """All orders together beside the highest alone, which needs the matches of the lower ones as well."""
    runs = {
        f"corpus-BLEU-{order} alone": lambda order=order: sentence_bleu(
            samples, references, highest_order=order
        ).corpus(order)
        for order in range(1, 6)
    }
    runs["corpus-BLEU-1 to -5 together"] = lambda: sentence_bleu(samples, references).scores.mean(axis=0)
    times = side_by_side(runs, 5 * repeats)
    print_times(times)
    *_, highest, together = times.values()
    print_ratio("corpus-BLEU-1 to -5 together / BLEU-5 alone", together, highest, "<= 1.5")


if __name__ == "__main__":
    main()
