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
from offscript.factcheck.fakta import Fakta, shipped_rule
from offscript.factcheck.fakta.baseline import SentenceBaseline
from offscript.factcheck.fakta.pipeline import STANCE
from offscript.factcheck.fakta.retrieval import RanksAlone
from offscript.factcheck.index import build_index
from offscript.factcheck.pipelines import ClaimPipeline
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import StanceModel
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
    pipeline: str = "standard",
    ranks: bool = False,
    seed: int = 1,
    progress: Progress | None = None,
) -> tuple[VerdictRun, dict[str, Any]]:
    """Check `sample` claims of a half, drawn by the seed, or all of it; the checked claims and their recipe.

    With two labels only claims that evidence decides are asked, and the checker has to decide (lines 4 and 5 of Table
    2.2). FEVER's score is by passages: one counts as shown when one of its sentences is.

    Args:
        folder: FEVER's.
        part: `dev` or `test`.
        sample: How many claims to check; all of the half without it.
        labels: 3, or 2 for claims that evidence decides.
        stance: The stance model by name; else the pipeline's own.
        pipeline: `standard`, `fakta`, or `perceptron`, the baseline of line 1.
        ranks: Let the index tell the places of documents alone, as a search engine does; of `fakta`.
        seed: Draws the sample.
        progress: Told of each claim.

    Returns:
        The checked claims, and the recipe that makes the figures again.
    """
    if part not in PARTS:
        raise OffscriptError(f"FEVER has no part {part!r}", next=nearest(part, PARTS))
    passages = read_fever_passages(folder, titled=True)
    known = [claim for claim in passages.claims[part] if labels == max(LABELS) or claim.label != Verdict.unknown]
    claims = [known[place] for place in np.sort(np.random.default_rng(seed).permutation(len(known))[:sample])]
    model = stance_model(stance) if stance else _own_stance(pipeline)
    recipe = {
        "fever": part,
        "claims": sample,
        "labels": labels,
        "pipeline": pipeline,
        "stance": model.name,
        "ranks": ranks,
    }
    count = (progress or Silent()).start(len(claims))
    with tempfile.TemporaryDirectory() as scratch:
        source = LocalIndex(build_index(passages.documents, scratch), kind=Kind.wikipedia)
        checker = _checker(pipeline, source, model, two_labels=labels == min(LABELS), ranks=ranks)
        checked = check_claims(checker, claims, progress=count)
    return checked, recipe


def _own_stance(pipeline: str) -> StanceModel:
    """The stance model that a pipeline has unless it is given another."""
    if pipeline == "perceptron":
        raise OffscriptError("the perceptron has to be trained first", next="give --stance FOLDER")
    return stance_model(STANCE) if pipeline == "fakta" else default_stance()


def _checker(pipeline: str, source: LocalIndex, stance: StanceModel, *, two_labels: bool, ranks: bool) -> ClaimPipeline:
    """The pipeline on one source; with two labels it has to decide."""
    if pipeline == "perceptron":
        return SentenceBaseline([source], stance, compelled=two_labels)
    if pipeline == "fakta":
        rule = shipped_rule().forced() if two_labels else shipped_rule()
        return Fakta([RanksAlone(source) if ranks else source], stance=stance, rule=rule)
    verdicts = default_verdicts(stance)
    return Checker([source], stance=stance, verdicts=verdicts.compelled() if two_labels else verdicts)
