"""`offscript measure stance`: does a model see whether texts agree with a claim?"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offscript.cli._options import Json, Limit, Seed
from offscript.errors import OffscriptError

if TYPE_CHECKING:
    from offscript.factcheck.stance.pairs import PairSet
    from offscript.measures.stance import StanceRun

Data = Annotated[
    str, typer.Option("--data", help="FNC-1's or SciFact's folder[,split=NAME], or JSON lines of claim, text, label.")
]


def stance(
    data: Data,
    model: Annotated[
        str | None, typer.Argument(help="offscript/stance, lexical, or a trained model's folder; else --predictions.")
    ] = None,
    predictions: Annotated[Path | None, typer.Option(help="A submission in FNC-1's layout.")] = None,
    against: Annotated[str | None, typer.Option(help="A second model, tested on the same pairs.")] = None,
    claim_alone: Annotated[
        bool, typer.Option("--claim-alone", help="Hide the texts: who still does well does not read them.")
    ] = False,
    limit: Limit = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """FNC-1's weighted accuracy, accuracy and F1 with intervals, and the confusion matrix."""
    from offscript.cli._results import show, show_rows
    from offscript.factcheck.stance.pairs import read_pairs
    from offscript.measures.stance import compare, measure_stance, read_predictions

    if (model is None) == (predictions is None):
        raise OffscriptError("nothing or too much to measure", next="give one of MODEL and --predictions")
    began = time.monotonic()
    pairs = _limited(read_pairs(data), limit, seed)
    first = read_predictions(predictions, pairs) if predictions else _judged(str(model), pairs, claim_alone)
    recipe = {"model": str(model or predictions), "data": data, "limit": limit, "claim_alone": claim_alone}
    found = measure_stance(first, recipe=recipe, seed=seed, seconds=time.monotonic() - began)
    extra: dict[str, Any] = {"confusion": {"labels": list(first.labels), "pairs": first.confusion.tolist()}}
    if pairs.of_documents:
        points, best = first.points
        extra["fnc_points"] = {"points": points, "of": best}
    rows = []
    if against is not None:
        differences = compare(first, _judged(against, pairs, claim_alone), seed=seed)
        rows = [
            {
                "figure": name,
                "difference": each.value,
                "ci": [each.interval.lower, each.interval.upper],
                "p_value": each.p_value,
            }
            for name, each in differences.items()
        ]
        extra["comparison"] = {"second": against, "differences": rows}
    show(found, as_json=as_json, title=f"{recipe['model']} on {pairs.name}", **extra)
    if not as_json:
        show_rows([{"right, said": label, **_row(first, place)} for place, label in enumerate(first.labels)])
        if pairs.of_documents:
            typer.echo(f"{points:,.2f} of {best:,.2f} points")
        if rows:
            typer.echo(f"{recipe['model']} minus {against}")
            show_rows([{key: _told(value) for key, value in row.items()} for row in rows])


def _judged(model: str, pairs: "PairSet", claim_alone: bool) -> "StanceRun":
    from offscript.factcheck.stance.registry import stance_model
    from offscript.measures.stance import judge

    return judge(stance_model(model), pairs, claim_alone=claim_alone)


def _limited(pairs: "PairSet", limit: int | None, seed: int) -> "PairSet":
    """A random part of the pairs, since sets are sorted by label or body."""
    from dataclasses import replace

    from offscript.factcheck.stance.pairs import sampled

    return replace(pairs, pairs=tuple(sampled(pairs.pairs, limit, seed)))


def _row(judged: "StanceRun", place: int) -> dict[str, int]:
    return dict(zip(judged.labels, judged.confusion[place].tolist(), strict=True))


def _told(value: Any) -> str:
    if isinstance(value, list):
        return " … ".join(f"{bound:.4f}" for bound in value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)
