"""A stance model, shipped or trained by a recipe, as an experiment asks for it."""

from dataclasses import replace
from typing import Any

from offscript._files import cache_folder
from offscript.factcheck.stance.pairs import read_pairs, sampled
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.teaching import stance_recipe, train_stance
from offscript.measures.measurement import Measurement
from offscript.measures.stance import judge, measure_stance


def stance_scores(
    *, seed: int, test: str, pairs: int | None = None, model: str | None = None, **recipe: Any
) -> list[Measurement]:
    """Scores on (a random part of) `test` of a model by name, or of one that the rest of the settings teach.

    Trained models are kept in the cache under their recipe's hash; a run that was killed goes on.
    """
    taught = model is None
    if model is None:
        checked = stance_recipe({**recipe, "seed": seed})
        model = str(train_stance(checked, cache_folder() / "stance" / checked.digest).folder)
    read = read_pairs(test)
    chosen = replace(read, pairs=tuple(sampled(read.pairs, pairs, seed)))
    described = {"training": recipe} if taught else {"model": model}
    return measure_stance(
        judge(stance_model(model), chosen), recipe={**described, "data": read.name, "pairs": pairs}, seed=seed
    )
