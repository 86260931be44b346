"""People and films, from first sentences of Wikipedia articles (CC BY-SA 3.0; `tools/extract_people.py` reads them)."""

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from offscript.factcheck.almanac.facts import Fact, Relation

WIKIPEDIA = Path(__file__).parents[2] / "assets" / "almanac" / "wikipedia.jsonl.xz"
URL = "https://en.wikipedia.org/wiki/{}"

BORN = Relation.of("born", "person", "date", "{subject} was born on {values}.", "The birthday of {subject} is {value}.")
DIED = Relation.of("died", "person", "date", "{subject} died on {values}.", "The death of {subject} was on {value}.")
OCCUPATION = Relation("occupation", "person", "occupation", "{subject} is {values}.", ())
FORMER_OCCUPATION = Relation("former-occupation", "person", "occupation", "{subject} was {values}.", ())
FULL_NAME = Relation("full-name", "person", "name", "The full name of {subject} is {values}.", ())
RELEASED = Relation.of(
    "film-year", "film", "year", "The film {subject} was released in {values}.", "{subject} is a film from {value}."
)
DIRECTOR = Relation.of(
    "film-director",
    "film",
    "person",
    "The film {subject} was directed by {values}.",
    "{value} directed the film {subject}.",
)
GENRE = Relation("film-genre", "film", "genre", "{subject} is a film: it is known as a {values}.", ())


def people() -> Iterator[Fact]:
    """Every fact of every person and every film."""
    for line in lzma.decompress(WIKIPEDIA.read_bytes()).decode().splitlines():
        record = json.loads(line)
        for relation, value in _of_person(record) if record["kind"] == "person" else _of_film(record):
            if value:
                yield Fact(relation, record["name"], (value,), URL.format(quote(record["name"].replace(" ", "_"))))


def _of_person(record: dict[str, str]) -> Iterator[tuple[Relation, str]]:
    yield BORN, record["born"]
    yield DIED, record["died"]
    yield FORMER_OCCUPATION if record["died"] else OCCUPATION, record["what"]
    yield FULL_NAME, record["full"] if record["full"] != record["name"] else ""


def _of_film(record: dict[str, str]) -> Iterator[tuple[Relation, str]]:
    yield RELEASED, record["year"]
    yield DIRECTOR, record["director"]
    yield GENRE, record["what"]
