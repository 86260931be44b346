"""`offscript measure stereotypes`: does a model prefer stereotypes, and meaning over nonsense?"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offscript.cli._options import BatchSize, Device, Json, Limit, Quiet, Seed
from offscript.cli._stereotype_systems import (
    BASELINES,
    Request,
    System,
    baseline_system,
    model_system,
    predicted_system,
)
from offscript.errors import OffscriptError

if TYPE_CHECKING:
    from offscript.measures.stereotypes import CatScores, Judgements

Data = Annotated[str, typer.Option("--data", help="A file in StereoSet's layout, or hf:McGill-NLP/stereoset.")]
Lexicon = Annotated[
    Path | None, typer.Option("--lexicon", help="Folder with positive-words.txt and negative-words.txt.")
]


def stereotypes(
    data: Data,
    model: Annotated[
        str | None, typer.Argument(help="A causal or masked model; else --predictions or --baseline.")
    ] = None,
    predictions: Annotated[
        list[str] | None, typer.Option(help="Scores in the authors' format; those of several are added up.")
    ] = None,
    weights: Annotated[str, typer.Option(help="A weight for each --predictions, with commas between.")] = "",
    baseline: Annotated[str | None, typer.Option(help=f"One of {', '.join(BASELINES)}.")] = None,
    head: Annotated[Path | None, typer.Option(help="A next-sentence head (offscript train) for intersentence.")] = None,
    sampler: Annotated[str | None, typer.Option(help="Score what would be generated, e.g. nucleus,p=0.9.")] = None,
    against: Annotated[str | None, typer.Option(help="A second model, tested on the same sentences.")] = None,
    against_predictions: Annotated[str | None, typer.Option(help="Scores of a second system.")] = None,
    lexicon: Lexicon = None,
    save_predictions: Annotated[Path | None, typer.Option(help="Write the scores in the authors' format.")] = None,
    limit: Limit = None,
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: BatchSize = 32,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The Context Association Test: lms, ss and icat by task and domain, and the most and least stereotyped terms."""
    from offscript._files import write_json
    from offscript.corpora.associations import predictions_document, read_association_tests
    from offscript.measures.stereotypes import measure_stereotypes

    began = time.monotonic()
    tests = read_association_tests(data)[:limit]
    request = Request(tests, head, lexicon, seed, device, batch_size, quiet)
    system = _first(request, model, predictions, weights, baseline, sampler)
    second = _second(request, model if sampler and not against else against, against_predictions)
    if save_predictions is not None:
        if system.scores is None:
            raise OffscriptError(f"{system.name} gives no scores to write", next="leave --save-predictions out")
        write_json(save_predictions, predictions_document(tests, system.scores))
    seconds = time.monotonic() - began
    found = measure_stereotypes(system.judgements, recipe=system.recipe, seed=seed, seconds=seconds)
    _show(found, system, second, seed, title=f"{system.name} on {data}", as_json=as_json)


def _first(
    request: Request,
    model: str | None,
    predictions: list[str] | None,
    weights: str,
    baseline: str | None,
    sampler: str | None,
) -> System:
    if sum(map(bool, (model, predictions, baseline))) != 1:
        raise OffscriptError("nothing or too much to measure", next="give one of MODEL, --predictions and --baseline")
    if model:
        return model_system(request, model, sampler)
    if sampler is not None:
        raise OffscriptError("a sampler without a model", next="name the MODEL whose text it would generate")
    return predicted_system(request, predictions, weights) if predictions else baseline_system(request, str(baseline))


def _second(request: Request, model: str | None, predictions: str | None) -> System | None:
    """What the first is held against: another system, or the model itself where a sampler cuts the first."""
    if model is not None:
        return model_system(request, model)
    return None if predictions is None else predicted_system(request, [predictions], "")


def _show(found: list[Any], system: System, second: System | None, seed: int, *, title: str, as_json: bool) -> None:
    from offscript.cli._results import show, show_rows

    ties = {
        "stereotype and anti-stereotype": int(system.judgements.stereotype_ties.sum()),
        "meaningful and unrelated": int(system.judgements.meaningful_ties.sum()),
    }
    terms = _terms(system.judgements, seed)
    compared = None if second is None else _compared(system, second, seed)
    extra = {} if compared is None else {"comparison": compared}
    show(found, as_json=as_json, title=title, ties=ties, terms=terms, **extra)
    if as_json:
        return
    typer.echo(", ".join(f"{which} tie: {count}" for which, count in ties.items()))
    show_rows([row for domain in sorted({row["domain"] for row in terms}) for row in _most_and_least(terms, domain)])
    if compared is not None:
        typer.echo(f"{compared['first']} minus {compared['second']}")
        show_rows(compared["differences"])


def _terms(judgements: "Judgements", seed: int) -> list[dict[str, Any]]:
    """Every term with its scores, the most stereotyped of a domain first."""
    from offscript.measures.stereotypes import score_terms

    rows = [_row(domain, term, scores) for (domain, term), scores in score_terms(judgements, seed=seed).items()]
    return sorted(rows, key=lambda row: (row["domain"], -row["ss"], row["term"]))


def _row(domain: str, term: str, scores: "CatScores") -> dict[str, Any]:
    figures = {name: getattr(scores, name) for name in ("lms", "ss", "icat")}
    bounds = {name: [figure.interval.lower, figure.interval.upper] for name, figure in figures.items()}
    values = {name: figure.value for name, figure in figures.items()}
    return {"domain": domain, "term": term, **values, "ci": bounds, "tests": scores.tests}


def _most_and_least(terms: list[dict[str, Any]], domain: str) -> list[dict[str, str]]:
    """The term whose ss is highest, and the one whose ss is nearest to 50 (Table 4.5)."""
    here = [row for row in terms if row["domain"] == domain]
    chosen = {"most": here[0], "least": min(here, key=lambda row: abs(row["ss"] - 50))}
    return [
        {
            "domain": domain,
            "stereotyped": degree,
            "term": row["term"],
            **{name: f"{row[name]:.1f} ({row['ci'][name][0]:.0f} … {row['ci'][name][1]:.0f})" for name in row["ci"]},
        }
        for degree, row in chosen.items()
    ]


def _compared(first: System, second: System, seed: int) -> dict[str, Any]:
    from offscript.measures.stereotypes import compare

    compared = compare(first.judgements, second.judgements, seed=seed)
    rows = []
    for name in ("lms", "ss", "icat"):
        figure = getattr(compared, name)
        bounds = [figure.interval.lower, figure.interval.upper]
        rows.append({"figure": name, "difference": figure.value, "ci": bounds, "p_value": figure.p_value})
    sampler = first.recipe.get("sampler")
    return {"first": f"{first.name} {sampler}" if sampler else first.name, "second": second.name, "differences": rows}
