"""Claims that the almanac can judge: true ones, and false ones made by putting another entity of the same type."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offscript.errors import OffscriptError
from offscript.factcheck.almanac.facts import Fact

CLOSEST = 0.1  # a false number differs from the true one by at least this share
ATTEMPTS = 100
FAMOUS = ("country", "element")


@dataclass(frozen=True)
class AlmanacClaim:
    """A claim, whether it is true, and the fact that decides it."""

    text: str
    true: bool
    fact: Fact


@dataclass(frozen=True)
class Prompt:
    """The beginning of a claim up to its value: what a language model says next makes it true or false."""

    text: str
    fact: Fact


def draw_claims(facts: Sequence[Fact], count: int, *, seed: int) -> list[AlmanacClaim]:
    """Claims of relations in equal parts, in turn true and false; what is put in is a value of the same relation."""
    generator = np.random.default_rng(seed)
    by_relation = _by_relation(facts)
    if not by_relation:
        raise OffscriptError("no fact to make a claim of", next="give facts whose relation has a wording for claims")
    names = list(by_relation)
    claims = []
    for number in range(count):
        told = by_relation[names[int(generator.integers(len(names)))]]
        fact = told[int(generator.integers(len(told)))]
        true = number % 2 == 0
        value = fact.values[int(generator.integers(len(fact.values)))] if true else _other(fact, told, generator)
        claims.append(AlmanacClaim(fact.claim(value, int(generator.integers(8))), true, fact))
    return claims


def prompts(facts: Sequence[Fact], *, seed: int) -> list[Prompt]:
    """The beginning of every claim about a country or an element whose value comes last, in an order by the seed.

    Cities and counties are left out: there are too many that nobody has heard of.
    """
    asked = [
        fact for fact in facts if fact.relation.subject_type in FAMOUS and fact.relation.claims and _ends_in_value(fact)
    ]
    order = np.random.default_rng(seed).permutation(len(asked))
    return [Prompt(fact.claim("\0").partition("\0")[0].rstrip(), fact) for fact in (asked[place] for place in order)]


def _by_relation(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.relation.claims:
            found.setdefault(fact.relation.name, []).append(fact)
    return found


def _ends_in_value(fact: Fact) -> bool:
    return fact.relation.claims[0].endswith(" {value}.")


def _other(fact: Fact, told: Sequence[Fact], generator: np.random.Generator) -> str:
    """A value of the relation that is not the subject's, nor nearly."""
    for _ in range(ATTEMPTS):
        values = told[int(generator.integers(len(told)))].values
        value = values[int(generator.integers(len(values)))]
        if value != fact.subject and not any(_same(value, own, fact.relation.value_type) for own in fact.values):
            return value
    raise OffscriptError(f"nothing else stands where {fact.sentence!r} has its value", next="give more facts")


def _same(one: str, other: str, value_type: str) -> bool:
    if value_type != "number":
        return one == other
    first, second = (float(value.replace(",", "")) for value in (one, other))
    return abs(first - second) <= CLOSEST * abs(second)
