"""`offscript measure QUESTION`: one verb per question, with its options and help made from the registry."""

import inspect
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.core import TyperGroup

from offscript.cli._options import Device, Json, Plan, Plot, Quiet, Seed, limit_of

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from offscript.measures.measurement import Measurement
    from offscript.measures.question import Answer, Question, Settings

_MODEL = "offscript/NAME, a folder, a .gguf or tabular .json file, hf/ID[@REVISION] or openai/MODEL@URL."
_ORACLE = "A model that stands for the data's true distribution."
_CORPUS = (
    "Real text: a file (text, JSONL, WikiText, CSV; .gz, .xz, .zst) or hf:NAME[:CONFIG]; or DOMAIN=FILE, several times."
)
_AGAINST = "A second model to compare with, of the same vocabulary."
_DATA = "Association tests: a file in StereoSet's layout, or hf:McGill-NLP/stereoset."


class Verbs(TyperGroup):
    """A verb per question of the registry, which is read only when somebody asks for a verb."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every question, in the order of the page."""
        from offscript.measures.registry import questions

        return list(questions())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of one question, or None."""
        from offscript.measures.registry import questions

        asked = questions().get(cmd_name)
        if asked is None:
            return None
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        app.command(cmd_name, help=f"{asked.about}\n\nExample: {asked.example_command}")(verb_of(asked))
        return typer.main.get_command(app)


app = typer.Typer(
    cls=Verbs, help="Measure one thing about a model; every figure has an interval.", no_args_is_help=True
)


@app.callback()
def _measure() -> None:
    """A group has its verbs from the registry; typer asks for a callback where none is written down."""


def verb_of(question: "Question[Any]") -> Callable[..., None]:
    """A function whose parameters are the question's needs, its settings and the common options."""

    def verb(**values: Any) -> None:
        _run(question, values)

    parameters = [*_subject_parameters(question), *_setting_parameters(question), *_common_parameters(question)]
    parameters.sort(key=lambda each: each.default is not inspect.Parameter.empty)
    verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    verb.__annotations__ = {each.name: each.annotation for each in parameters}
    return verb


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _subject_parameters(question: "Question[Any]") -> list[inspect.Parameter]:
    """What the question needs of its subject, required, and what it can use beside, optional."""
    from offscript.measures.question import Need

    taken, parameters = (*question.needs, *question.takes), []
    if Need.model in taken:
        positional = not any(_extra(field, "argument") for field in question.Settings.model_fields.values())
        kind = typer.Argument(metavar="MODEL", help=_MODEL) if positional else typer.Option("--model", help=_MODEL)
        required = Need.model in question.needs
        parameters.append(_optional("subject_model", str, kind, required=required))
    if {Need.oracle, Need.gold} & set(taken):
        option = typer.Option("--oracle", help=_ORACLE)
        parameters.append(_optional("subject_oracle", str, option, required=Need.oracle in question.needs))
    if {Need.corpus, Need.gold} & set(taken):
        option = typer.Option("--corpus", help=_CORPUS)
        parameters.append(_optional("subject_corpus", list[str], option, required=Need.corpus in question.needs))
    if Need.associations in taken:
        option = typer.Option("--data", help=_DATA)
        parameters.append(_optional("subject_associations", str, option, required=Need.associations in question.needs))
    if Need.against in taken:
        option = typer.Option("--against", help=_AGAINST)
        parameters.append(_optional("subject_against", str, option, required=Need.against in question.needs))
    return parameters


def _optional(name: str, kind: Any, option: Any, *, required: bool) -> inspect.Parameter:
    if required:
        return _parameter(name, Annotated[kind, option])
    return _parameter(name, Annotated[kind | None, option], None)


def _setting_parameters(question: "Question[Any]") -> list[inspect.Parameter]:
    fields = question.Settings.model_fields
    return [_setting_parameter(name, field) for name, field in fields.items() if not _extra(field, "hidden")]


def _setting_parameter(name: str, field: "FieldInfo") -> inspect.Parameter:
    """An option, or an argument, that takes what the setting takes."""
    kind, default = _plain_type(field.annotation), None if field.is_required() else field.default
    limits = {bound: getattr(entry, key) for entry in field.metadata for key, bound in _BOUNDS if hasattr(entry, key)}
    if _extra(field, "argument"):
        option: Any = typer.Argument(metavar=name.upper(), help=field.description, **limits)
    else:
        flag = _extra(field, "flag") or f"--{name.replace('_', '-')}"
        flag = f"{flag}/--no-{flag.removeprefix('--')}" if kind is bool and default else flag
        option = typer.Option(flag, help=field.description, **limits)
    if _extra(field, "repeated"):
        kind, default = list[str], None
    if isinstance(default, tuple):
        kind, default = list[str], list(default) or None
    if default is None and not field.is_required():
        return _optional(name, kind, option, required=False)
    annotation: Any = Annotated[kind, option]
    return _parameter(name, annotation) if field.is_required() else _parameter(name, annotation, default)


_BOUNDS = (("ge", "min"), ("le", "max"))


def _plain_type(annotation: Any) -> Any:
    """The type that typer reads: `int` of `int | None`, `list[str]` of a tuple, `str` or `int` of literals."""
    if get_origin(annotation) in (Union, types.UnionType):
        [annotation] = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is tuple:
        return list[str]
    if get_origin(annotation) is Literal:
        return type(get_args(annotation)[0])
    return annotation


def _extra(field: "FieldInfo", key: str) -> Any:
    extra = field.json_schema_extra
    return extra.get(key) if isinstance(extra, dict) else None


def _common_parameters(question: "Question[Any]") -> list[inspect.Parameter]:
    batch = Annotated[
        int | None, typer.Option("--batch-size", min=1, help="Sequences that go through a model at once.")
    ]
    flags = {
        "limit": _parameter("limit", limit_of(question.limited), None),
        "seed": _parameter("seed", Seed, 1),
        "device": _parameter("device", Device, "cpu"),
        "batch_size": _parameter("batch_size", batch, None),
    }
    shown = [("plot", Plot, None), ("plan", Plan, None), ("as_json", Json, False), ("quiet", Quiet, False)]
    return [*(flags[name] for name in question.flags), *(_parameter(*each) for each in shown)]


def _run(question: "Question[Any]", values: dict[str, Any]) -> None:
    """Measure, and show what was measured."""
    from offscript.cli._progress import counting

    shown = {name: values.pop(name) for name in ("plot", "plan", "as_json", "quiet")}
    _check_wishes(shown["plot"], shown["plan"])
    context = {name: values.pop(name) for name in question.flags}
    given = {name.removeprefix("subject_"): values.pop(name) for name in list(values) if name.startswith("subject_")}
    settings = question.settings({name: value for name, value in values.items() if value is not None})
    with counting(question.name, quiet=shown["quiet"]) as progress:
        answer = _measured(question, settings, progress, {**context, **given})
    _show(question, answer, **shown)


def _measured(question: "Question[Any]", settings: "Settings", progress: Any, given: dict[str, Any]) -> "Answer":
    from offscript.errors import OffscriptError
    from offscript.measures.subject import Subject

    subject = Subject(**{name: value for name, value in given.items() if value is not None})
    if (lack := question.missing(subject, settings.model_dump(exclude_none=True))) is not None:
        raise OffscriptError(
            f"{question.name} needs {lack.words}", next=lack.next or f"see offscript measure {question.name} --help"
        )
    return question.answer(subject, settings, progress, constants=True)


def _check_wishes(plot: Path | None, plan: float | None) -> None:
    """Refuse what could not be shown, before the work is done."""
    from offscript.errors import OffscriptError
    from offscript.report.vega import check_chart_path

    if plot is not None:
        check_chart_path(plot)
    if plan is not None and not plan > 0:
        raise OffscriptError(f"cannot plan intervals of width {plan:g}", next="ask for a width above 0")


def _show(
    question: "Question[Any]", answer: "Answer", *, plot: Path | None, plan: float | None, as_json: bool, quiet: bool
) -> None:
    """The figures, the chart and the plan, as asked."""
    from offscript.cli._results import show, show_rows
    from offscript.measures.signature import signature

    del quiet
    details, tables = dict(answer.details), [(table.title, table.rows) for table in answer.tables]
    if plot is not None:
        _save_plot(question, answer, plot)
    if plan is not None:
        from offscript.measures.measurement import plan_samples

        needed = plan_samples(answer.measurements, plan)
        details["plan"] = {"width": plan, "samples": needed}
        tables.append(("", [{"figure": name, f"samples for width {plan:g}": n} for name, n in needed.items()]))
    if answer.measurements:
        details["signature"] = signature(_headline(question, answer))
    show(answer.measurements, as_json=as_json, title=answer.title, **details)
    if not as_json:
        if answer.measurements:
            typer.echo(f"signature  {details['signature']}")
        for title, rows in tables:
            show_rows(_printable(rows), title=title)


def _headline(question: "Question[Any]", answer: "Answer") -> "Measurement":
    """The figure that the question is known by, else its first."""
    figures = {entry.name: entry for entry in answer.measurements}
    return next((figures[name] for name in question.headlines if name in figures), answer.measurements[0])


def _printable(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [{key: _cell(value) for key, value in row.items()} for row in rows]


def _cell(value: Any) -> Any:
    """A number with four digits, bounds as a range, a share with its interval, or the value itself."""
    if isinstance(value, dict) and "interval" in value:
        bounds = value["interval"]
        return f"{value['value']:.1%} ({bounds['lower']:.1%} … {bounds['upper']:.1%})"
    if isinstance(value, list | tuple):
        return " … ".join(str(_cell(part)) for part in value)
    return f"{value:.4g}" if isinstance(value, float) else value


def _save_plot(question: "Question[Any]", answer: "Answer", path: Path) -> None:
    from offscript.errors import OffscriptError
    from offscript.report.figures import charts_of
    from offscript.report.vega import save_chart, stacked

    charts = charts_of(question.name, answer.measurements, answer.exhibits)
    if not charts:
        raise OffscriptError(f"{question.name} has nothing to draw", why="no figure is known at several lengths")
    save_chart(stacked(charts), path)
