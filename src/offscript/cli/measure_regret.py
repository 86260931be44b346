"""`offscript measure regret`: how far is a model's own text from its oracle's?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offscript.cli._options import BatchSize, Device, Json, Model, Quiet, Seed
from offscript.cli._pair import Exact, Length, Plan, Plot, Samples, check_wishes, chosen_length, report

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.models.language_model import LanguageModel


def regret(
    model: Model,
    oracle: Annotated[str, typer.Option(help="The model that stands for the truth.")],
    samples: Samples = 1000,
    length: Length = None,
    exact: Exact = False,
    show: Annotated[int, typer.Option(help="Also show so many sentences, from the worst to the best Q.")] = 0,
    plot: Plot = None,
    plan: Plan = None,
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: BatchSize = 256,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Exposure bias as regret, Q = KL(p‖o), a token and a sequence; the oracle's NLL; accumulated errors."""
    from offscript.cli._progress import counting
    from offscript.cli._results import show_rows
    from offscript.measures.regret import measure_regret, measure_regret_exactly
    from offscript.models import load_model

    check_wishes(plot, plan)
    loaded, truth = load_model(model, device=device), load_model(oracle, device=device)
    tokens = chosen_length(loaded, length)
    if exact:
        found = measure_regret_exactly(loaded, truth, length=tokens)
    else:
        with counting("regret", 4 * samples, quiet=quiet) as progress:
            found = measure_regret(
                loaded, truth, samples=samples, length=tokens, seed=seed, batch_size=batch_size, progress=progress
            )
    shown = [] if exact or show < 1 else _sentences(loaded, found, tokens, seed, show)
    extra = {"sentences": shown} if shown else {}
    report(found, as_json=as_json, title=f"{loaded.name} against {truth.name}", plot=plot, plan=plan, **extra)
    if shown and not as_json:
        show_rows(shown)


def _sentences(
    model: "LanguageModel", found: Sequence["Measurement"], length: int, seed: int, count: int
) -> list[dict[str, Any]]:
    """Samples evenly spread from the highest to the lowest Q of their own tokens (Table 5)."""
    import numpy

    from offscript.sampling import generate, texts

    [q] = [entry.per_item for entry in found if entry.name == "q_per_token_sampled"]
    assert q is not None
    order = numpy.argsort(-q)
    chosen = order[numpy.linspace(0, len(q) - 1, min(count, len(q))).astype(int)]
    rows = []
    for row in chosen.tolist():
        drawn = generate(model, 1, length, seed=seed, first_row=row)
        rows.append({"Q": round(float(q[row]), 4), "text": next(texts(model, drawn))})
    return rows
