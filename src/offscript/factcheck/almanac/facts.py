"""Facts, and claims that they decide: true ones, and false ones made by putting another entity of the same type."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from offscript.errors import OffscriptError

_DEFINITE = re.compile(
    r"(?!.* and the )(United |Isle |Republic |Democratic |Palestinian |British |U\.S\. |Central African|"
    r"Netherlands$|Philippines$|Bahamas$|Maldives$|Gambia$|Comoros$|Seychelles$|Vatican$|"
    r".* Republic$|.* Islands$|.* Territor(y|ies)$)"
)

CLOSEST = 0.1  # a false number differs from the true one by at least this share
ATTEMPTS = 100
FAMOUS = ("country", "element")


@dataclass(frozen=True)
class Relation:
    """How facts of a kind are told: in `sentence` with all `{values}`, in each of `claims` with one `{value}`.

    `subject_type` and `value_type` say what may stand there; a false claim holds another value of that type. `also`
    are other ways to say it, for readers and for searching. Where `another` is given, values after the first belong to
    namesakes of the subject and are told of those, one by one.
    """

    name: str
    subject_type: str
    value_type: str
    sentence: str
    claims: tuple[str, ...]
    also: tuple[str, ...] = ()
    another: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        subject_type: str,
        value_type: str,
        sentence: str,
        *wordings: str,
        also: tuple[str, ...] = (),
        another: str = "",
    ) -> "Relation":
        """A relation whose sentence is also the first wording of its claims."""
        claims = (sentence.replace("{values}", "{value}"), *wordings)
        return cls(name, subject_type, value_type, sentence, claims, also, another)


@dataclass(frozen=True)
class Fact:
    """`values` are all there are: whatever else is put in their place makes the sentence false."""

    relation: Relation
    subject: str
    values: tuple[str, ...]
    url: str = ""

    @property
    def sentence(self) -> str:
        """The fact in words."""
        return opened(self.relation.sentence.format(subject=self.subject, values=enumerated(self.values)))

    @property
    def sentences(self) -> list[str]:
        """The fact in words, and in other words; of several values all together, and then each by itself."""
        relation, values = self.relation, self.values[:1] if self.relation.another else self.values
        together = [form.format(subject=self.subject, values=enumerated(values)) for form in _forms(relation)]
        single = [relation.claims[0].format(subject=self.subject, value=value) for value in values if relation.claims]
        return list(dict.fromkeys(map(opened, [*together, *(single if len(values) > 1 else [])])))

    @property
    def namesakes(self) -> dict[str, str]:
        """What is told of others of the same name, by their value."""
        another = self.relation.another
        told = {value: another.format(subject=self.subject, value=value) for value in self.values[1:]}
        return {value: opened(sentence) for value, sentence in told.items()} if another else {}

    def claim(self, value: str, wording: int = 0) -> str:
        """What the relation says of the subject and one value, true or not."""
        wordings = self.relation.claims
        return opened(wordings[wording % len(wordings)].format(subject=self.subject, value=value))


def _forms(relation: Relation) -> tuple[str, ...]:
    return (relation.sentence, *relation.also)


def merged(facts: Iterable[Fact]) -> list[Fact]:
    """The facts with those of one relation and one subject told as one."""
    together: dict[tuple[str, str], Fact] = {}
    for fact in facts:
        key = (fact.relation.name, fact.subject)
        known = together.get(key)
        values = tuple(dict.fromkeys([*(known.values if known else ()), *fact.values]))
        together[key] = Fact(fact.relation, fact.subject, values, known.url if known else fact.url)
    return list(together.values())


def enumerated(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def with_article(country: str) -> str:
    """A country's name as it stands within a sentence: `the Netherlands`, but `France`."""
    bare = country.removeprefix("The ")
    return f"the {bare}" if bare != country or _DEFINITE.match(bare) else bare


def opened(sentence: str) -> str:
    """The sentence with a capital in front."""
    return sentence[:1].upper() + sentence[1:]


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
