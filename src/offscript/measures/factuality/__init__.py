"""Does a model say what is so? Its own statements go through the fact checker, sampler by sampler."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from offscript.measures.charts import Chart, bar_chart
from offscript.measures.question import Answer, Files, Finding, Names, Need, Progress, Question, Settings, setting
from offscript.measures.words import with_interval

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

TEMPERATURES = ("tempered,temperature=0.5", "tempered,temperature=1.0", "tempered,temperature=1.5")
_LONGEST = 30
_STATEMENTS = {"quick": 100, "standard": 1_000, "paper": 10_000}
_SHOWN = 8


class FactualitySettings(Settings):
    """Whose statements are checked, and against what."""

    samplers: Names = setting(TEMPERATURES, "Samplers to draw statements with, from the coolest to the hottest.")
    samples: int = setting(100, "Prompts to complete, and free texts to draw, for each sampler.", ge=1)
    length: int = setting(_LONGEST, "Tokens of a free text.", ge=1)
    index: Files = setting((), "Folder that `offscript index` wrote; the almanac without any.")
    stance: str | None = setting(None, "offscript/stance, lexical, or a trained model's folder.")
    ratings: Path | None = setting(None, "Table of web sites and how factual they are.")


class Factuality(Question[FactualitySettings]):
    """Shares of statements that are supported, refuted and neither, by sampler."""

    name = "factuality"
    title = "Do false statements increase with temperature?"
    about = "Check the statements a model makes, prompted and free, by sampler: supported, refuted, undecided."
    Settings = FactualitySettings
    needs = (Need.model,)
    flags = ("seed", "device", "batch_size")
    asked_by_default = True

    def plan(self, subject: "Subject") -> FactualitySettings:
        """Three temperatures; as many statements as the budget allows."""
        from offscript.measures.factuality.estimation import COMPLETION

        length = min(subject.length, _LONGEST)
        cost = len(TEMPERATURES) * (length + 2 * COMPLETION)
        return FactualitySettings(
            samples=subject.affordable(cost, most=_STATEMENTS[subject.budget.value]), length=length
        )

    def measure(self, subject: "Subject", settings: FactualitySettings, progress: Progress) -> Answer:
        """Draw statements with every sampler and check each."""
        from offscript.factcheck.building import build_checker
        from offscript.measures.factuality.estimation import NAMES, measure_factuality
        from offscript.measures.subject import columns_of_texts

        factuality = measure_factuality(
            subject.model,
            build_checker(settings.index, settings.stance, settings.ratings),
            settings.samplers,
            samples=settings.samples,
            length=settings.length,
            seed=subject.seed,
            batch_size=subject.rows_at_once(),
            progress=progress.start(2 * settings.samples * len(settings.samplers)),
        )
        columns = [
            (
                sampler,
                [
                    f"{NAMES[each.check.verdict].replace('_', ' ')}: {each.text}"
                    for each in islice((each for each in factuality.statements if each.sampler == sampler), _SHOWN)
                ],
            )
            for sampler in settings.samplers
        ]
        exhibit = columns_of_texts(columns, "Its statements, and the fact checker's verdicts")
        return Answer(factuality.measurements, [exhibit], title=f"Statements of {subject.model.name}")

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """By statements that complete a fact, else by free ones; from the coolest sampler to the hottest."""
        if not figures:
            return None
        kind = "prompted" if any(name.endswith(".prompted.refuted") for name in figures) else "free"
        refuted = {
            name.removesuffix(f".{kind}.refuted").replace(";", ","): entry
            for name, entry in figures.items()
            if name.endswith(f".{kind}.refuted")
        }
        if not refuted:
            return Finding(
                "None of its statements can be checked", "No sentence is about a name or a number.", "cannot tell"
            )
        listed = "; ".join(f"{with_interval(entry)} with {sampler}" for sampler, entry in refuted.items())
        sentence = f"Share of its {kind} statements that the fact checker refutes: {listed}."
        intervals = [entry.interval for entry in refuted.values()]
        coolest, hottest = intervals[0], intervals[-1]
        if hottest.lower > coolest.upper:
            return Finding("False statements increase with temperature", sentence, "found")
        if hottest.upper < coolest.lower:
            return Finding("Fewer statements are refuted at higher temperature", sentence, "cannot tell")
        return Finding("No increase with temperature detected", sentence, "cannot tell")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Shares of supported, refuted and undecided statements by sampler, a chart for each kind of statement."""
        kinds: dict[str, dict[str, dict[str, Measurement]]] = {}
        for entry in measurements:
            rest, verdict = entry.name.rsplit(".", 1)
            sampler, kind = rest.rsplit(".", 1)
            if verdict != "checkable":
                kinds.setdefault(kind, {}).setdefault(sampler.replace(";", " "), {})[verdict.replace("_", " ")] = entry
        return [
            (f"Verdicts on its {kind} statements, by sampler", bar_chart(bars, y="share"))
            for kind, bars in kinds.items()
        ]
