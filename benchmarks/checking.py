"""A check from claim to verdict: how long it takes, beside a peer that only searches, and how often it is right.

The peer is bm25s over the same documents: it finds ten of them and says nothing about the claim. Claims are the
almanac's, half of them false by another entity of the same type, of subjects that no weight was fitted on.
`--stance` takes another stance model than the default; `--claims` says how many.
"""

import argparse
import zlib
from collections.abc import Callable

import bm25s
import numpy as np
from _side_by_side import print_ratio, print_times, side_by_side

from offscript.factcheck.almanac import almanac_documents, almanac_facts, almanac_index, draw_claims
from offscript.factcheck.checked import Verdict
from offscript.factcheck.checking import Checker, default_stance
from offscript.factcheck.claims import JudgedClaim
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.measures.verdicts.estimation import judge, measure_verdicts

FOUND = 10
TIMED = 200


def held_out_claims(count: int) -> list[JudgedClaim]:
    """Of every second subject; the other half of the almanac served for fitting."""
    facts = [fact for fact in almanac_facts() if zlib.crc32(fact.subject.encode()) % 2]
    return [
        JudgedClaim(str(number), claim.text, Verdict.supported if claim.true else Verdict.refuted)
        for number, claim in enumerate(draw_claims(facts, count, seed=3))
    ]


def search_alone(claims: list[JudgedClaim]) -> Callable[[], None]:
    """A function that finds ten documents for every claim with bm25s, one claim after the other."""
    texts = [document.searched for document in almanac_documents(almanac_facts())]
    peer = bm25s.BM25()
    peer.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)

    def run() -> None:
        for claim in claims:
            peer.retrieve(bm25s.tokenize([claim.claim], show_progress=False), k=FOUND, show_progress=False)

    return run


def main() -> None:
    """Print accuracy, the distribution of times, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=1000)
    parser.add_argument("--stance")
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    claims = held_out_claims(chosen.claims)
    stance = stance_model(chosen.stance) if chosen.stance else default_stance()
    checker = Checker([LocalIndex(almanac_index(), kind=Kind.high)], stance=stance)
    checker.check(claims[0].claim)
    judged = judge(checker, claims)
    for entry in measure_verdicts(judged, recipe={}):
        if entry.name in ("accuracy", "calibration_error"):
            print(f"{entry.name:<20} {entry.value:.3f} [{entry.interval.lower:.3f}, {entry.interval.upper:.3f}]")
    middle, late = np.quantile(judged.seconds, [0.5, 0.95]) * 1000
    print(
        f"{len(claims)} almanac claims, stance model {stance.name}: median {middle:.1f} ms, 95 % within {late:.1f} ms"
    )
    print(f"  the median against 200 ms: {200 / middle:.1f} times as fast (goal 1)")
    timed = claims[:TIMED]
    whole, alone = f"{len(timed)} checks from claim to verdict", f"{len(timed)} searches alone (bm25s)"
    runs = {whole: lambda: [checker.check(claim.claim) for claim in timed], alone: search_alone(timed)}
    times = side_by_side(runs, chosen.repeats)
    print_times(times)
    print_ratio("a check takes so many of the peer's searches", times[whole], times[alone], "below 10")


if __name__ == "__main__":
    main()
