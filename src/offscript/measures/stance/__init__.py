"""Does a model see whether texts agree with a claim? FNC-1's weighted accuracy, accuracy and F1."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from offscript.errors import OffscriptError
from offscript.measures.question import Answer, Compared, Progress, Question, Settings, Table, setting

if TYPE_CHECKING:
    from offscript.measures.subject import Subject


class StanceSettings(Settings):
    """Which model judges which pairs."""

    data: str = setting(about="FNC-1's or SciFact's folder[,split=NAME], or JSON lines of claim, text, label.")
    model: str | None = setting(
        None, "offscript/stance, lexical, or a trained model's folder; else --predictions.", argument=True
    )
    predictions: Path | None = setting(None, "A submission in FNC-1's layout.")
    against: str | None = setting(None, "A second model, tested on the same pairs.")
    claim_alone: bool = setting(False, "Hide the texts: a model that still does well does not read them.")
    pairs: int | None = setting(None, "Judge this many pairs, chosen at random by the seed.", hidden=True)
    training: dict[str, Any] | None = setting(None, "A recipe: train the model that judges.", hidden=True)


class Stance(Question[StanceSettings]):
    """A stance model, shipped or trained by a recipe, on claims with documents or sentences."""

    name = "stance"
    title = "Does the stance model see whether texts agree with a claim?"
    about = "FNC-1's weighted accuracy, accuracy and F1 with intervals, and the confusion matrix."
    Settings = StanceSettings
    limited = "pairs, chosen at random by the seed"
    example = "offscript/stance --data pairs.jsonl"
    needs = ()
    flags = ("limit", "seed")
    renamed: ClassVar = {"test": "data, and put the recipe's keys under training", "kind": "training.kind"}
    headlines = ("macro_f1",)
    figure_names = ("accuracy", "macro_f1", "f1.*", "fnc_score", "calibration_error")
    compared = (Compared("fnc_score"), Compared("accuracy"), Compared("macro_f1"))

    def measure(self, subject: "Subject", settings: StanceSettings, progress: Progress) -> Answer:
        """Judge every pair once; a second model is tested on the same pairs."""
        from dataclasses import replace

        from offscript.factcheck.stance.pairs import read_pairs, sampled
        from offscript.measures.stance.estimation import measure_stance, read_predictions

        began, model = time.monotonic(), _model(settings, subject.seed)
        if (model is None) == (settings.predictions is None):
            raise OffscriptError("give exactly one of MODEL and --predictions")
        data = read_pairs(settings.data)
        pairs = replace(data, pairs=tuple(sampled(data.pairs, settings.pairs or subject.limit, subject.seed)))
        if settings.predictions is not None:
            run = read_predictions(settings.predictions, pairs)
        else:
            run = _judged(str(model), pairs, settings)
        recipe = _recipe(settings, subject)
        seconds = time.monotonic() - began
        measurements = measure_stance(run, recipe=recipe, seed=subject.seed, seconds=seconds)
        title = f"{recipe.get('model', 'a trained model')} on {pairs.name}"
        return _answer(measurements, run, pairs, settings, subject.seed, title)


def _model(settings: StanceSettings, seed: int) -> str | None:
    """The name of the model, or the folder of the one that a recipe trains; trained ones are kept in the cache."""
    if settings.training is None or settings.model is not None:
        return settings.model
    from offscript.factcheck.stance.teaching import trained_model

    return trained_model(settings.training, seed)


def _recipe(settings: StanceSettings, subject: "Subject") -> dict[str, Any]:
    if settings.training is not None and settings.model is None:
        return {"training": settings.training, "data": settings.data, "pairs": settings.pairs}
    model = str(settings.model or settings.predictions)
    return {"model": model, "data": settings.data, "limit": subject.limit, "claim_alone": settings.claim_alone}


def _judged(model: str, pairs: Any, settings: StanceSettings) -> Any:
    from offscript.factcheck.stance.registry import stance_model
    from offscript.measures.stance.estimation import classify_pairs

    return classify_pairs(stance_model(model), pairs, claim_alone=settings.claim_alone)


def _answer(measurements: Any, run: Any, pairs: Any, settings: StanceSettings, seed: int, title: str) -> Answer:
    """The figures with the confusion matrix, FNC-1's points and the second model's differences."""
    from offscript.measures.stance.estimation import compare

    confusion = run.confusion.tolist()
    details: dict[str, Any] = {"confusion": {"labels": list(run.labels), "pairs": confusion}}
    rows = [
        {"right, said": label, **dict(zip(run.labels, row, strict=True))}
        for label, row in zip(run.labels, confusion, strict=True)
    ]
    tables = [Table(rows)]
    if pairs.of_documents:
        points, best = run.points
        details["fnc_points"] = {"points": points, "of": best}
        tables.append(Table([{"points": f"{points:,.2f}", "of": f"{best:,.2f}"}]))
    if settings.against is not None:
        differences = difference_rows(compare(run, _judged(settings.against, pairs, settings), seed=seed))
        details["comparison"] = {"second": settings.against, "differences": differences}
        tables.append(Table(differences, title=f"{settings.model or settings.predictions} minus {settings.against}"))
    return Answer(measurements, details=details, tables=tables, title=title)


def difference_rows(differences: Any) -> list[dict[str, Any]]:
    """Paired differences by figure, as rows."""
    return [
        {
            "figure": name,
            "difference": each.value,
            "ci": [each.interval.lower, each.interval.upper],
            "p_value": each.p_value,
        }
        for name, each in differences.items()
    ]
