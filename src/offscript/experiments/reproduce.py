"""Run an experiment: train what must be trained, measure what is not measured yet, compare it with the paper."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offscript.audits.store import write_results
from offscript.audits.workers import Place, run_groups
from offscript.experiments.experiment import Experiment
from offscript.experiments.runs import averaged, correlations
from offscript.measures.measurement import Measurement


@dataclass(frozen=True)
class Statement:
    """A statement of the paper beside our figures: its words, ours, and whether our intervals decide it.

    Attributes:
        claim: What the paper says, in a sentence.
        statement: What is tested.
        found: Our figures.
        verdict: Whether their intervals decide it.
        shortfall: How many times narrower these must be to decide it; None where there are none.
    """

    claim: str
    statement: str
    found: str
    verdict: str
    shortfall: float | None


@dataclass(frozen=True)
class Reproduction:
    """The figures of every variant, `VARIANT/QUESTION.NAME`, and the paper's statements about them."""

    experiment: Experiment
    figures: dict[str, Measurement]
    statements: list[Statement]

    @property
    def groups(self) -> dict[str, dict[str, Measurement]]:
        """The figures of each variant and of each group of correlations, by `QUESTION.NAME`."""
        found: dict[str, dict[str, Measurement]] = {}
        for name, entry in self.figures.items():
            group, _, figure = name.partition("/")
            found.setdefault(group, {})[figure] = entry
        return found


def reproduce(
    experiment: Experiment,
    out: Path,
    *,
    seed: int = 1,
    place: Place | None = None,
    finished: Callable[[int], None] | None = None,
) -> Reproduction:
    """Every run of every variant through every measure; what an earlier call finished is read, not run again.

    Run i of a variant is trained and measured with seeds that are i higher, the same for all variants: runs pair.
    """
    named = [(variant, run) for variant in experiment.variants for run in range(experiment.runs_of(variant))]
    cells = [experiment.cells_of(variant, run, seed) for variant, run in named]
    runs: dict[str, list[dict[str, Measurement]]] = {variant.name: [] for variant in experiment.variants}
    for (variant, _), found in zip(named, run_groups(cells, out, place or Place(), finished), strict=True):
        runs[variant.name].append(
            {f"{entry.question}.{entry.name}": entry for answer in found for entry in answer.measurements}
        )
    groups = {name: averaged(each) for name, each in runs.items()}
    for group, members in experiment.correlations.items():
        groups[group] = correlations({member: runs[member] for member in members}, experiment.correlated, seed=seed)
    figures = {f"{group}/{name}": entry for group, own in groups.items() for name, entry in own.items()}
    statements = [
        Statement(expected.words, str(expected), *expected.judged(figures), expected.shortfall(figures))
        for expected in experiment.expected
    ]
    return Reproduction(experiment, figures, statements)


def store_reproduction(found: Reproduction, out: Path, scale: str) -> list[Path]:
    """Results files, one per variant and one per group of correlations."""
    config: dict[str, Any] = {"experiment": found.experiment.name, "scale": scale}
    return [write_results(out, group, list(own.values()), config=config) for group, own in found.groups.items()]
