"""`offscript measure likelihood`: how well a model predicts a text."""

from itertools import islice
from typing import Annotated

import typer

from offscript.cli._options import BatchSize, Device, Json, Limit, Model, Quiet


def likelihood(
    model: Model,
    corpus: Annotated[
        list[str], typer.Option("--corpus", help="Text, JSONL, WikiText or CSV file, or hf:NAME[:CONFIG].")
    ],
    format: Annotated[str, typer.Option(help="auto, text, jsonl, wikitext or csv.")] = "auto",
    field: Annotated[str, typer.Option(help="The JSON field or CSV column that holds the text.")] = "text",
    longest: Annotated[int | None, typer.Option(min=1, help="Cut sentences to so many tokens.")] = None,
    limit: Limit = None,
    device: Device = "cpu",
    batch_size: BatchSize = 64,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Negative log-likelihood, perplexity and bits per character of a text."""
    from offscript.cli._progress import counting
    from offscript.cli._results import show
    from offscript.corpora import read_corpus
    from offscript.measures.likelihood import encode_texts, measure_likelihood
    from offscript.models import load_model

    loaded = load_model(model, device=device)
    sentences = islice(read_corpus(corpus, format=format, field=field), limit)  # type: ignore[arg-type]
    texts = encode_texts(sentences, loaded.vocabulary, longest=longest, recipe={"corpus": corpus, "longest": longest})
    with counting("likelihood", len(texts.tokens), quiet=quiet) as progress:
        found = measure_likelihood(loaded, texts, batch_size=batch_size, progress=progress)
    show(found, as_json=as_json, title=f"{loaded.name} on {', '.join(corpus)}")
