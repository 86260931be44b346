"""Does a model say what is so? Its own statements go through the fact checker, sampler by sampler."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offscript._abilities import Gives
from offscript.measures.charts import Chart, Specification, bar_chart, choices
from offscript.measures.question import (
    SIGNIFICANT,
    Answer,
    Files,
    Finding,
    Gauge,
    Names,
    Need,
    Progress,
    Question,
    Settings,
    setting,
)
from offscript.measures.words import p_value, with_interval

if TYPE_CHECKING:
    from offscript.measures.factuality.estimation import Statement
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

TEMPERATURES = ("tempered,temperature=0.5", "tempered,temperature=1.0", "tempered,temperature=1.5")
_LONGEST = 30
_STATEMENTS = {"quick": 100, "standard": 1_000, "paper": 10_000}
_SHOWN = 8
_DECIDED = "supported_of_decided"
_CURVES = {_DECIDED: "Supported among the decided", "not_enough_info": "Not decided"}
_MARGIN = 0.05
_KINDS = ("prompted", "free")
_TEXTS = "texts"
_LONG_TEXTS = {"quick": 0, "standard": 20, "paper": 200}
_TONES = {"supported": "fine", "refuted": "found", "not_enough_info": "cannot-tell"}
_EVIDENCE = 3


class FactualitySettings(Settings):
    """Whose statements are checked, and against what."""

    samplers: Names = setting(TEMPERATURES, "Samplers to draw statements with, from the coolest to the hottest.")
    samples: int = setting(100, "Prompts to complete, and free texts to draw, for each sampler.", ge=1)
    length: int = setting(_LONGEST, "Tokens of a free text.", ge=1)
    texts: int = setting(0, "Long texts about countries that each sampler writes, checked claim by claim.", ge=0)
    text_length: int = setting(100, "Tokens of a long text.", ge=10)
    decompose: str | None = setting(
        None, "Language model that splits the sentences of long texts into claims; rules without it."
    )
    index: Files = setting((), "Folder that `offscript index` wrote; the almanac without any.")
    stance: str = setting("lexical", "lexical, offscript/inference (ten times slower), or a trained model's folder.")
    ratings: Path | None = setting(None, "Table of web sites and how factual they are.")


class Factuality(Question[FactualitySettings]):
    """Shares of statements that are supported, refuted and neither, by sampler."""

    name = "factuality"
    title = "Do false statements increase with temperature?"
    about = "Check the statements a model makes, prompted and free, by sampler: supported, refuted, undecided."
    Settings = FactualitySettings
    needs = (Need.model,)
    reads = Gives.texts
    flags = ("seed", "device", "batch_size")
    asked_by_default = True
    words = (
        ("change.*.supported_of_decided", "change in the supported share of decided {} statements"),
        ("change.*.not_enough_info", "change in the share of undecided {} statements"),
        ("*.supported", "supported statements ({})"),
        ("*.refuted", "refuted statements ({})"),
        ("*.not_enough_info", "undecided statements ({})"),
        ("*.supported_of_decided", "supported share of decided statements ({})"),
        ("*.checkable", "statements that can be checked ({})"),
    )

    def plan(self, subject: "Subject") -> FactualitySettings:
        """Three temperatures; as many statements as the budget allows."""
        from offscript.measures.factuality.estimation import COMPLETION

        length = min(subject.length, _LONGEST)
        cost = len(TEMPERATURES) * (length + 2 * COMPLETION)
        return FactualitySettings(
            samples=subject.affordable(cost, most=_STATEMENTS[subject.budget.value]),
            length=length,
            texts=_LONG_TEXTS[subject.budget.value],
        )

    def tokens(self, subject: "Subject", settings: FactualitySettings) -> int:
        """A completion and a free text with every sampler."""
        from offscript.measures.factuality.estimation import COMPLETION

        short = (settings.length + 2 * COMPLETION) * settings.samples
        return len(settings.samplers) * (short + settings.texts * settings.text_length)

    def figures(self, subject: "Subject", settings: FactualitySettings) -> Sequence[str]:
        """Shares by sampler and kind of statement, and what changes from the first sampler to the last."""
        shares = ("supported", "refuted", "not_enough_info", _DECIDED, "checkable")
        names = [f"{sampler}.{kind}.{share}" for sampler in settings.samplers for kind in _KINDS for share in shares]
        changes = [f"change.{kind}.{share}" for kind in _KINDS for share in (_DECIDED, "not_enough_info")]
        if settings.texts:
            own = (*shares[:-1], "claims", "precision", "f1_at_k")
            names += [f"{sampler}.{_TEXTS}.{name}" for sampler in settings.samplers for name in own]
            changes += [f"change.{_TEXTS}.{name}" for name in (_DECIDED, "not_enough_info", "f1_at_k")]
        return [*names, *changes]

    def measure(self, subject: "Subject", settings: FactualitySettings, progress: Progress) -> Answer:
        """Draw statements with every sampler and check each."""
        from offscript.factcheck.checking import build_checker
        from offscript.measures.factuality.decomposition import decomposer
        from offscript.measures.factuality.estimation import measure_factuality

        factuality = measure_factuality(
            subject.model,
            build_checker(settings.index, settings.stance, settings.ratings),
            settings.samplers,
            samples=settings.samples,
            length=settings.length,
            seed=subject.seed,
            texts=settings.texts,
            text_length=settings.text_length,
            decompose=decomposer(settings.decompose, device=subject.device) if settings.decompose else None,
            batch_size=subject.rows_at_once(),
            progress=progress.start((2 * settings.samples + settings.texts) * len(settings.samplers)),
        )
        columns = [
            {
                "title": sampler,
                "statements": [
                    _shown(each)
                    for each in islice((each for each in factuality.statements if each.sampler == sampler), _SHOWN)
                ],
            }
            for sampler in settings.samplers
        ]
        title = "Its statements, and the fact checker's verdicts"
        exhibit = {"kind": "statements", "title": title, "columns": columns}
        return Answer(factuality.measurements, [exhibit], title=f"Statements of {subject.model.name}")

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """No change from the coolest sampler to the hottest in the share of decided statements that are supported."""
        from offscript.statistics import p_value_of

        change = figures.get(f"change.{_kind(figures)}.{_DECIDED}")
        return {} if change is None else {_DECIDED: p_value_of(change.estimate, change.n)}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """By statements that complete a fact, else by free ones; from the coolest sampler to the hottest."""
        if not figures:
            return None
        kind = _kind(figures)
        undecided = _by_sampler(figures, kind, "not_enough_info")
        if not undecided:
            return Finding(
                "None of its statements can be checked", "No sentence is about a name or a number.", "cannot tell"
            )
        decided = _by_sampler(figures, kind, _DECIDED)
        sentence = (
            f"Supported among its {kind} statements that the fact checker decides: {_listed(decided) or 'none'}. "
            f"Not decided: {_listed(undecided)}.{_in_texts(figures)}"
        )
        change, moved = (figures.get(f"change.{kind}.{name}") for name in (_DECIDED, "not_enough_info"))
        if change is None or moved is None:
            return Finding("Too few statements can be decided to compare samplers", sentence, "cannot tell")
        if 0 not in moved.interval:
            more = "More" if moved.value > 0 else "Fewer"
            return Finding(
                f"{more} statements cannot be decided at higher temperature",
                f"{sentence} The undecided share moves by {with_interval(moved)}, so the others cannot be compared.",
                "cannot tell",
            )
        p = p_values[_DECIDED]
        told = f"{sentence} Change in the supported share: {with_interval(change)}, {p_value(p)}."
        if p < SIGNIFICANT:
            if change.value < 0:
                return Finding("False statements increase with temperature", told, "found")
            return Finding("False statements decrease with temperature", told, "fine")
        if change.interval.lower > -_MARGIN:
            return Finding(f"False statements increase by less than {_MARGIN:.0%}", told, "fine")
        return Finding("No increase with temperature detected", told, "cannot tell")

    def gauge(self, figures: "Mapping[str, Measurement]") -> Gauge | None:
        """What the hottest sampler's share of supported statements is above the coolest's."""
        name = f"change.{_kind(figures)}.{_DECIDED}"
        return Gauge(name, "change in the supported share", "", 0.0, "no change") if name in figures else None

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Verdicts, what is supported of the decided, and what cannot be decided, by sampler and kind of statement."""
        charts: list[Chart] = []
        figures = {entry.name: entry for entry in measurements}
        for kind in (*_KINDS, _TEXTS):
            verdicts: dict[str, dict[str, Measurement]] = {}
            for verdict in ("supported", "refuted"):
                for sampler, entry in _by_sampler(figures, kind, verdict).items():
                    verdicts.setdefault(sampler, {})[verdict] = entry
            views: dict[str, Specification] = {}
            if verdicts:
                views["supported and refuted"] = bar_chart(verdicts, y="share of all")
            for name, words in _CURVES.items():
                shares = _by_sampler(figures, kind, name)
                if bars := {sampler: {words: entry} for sampler, entry in shares.items()}:
                    views[words.lower()] = bar_chart(bars, y=words.lower())
            charts += choices(f"Verdicts on its {kind} statements, by sampler", views)
        return charts


def _shown(statement: "Statement") -> dict[str, Any]:
    """A statement with its verdict and the sentences that it rests on."""
    from offscript.measures.factuality.estimation import NAMES

    check = statement.check
    name, tone = NAMES[check.verdict], _TONES[NAMES[check.verdict]]
    evidence = []
    for each in check.evidence[:_EVIDENCE]:
        document = check.documents[each.document]
        texts = [sentence.text for sentence in document.sentences if sentence.number == each.sentence]
        source = document.document.title or document.document.url or document.document.id
        evidence += [{"text": text, "source": source} for text in texts]
    verdict = name.replace("_", " ")
    shown = {"text": statement.text, "verdict": verdict, "tone": tone, "evidence": evidence}
    return {**shown, "confidence": round(check.confidence, 4)}


def _kind(figures: "Mapping[str, Measurement]") -> str:
    return "prompted" if any(name.endswith(".prompted.not_enough_info") for name in figures) else "free"


def _by_sampler(figures: "Mapping[str, Measurement]", kind: str, name: str) -> "dict[str, Measurement]":
    """One share of every sampler, from the coolest to the hottest."""
    end = f".{kind}.{name}"
    return {
        known.removesuffix(end): entry
        for known, entry in figures.items()
        if known.endswith(end) and not known.startswith("change.")
    }


def _in_texts(figures: "Mapping[str, Measurement]") -> str:
    """What is said of long texts, where there are any."""
    scores = _by_sampler(figures, _TEXTS, "f1_at_k")
    if not scores:
        return ""
    k = next(iter(scores.values())).recipe["k"]
    return f" Long texts, F1 of supported claims at {k} claims per text: {_listed(scores)}."


def _listed(shares: "Mapping[str, Measurement]") -> str:
    return "; ".join(f"{with_interval(entry)} with {sampler}" for sampler, entry in shares.items())
