"""The fact checker's whole way on FEVER (section 2.3): claims of one half among the evidence of both."""

import tempfile
from pathlib import Path

import numpy as np

from offscript._specification import nearest
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict
from offscript.factcheck.checking import Checker, default_stance
from offscript.factcheck.fever import PARTS, read_fever_passages
from offscript.factcheck.index import build_index
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.verdict import verdict_model
from offscript.measures.measurement import Measurement
from offscript.measures.verdicts import judge, measure_verdicts

LABELS = (2, 3)


def fever_verdicts(
    folder: Path | str,
    *,
    part: str = "test",
    claims: int | None = None,
    labels: int = 3,
    stance: str | None = None,
    seed: int = 1,
) -> list[Measurement]:
    """Figures of `offscript measure verdicts` on `claims` of a half, drawn by the seed, or on all of it.

    With two labels only claims that evidence decides are asked, and the checker has to decide (lines 4 and 5 of Table
    2.2). FEVER's score is by passages: one counts as shown when one of its sentences is.
    """
    if part not in PARTS:
        raise OffscriptError(f"FEVER has no part {part!r}", next=nearest(part, PARTS))
    if labels not in LABELS:
        raise OffscriptError(f"{labels} labels", next="ask for 2 or 3")
    passages = read_fever_passages(folder, titled=True)
    known = [claim for claim in passages.claims[part] if labels == max(LABELS) or claim.label != Verdict.unknown]
    asked = [known[place] for place in np.sort(np.random.default_rng(seed).permutation(len(known))[:claims])]
    judging = stance_model(stance) if stance else default_stance()
    verdicts = verdict_model(judging.name)
    if labels == min(LABELS):
        verdicts = verdicts.compelled()
    recipe = {"fever": part, "claims": claims, "labels": labels, "stance": judging.name}
    with tempfile.TemporaryDirectory() as scratch:
        source = LocalIndex(build_index(passages.documents, scratch), kind=Kind.wikipedia)
        found = judge(Checker([source], stance=judging, verdicts=verdicts), asked)
    return measure_verdicts(found, recipe=recipe, seed=seed)
