"""`offscript measure QUESTION`: one question, one model."""

import typer

from offscript.cli import (
    measure_approximation,
    measure_associations,
    measure_exposure,
    measure_likelihood,
    measure_recovery,
    measure_regret,
    measure_retrieval,
    measure_sampling,
    measure_stance,
    measure_stereotypes,
    measure_tagging,
    measure_text,
    measure_verdicts,
)

app = typer.Typer(help="Measure one thing about a model; every figure has an interval.", no_args_is_help=True)
app.command("likelihood")(measure_likelihood.likelihood)
app.command("approximation")(measure_approximation.approximation)
app.command("exposure")(measure_exposure.exposure)
app.command("regret")(measure_regret.regret)
app.command("recovery")(measure_recovery.recovery)
app.command("sampling")(measure_sampling.sampling)
app.command("stance")(measure_stance.stance)
app.command("stereotypes")(measure_stereotypes.stereotypes)
app.command("associations")(measure_associations.associations)
app.command("quality")(measure_text.quality)
app.command("diversity")(measure_text.diversity)
app.command("retrieval")(measure_retrieval.retrieval)
app.command("tagging")(measure_tagging.tagging)
app.command("verdicts")(measure_verdicts.verdicts)
