"""StereoSet's development set through a causal model: in batches, against one sentence at a time.

The scores are the same; the peers' scripts (StereoSet's own, bias-bench) read one sentence at a time.
Run with `OFFSCRIPT_DATA` naming the data folder (default ../shared/data). `--every N` takes each N-th test.
"""

import argparse
import os
from pathlib import Path

import torch
from _side_by_side import print_ratio, print_times, side_by_side

from offscript.corpora import WordVocabulary, separate_punctuation
from offscript.corpora.associations import AssociationTest, read_association_tests
from offscript.measures.stereotypes.causal import score_with_causal_model
from offscript.models import LanguageModel
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings

DATA = Path(os.environ.get("OFFSCRIPT_DATA") or Path(__file__).resolve().parent.parent.parent / "shared" / "data")


def small_transformer(tests: list[AssociationTest], width: int, words: int) -> TransformerLanguageModel:
    """Two layers with random weights: what is timed does not depend on what it has learnt."""
    texts = (separate_punctuation(found.sentence) for test in tests for found in test.associations)
    vocabulary = WordVocabulary.count(texts, words, lower=True)
    return TransformerLanguageModel(vocabulary, TransformerSettings(width=width, layers=2, heads=4)).eval()


def one_at_a_time(model: LanguageModel, tests: list[AssociationTest]) -> dict[str, float]:
    """The same scores, sentence by sentence."""
    scores = {}
    for test in tests:
        context = model.vocabulary.encode(separate_punctuation(test.context)) if test.task == "intersentence" else []
        for association in test.associations:
            tokens = [*context, *model.vocabulary.encode(separate_punctuation(association.sentence))]
            log_probs = model.log_likelihoods(torch.tensor([tokens]))[0, len(context) :]
            scores[association.id] = float(log_probs.mean())
    return scores


def main() -> None:
    """Print the times, the ratio and the largest difference between the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--words", type=int, default=5000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=2)
    chosen = parser.parse_args()
    tests = read_association_tests(DATA / "stereoset" / "dev.reconstructed.json.xz")[:: chosen.every]
    model = small_transformer(tests, chosen.width, chosen.words)
    print(f"{3 * len(tests)} sentences; a transformer of 2 layers of {chosen.width}, {model.vocabulary.size} words")
    single, batched = "one sentence at a time", f"batches of {chosen.batch_size}"
    runs = {
        single: lambda: one_at_a_time(model, tests),
        batched: lambda: score_with_causal_model(model, tests, batch_size=chosen.batch_size),
    }
    times = side_by_side(runs, chosen.repeats)
    print_times(times)
    print_ratio("the same scores in batches", times[single], times[batched], "5")
    expected, scores = (run() for run in runs.values())
    print(f"largest difference of a score {max(abs(scores[name] - expected[name]) for name in scores):.1e}")


if __name__ == "__main__":
    main()
