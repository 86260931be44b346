"""Make FAKTA's shipped rule again: its thresholds and its confidence, on FEVER's development claims.

    python tools/fit_fakta.py --data ../shared/data [--stance FOLDER] [--claims 3000] [--documents 5]

`paper_dev` alone is read; `paper_test` is left for measuring. The stance model is that of `offscript train fakta`.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from offscript._files import write_json
from offscript.factcheck.claims import read_fever_passages
from offscript.factcheck.fakta.aggregation import Rule
from offscript.factcheck.fakta.fitting import fit_rule
from offscript.factcheck.fakta.pipeline import DOCUMENTS, STANCE, Fakta
from offscript.factcheck.fakta.retrieval import RanksAlone
from offscript.factcheck.index import build_index
from offscript.factcheck.sources import Kind, Scale
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model

PLACE = Path(__file__).parents[1] / "src" / "offscript" / "assets" / "verdicts" / "offscript-fakta.json"
ANY = Rule(dict.fromkeys(Scale, 0.0))


def main() -> None:
    """Fit and write the rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--stance", default=STANCE)
    parser.add_argument("--claims", type=int, default=3000)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    chosen = parser.parse_args()
    passages = read_fever_passages(chosen.data / "fever", titled=True)
    order = np.random.default_rng(1).permutation(len(passages.claims["dev"]))[: chosen.claims]
    claims = [passages.claims["dev"][number] for number in order]
    stance = stance_model(chosen.stance)
    with tempfile.TemporaryDirectory() as scratch:
        source = LocalIndex(build_index(passages.documents, scratch), kind=Kind.wikipedia)
        providers = {Scale.scores: source, Scale.ranks: RanksAlone(source)}
        weighed = {
            scale: [
                Fakta([provider], stance=stance, rule=ANY, documents=chosen.documents).weigh(claim.claim)
                for claim in claims
            ]
            for scale, provider in providers.items()
        }
    answers = [claim.label for claim in claims]
    rule = fit_rule(weighed, answers)
    for scale, own in weighed.items():
        right = [rule.decide(found) is answer for found, answer in zip(own, answers, strict=True)]
        print(f"{scale.value}: threshold {rule.thresholds[scale]:g}, {np.mean(right):.3f} of {len(claims)} right")
    card = {
        "stance": STANCE,
        "documents": chosen.documents,
        "command": f"python tools/fit_fakta.py --data ../shared/data --claims {len(claims)}",
        "data": f"{len(claims)} claims of FEVER paper_dev (CC BY-SA 3.0)",
    }
    write_json(PLACE, {"card": card, **rule.to_json()})


if __name__ == "__main__":
    main()
