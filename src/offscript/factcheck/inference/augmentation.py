"""Rule-made pairs: negated claims, changed numbers and swapped subjects, in both directions."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from offscript.factcheck.inference.examples import LABELS, Example

SUPPORTS, REFUTES, NEITHER = range(len(LABELS))
FLIPPED = (REFUTES, SUPPORTS, NEITHER)
SWAPPED = 0.15  # of the examples get another subject
_AUXILIARY = re.compile(r"\b(is|was|are|were|has been|have been|had been|can|will|could|would|should|did|does|do)\b")
_NEGATED = re.compile(r"\b(is|was|are|were|has|have|had|can|will|could|would|should|did|does|do) not ")
_PAST = re.compile(
    r"\b(starred|appeared|played|won|lost|married|founded|released|directed|wrote|published|joined|received|moved|"
    r"died|lived|worked|made|became|produced|began|ended|attended|graduated|performed|signed|served)\b"
)
_BASE = {
    **{
        f"{verb}ed": verb for verb in ("appear", "play", "found", "join", "work", "attend", "perform", "sign", "direct")
    },
    **{f"{verb}d": verb for verb in ("release", "receive", "die", "live", "produce", "graduate", "move", "serve")},
    "starred": "star",
    "married": "marry",
    "published": "publish",
    "ended": "end",
    "won": "win",
    "lost": "lose",
    "wrote": "write",
    "made": "make",
    "became": "become",
    "began": "begin",
}
_UNSURE = re.compile(r"\b(only|solely|exclusively|never|no|not|n't|yet|any|all|every|or)\b|n't", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?![\w.,-]*\d)")
_SUBJECT = re.compile(r"(?:[A-Z][\w.'’-]*)(?: (?:of |the |and )?[A-Z][\w.'’-]*)*")

Augmentation = Callable[[Example, np.random.Generator], Example | None]


def negated(example: Example, random: np.random.Generator) -> Example | None:
    """The claim with `not` put in or taken out: what supported it refutes it, and the other way round."""
    del random
    claim = negated_claim(example.claim)
    if claim is None:
        return None
    return example._replace(claim=claim, label=FLIPPED[example.label], source=f"{example.source}+negation")


def negated_claim(claim: str) -> str | None:
    """The claim's denial, or nothing where the rule is not safe."""
    if found := _NEGATED.search(claim):
        return claim[: found.end(1)] + claim[found.end() - 1 :] if found[1] in ("is", "was", "are", "were") else None
    if _UNSURE.search(claim):
        return None
    if found := _AUXILIARY.search(claim):
        first, _, been = found[0].partition(" ")
        return f"{claim[: found.start()]}{first} not{' ' if been else ''}{been}{claim[found.end() :]}"
    if found := _PAST.search(claim):
        return f"{claim[: found.start()]}did not {_BASE[found[0]]}{claim[found.end() :]}"
    return None


def other_number_in_claim(example: Example, random: np.random.Generator) -> Example | None:
    """A supported claim with another number than the evidence has: refuted."""
    shared = _shared_number(example)
    if example.label != SUPPORTS or shared is None:
        return None
    claim = _replaced(example.claim, shared, other_number(shared, random))
    return example._replace(claim=claim, label=REFUTES, source=f"{example.source}+number")


def other_number_in_evidence(example: Example, random: np.random.Generator) -> Example | None:
    """Evidence with another number than a supported claim has: refuted."""
    shared = _shared_number(example)
    if example.label != SUPPORTS or shared is None:
        return None
    other = other_number(shared, random)
    evidence = tuple(_replaced(text, shared, other) for text in example.evidence)
    return example._replace(evidence=evidence, label=REFUTES, source=f"{example.source}+number")


def other_number_in_both(example: Example, random: np.random.Generator) -> Example | None:
    """A number that claim and evidence share, changed in both: still supported."""
    shared = _shared_number(example)
    if example.label != SUPPORTS or shared is None:
        return None
    other = other_number(shared, random)
    evidence = tuple(_replaced(text, shared, other) for text in example.evidence)
    claim = _replaced(example.claim, shared, other)
    return example._replace(claim=claim, evidence=evidence, source=f"{example.source}+number")


def other_subject(example: Example, random: np.random.Generator, subjects: Sequence[str]) -> Example | None:
    """The claim said of somebody or something else: the evidence does not settle it."""
    found = _SUBJECT.match(example.claim)
    if found is None or not any(found[0] in text for text in example.evidence):
        return None
    other = subjects[int(random.integers(len(subjects)))]
    if other == found[0] or any(other in text for text in example.evidence):
        return None
    return example._replace(
        claim=other + example.claim[found.end() :], label=NEITHER, source=f"{example.source}+subject"
    )


def augmented(examples: Iterable[Example], *, seed: int) -> Iterator[Example]:
    """One rule-made example for each of the given ones that a rule applies to, rules taken in turn at random."""
    examples = list(examples)
    random = np.random.default_rng(seed)
    subjects = sorted({found[0] for each in examples if (found := _SUBJECT.match(each.claim)) and len(found[0]) > 3})
    numbers: list[Augmentation] = [other_number_in_claim, other_number_in_evidence, other_number_in_both]
    for example in examples:
        rules: list[Augmentation] = [numbers[int(random.integers(len(numbers)))], negated]
        if random.random() < SWAPPED:
            rules = [lambda example, random: other_subject(example, random, subjects)]
        elif random.random() < 0.5:
            rules.reverse()
        made = next((made for rule in rules if (made := rule(example, random))), None)
        if made is not None:
            yield made


def other_number(number: str, random: np.random.Generator) -> str:
    """A number of the same form: a year some years away, else one digit more or less, or a few more or less."""
    if re.fullmatch(r"1[5-9]\d\d|20[0-3]\d", number):
        return str(int(number) + int(random.choice([-1, 1])) * int(random.integers(1, 30)))
    value = float(number.replace(",", ""))
    if value >= 1000 or (value and random.random() < 0.4):
        value = value * float(random.choice([0.1, 0.5, 2, 3, 10]))
    else:
        value = value + float(random.integers(1, max(int(value), 3)))
    decimals = len(number.partition(".")[2])
    text = f"{value:,.{decimals}f}" if "," in number else f"{value:.{decimals}f}"
    return text if text != number else str(int(value) + 1)


def _shared_number(example: Example) -> str | None:
    """A number of the claim that the evidence has too."""
    evidence = {number for text in example.evidence for number in _NUMBER.findall(text)}
    return next((number for number in _NUMBER.findall(example.claim) if number in evidence), None)


def _replaced(text: str, old: str, new: str) -> str:
    return _NUMBER.sub(lambda found: new if found[0] == old else found[0], text)
