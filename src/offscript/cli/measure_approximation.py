"""`offscript measure approximation`: a model as its draws show it, and how many draws that takes."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from offscript.cli._options import Device, Json, Limit, Model, Quiet, Seed
from offscript.cli._pair import Plot, check_wishes, report


def approximation(
    model: Model,
    corpus: Annotated[list[str], typer.Option("--corpus", help="Text that the model is to predict.")],
    draws: Annotated[int, typer.Option(min=1, help="Draws after each history.")] = 2000,
    step: Annotated[int, typer.Option(min=11, help="The error is taken at every so many draws …")] = 200,
    highest: Annotated[int, typer.Option(min=11, help="… up to so many.")] = 3000,
    subset: Annotated[int, typer.Option(min=2, help="Texts that the error is averaged over.")] = 50,
    pieces: Annotated[int | None, typer.Option(min=1, help="Cut text without lines, such as text8.")] = None,
    longest: Annotated[int | None, typer.Option(min=1, help="Cut texts to so many tokens.")] = None,
    limit: Limit = None,
    seed: Seed = 1,
    device: Device = "cpu",
    plot: Plot = None,
    as_json: Json = False,
    quiet: Quiet = False,  # noqa: ARG001 (there is no progress to be quiet about)
) -> None:
    """Approximate bits a character from draws alone, the gap to the true ones, and how many draws are needed."""
    from offscript.corpora import cut_into_pieces, read_corpus
    from offscript.measures.approximation import measure_approximation
    from offscript.measures.likelihood import encode_texts
    from offscript.models import load_model

    check_wishes(plot, None)
    loaded = load_model(model, device=device)
    sentences = read_corpus(list[str | Path](corpus))
    chosen = islice(sentences if pieces is None else cut_into_pieces(sentences, pieces), limit)
    texts = encode_texts(chosen, loaded.vocabulary, longest=longest, recipe={"corpus": corpus, "pieces": pieces})
    found = measure_approximation(loaded, texts, draws=draws, seed=seed, step=step, highest=highest, subset=subset)
    report(found, as_json=as_json, title=f"{loaded.name} by {draws} draws", plot=plot, plan=None)
