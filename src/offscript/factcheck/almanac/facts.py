"""Facts: a subject, a relation, and every value for which the relation holds."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_DEFINITE = re.compile(
    r"(?!.* and the )(United |Isle |Republic |Democratic |Palestinian |British |U\.S\. |Central African|"
    r"Netherlands$|Philippines$|Bahamas$|Maldives$|Gambia$|Comoros$|Seychelles$|Vatican$|"
    r".* Republic$|.* Islands$|.* Territor(y|ies)$)"
)


@dataclass(frozen=True)
class Relation:
    """How facts of a kind are told: in `sentence` with all `{values}`, in each of `claims` with one `{value}`.

    `subject_type` and `value_type` say what may stand there; a false claim holds another value of that type.
    """

    name: str
    subject_type: str
    value_type: str
    sentence: str
    claims: tuple[str, ...]


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

    def claim(self, value: str, wording: int = 0) -> str:
        """What the relation says of the subject and one value, true or not."""
        wordings = self.relation.claims
        return opened(wordings[wording % len(wordings)].format(subject=self.subject, value=value))


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
