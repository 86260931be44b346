"""Every question that can be asked: those that come with the package, and those that plug-ins register."""

from typing import Any, TypeVar

from offscript._catalogue import QUESTIONS
from offscript.measures.question import Question

_LAST = "samples"
Kind = TypeVar("Kind", bound=type[Question[Any]])


def register(kind: Kind) -> Kind:
    """Make a question known under its name.

    Args:
        kind: a subclass of `Question`; use this function as its decorator.

    Returns:
        The class, unchanged.
    """
    QUESTIONS.register(kind.name, kind)
    return kind


def questions() -> dict[str, Question[Any]]:
    """Every question by name, in the order of the page; hidden ones are left out.

    Returns:
        The question objects, those of plug-ins included.
    """
    names = [*(name for name in QUESTIONS if name != _LAST), _LAST]
    return {name: kind() for name in names if not (kind := QUESTIONS[name]).hidden}


def question(name: str) -> Question[Any]:
    """The question of that name.

    Args:
        name: as `offscript ls measures` lists it.

    Returns:
        The question; an unknown name is refused with the nearest one.
    """
    found: Question[Any] = QUESTIONS.find(name)()
    return found
