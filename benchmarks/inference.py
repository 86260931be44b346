"""The inference model where it has never been: one collection after the other, probes, everyday claims, and FEVER.

    python benchmarks/inference.py --data ../shared/data [--only collections|probes|everyday|fever]
        [--model DIR] [--claims N] [--cache DIR]

Each row of the first table is a collection that neither the weights nor the calibration have seen: verdicts are
calibrated on the others, and on what `tools/fit_inference.py` kept of FEVER and the almanac in `--cache`. Checks get
their evidence as the collection gives it. Wrong among decided, and the share decided, are at a risk of 0.1.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck.almanac import almanac_index
from offscript.factcheck.checked import Verdict
from offscript.factcheck.checking import Checker, default_verdicts
from offscript.factcheck.inference.collections import Collection, read_collections
from offscript.factcheck.inference.evaluation import features_of_examples
from offscript.factcheck.inference.examples import LABELS
from offscript.factcheck.inference.verdict import SEARCHED, InferenceVerdicts, fit_inference_verdicts
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import StanceModel
from offscript.factcheck.verdict import VERDICTS
from offscript.measures.verdicts.estimation import measure_verdicts
from offscript.measures.verdicts.fever import check_fever
from offscript.statistics import Interval, proportion_interval

EVERYDAY = Path(__file__).parents[1] / "tests" / "factcheck" / "inference" / "everyday.jsonl"
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


def searched_parts(cache: Path | None) -> dict[str, tuple[FloatArray, list[int]]]:
    """What `tools/fit_inference.py --cache` kept of the claims whose evidence was searched for."""
    paths = {name: cache / f"fit-{name}.npz" for name in SEARCHED} if cache else {}
    stored = {name: np.load(path) for name, path in paths.items() if path.is_file()}
    return {name: (each["table"], each["answers"].tolist()) for name, each in stored.items()}


def fitted_without(
    name: str,
    collections: list[Collection],
    tables: Tables,
    searched: dict[str, tuple[FloatArray, list[int]]],
) -> InferenceVerdicts:
    """Verdicts calibrated on the fitting parts of the other collections whose labels say what a verdict says."""
    kept = [each for each in collections if each.name not in (name, "covid-fact")]
    found = {} if name == "fever-symmetric" else searched  # its claims are FEVER's
    table = np.concatenate([*(tables[each.name][0] for each in kept), *(own for own, _ in found.values())])
    answers = [example.label for each in kept for example in each.fitting]
    owners = [each.name for each in kept for _ in range(len(tables[each.name][0]))]
    for part, (own, right) in found.items():
        answers, owners = [*answers, *right], [*owners, *([part] * len(own))]
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
        verdicts = fitted_without(each.name, collections, tables, searched_parts(cache))
        print(collection_row(each, verdicts, tables[each.name][1]), flush=True)


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


def print_everyday(stance: StanceModel, verdicts: Path | None) -> None:
    """Claims in free wording on the almanac: how many are right, wrong and undecided, as it is and at a risk of 0.1."""
    rows = [json.loads(line) for line in EVERYDAY.read_text(encoding="utf-8").splitlines()]
    chosen = default_verdicts(stance)
    if verdicts is not None:
        chosen = InferenceVerdicts.from_json(json.loads(verdicts.read_text(encoding="utf-8")))
    checker = Checker([LocalIndex(almanac_index(), kind=Kind.high)], stance=stance, verdicts=chosen)
    checks = [checker.check(row["claim"]) for row in rows]
    for name, model in (("as it is", chosen), (f"risk {RISK:g}", chosen.at_risk(RISK))):
        said = [LABELS[VERDICTS.index(model.decide(each.probabilities))] for each in checks]
        for about, own in (("inside", ("supports", "refutes")), ("outside", ("neither",))):
            pairs = [(word, row["label"]) for word, row in zip(said, rows, strict=True) if row["label"] in own]
            undecided = sum(word == "neither" for word, _ in pairs)
            wrong = sum(word not in ("neither", label) for word, label in pairs)
            n = len(pairs)
            print(f"everyday, {name}, {about}: {n} claims, wrong {wrong / n:.3f}, undecided {undecided / n:.3f}")
    for row, each in zip(rows, checks, strict=True):
        if LABELS[VERDICTS.index(each.verdict)] not in ("neither", row["label"]):
            print(f"  wrong: {each.verdict.value} {each.confidence:.2f} {row['claim']}")
    times = np.array([each.seconds for each in checks]) * 1000
    print(f"milliseconds a check: median {np.median(times):.0f}, 95th percentile {np.percentile(times, 95):.0f}")


def print_fever(folder: Path, sample: int | None, stance: str) -> None:
    """FEVER's paper_test with three labels, and of the same checks those of claims that evidence decides, with two."""
    checked, recipe = check_fever(folder, sample=sample, stance=stance)
    for entry in measure_verdicts(checked, recipe=recipe):
        print(f"FEVER, 3 labels, {entry.n} claims: {entry.name:<20} {entry.value:.3f} {_shown(entry.interval)}")
    decidable = checked.gold < VERDICTS.index(Verdict.unknown)
    right = checked.probabilities[decidable, :2].argmax(axis=1) == checked.gold[decidable]
    share = proportion_interval(int(right.sum()), len(right))
    print(f"FEVER, 2 labels, {len(right)} claims: accuracy {share.value:.3f} {_shown(share.interval)}")
    print(f"milliseconds per check: median {np.median(checked.seconds) * 1000:.0f}")


def _shown(interval: Interval) -> str:
    return f"[{interval.lower:.3f}, {interval.upper:.3f}]"


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=("collections", "probes", "everyday", "fever"))
    parser.add_argument("--verdicts", type=Path, help="verdict weights for the everyday claims, not those that ship")
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
    if given.only in (None, "everyday"):
        print_everyday(stance, given.verdicts)
    if given.only in (None, "fever"):
        print_fever(given.data / "fever", given.claims, str(given.model or given.stance))


if __name__ == "__main__":
    main()
