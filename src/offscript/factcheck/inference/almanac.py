"""Examples from the almanac in free wording: claims about half of its subjects, with sentences that settle them or not.

The other half is for measuring.
"""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from offscript.factcheck.almanac import AlmanacClaim, almanac_facts, draw_claims
from offscript.factcheck.almanac.facts import Fact, opened
from offscript.factcheck.inference.augmentation import negated
from offscript.factcheck.inference.examples import LABELS, Example

SUPPORTS, REFUTES, NEITHER = range(len(LABELS))
SOURCE = "almanac"
WORDINGS: dict[str, tuple[str, ...]] = {
    "capital": ("{subject}'s capital is {value}.", "{value} is the capital city of {subject}."),
    "continent": ("{subject} is part of {value}.", "{subject} is a country in {value}."),
    "borders": ("{subject} and {value} have a common border.", "{value} is a neighbour of {subject}."),
    "currency": ("{subject} uses the {value}.", "People in {subject} pay with the {value}."),
    "official-language": ("{value} is an official language in {subject}.", "People in {subject} speak {value}."),
    "population": ("{value} people live in {subject}.", "{subject} is home to {value} people."),
    "area": ("{subject} covers {value} square kilometres.",),
    "domain": ("Web addresses from {subject} end in {value}.",),
    "city-country": ("The city of {subject} is in {value}.", "{subject} belongs to {value}."),
    "city-population": ("{subject} has {value} inhabitants.", "{value} people live in {subject}."),
    "symbol": ("{value} stands for {subject} in the periodic table.",),
    "atomic-number": ("{subject} has the atomic number {value}.", "An atom of {subject} has {value} protons."),
    "discoverer": ("{value} discovered {subject}.",),
    "discovery-year": ("The discovery of {subject} was in {value}.",),
}
"""Ways to say a fact that the almanac's own claims do not use."""

OWN_WORDING, DENIED, SETTLED, ACCOMPANIED = 0.4, 0.15, 0.7, 0.3


def almanac_examples(count: int, *, seed: int, facts: Sequence[Fact] | None = None) -> Iterator[Example]:
    """`count` claims, half of them false, each with what settles it, or with other sentences of the almanac.

    Args:
        count: Examples.
        seed: Decides all draws.
        facts: In the place of the almanac's own.
    """
    random = np.random.default_rng(seed)
    own = [fact for fact in facts or almanac_facts() if zlib.crc32(fact.subject.encode()) % 2 == 0]
    by_subject: dict[str, list[Fact]] = {}
    by_relation: dict[str, list[Fact]] = {}
    for fact in own:
        by_subject.setdefault(fact.subject, []).append(fact)
        by_relation.setdefault(fact.relation.name, []).append(fact)
    for claim in draw_claims(own, count, seed=seed):
        near = [fact.sentence for fact in by_subject[claim.fact.subject] if fact != claim.fact]
        others = by_relation[claim.fact.relation.name]
        far = [others[int(place)] for place in random.integers(len(others), size=2)]
        strangers = [fact.sentence for fact in far if fact.subject != claim.fact.subject]
        example = _example(claim, [*near, *strangers], random)
        if example is not None:
            yield example


def _example(claim: AlmanacClaim, others: Sequence[str], random: np.random.Generator) -> Example | None:
    text = claim.text if random.random() < OWN_WORDING else _reworded(claim, random)
    settled = random.random() < SETTLED
    label = (SUPPORTS if claim.true else REFUTES) if settled else NEITHER
    extra = random.random() < ACCOMPANIED
    chosen = [others[place] for place in random.permutation(len(others))[: int(extra) if settled else 1 + int(extra)]]
    evidence = [*chosen, claim.fact.sentence] if settled else chosen
    if not evidence:
        return None
    order = random.permutation(len(evidence))
    example = Example(text, tuple(evidence[place] for place in order), label, SOURCE)
    denied = negated(example, random) if random.random() < DENIED else None
    return denied or example


def _reworded(claim: AlmanacClaim, random: np.random.Generator) -> str:
    """The claim in a wording of this module; as it is where there is none for its relation."""
    fact = claim.fact
    wordings = WORDINGS.get(fact.relation.name, ())
    value = next((value for value in _values_in(claim) if value), "")
    if not wordings or not value:
        return claim.text
    wording = wordings[int(random.integers(len(wordings)))]
    return opened(wording.format(subject=fact.subject, value=value))


def _values_in(claim: AlmanacClaim) -> Iterator[str]:
    """The value that the claim names: what is left of its text when a wording of the relation is taken away."""
    for wording in claim.fact.relation.claims:
        before, _, after = opened(wording.format(subject=claim.fact.subject, value="\0")).partition("\0")
        lowered = claim.text.lower()
        if lowered.startswith(before.lower()) and lowered.endswith(after.lower()):
            yield claim.text[len(before) : len(claim.text) - len(after)]
