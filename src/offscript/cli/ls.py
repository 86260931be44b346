"""`offscript ls`: what there is to choose from."""

import json
from enum import Enum
from typing import Annotated, Any

import typer

from offscript.cli._options import Json


class Kind(str, Enum):
    """What can be listed."""

    models = "models"
    samplers = "samplers"
    measures = "measures"
    algorithms = "algorithms"
    recipes = "recipes"
    experiments = "experiments"
    retrieval = "retrieval"


def ls(what: Annotated[Kind, typer.Argument(help="What to list.")], as_json: Json = False) -> None:
    """List shipped models, samplers, measures, training algorithms, recipes, experiments or retrieval models.

    Example: offscript ls samplers
    """
    from offscript.cli._results import show_rows

    rows = {
        Kind.models: _models,
        Kind.samplers: _samplers,
        Kind.measures: _measures,
        Kind.algorithms: _algorithms,
        Kind.recipes: _recipes,
        Kind.experiments: _experiments,
        Kind.retrieval: _retrieval_models,
    }[what]()
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    show_rows(rows)


def _models() -> list[dict[str, Any]]:
    from offscript._catalogue import model_rows

    return list(model_rows())


def _samplers() -> list[dict[str, Any]]:
    from offscript._catalogue import BUILTIN_SAMPLERS, LEARNED, PROPERTIES, SAMPLERS, first_line

    rows: list[dict[str, Any]] = [
        {"sampler": entry.usual, **dict(zip(PROPERTIES, entry.properties, strict=True)), "about": entry.about}
        for entry in BUILTIN_SAMPLERS.values()
    ]
    about = "a temperature by step, learnt from ratings"
    rows.append({"sampler": LEARNED, **dict.fromkeys(PROPERTIES, ""), "about": about})
    rows += [{"sampler": name, **_measured(name), "about": first_line(SAMPLERS[name])} for name in SAMPLERS.added]
    shown = {True: "yes", False: "no"}
    return [{key: shown.get(value, value) for key, value in row.items()} for row in rows]


def _measured(sampler: str) -> dict[str, Any]:
    """The properties of a plug-in's sampler with its default settings; blank where it needs settings."""
    from offscript._catalogue import PROPERTIES
    from offscript.errors import OffscriptError
    from offscript.sampling.transforms import check_properties

    try:
        report = check_properties(sampler)
    except OffscriptError:
        return dict.fromkeys(PROPERTIES, "")
    return {name: report.satisfies(name) for name in PROPERTIES}


def _measures() -> list[dict[str, Any]]:
    from offscript.measures.registry import questions

    return [
        {"question": question.name, "asks": question.title, "needs": question.needs_text}
        for question in questions().values()
    ]


def _algorithms() -> list[dict[str, Any]]:
    from offscript._catalogue import ALGORITHMS, first_line

    added = [
        {"algorithm": name, "about": first_line(ALGORITHMS[name]), "settings": ", ".join(settings)}
        for name in ALGORITHMS.added
        for settings in [ALGORITHMS[name].Settings.model_fields]
    ]
    return _listed("algorithms") + added


def _recipes() -> list[dict[str, Any]]:
    from offscript._config import shipped_recipes

    return [{"recipe": name, "about": _first_comment(path)} for name, path in shipped_recipes().items()]


def _experiments() -> list[dict[str, Any]]:
    from offscript.experiments.tables import experiments, scales_of

    found = ((name, *scales_of(name)) for name in experiments())
    return [{"experiment": name, "about": title, "scales": ", ".join(scales)} for name, title, scales in found]


def _retrieval_models() -> list[dict[str, Any]]:
    return _listed("retrieval")


def _listed(what: str) -> list[dict[str, Any]]:
    """Rows that `tools/write_listings.py` wrote down, since describing the things themselves would import torch."""
    from offscript._catalogue import ASSETS

    rows: list[dict[str, Any]] = json.loads((ASSETS / "listings.json").read_text(encoding="utf-8"))[what]
    return rows


def _first_comment(path: Any) -> str:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    return str(first.removeprefix("#").strip()) if first.startswith("#") else ""
