"""Where each claim of the papers stands: what a reproduction found, kept in a small file that ships.

`offscript reproduce` writes `standing.json` beside its results. Those under `experiments/results` ship with the
package; `docs/papers.md` is made of them.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from offscript import __version__
from offscript._config import read_mapping
from offscript._files import write_json
from offscript.corpora.records import read_json_value
from offscript.errors import OffscriptError
from offscript.experiments.reproduce import Reproduction
from offscript.experiments.tables import content_of, experiments
from offscript.statistics.estimates import student_quantile

NAME = "standing.json"
_FOLDER = Path(__file__).parent / "results"
WORDS = {
    "agrees": "holds",
    "disagrees": "does not hold",
    "undecided": "not decided",
    "not measured": "not decided",
}
MOST_RUNS, MOST_TIMES = 100, 100
"""Runs, or times as many samples, beyond which a claim is in effect undecidable here."""

_LEVEL = 0.95
_PLURALS = {"holds": "hold", "does not hold": "do not hold", "not decided": "not decided"}


def counted(verdicts: Iterable[str]) -> str:
    """How many claims hold, do not, and are open, in words."""
    kept = [WORDS[each] for each in verdicts]
    return ", ".join(f"{kept.count(word)} {plural}" for word, plural in _PLURALS.items() if word in kept) or "no claim"


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Stored):
    """A statement of a paper, where it stands there, what was found here, and whether that decides it.

    Attributes:
        statement: What is tested.
        source: Where it stands in the paper.
        found: Our figures.
        verdict: Whether they decide it.
        needs: What would decide it, where they do not.
    """

    statement: str
    source: str
    found: str
    verdict: str
    needs: str = ""


class Standing(_Stored):
    """What one run of an experiment says about its paper's claims."""

    experiment: str
    paper: str
    title: str
    scale: str
    runs: int
    seconds: float | None
    version: str
    claims: list[Claim]

    @property
    def summary(self) -> str:
        """How many claims hold, at which scale."""
        return f"{counted(claim.verdict for claim in self.claims)} ({self.scale})"

    @property
    def time(self) -> str:
        """How long it took, in minutes, where that was recorded."""
        return "time not recorded" if self.seconds is None else f"{max(round(self.seconds / 60), 1)} min"


def standing_of(found: Reproduction, scale: str, seconds: float) -> Standing:
    """A reproduction as it is kept.

    Args:
        found: What was reproduced.
        scale: At which scale.
        seconds: How long it took, what was stored already left out.

    Returns:
        The claims with their verdicts, and what decided them.
    """
    experiment = found.experiment
    claims = [
        Claim(
            statement=told.statement,
            source=expected.source,
            found=told.found,
            verdict=told.verdict,
            needs=needed(told.verdict, told.shortfall, experiment.seeds),
        )
        for told, expected in zip(found.statements, experiment.expected, strict=True)
    ]
    return Standing(
        experiment=experiment.name,
        paper=experiment.paper,
        title=experiment.title,
        scale=scale,
        runs=experiment.seeds,
        seconds=round(seconds, 1),
        version=__version__,
        claims=claims,
    )


def needed(verdict: str, shortfall: float | None, runs: int) -> str:
    """What would decide a claim, if today's figures are the true ones.

    Args:
        verdict: How it stands.
        shortfall: How many times narrower its intervals must be.
        runs: Training runs of each variant.

    Returns:
        The number of runs, by Student's quantiles, or of samples where there is one run; nothing for a decided claim.
    """
    if WORDS[verdict] != "not decided":
        return ""
    if shortfall is None:
        return "a figure that was not measured"
    if runs > 1:
        least = next((n for n in range(runs + 1, MOST_RUNS + 1) if _reach(runs) >= shortfall * _reach(n)), None)
        return f"more than {MOST_RUNS} runs" if least is None else f"about {least} runs"
    if shortfall**2 > MOST_TIMES:
        return f"more than {MOST_TIMES} times the samples"
    return f"about {max(shortfall**2, 1.1):.2g} times the samples"


def _reach(runs: int) -> float:
    """How far Student's interval of a mean reaches, in standard deviations of a run."""
    return student_quantile(runs - 1, (1 + _LEVEL) / 2) / math.sqrt(runs)


def write_standing(standing: Standing, folder: Path) -> Path:
    """Write `standing.json`; the time is the longest of the runs that wrote it, since later ones find much stored."""
    path = folder / NAME
    if path.is_file() and (earlier := read_standing(path)).claims == standing.claims:
        standing = standing.model_copy(update={"seconds": max(standing.seconds or 0.0, earlier.seconds or 0.0)})
    write_json(path, standing.model_dump())
    return path


def read_standing(path: Path) -> Standing:
    """What `write_standing` wrote."""
    try:
        return Standing.model_validate(read_json_value(path))
    except ValidationError as fault:
        raise OffscriptError(f"{path} is not a standing", why=fault.errors()[0]["msg"], next="run it again") from fault


@dataclass(frozen=True)
class Paper:
    """A paper's tables and result figures, and for each the experiments that reproduce it."""

    title: str
    tables: dict[str, list[str]]
    figures: dict[str, list[str]]


def papers() -> dict[str, Paper]:
    """Every paper by its short name.

    Returns:
        Tables and figures in the paper's order; no experiment where nothing reproduces one.
    """
    listed = read_mapping(_FOLDER.parent / "papers.yaml", "list of papers")
    found = {
        name: Paper(each["title"], {what: [] for what in each["tables"]}, {what: [] for what in each["figures"]})
        for name, each in listed.items()
    }
    for experiment, path in experiments().items():
        for name, covered in content_of(path).get("covers", {}).items():
            for what in covered:
                (found[name].tables if what.startswith("Table") else found[name].figures)[what].append(experiment)
    return found


def standings() -> dict[str, Standing]:
    """Those that ship, by experiment."""
    read = [read_standing(path) for path in sorted(_FOLDER.glob("*/*.json"))]
    return {each.experiment: each for each in read}
