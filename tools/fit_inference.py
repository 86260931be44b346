"""Fit the verdicts of the shipped inference model again.

    python tools/fit_inference.py --data ../shared/data [--fever 2000] [--almanac 400] [--most 500] [--cache DIR]

What is fitted on: FEVER's development claims (`paper_dev`) and almanac claims with evidence that the checker finds,
FEVER's claims asked of the almanac, which cannot settle them, and the fitting parts of five collections with the
evidence that they give. HealthVer and COVID-Fact state no licence and stay out. Every collection counts the same but
FEVER, which has more to tell (`SHARES`).
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fit_checker import ASSETS, almanac_claims

from offscript._files import write_json
from offscript._types import FloatArray
from offscript.factcheck.almanac import almanac_facts, almanac_index
from offscript.factcheck.checking import Checker
from offscript.factcheck.claims import JudgedClaim, read_fever_passages
from offscript.factcheck.index import Index, build_index
from offscript.factcheck.inference.collections import read_collections
from offscript.factcheck.inference.entities import inner_names
from offscript.factcheck.inference.evaluation import UNDECIDED, features_of_examples
from offscript.factcheck.inference.stance import NAME
from offscript.factcheck.inference.verdict import FEATURES, fit_inference_verdicts, verdict_features
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import StanceModel
from offscript.factcheck.verdict import VERDICTS

COLLECTIONS = ("scifact", "fool-me-twice", "wice", "check-covid", "fever-symmetric")
SHARES = {"fever": 3.0, "almanac": 1.0, "outside": 1.0}
UNKNOWN = 2
Part = tuple[FloatArray, list[int]]


def searched(index: Index, stance: StanceModel, claims: list[JudgedClaim], kind: Kind) -> Part:
    """Features of claims with evidence found in an index, and their right verdicts."""
    checker = Checker([LocalIndex(index, kind=kind)], stance=stance, verdicts=UNDECIDED, language=lambda _: {})
    table = [verdict_features(claim.claim, checker.read(claim.claim)) for claim in claims]
    return np.array(table).reshape(len(claims), len(FEATURES)), [VERDICTS.index(claim.label) for claim in claims]


def kept(path: Path | None, made: Callable[[], Part]) -> Part:
    """A part from its file, or made and written there."""
    if path is not None and path.is_file():
        stored = np.load(path)
        return stored["table"], stored["answers"].tolist()
    table, answers = made()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, table=table, answers=answers)
    return table, answers


def fever_part(stance: StanceModel, given: argparse.Namespace) -> Part:
    """FEVER's development claims among the known evidence."""
    passages = read_fever_passages(given.data / "fever", titled=True)
    places = np.random.default_rng(1).permutation(len(passages.claims["dev"]))[: given.fever]
    index = build_index(passages.documents, given.scratch / "fever")
    return searched(index, stance, [passages.claims["dev"][place] for place in places], Kind.wikipedia)


def outside_part(stance: StanceModel, given: argparse.Namespace) -> Part:
    """FEVER's development claims that name nobody and nothing that the almanac has people and films of."""
    subjects = {f.subject.lower() for f in almanac_facts() if f.relation.subject_type in ("person", "film")}
    claims = read_fever_passages(given.data / "fever").claims["dev"]
    places = np.random.default_rng(2).permutation(len(claims))
    own = [claims[place] for place in places if not any(name in claims[place].claim.lower() for name in subjects)]
    own = [each for each in own if inner_names(each.claim)][: given.outside]
    table, _ = searched(almanac_index(), stance, own, Kind.high)
    return table, [UNKNOWN] * len(own)


def parts_of(stance: StanceModel, given: argparse.Namespace) -> dict[str, Part]:
    """All that is fitted on, by name."""

    def file(name: str) -> Path | None:
        return given.cache / f"fit-{name}.npz" if given.cache else None

    claims = almanac_claims(given.almanac, seed=2)
    parts = {
        "almanac": kept(file("almanac"), lambda: searched(almanac_index(), stance, claims, Kind.high)),
        "outside": kept(file("outside"), lambda: outside_part(stance, given)),
        "fever": kept(file("fever"), lambda: fever_part(stance, given)),
    }
    for each in read_collections(given.data, COLLECTIONS):
        order = np.random.default_rng(1).permutation(len(each.fitting))[: given.most]
        examples = [each.fitting[place] for place in order]
        answers = [example.label for example in examples]
        parts[each.name] = kept(file(each.name), lambda e=examples, a=answers: (features_of_examples(stance, e), a))
    return parts


def main() -> None:
    """Fit, say how good it is on what was fitted on, and ship it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("scratch"))
    parser.add_argument("--cache", type=Path, help="folder to keep the features of each part in")
    parser.add_argument("--model", default=NAME, help="the inference model, or the folder of another one")
    parser.add_argument("--fever", type=int, default=2000)
    parser.add_argument("--almanac", type=int, default=400)
    parser.add_argument("--outside", type=int, default=200)
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--out", type=Path, default=ASSETS / "verdicts" / "offscript-inference.json")
    given = parser.parse_args()
    parts = parts_of(stance_model(given.model), given)
    owners = [name for name, (table, _) in parts.items() for _ in table]
    table = np.concatenate([table for table, _ in parts.values()])
    answers = [answer for _, own in parts.values() for answer in own]
    verdicts = fit_inference_verdicts(table, answers, owners, shares=SHARES)
    for name, (own, right) in parts.items():
        said = verdicts.weights.probabilities(own).argmax(axis=1)
        print(f"{name:<16} {np.mean(said == right):.3f} of {len(right)}, which it was fitted on")
    print(f"threshold {verdicts.threshold}, by risk {dict(verdicts.risks)}")
    sizes = f"--fever {given.fever} --almanac {given.almanac} --outside {given.outside} --most {given.most}"
    card = {
        "stance": NAME,
        "command": f"python tools/fit_inference.py {sizes}",
        "data": {name: len(right) for name, (_, right) in parts.items()},
    }
    write_json(given.out, {"card": card, **verdicts.to_json()})


if __name__ == "__main__":
    main()
