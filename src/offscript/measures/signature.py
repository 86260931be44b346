"""A figure's signature: one short line that says what made it, as sacrebleu has for scores.

    offscript:1.4.0|q:exposure.eb_c.js|m:3f2a|d:91bc|s:1|n:500|l:50|r:5d07b3c2

The version, the figure, the beginnings of the hashes of weights and data, the seed, the items, the length, and the
beginning of the hash of the whole recipe, by which `offscript reproduce SIGNATURE` finds it again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from offscript import __version__
from offscript.measures.measurement import Measurement, figure_name

_SHORT, _RECIPE = 4, 8
_SIGNATURE = re.compile(
    r"offscript:(?P<version>[^|\s]+)\|q:(?P<figure>.+?)(?:\|[mdsnl]:[^|\s]*)*\|r:(?P<recipe>[0-9a-f]+)"
)


@dataclass(frozen=True)
class Signature:
    """What finds a figure again: its name `QUESTION.NAME`, and the beginning of its recipe's hash."""

    version: str
    figure: str
    recipe: str

    def fits(self, entry: Measurement) -> bool:
        """Whether it is the signature of this figure."""
        return self.figure == f"{entry.question}.{entry.name}" and entry.recipe_hash.startswith(self.recipe)


def signature(entry: Measurement) -> str:
    """The signature of a figure; parts that its recipe does not have are left out.

    Args:
        entry: The figure.

    Returns:
        One line without blanks but those of the figure's name.
    """
    recipe = entry.recipe
    parts = {
        "offscript": _of(recipe.get("versions"), "offscript") or __version__,
        "q": f"{entry.question}.{entry.name}",
        "m": str(recipe.get("weights") or _of(recipe.get("model"), "weights") or "")[:_SHORT],
        "d": str(_of(recipe.get("data"), "hash") or "")[:_SHORT],
        "s": "" if entry.seed is None else str(entry.seed),
        "n": str(entry.n),
        "l": str(recipe.get("length") or ""),
        "r": entry.recipe_hash[:_RECIPE],
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items() if value)


def parse_signature(text: str) -> Signature | None:
    """The signature in a text, such as a line copied from a page; None where there is none.

    Args:
        text: What was copied.

    Returns:
        The first signature.
    """
    found = _SIGNATURE.search(text)
    return None if found is None else Signature(found["version"], figure_name(found["figure"]), found["recipe"])


def _of(part: Any, key: str) -> Any:
    return part.get(key) if isinstance(part, Mapping) else None
