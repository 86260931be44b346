"""`offscript measure exposure`: is a model further from the data on its own histories than on the data's?"""

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from offscript.cli._options import BatchSize, Device, Json, Limit, Model, Quiet, Seed
from offscript.cli._pair import Exact, Length, Plan, Plot, Samples, check_wishes, chosen_length, report

if TYPE_CHECKING:
    from torch import Tensor

    from offscript.models.language_model import LanguageModel


def exposure(
    model: Model,
    oracle: Annotated[str | None, typer.Option(help="The model that stands for the data; gives EB-C.")] = None,
    corpus: Annotated[list[str] | None, typer.Option(help="Sentences of the data; alone they give EB-M.")] = None,
    samples: Samples = 1000,
    length: Length = None,
    distances: Annotated[str, typer.Option(help="Of tv, js, gd, kl, kl_reverse, hellinger.")] = "tv,js,gd",
    history: Annotated[
        list[str] | None, typer.Option(help="Also after: corrupted,rate=0.1 · shuffled · random (may be repeated).")
    ] = None,
    coupled: Annotated[bool, typer.Option(help="Draw model and data histories with the same random numbers.")] = True,
    exact: Exact = False,
    plot: Plot = None,
    plan: Plan = None,
    limit: Limit = None,
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: BatchSize = 256,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Exposure bias at every history length: EB-M and, against an oracle, EB-C."""
    from offscript.cli._progress import counting
    from offscript.errors import OffscriptError
    from offscript.measures.exposure import measure_exposure, measure_exposure_exactly
    from offscript.models import load_model

    check_wishes(plot, plan)
    loaded = load_model(model, device=device)
    truth = None if oracle is None else load_model(oracle, device=device)
    tokens, names = chosen_length(loaded, length), [name.strip() for name in distances.split(",") if name.strip()]
    title = f"{loaded.name} against {oracle or ', '.join(corpus or ['nothing'])}"
    if exact:
        if truth is None or corpus or history:
            raise OffscriptError(
                "--exact takes an oracle and neither a corpus nor histories", next="give --oracle MODEL"
            )
        found = measure_exposure_exactly(loaded, truth, length=tokens, distances=names)
    else:
        data = None if not corpus else _rows(loaded, corpus, tokens, limit)
        wished = samples if data is None else min(samples, len(data))
        passes = 3 + (data is None) + len(history or ())
        with counting("exposure", passes * wished, quiet=quiet) as progress:
            found = measure_exposure(
                loaded, truth, samples=wished, length=tokens, seed=seed, distances=names, data=data,
                histories=history or (), coupled=coupled, batch_size=batch_size, progress=progress,
            )  # fmt: skip
    report(found, as_json=as_json, title=title, plot=plot, plan=plan)


def _rows(model: "LanguageModel", corpus: list[str], length: int, limit: int | None) -> "Tensor":
    from offscript.corpora import read_corpus
    from offscript.measures.exposure import sentences_as_rows

    return sentences_as_rows(islice(read_corpus(corpus), limit), model.vocabulary, length)
