"""Write what `offscript ls` and the docs say of algorithms, retrieval models and questions, from the things themselves.

    python tools/write_listings.py

Writes `assets/listings.json`, so that `ls` need not import torch, `docs/questions.md`, the reference of every question
and its settings, and `docs/reference/`, every verb's help and every exported name. A test fails where they are out of
date.
"""

import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from offscript.cli.app import app
from offscript.factcheck.retrieval import DEFAULT_MODEL, model_names
from offscript.factcheck.retrieval.models import describe_model
from offscript.measures.registry import questions
from offscript.report.glossary import Term, glossary
from offscript.training import ALGORITHMS

ROOT = Path(__file__).resolve().parent.parent
LISTINGS = ROOT / "src" / "offscript" / "assets" / "listings.json"
REFERENCE = ROOT / "docs" / "questions.md"
GLOSSARY = ROOT / "docs" / "glossary.md"
VERBS = ROOT / "docs" / "reference" / "cli.md"
NAMES = ROOT / "docs" / "reference" / "api.md"
PACKAGES = (
    "models",
    "sampling",
    "training",
    "measures",
    "audits",
    "factcheck",
    "report",
    "plugins",
    "corpora",
    "statistics",
)
"""The packages of the reference; what others hold is for the package's own use."""

COMMON = {"limit": "--limit", "seed": "--seed", "device": "--device", "batch_size": "--batch-size"}


def listings() -> dict[str, list[dict[str, str]]]:
    """Rows of training algorithms and of retrieval models."""
    algorithms = [
        {
            "algorithm": name,
            "about": (kind.__doc__ or "").splitlines()[0],
            "settings": ", ".join(_shown(*setting) for setting in kind.Settings.model_fields.items()),
        }
        for name, kind in ALGORITHMS.items()
    ]
    retrieval = [
        {
            "model": f"{name} (default)" if name == DEFAULT_MODEL else name,
            "about": describe_model(name),
        }
        for name in model_names()
    ]
    return {"algorithms": algorithms, "retrieval": retrieval}


def reference() -> str:
    """Every question with what it needs, its options and its settings, as Markdown."""
    parts = [
        "# Questions",
        "Every question runs as `offscript measure NAME`, in an audit where its needs are met, and in experiments and "
        "sweeps, whose keys are the settings below. This page is written by `tools/write_listings.py`.",
    ]
    for each in questions().values():
        asked = "by default" if each.asked_by_default else "with `--only` or `--set`"
        common = ", ".join(f"`{COMMON[flag]}`" for flag in each.flags)
        parts += [
            f"## {each.name}",
            f"**{each.title}** {each.about}",
            f"Needs {each.needs_text}. Audits ask it {asked}.{f' Also takes {common}.' if common else ''}",
            "\n".join(
                ["| setting | option | default | about |", "|---|---|---|---|"]
                + [_row(name, field) for name, field in each.Settings.model_fields.items()]
            ),
        ]
    return "\n\n".join(parts) + "\n"


def _row(name: str, field: FieldInfo) -> str:
    extra: dict[str, Any] = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    if extra.get("hidden"):
        option = ""
    elif extra.get("argument"):
        option = name.upper()
    else:
        option = f"`{extra.get('flag') or '--' + name.replace('_', '-')}`"
    default = "required" if field.is_required() else f"`{json.dumps(to_jsonable_python(field.default))}`"
    about = (field.description or "").replace("|", "\\|").replace("][", "]\\[")  # else a reference link
    return f"| `{name}` | {option} | {default} | {about} |"


def verbs() -> str:
    """The help of every verb, as a terminal of 100 columns shows it."""
    parts = ["# Command line", "The help of every verb. This page is written by `tools/write_listings.py`."]
    for name, text in _helps(typer.main.get_command(app), "offscript"):
        parts += [f"## {name}", f"```text\n{text.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    with command.make_context(name, [], resilient_parsing=True) as context:
        context.max_content_width = context.terminal_width = 100
        yield name, command.get_help(context)
        for each in command.list_commands(context) if hasattr(command, "list_commands") else ():
            yield from _helps(command.get_command(context, each), f"{name} {each}")


def names() -> str:
    """Every exported name by package; mkdocstrings fills in what their docstrings say."""
    parts = [
        "# Python",
        "What each package exports. Other names may change without notice. "
        "This page is written by `tools/write_listings.py`.",
    ]
    for package in PACKAGES:
        module = importlib.import_module(f"offscript.{package}")
        about = (module.__doc__ or "").partition("\n")[0]
        parts += [f"## offscript.{package}", about]
        for name in sorted(module.__all__, key=str.lower):
            value = getattr(module, name)
            place = value.__module__ if inspect.isclass(value) or inspect.isfunction(value) else module.__name__
            parts.append(f"::: {place}.{name}")
    return "\n\n".join(parts) + "\n"


def terms() -> str:
    """The glossary that pages share."""
    rows = [f"| {term.term} | {term.about} | {_formula(term)} |" for term in glossary()]
    about = "What the pages of audits and comparisons mean by their terms; on a page, press `?`."
    written = "This page is written by `tools/write_listings.py` from the file that pages read."
    return (
        "\n".join(["# Glossary", "", f"{about} {written}", "", "| term | meaning | formula |", "|---|---|---|", *rows])
        + "\n"
    )


def _formula(term: Term) -> str:
    picture = f"[picture](images/{term.picture})" if term.picture else ""
    return " ".join(part for part in (f"`{term.formula}`" if term.formula else "", picture) if part)


def _shown(name: str, field: FieldInfo) -> str:
    """A setting with its default, as a recipe may write it."""
    return f"{name} (required)" if field.is_required() else f"{name}={json.dumps(to_jsonable_python(field.default))}"


if __name__ == "__main__":
    LISTINGS.write_text(json.dumps(listings(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    pages = {REFERENCE: reference(), VERBS: verbs(), NAMES: names(), GLOSSARY: terms()}
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
