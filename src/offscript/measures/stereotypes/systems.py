"""What the Context Association Test can judge: models, prediction files and baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from offscript._specification import nearest
from offscript.corpora.associations import AssociationTest, read_predictions
from offscript.corpora.wordlists import read_sentiment_words
from offscript.errors import OffscriptError
from offscript.measures.question import Progress
from offscript.measures.stereotypes import BASELINES, FIGURES, StereotypeSettings, baselines
from offscript.measures.stereotypes.causal import score_with_causal_model
from offscript.measures.stereotypes.comparison import compare
from offscript.measures.stereotypes.judgements import Judgements, judge
from offscript.measures.stereotypes.masked import score_with_masked_model
from offscript.measures.stereotypes.next_sentence import score_with_next_sentence_head
from offscript.measures.stereotypes.scores import score_terms
from offscript.measures.stereotypes.sentiment import classifier_scores, trained_on_reviews
from offscript.models.hub import MaskedLanguageModel, names_masked_model
from offscript.models.language_model import LanguageModel
from offscript.models.next_sentence import MaskedPairs, encoder_from, load_head
from offscript.models.registry import load_model
from offscript.sampling.transforms import parse_transform

if TYPE_CHECKING:
    from offscript.measures.subject import Subject

Tests = Sequence[AssociationTest]


@dataclass(frozen=True)
class System:
    """What was tested, how it judged, its scores where it gives any, and how they were made."""

    name: str
    judgements: Judgements
    scores: Mapping[str, float] | None
    recipe: dict[str, Any]


def first_system(subject: "Subject", settings: StereotypeSettings, tests: Tests, progress: Progress) -> System:
    """The one system that is named: a model, predictions or a baseline."""
    if sum(map(bool, (subject.has_model, settings.predictions, settings.baseline))) != 1:
        raise OffscriptError("give exactly one of MODEL, --predictions and --baseline")
    if subject.has_model:
        return _model_system(subject, settings, tests, progress, sampler=settings.sampler)
    if settings.sampler is not None:
        raise OffscriptError("a sampler needs a model", next="name the MODEL whose text it would generate")
    if settings.predictions:
        return _predicted_system(settings.predictions, settings.weights, tests)
    return _baseline_system(str(settings.baseline), settings, tests, subject.seed)


def second_system(subject: "Subject", settings: StereotypeSettings, tests: Tests, progress: Progress) -> System | None:
    """What the first is compared with: another system, or the model itself where a sampler cuts the first."""
    if settings.against is not None or (settings.sampler is not None and subject.has_model):
        return _model_system(subject, settings, tests, progress, other=settings.against)
    if settings.against_predictions is None:
        return None
    return _predicted_system([settings.against_predictions], "", tests)


def score_rows(judgements: Judgements, seed: int) -> list[dict[str, Any]]:
    """Every term with its scores, the most stereotyped of a domain first."""
    rows = []
    for (domain, term), scores in score_terms(judgements, seed=seed).items():
        figures = {name: getattr(scores, name) for name in FIGURES}
        bounds = {name: [figure.interval.lower, figure.interval.upper] for name, figure in figures.items()}
        values = {name: figure.value for name, figure in figures.items()}
        rows.append({"domain": domain, "term": term, **values, "ci": bounds, "tests": scores.tests})
    return sorted(rows, key=lambda row: (row["domain"], -row["ss"], row["term"]))


def differences(first: System, second: System, seed: int) -> dict[str, Any]:
    """First less second, in pairs of terms."""
    compared = compare(first.judgements, second.judgements, seed=seed)
    rows = []
    for name in FIGURES:
        figure = getattr(compared, name)
        bounds = [figure.interval.lower, figure.interval.upper]
        rows.append({"figure": name, "difference": figure.value, "ci": bounds, "p_value": figure.p_value})
    sampler = first.recipe.get("sampler")
    return {"first": f"{first.name} {sampler}" if sampler else first.name, "second": second.name, "differences": rows}


def _model_system(
    subject: "Subject",
    settings: StereotypeSettings,
    tests: Tests,
    progress: Progress,
    *,
    other: str | None = None,
    sampler: str | None = None,
) -> System:
    """A masked or causal model; with a head, that one scores what follows a context."""
    model = _load(subject, other)
    shared: dict[str, Any] = {"batch_size": subject.rows_at_once(32), "progress": progress.start(3 * len(tests))}
    scores = _by_likelihood(model, settings, tests, sampler, subject.seed, shared)
    if settings.head is not None:
        encoder = MaskedPairs(model) if isinstance(model, MaskedLanguageModel) else encoder_from(model)
        scores |= score_with_next_sentence_head(load_head(settings.head, encoder), tests, **shared)
    head = None if settings.head is None else str(settings.head)
    recipe = {"model": model.name, "weights": model.weight_hash, "sampler": sampler, "head": head}
    return System(model.name, judge(tests, scores), scores, recipe)


def _load(subject: "Subject", other: str | None) -> MaskedLanguageModel | LanguageModel:
    name = other or subject.model_string
    if name is not None and names_masked_model(name):
        return MaskedLanguageModel.load(name, device=subject.device)
    return subject.model if other is None else load_model(other, device=subject.device)


def _by_likelihood(
    model: MaskedLanguageModel | LanguageModel,
    settings: StereotypeSettings,
    tests: Tests,
    sampler: str | None,
    seed: int,
    shared: dict[str, Any],
) -> dict[str, float]:
    chosen = [test for test in tests if settings.head is None or test.task == "intrasentence"]
    if not isinstance(model, MaskedLanguageModel):
        transform = None if sampler is None else parse_transform(sampler)
        return score_with_causal_model(model, chosen, transform=transform, seed=seed, **shared)
    if sampler is not None:
        raise OffscriptError(f"{model.name} generates no text", why="it is a masked model", next="leave --sampler out")
    return score_with_masked_model(model, chosen, **shared)


def _predicted_system(files: Sequence[str], weights: str, tests: Tests) -> System:
    """Scores that were written down; those of several systems are added up, equally or as the weights say."""
    shares = _numbers(weights) if weights else [1 / len(files)] * len(files)
    systems = [read_predictions(file) for file in files]
    scores = systems[0] if len(files) == 1 else baselines.weighted_ensemble(systems, shares)
    recipe = {"predictions": list(files), "weights": shares}
    return System(" + ".join(files), judge(tests, scores), scores, recipe)


def _baseline_system(name: str, settings: StereotypeSettings, tests: Tests, seed: int) -> System:
    """One of the chapter's four baselines."""
    if name not in BASELINES:
        raise OffscriptError(f"there is no baseline {name!r}", next=nearest(name, BASELINES))
    lexicon = None if settings.lexicon is None else str(settings.lexicon)
    reviews = {} if settings.reviews is None else {"reviews": str(settings.reviews)}
    recipe = {"baseline": name, "seed": seed, "lexicon": lexicon, **reviews}
    if name == "ideal":
        return System(name, baselines.ideal_judgements(tests), None, recipe)
    if name == "stereotyped":
        scores = baselines.stereotyped_scores(tests)
    elif name == "random":
        scores = baselines.random_scores(tests, generator=np.random.default_rng(seed))
    elif settings.reviews is not None:
        scores = classifier_scores(tests, trained_on_reviews(settings.reviews))
    elif settings.lexicon is None:
        raise OffscriptError("the sentiment baseline knows no words", next="give --reviews FOLDER or --lexicon FOLDER")
    else:
        scores = baselines.sentiment_scores(tests, read_sentiment_words(settings.lexicon))
    return System(name, judge(tests, scores), scores, recipe)


def _numbers(listed: str) -> list[float]:
    try:
        return [float(part) for part in listed.split(",")]
    except ValueError as fault:
        raise OffscriptError(
            f"cannot read the weights {listed!r}", why=str(fault), next="write e.g. 0.5,0.3,0.2"
        ) from fault
