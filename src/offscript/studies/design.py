"""How a study is run and what it shows, as files that a person can read."""

import json
import secrets
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from offscript._files import write_json, write_text
from offscript.corpora.lines import Lines
from offscript.corpora.records import FilledText, Schema, read_json, read_records
from offscript.errors import OffscriptError

DESIGN, ITEMS, DATABASE, LINKS = "study.json", "items.jsonl", "study.sqlite", "links.txt"
GOLD = "gold"
CHECK = "check"
"""The system of items that only find out whether a participant reads them."""


class Anchor(NamedTuple):
    """A point of the scale in words."""

    value: int
    name: str
    about: str


ANCHORS = (
    Anchor(0, "Invalid", "Not a valid completion. Contains some incorrect logic or grammar."),
    Anchor(1, "Confusing", "This completion is confusing and you would be surprised to see this in a news article."),
    Anchor(
        2,
        "Unspecific",
        "This is a normal completion, but lacks a level of specificity that you would normally expect.",
    ),
    Anchor(3, "Average", "Not surprised to see this, but would not appear as often in an expected article."),
    Anchor(4, "Expected", "You often expect to see something like this in a news article."),
    Anchor(5, "Very expected", "You would see this sentence in a news article."),
)
"""The thesis's scale (Figures A-2 and A-3)."""


class StudyDesign(Schema):
    """How a study is run: `study.json`."""

    noun: ClassVar[str] = "a study"
    hint: ClassVar[str] = "make one with `offscript study rate` or `offscript study associations`"

    kind: Literal["rating", "associations"]
    title: FilledText
    owner: FilledText
    """The secret part of the address of the overview."""
    contact: str = ""
    open: bool = False
    """Whether anybody who knows the address may join."""
    per_participant: int = Field(10, ge=1)
    ratings_per_item: int = Field(25, ge=1)
    """For associations, the validators of each test."""
    checks: int = Field(1, ge=0)
    agreeing: int = Field(3, ge=1)
    seed: int = 1
    recipe: dict[str, Any] = Field(default_factory=dict)


class StudyItem(Schema):
    """One thing to be rated: a line of `items.jsonl`."""

    noun: ClassVar[str] = "an item of a study"

    item: FilledText
    system: FilledText
    prompt: str = ""
    text: str
    log_prob: float | None = None
    answer: int | None = None
    """The only right rating, for a check of attention."""
    tokens: list[int] = Field(default_factory=list)
    prefix: int = 0
    log_probs: list[float] = Field(default_factory=list)
    entropies: list[float] = Field(default_factory=list)
    ranks: list[int] = Field(default_factory=list)

    @property
    def completion(self) -> str:
        """The text after its prompt."""
        return self.text[len(self.prompt) :] if self.text.startswith(self.prompt) else self.text


def read_design(folder: Path | str) -> StudyDesign:
    """The design of a study.

    Args:
        folder: The study's.

    Returns:
        How it is run.
    """
    path = Path(folder) / DESIGN
    return read_json(path, StudyDesign, hint="name the folder of a study, such as `offscript study rate` writes")


def read_items(folder: Path | str) -> list[StudyItem]:
    """The items of a study, checks of attention included.

    Args:
        folder: The study's.

    Returns:
        All items, in the order of the file.
    """
    return list(read_records(Lines(Path(folder) / ITEMS), StudyItem, unique="item"))


def write_study(folder: Path, design: StudyDesign, items: list[StudyItem]) -> None:
    """A new study; one that is there already is not touched."""
    if (folder / DESIGN).exists() or (folder / DATABASE).exists():
        raise OffscriptError(f"{folder} holds a study", next="name another --out, or delete the folder")
    lines = (json.dumps(item.model_dump(exclude_defaults=True), ensure_ascii=False) for item in items)
    write_text(folder / ITEMS, "".join(f"{line}\n" for line in lines))
    write_json(folder / DESIGN, design.model_dump())


def new_secret() -> str:
    """Letters and digits that nobody guesses: 120 bits."""
    return secrets.token_urlsafe(15).replace("-", "x").replace("_", "y")
