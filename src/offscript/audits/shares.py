"""One measurement's work shared out: workers take histories by ranges of rows, and their results are joined exactly."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from offscript.audits.cells import Cell, MeasureCall
from offscript.audits.workers import LOCAL, Place, run_groups
from offscript.measures.exposure.conditional import Values
from offscript.measures.measurement import Measurement


@dataclass(frozen=True)
class Sharing:
    """Shares work out: strings that name the models anywhere, where the shares run, and where they are stored."""

    model: str
    oracle: str
    out: Path
    shares: int = 2
    place: Place = field(default_factory=lambda: Place(LOCAL))

    def __call__(self, *, samples: int, seed: int, batch_size: int, **settings: Any) -> dict[str, Values]:
        """The deviations behind EB-C of all rows, each share found by a worker.

        A share is whole batches, so that each batch is the one that a single worker would have read.
        """
        settings = {**settings, "batch_size": batch_size}
        cells = [
            Cell(
                name="share",
                model=self.model,
                oracle=self.oracle,
                call=MeasureCall(question="deviations", settings={"rows": rows, **settings}),
                seed=seed,
            )
            for rows in ranges_of(samples, self.shares, batch_size)
        ]
        answers = run_groups([[cell] for cell in cells], self.out, self.place)
        return _joined([answer.measurements for [answer] in answers])


def ranges_of(samples: int, shares: int, batch_size: int) -> list[list[int]]:
    """First row and end of each share: whole batches, as evenly as they go."""
    batches = -(-samples // batch_size)
    bounds = [batches * share // min(shares, batches) * batch_size for share in range(min(shares, batches) + 1)]
    return [[first, min(end, samples)] for first, end in pairwise(bounds)]


def _joined(shares: Sequence[Sequence[Measurement]]) -> dict[str, Values]:
    """The rows of all shares, in order, in the precision they were measured in."""
    joined: dict[str, dict[str, Any]] = {}
    for entries in zip(*shares, strict=True):
        kind, distance = entries[0].name.split("/")
        rows = np.concatenate([entry.per_item for entry in entries if entry.per_item is not None])
        joined.setdefault(kind, {})[distance] = rows.astype(entries[0].recipe["dtype"])
    return dict(joined)
