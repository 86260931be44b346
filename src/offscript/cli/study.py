"""`offscript study`: studies that people take part in, from the draw to the figures."""

from pathlib import Path
from typing import Annotated, Any

import typer

from offscript.cli._options import BatchSize, Device, Json, Model, Out, Quiet, Seed, out_file

app = typer.Typer(
    help="Let people rate samples, or write and validate association tests.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Study = Annotated[Path, typer.Argument(help="The study's folder.")]
Title = Annotated[str, typer.Option(help="What participants see first.")]
Contact = Annotated[str, typer.Option(help="Whom participants can ask, shown on every page.")]


@app.command()
def rate(
    model: Model,
    corpus: Annotated[list[str], typer.Option(help="Human text: its beginnings are the prompts.")],
    out: Out,
    samplers: Annotated[list[str], typer.Option(help="What is compared, e.g. nucleus,p=0.9,top-k,k=40; or repeated.")],
    samples: Annotated[int, typer.Option(min=2, help="Items of each sampler.")] = 200,
    prefix: Annotated[int, typer.Option(min=1, help="Tokens of a prompt.")] = 10,
    shortest: Annotated[int, typer.Option(min=2, help="Tokens of an item at least, its prompt included.")] = 40,
    longest: Annotated[int, typer.Option(min=2, help="Tokens of an item at most.")] = 50,
    gold: Annotated[bool, typer.Option(help="Mix in human text.")] = True,
    per_participant: Annotated[int, typer.Option(min=1, help="Items that one person rates.")] = 10,
    ratings: Annotated[int, typer.Option(min=1, help="Ratings of each item at most.")] = 25,
    checks: Annotated[int, typer.Option(min=0, help="Checks of attention that everybody gets.")] = 1,
    participants: Annotated[int | None, typer.Option(min=0, help="Links to make; enough without it.")] = None,
    open_to_all: Annotated[bool, typer.Option("--open", help="Let everybody join who has the address.")] = False,
    title: Title = "How expected are these texts?",
    contact: Contact = "",
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: BatchSize = 64,
    quiet: Quiet = False,
) -> None:
    """Draw a rating study: the same prompts under every sampler, human text, and checks of attention.

    Example: offscript study rate offscript/news --corpus text.txt --samplers nucleus,p=0.9,top-k,k=40 --out study
    """
    from offscript._specification import split_specifications
    from offscript.cli._progress import counting
    from offscript.corpora.readers import read_corpus
    from offscript.measures.sampling.estimation import grid_of
    from offscript.models import load_model
    from offscript.studies.drawing import draw_rating_study
    from offscript.studies.store import RatingStore

    names = [name for _, name in grid_of(split_specifications(*samplers))]
    with counting("draw", samples * len(names), quiet=quiet) as progress:
        draw_rating_study(
            load_model(model, device=device),
            read_corpus(corpus),
            names,
            out,
            samples=samples,
            prefix=prefix,
            shortest=shortest,
            longest=longest,
            gold=gold,
            per_participant=per_participant,
            ratings_per_item=ratings,
            checks=checks,
            title=title,
            contact=contact,
            open_to_all=open_to_all,
            seed=seed,
            batch_size=batch_size,
            progress=progress,
        )
    store = RatingStore(out)
    wanted = store.progress()["wanted"]
    count = -(-wanted // per_participant) if participants is None else participants
    store.invite(min(count, 10_000))
    typer.echo(f"{wanted // ratings} items for {count} participants are in {out}")
    typer.echo(f"next: offscript serve --study {out}, and offscript study links {out} for the links", err=True)


@app.command()
def associations(
    out: Out,
    targets: Annotated[Path, typer.Option(help="Terms: CSV with term,domain, or tests in StereoSet's layout.")],
    writers: Annotated[int, typer.Option(min=0, help="Links for people who write tests.")] = 10,
    validators: Annotated[int, typer.Option(min=0, help="Links for people who validate them.")] = 10,
    tasks: Annotated[str, typer.Option(help="intrasentence, intersentence, or both.")] = "both",
    per_participant: Annotated[int, typer.Option(min=1, help="Tests that one person writes or validates.")] = 5,
    validations: Annotated[int, typer.Option(min=1, help="Validators of each test.")] = 5,
    agreeing: Annotated[int, typer.Option(min=1, help="How many of them must agree with the writer.")] = 3,
    title: Title = "Association tests",
    contact: Contact = "",
) -> None:
    """Set up a study in which people write association tests and others validate them.

    Example: offscript study associations --targets terms.csv --out study
    """
    from offscript.corpora.associations import TASKS
    from offscript.errors import OffscriptError
    from offscript.studies.associations import VALIDATE, WRITE, create_association_study, read_targets

    if tasks != "both" and tasks not in TASKS:
        raise OffscriptError(f"no task {tasks!r}", next=f"known: {', '.join(TASKS)}, both")
    terms = read_targets(targets)
    store = create_association_study(
        out,
        terms,
        tasks=TASKS if tasks == "both" else (tasks,),
        title=title,
        contact=contact,
        per_participant=per_participant,
        validators=validations,
        agreeing=agreeing,
        recipe={"targets": str(targets)},
    )
    store.invite(writers, WRITE)
    store.invite(validators, VALIDATE)
    typer.echo(f"{len(terms)} terms for {writers} writers and {validators} validators are in {out}")
    typer.echo(f"next: offscript serve --study {out}, and offscript study links {out} for the links", err=True)


@app.command()
def links(
    study: Study,
    address: Annotated[str, typer.Option(help="Where the study is served.")] = "http://127.0.0.1:8000",
    more: Annotated[int, typer.Option(min=0, help="Make so many new ones first.")] = 0,
    role: Annotated[str, typer.Option(help="Of the new ones: rate, write or validate.")] = "rate",
) -> None:
    """Print one link per participant, and the overview's.

    Example: offscript study links study
    """
    store = _store(study)
    if more:
        store.invite(more, role)
    base = address.rstrip("/")
    typer.echo(f"overview\t{base}/overview/{store.design.owner}")
    for code, known in store.codes():
        if not code.startswith("import:"):
            typer.echo(f"{known}\t{base}/s/{code}")


@app.command()
def export(
    study: Study,
    out: Annotated[Path, out_file("File to write: .csv or .jsonl of ratings, .json of association tests.")],
) -> None:
    """Write the ratings as item,rater,system,rating,seconds,passed, or the kept tests in StereoSet's layout.

    Example: offscript study export study --out ratings.csv
    """
    from offscript._files import write_json
    from offscript.studies.design import read_design
    from offscript.studies.export import export_ratings

    if read_design(study).kind == "associations" and out.suffix == ".json":
        document = _store(study).document()
        write_json(out, document)
        count = sum(len(tests) for tests in document["data"].values())
        typer.echo(f"{count} tests are in {out}; next: offscript measure stereotypes MODEL --data {out}")
        return
    typer.echo(f"{export_ratings(study, out)} ratings are in {out}")


@app.command("import")
def import_(
    study: Study,
    file: Annotated[Path, typer.Argument(help="Ratings, such as a crowd platform's CSV.")],
    where: Annotated[list[str], typer.Option(help="Only rows with COLUMN=VALUE.")] = [],  # noqa: B006 (typer reads it)
) -> None:
    """Add ratings that were given elsewhere to a rating study.

    Example: offscript study import study crowd.csv
    """
    from offscript.studies.export import import_ratings

    typer.echo(f"{import_ratings(study, file, where=where)} ratings are new in {study}")


@app.command()
def delete(
    study: Study, code: Annotated[str, typer.Argument(help="The participant's link, or its last part.")]
) -> None:
    """Delete a participant and everything they answered.

    Example: offscript study delete study CODE
    """
    from offscript.errors import OffscriptError

    if not _store(study).forget(code.rstrip("/").rpartition("/")[2]):
        raise OffscriptError("no participant has that code", next=f"see offscript study links {study}")
    typer.echo("deleted")


@app.command()
def status(study: Study, as_json: Json = False) -> None:
    """Say how far a study is.

    Example: offscript study status study
    """
    import json

    from offscript.cli._results import show_rows

    store = _store(study)
    if store.design.kind == "associations":
        rows = store.acceptance()
        typer.echo(json.dumps(rows)) if as_json else show_rows(rows, title=store.design.title)
        return
    progress = store.progress()
    if as_json:
        typer.echo(json.dumps(progress))
        return
    begun = f"{progress['begun']} of {progress['invited']} participants have begun"
    show_rows(progress["systems"], title=f"{begun}; {progress['ratings']} of {progress['wanted']} ratings")


@app.command()
def fit(
    study: Study,
    out: Annotated[Path, typer.Option(help="File to write the policy to, for --sampler learned,path=FILE.")],
    model: Annotated[str | None, typer.Option(help="Whose samples were rated; else the model of the study.")] = None,
    seed: Seed = 1,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Learn a temperature per step from a study's ratings.

    Example: offscript study fit study --out policy.json
    """
    import json
    import math
    from dataclasses import asdict

    from offscript.models import load_model
    from offscript.studies.design import read_design, read_items
    from offscript.studies.export import study_hash, study_ratings
    from offscript.studies.policy import MOST_DOUBTFUL, fit_policy

    name = model or str(read_design(study).recipe["model"])
    fitted = fit_policy(load_model(name, device=device), read_items(study), study_ratings(study), seed=seed)
    fitted.write(out, {"model": name, "study": study_hash(study), "seed": seed})
    if as_json:
        shown = {"policy": asdict(fitted.policy), "fixed": fitted.fixed, "expected": dict(fitted.expected)}
        typer.echo(json.dumps({**shown, "off_policy": dict(fitted.off_policy)}))
        return
    policy, off = fitted.policy, fitted.off_policy
    low, high = off["doubly_robust_ci"]
    slopes = f"{policy.by_entropy:+.2f} per deviation of entropy, {policy.by_position:+.2f} from start to end"
    typer.echo(f"best single temperature {fitted.fixed:.2f}; the policy's at mean entropy {math.exp(policy.level):.2f}")
    typer.echo(f"log temperature: {slopes}")
    typer.echo(f"expected rating {off['doubly_robust']:.2f} ({low:.2f} … {high:.2f})")
    if off["effective"] < MOST_DOUBTFUL:
        typer.echo(f"the logged texts weigh as {off['effective']:.0f}: too few to tell; rate fresh samples", err=True)
    typer.echo(f"next: offscript generate {name} --sampler learned,path={out}, and rate fresh samples", err=True)


@app.command()
def choose(
    ratings: Annotated[Path, typer.Argument(help="Ratings of settings that the same raters rated.")],
    baseline: Annotated[str | None, typer.Option(help="Compare with this system; else the mean of all.")] = None,
    rating: Annotated[str | None, typer.Option(help="Column of the rating.")] = None,
    where: Annotated[list[str], typer.Option(help="Only rows with COLUMN=VALUE.")] = [],  # noqa: B006 (typer reads it)
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Choose the best-rated setting, and say what the choice gains with raters who had no part in it.

    Example: offscript study choose ratings.csv
    """
    import json

    from offscript.corpora.ratings import read_ratings
    from offscript.studies.policy import choose_setting

    known = read_ratings(ratings, columns={"rating": rating} if rating else None, where=where)
    found = choose_setting(known.select(known.passed != 0), baseline=baseline, seed=seed)
    if as_json:
        typer.echo(json.dumps(found))
        return
    low, high = found["ci"]
    told = "more than chance" if found["beyond_chance"] else "not more than chance"
    typer.echo(f"choice: {found['choice']}")
    typer.echo(f"gain over {found['baseline']}: {found['gain']:+.2f} ({low:+.2f} … {high:+.2f}), {told}")


def _store(study: Path) -> Any:
    from offscript.studies.associations import AssociationStore
    from offscript.studies.design import read_design
    from offscript.studies.store import RatingStore

    return AssociationStore(study) if read_design(study).kind == "associations" else RatingStore(study)
