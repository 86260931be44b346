"""`offscript measure associations`: the data of the Context Association Test described (Tables 4.1 to 4.3)."""

from pathlib import Path
from typing import Annotated, Any

import typer

from offscript.cli._options import Json
from offscript.cli.measure_stereotypes import Data, Lexicon


def associations(
    data: Data,
    lexicon: Lexicon = None,
    frequencies: Annotated[
        Path | None, typer.Option(help="General word frequencies: a word and its count a line.")
    ] = None,
    corpus: Annotated[list[str] | None, typer.Option(help="Text to count general word frequencies in instead.")] = None,
    as_json: Json = False,
) -> None:
    """Counts and lengths; with --lexicon sentiment; with --frequencies or --corpus the keywords of each domain."""
    import json
    from dataclasses import asdict

    from offscript.cli._results import show_rows
    from offscript.corpora import read_corpus
    from offscript.corpora.associations import read_association_tests
    from offscript.corpora.wordlists import count_words, read_frequencies, read_sentiment_words
    from offscript.measures.stereotypes import describe_tests, keywords, sentiment_table

    tests = read_association_tests(data)
    tables: dict[str, list[dict[str, Any]]] = {
        "counts": [{"tests of": name, **asdict(counts)} for name, counts in describe_tests(tests).items()]
    }
    if lexicon is not None:
        shares = sentiment_table(tests, read_sentiment_words(lexicon))
        tables["sentiment"] = [{"label": label, "negative": asdict(share)} for label, share in shares.items()]
    if frequencies is not None or corpus:
        general = read_frequencies(frequencies) if frequencies is not None else count_words(read_corpus(corpus or []))
        found = keywords(tests, general)
        tables["keywords"] = [{"domain": domain, **asdict(word)} for domain, words in found.items() for word in words]
    if as_json:
        typer.echo(json.dumps(tables, ensure_ascii=False))
        return
    for rows in tables.values():
        show_rows([{key: _shown(value) for key, value in row.items()} for row in rows])


def _shown(value: Any) -> Any:
    """A share with its interval, a number with three decimals, or the value itself."""
    if isinstance(value, dict):
        return f"{value['value']:.1%} ({value['interval']['lower']:.1%} … {value['interval']['upper']:.1%})"
    return f"{value:.3f}" if isinstance(value, float) else value
