"""The questions an audit asks. Each is a function of the subject; what it needs decides whether it can be asked."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from offscript.audits.subject import Budget, Progress, Subject, side_by_side
from offscript.measures.exposure import measure_exposure
from offscript.measures.likelihood import measure_likelihood
from offscript.measures.measurement import Measurement
from offscript.measures.recovery import ORDER, continuations, measure_recovery
from offscript.measures.recovery import side_by_side as prefixed_texts
from offscript.measures.regret import measure_regret
from offscript.measures.sampling import at_diversity, grid_of, prefixes_and_references, sweep_samplers
from offscript.sampling.generation import generate, texts

_SHOWN = 8
_PREFIX = 10
_SAMPLERS = ("top-k", "nucleus", "tempered", "target-entropy")
_WRONG = ("corrupted,rate=0.1", "corrupted,rate=0.3", "corrupted,rate=0.5", "random")


@dataclass(frozen=True)
class Answer:
    """Figures, and things to show that are not figures."""

    measurements: list[Measurement]
    exhibits: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """A question with a name that never changes, since results are filed under it."""

    name: str
    title: str
    ask: Callable[[Subject, Progress], Answer]
    needs_oracle: bool = False
    needs_gold: bool = False

    @property
    def needs_text(self) -> str:
        """What it needs, in words."""
        if self.needs_oracle:
            return "an oracle"
        return "an oracle or a corpus" if self.needs_gold else "nothing"

    def missing(self, subject: Subject) -> str | None:
        """Why this subject cannot be asked, or None."""
        if self.needs_oracle and subject.oracle is None:
            return "no oracle was given (--oracle MODEL)"
        if self.needs_gold and subject.oracle is None and not subject.corpus:
            return "neither a corpus nor an oracle was given (--corpus FILE, --oracle MODEL)"
        return None


def _likelihood(subject: Subject, progress: Progress) -> Answer:
    count = _counted(progress, len(subject.gold.tokens))
    return Answer(measure_likelihood(subject.model, subject.gold, batch_size=subject.rows_at_once, progress=count))


def _regret(subject: Subject, progress: Progress) -> Answer:
    assert subject.oracle is not None
    samples = subject.affordable(4 * subject.length)
    found = measure_regret(
        subject.model,
        subject.oracle,
        samples=samples,
        length=subject.length,
        seed=subject.seed,
        batch_size=subject.rows_at_once,
        progress=_counted(progress, 4 * samples),
    )
    return Answer(found)


def _exposure(subject: Subject, progress: Progress) -> Answer:
    rows = None if subject.oracle is not None else subject.rows
    length = subject.length if rows is None else rows.shape[1]
    wrong = _WRONG if rows is None else ()
    samples = subject.affordable((4 + 2 * len(wrong)) * length, most=None if rows is None else len(rows))
    found = measure_exposure(
        subject.model,
        subject.oracle,
        samples=samples,
        length=length,
        seed=subject.seed,
        data=rows,
        histories=wrong,
        marginal=subject.oracle is None,
        batch_size=subject.rows_at_once,
        progress=_counted(progress, (4 + 2 * len(wrong)) * samples),
    )
    return Answer(found)


def _recovery(subject: Subject, progress: Progress) -> Answer:
    data = None if subject.oracle is not None else subject.rows
    length = subject.length if data is None else data.shape[1]
    half = subject.samples // 2 if data is None else len(data) // 2
    samples, prefix = subject.affordable(10 * length, most=max(2, half)), min(_PREFIX, (length - ORDER) // 2)
    settings: dict[str, Any] = {"samples": samples, "length": length, "seed": subject.seed, "prefix": prefix}
    found = measure_recovery(
        subject.model,
        subject.oracle,
        **settings,
        data=data,
        batch_size=subject.rows_at_once,
        progress=_counted(progress, 10 * samples),
    )
    shown = continuations(subject.model, subject.oracle, data=data, **{**settings, "samples": 4})
    rows = prefixed_texts(subject.model, shown, prefix)
    columns = [(f"after {source} prefixes", [row[source] for row in rows]) for source in rows[0]]
    return Answer(found, [side_by_side(columns, "prefix → what the model makes of it")])


def _sampling(subject: Subject, progress: Progress) -> Answer:
    settings = len(grid_of(_SAMPLERS))
    most = {Budget.quick: 300, Budget.standard: 2_000, Budget.paper: 10_000}[subject.budget]
    prefixes, references = prefixes_and_references(
        subject.gold.tokens,
        prefix=min(_PREFIX, subject.length // 2),
        samples=min(subject.samples, most),
        length=subject.length,
    )
    prefixes = prefixes[: subject.affordable(settings * subject.length)]
    sweep = sweep_samplers(
        subject.model,
        prefixes,
        references,
        samplers=_SAMPLERS,
        length=subject.length,
        seed=subject.seed,
        batch_size=2 * subject.rows_at_once,
        progress=_counted(progress, len(prefixes) * settings),
    )
    middle = statistics.median(float(setting.diversity.mean()) for setting in sweep.settings)
    columns = [
        (setting.sampler, list(islice(texts(subject.model, setting.generated), 4)))
        for setting in at_diversity(sweep, middle).values()
    ]
    return Answer(sweep.measurements(), [side_by_side(columns, "The same prefixes at about the same diversity")])


def _counted(progress: Progress, total: int) -> Callable[[int], None]:
    """Adds up what a measure says it has done."""
    done = 0

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        progress(min(done, total), total)

    return count


def _samples(subject: Subject, progress: Progress) -> Answer:
    columns = []
    for place, source in enumerate(filter(None, (subject.model, subject.oracle))):
        drawn = generate(source, _SHOWN, subject.length, seed=(subject.seed, 2), batch_size=_SHOWN)
        columns.append((source.name, list(texts(source, drawn))))
        progress(place + 1, 2)
    return Answer([], [side_by_side(columns, "The same random numbers, drawn through each model")])


QUESTIONS: tuple[Question, ...] = (
    Question("likelihood", "How well does it predict gold text?", _likelihood, needs_gold=True),
    Question("exposure", "Does it go astray on its own histories?", _exposure, needs_gold=True),
    Question("regret", "How far is its own text from the oracle's?", _regret, needs_oracle=True),
    Question("recovery", "Does it recover from a bad beginning?", _recovery, needs_gold=True),
    Question("sampling", "Which decoding setting, at what price?", _sampling, needs_gold=True),
    Question("samples", "What does its text look like?", _samples),
)
"""In the order of the page."""
