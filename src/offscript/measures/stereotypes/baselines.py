"""Systems that are no language models (§4.5.3), and the linear combination of several that are (§4.7)."""

from collections.abc import Mapping, Sequence

import numpy as np

from offscript.corpora.associations import AssociationTest
from offscript.corpora.wordlists import SentimentWords, words_of
from offscript.errors import OffscriptError
from offscript.measures.stereotypes.judgements import Judgements


def ideal_judgements(tests: Sequence[AssociationTest]) -> Judgements:
    """IdealLM: meaning always beats nonsense, and the stereotype beats the anti-stereotype in half of all cases."""
    count = len(tests)
    untied, none = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int64)
    return Judgements(tuple(tests), np.full(count, 0.5), np.full(count, 2), untied, none)


def stereotyped_scores(tests: Sequence[AssociationTest]) -> dict[str, float]:
    """StereotypedLM: the stereotype before the anti-stereotype before the unrelated sentence."""
    ranks = (2.0, 1.0, 0.0)
    return {association.id: rank for test in tests for association, rank in zip(test.associations, ranks, strict=True)}


def random_scores(tests: Sequence[AssociationTest], *, generator: np.random.Generator) -> dict[str, float]:
    """RandomLM: every sentence gets a uniform number."""
    names = [association.id for test in tests for association in test.associations]
    return dict(zip(names, generator.random(len(names)).tolist(), strict=True))


def sentiment_scores(tests: Sequence[AssociationTest], words: SentimentWords) -> dict[str, float]:
    """SentimentLM: the more negative sentence is taken for the more likely one; here by counting words of a lexicon."""
    return {
        association.id: -words.polarity(words_of(association.sentence))
        for test in tests
        for association in test.associations
    }


def weighted_ensemble(systems: Sequence[Mapping[str, float]], weights: Sequence[float]) -> dict[str, float]:
    """The linear combination of the systems' scores for the sentences that all of them scored."""
    if not systems or len(systems) != len(weights):
        raise OffscriptError(
            f"cannot combine {len(systems)} systems and {len(weights)} weights", next="give one weight per system"
        )
    if not np.isfinite(weights).all():
        raise OffscriptError(f"cannot use the weights {list(weights)}", why="one is not a finite number")
    shared = [name for name in systems[0] if all(name in system for system in systems)]
    return {
        name: sum(weight * system[name] for weight, system in zip(weights, systems, strict=True)) for name in shared
    }
