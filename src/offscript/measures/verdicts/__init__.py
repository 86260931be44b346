"""How often the fact checker is right, and whether its confidence says so."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from offscript.errors import OffscriptError
from offscript.measures.charts import reliability_chart
from offscript.measures.question import Answer, Compared, Files, Lack, Progress, Question, Settings, Table, setting

if TYPE_CHECKING:
    from offscript.measures.subject import Subject

ALMANAC = "almanac"


class VerdictSettings(Settings):
    """Which claims are checked, and against what."""

    claims: Path | None = setting(
        None, 'One {"id", "claim", "label", "evidence"} per line; FEVER, SciFact.', argument=True
    )
    index: Files = setting((), "Folder that `offscript index` wrote, or almanac; the almanac without any.")
    pipeline: Literal["standard", "fakta", "perceptron"] = setting(
        "standard", "standard, fakta (the thesis's), or perceptron: the baseline of Table 2.2."
    )
    stance: str | None = setting(None, "offscript/stance, lexical, or a trained model's folder.")
    training: dict[str, Any] | None = setting(None, "A recipe: train the stance model first.", hidden=True)
    ranks: bool = setting(False, "FEVER: let the index tell ranks alone, as search engines do.", hidden=True)
    ratings: Path | None = setting(None, "Table of web sites and how factual they are.")
    fever: Path | None = setting(None, "FEVER's folder: check its claims among all known evidence instead.")
    part: str = setting("test", "The half of FEVER's claims: dev or test.")
    labels: Literal[2, 3] = setting(3, "FEVER's three labels, or the two that evidence decides.")
    sample: int | None = setting(None, "Check this many of FEVER's claims, chosen at random by the seed.", ge=2)


class Verdicts(Question[VerdictSettings]):
    """Accuracy, F1, FEVER score and calibration error on judged claims."""

    name = "verdicts"
    title = "Are the fact checker's verdicts right?"
    about = "Accuracy, F1, FEVER score and calibration error of verdicts on judged claims."
    Settings = VerdictSettings
    limited = "claims"
    example = "claims.jsonl --index index"
    needs = ()
    needs_instead = "judged claims"
    flags = ("limit", "seed")
    headlines = ("accuracy",)
    figure_names = ("accuracy", "macro_f1", "f1.*", "fever_score", "calibration_error")
    compared = (Compared("accuracy"), Compared("macro_f1"), Compared("fever_score"))

    def missing(self, subject: "Subject", given: Mapping[str, Any]) -> Lack | None:
        """One of two inputs will do."""
        met = "claims" in given or "fever" in given
        return None if met else Lack(self.needs_instead, "--set verdicts.claims=…")

    def measure(self, subject: "Subject", settings: VerdictSettings, progress: Progress) -> Answer:
        """Check every claim and compare with its label."""
        from offscript.measures.verdicts.estimation import VERDICTS, measure_verdicts
        from offscript.statistics import reliability

        run, recipe, where = _checked(subject, settings, progress)
        measurements = measure_verdicts(run, recipe=recipe, seed=subject.seed)
        names, confusion = [verdict.value for verdict in VERDICTS], run.confusion.tolist()
        rows = [
            {"right": name, **dict(zip(names, row, strict=True))} for name, row in zip(names, confusion, strict=True)
        ]
        title = "How often verdicts are right, by confidence"
        return Answer(
            measurements,
            exhibits=[{"kind": "chart", "title": title, "spec": reliability_chart(reliability(run))}],
            details={"confusion": {"labels": names, "claims": confusion}},
            tables=[Table(rows)],
            title=f"{recipe['stance']} on {where}",
        )


def _checked(subject: "Subject", settings: VerdictSettings, progress: Progress) -> tuple[Any, dict[str, Any], str]:
    """The checked claims, how that is told in the recipe, and in the title."""
    from offscript._files import sha256_of
    from offscript.factcheck.claims import read_claims
    from offscript.factcheck.pipelines import build_pipeline
    from offscript.factcheck.stance.teaching import trained_model
    from offscript.measures.verdicts.estimation import check_claims
    from offscript.measures.verdicts.fever import check_fever

    if settings.fever is not None:
        chosen = settings.model_dump(include={"part", "labels", "sample", "pipeline", "ranks"})
        stance = settings.stance
        if stance is None and settings.training is not None:
            stance = trained_model(settings.training, subject.seed)
        run, recipe = check_fever(settings.fever, stance=stance, seed=subject.seed, progress=progress, **chosen)
        return run, {**recipe, "training": settings.training}, "FEVER"
    if settings.claims is None:
        raise OffscriptError("no claims to check", next="give a file of CLAIMS, or --fever FOLDER")
    claims = read_claims(settings.claims)[: subject.limit]
    if settings.pipeline == "perceptron":
        raise OffscriptError("the perceptron is a baseline on FEVER", next="give --fever FOLDER and --stance FOLDER")
    checker = build_pipeline(settings.pipeline, settings.index, settings.stance, settings.ratings)
    run = check_claims(checker, claims, progress=progress.start(len(claims)))
    recipe = {
        "claims": {"name": str(settings.claims), "sha256": sha256_of(settings.claims)},
        "index": list(settings.index) or [ALMANAC],
        "pipeline": settings.pipeline,
        "stance": checker.stance.name,
        "limit": subject.limit,
    }
    return run, recipe, str(settings.claims)
