"""`offscript measure quality` and `diversity`: score a file of sentences, whatever wrote them."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from offscript.cli._options import Json, Limit

Samples = Annotated[
    str, typer.Argument(help="Sentences, one a line (or JSONL, .gz, .xz, .zst); blank lines do not count.")
]
References = Annotated[list[str], typer.Option("--references", help="Real sentences to compare with, one a line.")]
Tokenizer = Annotated[str, typer.Option("--tokenizer", help="whitespace, nltk, characters or hub:NAME.")]
Order = Annotated[int, typer.Option("--order", min=1, max=5, help="The highest order of n-grams.")]


def quality(
    samples: Samples,
    references: References,
    tokenizer: Tokenizer = "whitespace",
    order: Order = 5,
    limit: Limit = None,
    as_json: Json = False,
) -> None:
    """Corpus-BLEU of generated sentences against references."""
    from offscript.cli._results import show
    from offscript.measures.quality import measure_quality

    generated, origin = _tokens([samples], tokenizer, limit)
    real, source = _tokens(references, tokenizer, limit)
    recipe = {"samples": origin, "references_from": source}
    found = measure_quality(generated, real, tokenization=tokenizer, highest_order=order, recipe=recipe)
    show(found, as_json=as_json, title=f"{samples} against {', '.join(references)}")


def diversity(
    samples: Samples,
    tokenizer: Tokenizer = "whitespace",
    order: Order = 5,
    limit: Limit = None,
    as_json: Json = False,
) -> None:
    """Self-BLEU, n-gram entropy, distinct-n, repetition and Zipf coefficient of generated sentences."""
    from offscript.cli._results import show
    from offscript.measures.diversity import measure_diversity

    generated, origin = _tokens([samples], tokenizer, limit)
    found = measure_diversity(generated, tokenization=tokenizer, highest_order=order, recipe={"samples": origin})
    show(found, as_json=as_json, title=samples)


def _tokens(sources: list[str], tokenizer: str, limit: int | None) -> tuple[Any, list[dict[str, str]]]:
    """Sentences as tokens, and where they came from, with the hash of each file."""
    from offscript._files import sha256_of
    from offscript.corpora import read_corpus
    from offscript.measures.tokenizers import tokenize

    cut = tokenize(islice(read_corpus(sources), limit), tokenizer)
    origin = [{"name": name, **({"sha256": sha256_of(Path(name))} if Path(name).is_file() else {})} for name in sources]
    return cut, origin
