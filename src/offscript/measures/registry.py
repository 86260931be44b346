"""Every question that can be asked: those that come with the package, and those that plug-ins register."""

from typing import Any, TypeVar

from offscript._plugins import Registry
from offscript.measures.question import Question

QUESTIONS: Registry[type[Question[Any]]] = Registry(
    "question",
    "offscript.questions",
    {
        "likelihood": "offscript.measures.likelihood:Likelihood",
        "exposure": "offscript.measures.exposure:Exposure",
        "regret": "offscript.measures.regret:Regret",
        "recovery": "offscript.measures.recovery:Recovery",
        "sampling": "offscript.measures.sampling:Sampling",
        "quality": "offscript.measures.quality:Quality",
        "diversity": "offscript.measures.diversity:Diversity",
        "approximation": "offscript.measures.approximation:Approximation",
        "stereotypes": "offscript.measures.stereotypes:Stereotypes",
        "associations": "offscript.measures.associations:Associations",
        "factuality": "offscript.measures.factuality:Factuality",
        "retrieval": "offscript.measures.retrieval:Retrieval",
        "stance": "offscript.measures.stance:Stance",
        "verdicts": "offscript.measures.verdicts:Verdicts",
        "tagging": "offscript.measures.tagging:Tagging",
        "samples": "offscript.measures.samples:Samples",
        "deviations": "offscript.measures.exposure:Deviations",
    },
)
"""In the order of the page; samples stand last."""

_LAST = "samples"
Kind = TypeVar("Kind", bound=type[Question[Any]])


def register(kind: Kind) -> Kind:
    """Make a question known under its name; use it as a decorator of the class."""
    QUESTIONS.register(kind.name, kind)
    return kind


def questions() -> dict[str, Question[Any]]:
    """Every question by name, in the order of the page; hidden ones are left out."""
    names = [*(name for name in QUESTIONS if name != _LAST), _LAST]
    return {name: kind() for name in names if not (kind := QUESTIONS[name]).hidden}


def question(name: str) -> Question[Any]:
    """The question of that name.

    Args:
        name: as `offscript ls measures` lists it.

    Returns:
        The question; an unknown name is refused with the nearest one.
    """
    return QUESTIONS.find(name)()
