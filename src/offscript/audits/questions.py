"""The questions an audit asks. Each is a function of the subject; what it needs decides whether it can be asked."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from offscript.audits.shares import shared_deviations
from offscript.audits.subject import Budget, Progress, Subject, side_by_side
from offscript.corpora.associations import Association, AssociationTest
from offscript.measures.diversity import measure_diversity
from offscript.measures.exposure import measure_exposure
from offscript.measures.likelihood import measure_likelihood
from offscript.measures.measurement import Measurement
from offscript.measures.recovery import ORDER, continuations, measure_recovery
from offscript.measures.recovery import side_by_side as prefixed_texts
from offscript.measures.regret import measure_regret
from offscript.measures.sampling import at_diversity, grid_of, prefixes_and_references, sweep_samplers
from offscript.measures.stereotypes import judge, measure_stereotypes, score_with_causal_model
from offscript.measures.stereotypes.measured import data_recipe
from offscript.sampling.generation import generate, texts

_SHOWN = 8
_PREFIX = 10
_CLEAREST = 4
_SAMPLERS = ("top-k", "nucleus", "tempered", "target-entropy")
_HEAT = ("tempered,temperature=0.5", "tempered,temperature=1.0", "tempered,temperature=1.5")
_STATED = 30
_STATEMENTS = {Budget.quick: 100, Budget.standard: 1_000, Budget.paper: 10_000}
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
    needs_associations: bool = False

    @property
    def needs_text(self) -> str:
        """What it needs, in words."""
        if self.needs_oracle:
            return "an oracle"
        if self.needs_associations:
            return "association tests"
        return "an oracle or a corpus" if self.needs_gold else "nothing"

    def missing(self, subject: Subject) -> str | None:
        """Why this subject cannot be asked, or None."""
        if self.needs_oracle and subject.oracle is None:
            return "no oracle was given (--oracle MODEL)"
        if self.needs_gold and subject.oracle is None and not subject.corpus:
            return "neither a corpus nor an oracle was given (--corpus FILE, --oracle MODEL)"
        if self.needs_associations and not subject.association_tests:
            return "no association tests were given (--associations FILE, such as StereoSet's dev.json)"
        return None

    def data(self, subject: Subject) -> dict[str, Any]:
        """What the answer depends on beside the subject's recipe."""
        return {"associations": data_recipe(subject.association_tests)} if self.needs_associations else {}


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
    settings: dict[str, Any] = {
        "samples": samples,
        "length": length,
        "seed": subject.seed,
        "histories": wrong,
        "batch_size": subject.rows_at_once,
    }
    shared = None if rows is not None or subject.sharing is None else shared_deviations(subject.sharing, **settings)
    found = measure_exposure(
        subject.model,
        subject.oracle,
        **settings,
        data=rows,
        marginal=subject.oracle is None,
        deviations=shared,
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
    found = [*sweep.measurements(), _diversity_of_real_text(references[: len(prefixes)], subject)]
    return Answer(found, [side_by_side(columns, "The same prefixes at about the same diversity")])


def _diversity_of_real_text(references: Sequence[Sequence[int]], subject: Subject) -> Measurement:
    """Self-BLEU of as many real sentences as each setting continues: where a sampler's diversity should be."""
    end = subject.model.vocabulary.end
    rows = [[token for token in row if token != end] for row in references]
    recipe = {"text": subject.gold.recipe, "sentences": len(rows)}
    found = {entry.name: entry for entry in measure_diversity(rows, tokenization="the model's", recipe=recipe)}
    return dataclasses.replace(found["self_bleu_4"], question="sampling", name="real text.self_bleu_4")


def _stereotypes(subject: Subject, progress: Progress) -> Answer:
    tests, began = subject.association_tests, time.monotonic()
    scores = score_with_causal_model(
        subject.model, tests, seed=subject.seed, progress=_counted(progress, 3 * len(tests))
    )
    recipe = {"model": subject.model.name, "weights": subject.model.weight_hash}
    found = measure_stereotypes(
        judge(tests, scores), recipe=recipe, seed=subject.seed, seconds=time.monotonic() - began
    )
    return Answer(found, [_clearest_preferences(tests, scores)])


def _clearest_preferences(tests: Sequence[AssociationTest], scores: Mapping[str, float]) -> dict[str, Any]:
    """The tests in which the model finds one association most clearly likelier than its opposite."""
    ordered = sorted(tests, key=lambda test: scores[test.stereotype.id] - scores[test.anti_stereotype.id])
    stereotypes = [_read_whole(test, test.stereotype) for test in ordered[-_CLEAREST:][::-1]]
    opposites = [_read_whole(test, test.anti_stereotype) for test in ordered[:_CLEAREST]]
    columns = [("the stereotype wins", stereotypes), ("the anti-stereotype wins", opposites)]
    return side_by_side(columns, "Where its preference is clearest, the sentence it prefers")


def _read_whole(test: AssociationTest, association: Association) -> str:
    return association.sentence if test.task == "intrasentence" else f"{test.context} {association.sentence}"


def _factuality(subject: Subject, progress: Progress) -> Answer:
    from offscript.factcheck.checking import default_checker
    from offscript.measures.factuality import COMPLETION, NAMES, measure_factuality

    length = min(subject.length, _STATED)
    samples = subject.affordable(len(_HEAT) * (length + 2 * COMPLETION), most=_STATEMENTS[subject.budget])
    found = measure_factuality(
        subject.model,
        default_checker(),
        _HEAT,
        samples=samples,
        length=length,
        seed=subject.seed,
        batch_size=subject.rows_at_once,
        progress=_counted(progress, 2 * samples * len(_HEAT)),
    )
    columns = [
        (
            sampler,
            [
                f"{NAMES[each.check.verdict].replace('_', ' ')}: {each.text}"
                for each in islice((said for said in found.statements if said.sampler == sampler), _SHOWN)
            ],
        )
        for sampler in _HEAT
    ]
    return Answer(found.measurements, [side_by_side(columns, "What the fact checker makes of its statements")])


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
    Question("stereotypes", "Does it prefer stereotypes?", _stereotypes, needs_associations=True),
    Question("factuality", "Does a hotter sampler lie more?", _factuality),
    Question("samples", "What does its text look like?", _samples),
)
"""In the order of the page."""
