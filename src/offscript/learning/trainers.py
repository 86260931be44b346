"""Which trainer a recipe asks for by its `algorithm`: all that `offscript train` knows about kinds of training.

A trainer is two functions, one that checks a recipe and one that runs it, and it is registered in one line: in
`TRAINERS` of the catalogue, in the entry point group `offscript.trainers`, or from a plug-in::

    TRAINERS.register("inference", Trainer(inference_recipe, train_inference))
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offscript._catalogue import LANGUAGE_MODEL, TRAINERS


class Trained(ABC):
    """What a run leaves behind: a folder, how long it took, and the figures to show."""

    folder: Path
    seconds: float

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """What `--json` prints."""

    @abstractmethod
    def __str__(self) -> str:
        """The same in one line for people."""


@dataclass(frozen=True)
class Trainer:
    """Checks recipes of one sort and runs them.

    Attributes:
        recipe: From the content of a YAML file and the name of its place, which refusals begin with, to a recipe. A
            recipe has a `name`.
        train: From a recipe and a folder to what was trained; resumes from the folder's checkpoint where there is one.
            It takes the keywords `device`, `observer`, `checkpoint_seconds` and `half`.
    """

    recipe: Callable[[dict[str, Any], str], Any]
    train: Callable[..., Trained]


def find_trainer(content: Mapping[str, Any]) -> Trainer:
    """The trainer that a recipe's `algorithm` asks for.

    Args:
        content: The recipe before it is checked.

    Returns:
        The trainer registered under that name; language models by default.
    """
    algorithm = str(content.get("algorithm"))
    trainer: Trainer = TRAINERS[algorithm if algorithm in TRAINERS else LANGUAGE_MODEL]
    return trainer
