"""The fact checker's whole way on FEVER (section 2.3): claims of one half among the evidence of both."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from offscript._specification import nearest
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict
from offscript.factcheck.checking import Checker, default_stance, default_verdicts
from offscript.factcheck.claims import PARTS, read_fever_passages
from offscript.factcheck.index import build_index
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.measures.question import Progress, Silent
from offscript.measures.verdicts.estimation import VerdictRun, check_claims

LABELS = (2, 3)


def check_fever(
    folder: Path,
    *,
    part: str = "test",
    sample: int | None = None,
    labels: int = 3,
    stance: str | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> tuple[VerdictRun, dict[str, Any]]:
    """Check `sample` claims of a half, drawn by the seed, or all of it; the checked claims and their recipe.

    With two labels only claims that evidence decides are asked, and the checker has to decide (lines 4 and 5 of Table
    2.2). FEVER's score is by passages: one counts as shown when one of its sentences is.
    """
    if part not in PARTS:
        raise OffscriptError(f"FEVER has no part {part!r}", next=nearest(part, PARTS))
    passages = read_fever_passages(folder, titled=True)
    known = [claim for claim in passages.claims[part] if labels == max(LABELS) or claim.label != Verdict.unknown]
    claims = [known[place] for place in np.sort(np.random.default_rng(seed).permutation(len(known))[:sample])]
    stances = stance_model(stance) if stance else default_stance()
    verdicts = default_verdicts(stances)
    if labels == min(LABELS):
        verdicts = verdicts.compelled()
    recipe = {"fever": part, "claims": sample, "labels": labels, "stance": stances.name}
    count = (progress or Silent()).start(len(claims))
    with tempfile.TemporaryDirectory() as scratch:
        source = LocalIndex(build_index(passages.documents, scratch), kind=Kind.wikipedia)
        checked = check_claims(Checker([source], stance=stances, verdicts=verdicts), claims, progress=count)
    return checked, recipe
