"""The inference model where it has never been: one collection after the other, the probes, and FEVER.

    python benchmarks/inference.py --data ../shared/data [--only collections|probes|fever] [--model DIR] [--claims N]

Each row of the first table is a collection that neither the weights nor the calibration have seen: verdicts are
calibrated on the other six. `--stance lexical` shows the same for another stance model. Checks get their evidence as
the collection gives it. Wrong among decided, and the share decided, are at a risk of 0.1.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck.inference.collections import Collection, read_collections
from offscript.factcheck.inference.evaluation import features_of_examples
from offscript.factcheck.inference.examples import LABELS
from offscript.factcheck.inference.verdict import InferenceVerdicts, fit_inference_verdicts
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import StanceModel
from offscript.measures.verdicts.estimation import measure_verdicts
from offscript.measures.verdicts.fever import check_fever

PROBES = Path(__file__).parents[1] / "tests" / "factcheck" / "inference" / "probes.jsonl"
BINS = 10
RISK = 0.1
Tables = dict[str, tuple[FloatArray, FloatArray]]


def sampled(collection: Collection, most: int) -> Collection:
    """At most so many claims of either part, drawn at random but always the same."""
    parts = [
        [part[place] for place in np.random.default_rng(1).permutation(len(part))[:most]]
        for part in (collection.fitting, collection.testing)
    ]
    return collection._replace(fitting=parts[0], testing=parts[1])


def tables_of(stance: StanceModel, collections: list[Collection], cache: Path | None) -> Tables:
    """For every collection the features of its fitting and testing part, kept in a folder where one is given."""
    tables = {}
    for each in collections:
        path = cache / f"{each.name}.npz" if cache else None
        if path is not None and path.is_file():
            kept = np.load(path)
            tables[each.name] = (kept["fitting"], kept["testing"])
            continue
        tables[each.name] = (
            features_of_examples(stance, each.fitting),
            features_of_examples(stance, each.testing),
        )
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, fitting=tables[each.name][0], testing=tables[each.name][1])
    return tables


def fitted_without(name: str, collections: list[Collection], tables: Tables) -> InferenceVerdicts:
    """Verdicts calibrated on the fitting parts of the other collections whose labels say what a verdict says."""
    kept = [each for each in collections if each.name not in (name, "covid-fact")]
    table = np.concatenate([tables[each.name][0] for each in kept])
    answers = [example.label for each in kept for example in each.fitting]
    owners = [each.name for each in kept for _ in range(len(tables[each.name][0]))]
    return fit_inference_verdicts(table, answers, owners)


def collection_row(each: Collection, verdicts: InferenceVerdicts, table: FloatArray) -> str:
    """Accuracy, majority, calibration error, and what a risk of 0.1 comes to."""
    three = verdicts.weights.probabilities(table)
    grouped = np.column_stack([three[:, list(labels)].sum(axis=1) for labels in each.answers])
    grouped /= grouped.sum(axis=1, keepdims=True)
    answer_of = {label: place for place, labels in enumerate(each.answers) for label in labels}
    gold = np.array([answer_of[example.label] for example in each.testing])
    right, confidence = grouped.argmax(axis=1) == gold, grouped.max(axis=1)
    leading, surest = three[:, :2].argmax(axis=1), three[:, :2].max(axis=1)
    decided = surest >= verdicts.risks[f"{RISK:g}"]
    wrong = np.array([answer_of.get(int(label)) for label in leading]) != gold
    share = f"{wrong[decided].mean():8.3f}" if decided.any() else "       –"
    majority = np.bincount(gold).max() / len(gold)
    return (
        f"{each.name:<16} {len(gold):>6} {right.mean():>9.3f} {majority:>9.3f} {right.mean() - majority:>+7.3f} "
        f"{calibration_error(confidence, right):>12.3f} {share} {decided.mean():>8.3f}"
    )


def calibration_error(confidence: FloatArray, right: FloatArray) -> float:
    """The mean distance of confidence and accuracy over ten bins."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(confidence[bins == number].sum() - right[bins == number].sum()) for number in range(BINS)]
    return float(sum(gaps) / len(right))


def print_collections(stance: StanceModel, data: Path, most: int, cache: Path | None) -> None:
    """The table of collections, each tested with verdicts that were calibrated without it."""
    collections = [sampled(each, most) for each in read_collections(data)]
    tables = tables_of(stance, collections, cache)
    names = ("claims", "accuracy", "majority", "gain", "calibration", "wrong", "decided")
    print(f"{'left out':<16} {' '.join(names)}")
    for each in collections:
        print(collection_row(each, fitted_without(each.name, collections, tables), tables[each.name][1]))


def print_probes(stance: StanceModel) -> None:
    """How many of the probe pairs are right, by kind, with what they were taken for."""
    rows = [json.loads(line) for line in PROBES.read_text(encoding="utf-8").splitlines()]
    said = []
    for row in rows:
        agree, disagree, *neither = stance.of_sentences(row["claim"], [row["evidence"]])[0]
        said.append(int(np.argmax([agree, disagree, sum(neither)])))
    right = np.array([LABELS[number] == row["label"] for number, row in zip(said, rows, strict=True)])
    kinds = np.array([row["kind"] for row in rows])
    print(f"probes: {right.mean():.3f} of {len(rows)}")
    for kind in dict.fromkeys(kinds.tolist()):
        print(f"  {kind:<12} {right[kinds == kind].mean():.3f} of {(kinds == kind).sum()}")
    for label in LABELS:
        own = [LABELS[number] for number, row in zip(said, rows, strict=True) if row["label"] == label]
        print(f"  {label:<9} said to be " + ", ".join(f"{other} {own.count(other)}" for other in LABELS))


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=("collections", "probes", "fever"))
    parser.add_argument("--model", type=Path, help="folder of another inference model than the shipped one")
    parser.add_argument("--stance", default="offscript/inference")
    parser.add_argument("--claims", type=int, help="of FEVER's paper_test; all 9,999 without it")
    parser.add_argument("--most", type=int, default=2000, help="claims of a part of a collection")
    parser.add_argument("--cache", type=Path, help="folder to keep the features of the collections in")
    given = parser.parse_args()
    stance = stance_model(given.stance if given.model is None else str(given.model))
    if given.only in (None, "probes"):
        print_probes(stance)
    if given.only in (None, "collections"):
        print_collections(stance, given.data, given.most, given.cache)
    if given.only in (None, "fever"):
        checked, recipe = check_fever(given.data / "fever", sample=given.claims, stance=given.stance)
        for entry in measure_verdicts(checked, recipe=recipe):
            print(f"FEVER {entry.name:<20} {entry.value:.3f} [{entry.interval.lower:.3f}, {entry.interval.upper:.3f}]")


if __name__ == "__main__":
    main()
