"""Rule-made pairs: denials, other numbers, bounds, opposites, reported speech, swapped subjects; in both directions."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from offscript.factcheck.inference.examples import LABELS, Example
from offscript.factcheck.inference.opposites import opposites

SUPPORTS, REFUTES, NEITHER = range(len(LABELS))
FLIPPED = (REFUTES, SUPPORTS, NEITHER)
SWAPPED = 0.15  # of the examples get another subject
REPORTED = 0.25  # of the others are reported, left open or denied where that rule applies
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

_WORD = re.compile(r"[a-z]+")
_YEAR = re.compile(r"1[5-9]\d\d|20[0-3]\d")
_BOUNDED = re.compile(
    r"(?:than|least|most|over|under|about|before|after|since|until|exactly|only|to|and|-|from|between)\s*$", re.I
)
_LOWERED = frozenset(
    [
        "the",
        "a",
        "an",
        "it",
        "he",
        "she",
        "they",
        "his",
        "her",
        "its",
        "their",
        "this",
        "these",
        "those",
        "there",
        "in",
        "on",
        "at",
        "during",
        "after",
        "before",
        "some",
        "most",
        "many",
    ]
)
TOLD = ("According to the report, {}", "It is well known that {}", "Officials confirmed that {}", "In fact, {}")
OPEN = (
    "It is unclear whether {}",
    "Nobody knows whether {}",
    "Some people believed that {}",
    "It was never shown that {}",
    "There were rumours that {}",
)
DENIED = ("It is not true that {}", "It is false that {}", "It is a myth that {}", "It is not the case that {}")

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


def bounded_number(example: Example, random: np.random.Generator) -> Example | None:
    """A number of a supported claim and its evidence as a bound: `before 1995` for 1990, `over 200` for 240."""
    shared = _shared_number(example)
    if example.label != SUPPORTS or shared is None:
        return None
    found = next(each for each in _NUMBER.finditer(example.claim) if each[0] == shared)
    before, after = example.claim[: found.start()], example.claim[found.end() :]
    value, year = float(shared.replace(",", "")), bool(_YEAR.fullmatch(shared))
    if _BOUNDED.search(before) or (year and not before.endswith(" in ")) or value < 2:
        return None
    true, above = bool(random.random() < 0.5), bool(random.random() < 0.5)
    distance = float(random.integers(1, 40)) if year else max(1.0, value * float(random.uniform(0.1, 0.7)))
    other = value - distance if true == above else value + distance
    bound = f"{round(other)}" if year or "," not in shared else f"{round(other):,}"
    if year:
        words, before = ("after" if above else "before"), before[:-3]
        claim = f"{before}{words} {bound}{after}"
    else:
        options = ("more than", "over", "at least") if above else ("fewer than", "under", "at most")
        claim = f"{before}{options[int(random.integers(3))]} {bound}{after}"
    label = SUPPORTS if true else REFUTES
    return example._replace(claim=claim, label=label, source=f"{example.source}+number")


def opposite(example: Example, random: np.random.Generator) -> Example | None:
    """A shared word turned into its opposite: in claim or evidence alone refuted, in both still supported."""
    if example.label != SUPPORTS:
        return None
    evidence = " ".join(example.evidence).lower()
    words = [
        word for word in _WORD.findall(example.claim) if word in opposites() and re.search(rf"\b{word}\b", evidence)
    ]
    if not words:
        return None
    word = words[int(random.integers(len(words)))]
    others = opposites()[word]
    other = others[int(random.integers(len(others)))]
    pattern, choice = re.compile(rf"\b{word}\b", re.IGNORECASE), random.random()
    claim = pattern.sub(other, example.claim) if choice < 0.7 else example.claim
    texts = example.evidence if choice < 0.4 else tuple(pattern.sub(other, text) for text in example.evidence)
    label = SUPPORTS if 0.4 <= choice < 0.7 else REFUTES
    return example._replace(claim=claim, evidence=texts, label=label, source=f"{example.source}+opposite")


def reported(example: Example, random: np.random.Generator) -> Example | None:
    """What one sentence says, confirmed, left open or denied: only what is confirmed settles a claim as it did."""
    if len(example.evidence) != 1 or example.label == NEITHER or not example.evidence[0].endswith("."):
        return None
    text = example.evidence[0]
    if text.count(". ") or ": " in text or len(text) > 200:
        return None
    first = text.split()[0]
    text = text[0].lower() + text[1:] if first.lower() in _LOWERED else text
    frames, label = (
        (TOLD, example.label),
        (OPEN, NEITHER),
        (DENIED, REFUTES if example.label == SUPPORTS else NEITHER),
    )[int(random.integers(3))]
    if label == NEITHER and frames is DENIED:  # the denial of what refutes a claim settles nothing for sure
        return None
    frame = frames[int(random.integers(len(frames)))]
    return example._replace(evidence=(frame.format(text),), label=label, source=f"{example.source}+reported")


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
    numbers = (other_number_in_claim, other_number_in_evidence, other_number_in_both, bounded_number, bounded_number)
    for example in examples:
        rare: list[Augmentation] = [numbers[int(random.integers(len(numbers)))], opposite]
        usual: list[Augmentation] = [reported, negated] if random.random() < REPORTED else [negated]
        rules = [*rare, *usual] if random.random() < 0.7 else [*usual, *rare]
        if random.random() < SWAPPED:
            rules = [lambda example, random: other_subject(example, random, subjects)]
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
