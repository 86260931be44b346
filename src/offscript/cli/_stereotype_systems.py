"""What the Context Association Test can judge from the command line: models, prediction files and baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offscript._specification import nearest
from offscript.errors import OffscriptError

if TYPE_CHECKING:
    from offscript.corpora.associations import AssociationTest
    from offscript.measures.stereotypes import Judgements
    from offscript.models.language_model import LanguageModel
    from offscript.models.masked import MaskedLanguageModel

BASELINES = ("ideal", "stereotyped", "random", "sentiment")


@dataclass(frozen=True)
class Request:
    """What every system is asked, and with what means."""

    tests: "Sequence[AssociationTest]"
    head: Path | None
    lexicon: Path | None
    seed: int
    device: str
    batch_size: int
    quiet: bool


@dataclass(frozen=True)
class System:
    """What was judged, how it judged, its scores where it gives any, and how they were made."""

    name: str
    judgements: "Judgements"
    scores: Mapping[str, float] | None
    recipe: dict[str, Any]


def model_system(request: Request, model: str, sampler: str | None = None) -> System:
    """A masked or causal model; with a head, that one scores what follows a context."""
    from offscript.cli._progress import counting
    from offscript.measures.stereotypes import judge
    from offscript.models.masked import MaskedLanguageModel, names_masked_model
    from offscript.models.registry import load_model

    load = MaskedLanguageModel.load if names_masked_model(model) else load_model
    loaded: MaskedLanguageModel | LanguageModel = load(model, device=request.device)
    with counting("stereotypes", 3 * len(request.tests), quiet=request.quiet) as progress:
        shared: dict[str, Any] = {"batch_size": request.batch_size, "progress": progress}
        scores = _by_likelihood(request, loaded, sampler, shared)
        if request.head is not None:
            scores |= _by_head(request, request.head, loaded, shared)
    head = None if request.head is None else str(request.head)
    recipe = {"model": loaded.name, "weights": loaded.weight_hash, "sampler": sampler, "head": head}
    return System(loaded.name, judge(request.tests, scores), scores, recipe)


def predicted_system(request: Request, files: Sequence[str], weights: str) -> System:
    """Scores that were written down; those of several systems are added up, equally or as the weights say."""
    from offscript.corpora.associations import read_predictions
    from offscript.measures.stereotypes import judge, weighted_ensemble

    shares = _numbers(weights) if weights else [1 / len(files)] * len(files)
    systems = [read_predictions(file) for file in files]
    scores = systems[0] if len(files) == 1 else weighted_ensemble(systems, shares)
    recipe = {"predictions": list(files), "weights": shares}
    return System(" + ".join(files), judge(request.tests, scores), scores, recipe)


def baseline_system(request: Request, name: str) -> System:
    """One of the chapter's four baselines."""
    import numpy

    from offscript.corpora.wordlists import read_sentiment_words
    from offscript.measures import stereotypes

    if name not in BASELINES:
        raise OffscriptError(f"there is no baseline {name!r}", next=nearest(name, BASELINES))
    recipe = {
        "baseline": name,
        "seed": request.seed,
        "lexicon": None if request.lexicon is None else str(request.lexicon),
    }
    if name == "ideal":
        return System(name, stereotypes.ideal_judgements(request.tests), None, recipe)
    if name == "stereotyped":
        scores = stereotypes.stereotyped_scores(request.tests)
    elif name == "random":
        scores = stereotypes.random_scores(request.tests, generator=numpy.random.default_rng(request.seed))
    elif request.lexicon is None:
        raise OffscriptError("the sentiment baseline needs words", next="give --lexicon FOLDER")
    else:
        scores = stereotypes.sentiment_scores(request.tests, read_sentiment_words(request.lexicon))
    return System(name, stereotypes.judge(request.tests, scores), scores, recipe)


def _by_likelihood(
    request: Request, model: "MaskedLanguageModel | LanguageModel", sampler: str | None, shared: dict[str, Any]
) -> dict[str, float]:
    from offscript.measures.stereotypes import score_with_causal_model, score_with_masked_model
    from offscript.models.masked import MaskedLanguageModel
    from offscript.sampling.transforms import parse_transform

    tests = [test for test in request.tests if request.head is None or test.task == "intrasentence"]
    if not isinstance(model, MaskedLanguageModel):
        transform = None if sampler is None else parse_transform(sampler)
        return score_with_causal_model(model, tests, transform=transform, seed=request.seed, **shared)
    if sampler is not None:
        raise OffscriptError(f"{model.name} generates no text", why="it is a masked model", next="leave --sampler out")
    return score_with_masked_model(model, tests, **shared)


def _by_head(
    request: Request, head: Path, model: "MaskedLanguageModel | LanguageModel", shared: dict[str, Any]
) -> dict[str, float]:
    from offscript.measures.stereotypes import score_with_next_sentence_head
    from offscript.models.masked import MaskedLanguageModel
    from offscript.models.next_sentence import MaskedPairs, encoder_from, load_head

    encoder = MaskedPairs(model) if isinstance(model, MaskedLanguageModel) else encoder_from(model)
    return score_with_next_sentence_head(load_head(head, encoder), request.tests, **shared)


def _numbers(listed: str) -> list[float]:
    try:
        return [float(part) for part in listed.split(",")]
    except ValueError as fault:
        raise OffscriptError(f"the weights {listed!r}", why=str(fault), next="write e.g. 0.5,0.3,0.2") from fault
