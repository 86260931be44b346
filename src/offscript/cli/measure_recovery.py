"""`offscript measure recovery`: how well does a model go on after a bad prefix?"""

from itertools import islice
from typing import Annotated, Any

import typer

from offscript.cli._options import BatchSize, Device, Json, Limit, Model, Quiet, Seed
from offscript.cli._pair import Length, Plan, Plot, Samples, check_wishes, chosen_length, report


def recovery(
    model: Model,
    oracle: Annotated[
        str | None, typer.Option(help="The model that judges, and gives data where no corpus does.")
    ] = None,
    corpus: Annotated[list[str] | None, typer.Option(help="Sentences of the data, for prefixes and reference.")] = None,
    samples: Samples = 1000,
    length: Length = None,
    prefix: Annotated[int, typer.Option(help="Tokens of a prefix.")] = 10,
    sources: Annotated[
        str, typer.Option(help="Of model, data, shuffled, random, unrelated.")
    ] = "model,data,shuffled,random",
    show: Annotated[int, typer.Option(help="Continuations to show of each source.")] = 3,
    plot: Plot = None,
    plan: Plan = None,
    limit: Limit = None,
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: BatchSize = 256,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Self-recovery: quality of continuations by distance from good and bad prefixes, and the texts side by side."""
    from offscript.cli._progress import counting
    from offscript.cli._results import show_rows
    from offscript.corpora import read_corpus
    from offscript.measures.exposure import sentences_as_rows
    from offscript.measures.recovery import continuations, measure_recovery, side_by_side
    from offscript.models import load_model

    check_wishes(plot, plan)
    loaded = load_model(model, device=device)
    truth = None if oracle is None else load_model(oracle, device=device)
    tokens, chosen = chosen_length(loaded, length), [name.strip() for name in sources.split(",") if name.strip()]
    data = None
    if corpus:
        data = sentences_as_rows(islice(read_corpus(corpus), limit), loaded.vocabulary, tokens)
        samples = min(samples, len(data) // 2)
    asked: dict[str, Any] = {"length": tokens, "prefix": prefix, "seed": seed, "data": data, "sources": chosen}
    with counting("recovery", (2 * len(chosen) + 3) * samples, quiet=quiet) as progress:
        found = measure_recovery(loaded, truth, samples=samples, batch_size=batch_size, progress=progress, **asked)
    shown = []
    if show > 0:
        drawn = continuations(loaded, truth, samples=max(2, min(show, samples)), **asked)
        shown = side_by_side(loaded, drawn, prefix)[:show]
    title = f"{loaded.name} after prefixes of {prefix} tokens"
    report(found, as_json=as_json, title=title, plot=plot, plan=plan, continuations=shown)
    if shown and not as_json:
        show_rows(shown)
