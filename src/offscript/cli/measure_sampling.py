"""`offscript measure sampling`: which decoding setting, at what price in diversity."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offscript.cli._options import BatchSize, Device, Json, Limit, Model, Quiet, Seed

if TYPE_CHECKING:
    from offscript.measures.sampling import Comparison, Sweep
    from offscript.models.language_model import LanguageModel

DEFAULT = "top-k nucleus tempered max-entropy random-top-k random-mask target-entropy noised-top-k"


def sampling(
    model: Model,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Text for prefixes and references; or give --oracle.")
    ] = None,
    oracle: Annotated[str | None, typer.Option(help="Draw prefixes and references from this model instead.")] = None,
    samplers: Annotated[str, typer.Option(help="Names (their whole grid) or settings, with blanks between.")] = DEFAULT,
    samples: Annotated[int, typer.Option(min=2, help="Prefixes to continue, and references at most.")] = 1000,
    prefix: Annotated[int, typer.Option(min=1, help="Tokens of a prefix.")] = 10,
    length: Annotated[int, typer.Option(min=2, help="Tokens of a sequence, its prefix included.")] = 50,
    order: Annotated[int, typer.Option(min=1, max=5, help="Order of BLEU.")] = 4,
    plot: Annotated[Path | None, typer.Option(help="Write the curves to .html, .svg or .png.")] = None,
    limit: Limit = None,
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: BatchSize = 512,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sweep sampling algorithms: corpus-BLEU over self-BLEU, which algorithms are on par, samples at one diversity."""
    from offscript.cli._progress import counting
    from offscript.cli._results import show, show_rows
    from offscript.measures.sampling import grid_of, prefixes_and_references, sweep_samplers
    from offscript.models import load_model
    from offscript.report.charts.trade_off import trade_off_chart
    from offscript.report.vega import save_chart

    chosen = samplers.split()
    loaded = load_model(model, device=device)
    sentences = _sentences(loaded, corpus, oracle, samples, length, seed, limit, device)
    prefixes, references = prefixes_and_references(sentences, prefix=prefix, samples=samples, length=length)
    with counting("sampling", len(prefixes) * len(grid_of(chosen)), quiet=quiet) as progress:
        sweep = sweep_samplers(
            loaded, prefixes, references, samplers=chosen, length=length, seed=seed, order=order,
            batch_size=batch_size, progress=progress,
        )  # fmt: skip
    compared = [_as_row(each) for each in _comparisons(sweep, seed)]
    shown = _samples(sweep, loaded)
    if plot is not None:
        save_chart(trade_off_chart(sweep.measurements()), plot)
    show(
        sweep.measurements(),
        as_json=as_json,
        title=f"{loaded.name}: {len(prefixes)} prefixes",
        comparisons=compared,
        samples=shown,
    )
    if not as_json:
        show_rows(compared)
        show_rows(shown)


def _sentences(
    model: "LanguageModel",
    corpus: list[str] | None,
    oracle: str | None,
    samples: int,
    length: int,
    seed: int,
    limit: int | None,
    device: str,
) -> list[list[int]]:
    from itertools import islice

    from offscript.corpora import read_corpus
    from offscript.errors import OffscriptError
    from offscript.models import load_model
    from offscript.models.language_model import require_same_vocabulary
    from offscript.sampling import generate

    if corpus:
        return [model.vocabulary.encode(text) for text in islice(read_corpus(corpus), limit)]
    if oracle is None:
        raise OffscriptError("no text to continue", next="give --corpus FILE or --oracle MODEL")
    source = load_model(oracle, device=device)
    require_same_vocabulary(model, source)
    drawn = generate(source, 3 * samples, length, seed=(seed, 1))
    return [row[:size] for row, size in zip(drawn.tokens.tolist(), drawn.lengths.tolist(), strict=True)]


def _comparisons(sweep: "Sweep", seed: int) -> list["Comparison"]:
    """Every algorithm against the first, where both have a curve and the curves meet."""
    import numpy

    from offscript.errors import OffscriptError
    from offscript.measures.sampling import compare_algorithms

    found = []
    first, *others = sweep.algorithms
    for other in others:
        try:
            found.append(compare_algorithms(sweep, other, first, generator=numpy.random.default_rng(seed)))
        except OffscriptError as fault:
            typer.echo(f"offscript: {fault}", err=True)
    return found


def _as_row(compared: "Comparison") -> dict[str, Any]:
    bounds = compared.difference.interval
    return {
        "algorithm": compared.first,
        "against": compared.second,
        "BLEU at matched diversity": f"{compared.difference.value:+.4f}",
        "interval": f"{bounds.lower:+.4f} … {bounds.upper:+.4f}",
        "on par": "yes" if compared.on_par else "no",
    }


def _samples(sweep: "Sweep", model: "LanguageModel") -> list[dict[str, Any]]:
    """One continuation of the first prefix by each algorithm, at the middle of the diversities (Table 5.1)."""
    import statistics

    from offscript.measures.sampling import at_diversity
    from offscript.sampling import texts

    middle = statistics.median(float(setting.diversity.mean()) for setting in sweep.settings)
    return [
        {"sampler": setting.sampler, "text": next(texts(model, setting.generated))}
        for setting in at_diversity(sweep, middle).values()
    ]
