"""Fit the verdicts of the shipped inference model again.

    python tools/fit_inference.py --data ../shared/data [--fever 600] [--almanac 400] [--most 500]

What is fitted on: FEVER's development claims (`paper_dev`) and almanac claims with evidence that the checker finds, and
the fitting parts of five collections with the evidence that they give. HealthVer and COVID-Fact state no licence and
stay out. Every collection counts the same.
"""

import argparse
from pathlib import Path

import numpy as np
from fit_checker import ASSETS, almanac_claims

from offscript._files import write_json
from offscript._types import FloatArray
from offscript.factcheck.almanac import almanac_index
from offscript.factcheck.checking import Checker
from offscript.factcheck.claims import JudgedClaim, read_fever_passages
from offscript.factcheck.index import Index, build_index
from offscript.factcheck.inference.collections import read_collections
from offscript.factcheck.inference.evaluation import UNDECIDED, features_of_examples
from offscript.factcheck.inference.stance import NAME
from offscript.factcheck.inference.verdict import fit_inference_verdicts, verdict_features
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import StanceModel
from offscript.factcheck.verdict import VERDICTS

COLLECTIONS = ("scifact", "fool-me-twice", "wice", "check-covid", "fever-symmetric")
Part = tuple[FloatArray, list[int]]


def searched(index: Index, stance: StanceModel, claims: list[JudgedClaim]) -> Part:
    """Features of claims with evidence found in an index, and their right verdicts."""
    checker = Checker([LocalIndex(index)], stance=stance, verdicts=UNDECIDED, language=lambda _: {})
    table = np.array([verdict_features(claim.claim, checker.check(claim.claim).documents) for claim in claims])
    return table, [VERDICTS.index(claim.label) for claim in claims]


def parts_of(stance: StanceModel, given: argparse.Namespace) -> dict[str, Part]:
    """All that is fitted on, by name."""
    passages = read_fever_passages(given.data / "fever", titled=True)
    places = np.random.default_rng(1).permutation(len(passages.claims["dev"]))[: given.fever]
    fever = [passages.claims["dev"][place] for place in places]
    index = build_index(passages.documents, given.scratch / "fever")
    parts = {"fever": searched(index, stance, fever)}
    parts["almanac"] = searched(almanac_index(), stance, almanac_claims(given.almanac, seed=2))
    for each in read_collections(given.data, COLLECTIONS):
        order = np.random.default_rng(1).permutation(len(each.fitting))[: given.most]
        examples = [each.fitting[place] for place in order]
        parts[each.name] = features_of_examples(stance, examples), [example.label for example in examples]
    return parts


def main() -> None:
    """Fit, say how good it is on what was fitted on, and ship it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("scratch"))
    parser.add_argument("--model", default=NAME, help="the inference model, or the folder of another one")
    parser.add_argument("--fever", type=int, default=600)
    parser.add_argument("--almanac", type=int, default=400)
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--out", type=Path, default=ASSETS / "verdicts" / "offscript-inference.json")
    given = parser.parse_args()
    parts = parts_of(stance_model(given.model), given)
    owners = [name for name, (table, _) in parts.items() for _ in table]
    table = np.concatenate([table for table, _ in parts.values()])
    verdicts = fit_inference_verdicts(table, [answer for _, own in parts.values() for answer in own], owners)
    for name, (own, answers) in parts.items():
        right = verdicts.weights.probabilities(own).argmax(axis=1) == answers
        print(f"{name:<16} {right.mean():.3f} of {len(answers)}, which it was fitted on")
    print(f"threshold {verdicts.threshold}, by risk {dict(verdicts.risks)}")
    card = {
        "stance": NAME,
        "command": f"python tools/fit_inference.py --fever {given.fever} --almanac {given.almanac} --most {given.most}",
        "data": {name: len(answers) for name, (_, answers) in parts.items()},
    }
    write_json(given.out, {"card": card, **verdicts.to_json()})


if __name__ == "__main__":
    main()
