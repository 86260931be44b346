"""Made-up facts in many wordings: roles, amounts, dates, quantifiers, hedges, opposites, and who is meant.

A small encoder sees too few natural pairs in which one of these alone decides. Nothing here is about the real world, so
that only the evidence can tell.
"""

from collections.abc import Callable, Iterator

import numpy as np

from offscript.factcheck.inference.examples import LABELS, Example
from offscript.factcheck.inference.wordings import WORDINGS, doers

SUPPORTS, REFUTES, NEITHER = range(len(LABELS))

PEOPLE = [
    "Anna Berg", "Tomas Reyes", "Mira Okafor", "Leo Hartmann", "Sofia Lindqvist", "Daniel Osei", "Ruth Calloway",
    "Ivan Petrov", "Grace Mbeki", "Paul Novak", "Elena Marsh", "Omar Haddad", "Clara Jensen", "Victor Lam",
    "Nadia Rahman", "Hugo Castell", "Julia Stone", "Samir Patel", "Agnes Moreau", "Peter Quill", "Irene Falk",
    "Carlos Duarte", "Hannah Weiss", "Kofi Mensah",
]  # fmt: skip
GROUPS = [
    "Northfield United", "the Harbor Club", "Redstone FC", "the Valley Lions", "Eastgate Rovers", "the Granite Choir",
    "Bellmont Academy", "the Orchid Party", "the Lakeside Council", "Meridian Bank", "Halden Motors", "Corvus Air",
    "Brightwater Foods", "the Tallis Group", "Ostrava Steel", "the Union Theatre", "Pinecrest Hospital",
    "Solano Energy", "the Delta Press", "Quantic Labs",
]  # fmt: skip
PLACES = [
    "Marlow", "Kestrel Bay", "Dunholm", "Port Aria", "Silverton", "Velden", "Castro Alto", "Greyford", "Norwick",
    "Santa Lira", "Brambury", "Ashdale", "Lorne", "Tirana Heights", "Elmsworth", "Rivermouth", "Ostia Nova", "Hollin",
    "Karvia", "Mount Tessel",
]  # fmt: skip
THINGS = [
    "bridges", "schools", "patients", "tickets", "books", "ships", "voters", "trees", "houses", "workers", "songs",
    "paintings", "students", "museums", "samples", "letters", "cars", "medals", "films", "visitors",
]  # fmt: skip
PAST = (  # verb, participle, what the other side did
    ("defeated", "defeated", "lost to"),
    ("bought", "bought", "was sold to"),
    ("hired", "hired", "was employed by"),
    ("sued", "sued", "was taken to court by"),
    ("followed", "followed", "preceded"),
    ("taught", "taught", "was a pupil of"),
    ("criticised", "criticised", "came under fire from"),
    ("rescued", "rescued", "was saved by"),
    ("replaced", "replaced", "made way for"),
    ("invited", "invited", "was a guest of"),
    ("outlived", "outlived", "died before"),
    ("nominated", "nominated", "was put forward by"),
    ("attacked", "attacked", "came under attack from"),
    ("paid", "paid", "received money from"),
    ("succeeded", "succeeded", "was the predecessor of"),
    ("trained", "trained", "learnt the trade from"),
    ("beat", "beaten", "was defeated by"),
    ("overtook", "overtaken", "fell behind"),
    ("inspired", "inspired", "took inspiration from"),
    ("supported", "supported", "had the backing of"),
    ("raised", "raised", "grew up with"),
    ("influenced", "influenced", "was shaped by"),
    ("blamed", "blamed", "was held responsible by"),
    ("praised", "praised", "won praise from"),
)
OPPOSITES = [
    "rose/fell", "increased/decreased", "opened/closed", "expanded/shrank", "improved/worsened",
    "accelerated/slowed down", "succeeded/failed", "grew/declined", "strengthened/weakened",
    "gained ground/lost ground", "doubled/halved", "went up/went down", "climbed/dropped", "recovered/collapsed",
    "reached a record high/reached a record low", "became worse/became better", "jumped/plunged",
]  # fmt: skip
ADJECTIVES = [
    "safe/dangerous", "legal/illegal", "public/private", "full/empty", "deep/shallow", "cheap/expensive",
    "rare/common", "wet/dry", "guilty/innocent", "alive/dead", "married/unmarried", "ancient/modern",
    "effective/useless", "present/absent", "visible/invisible", "open/closed", "strong/weak", "new/old",
    "harmless/poisonous", "popular/unpopular", "large/small", "natural/artificial", "complete/unfinished",
    "allowed/forbidden", "broken/intact", "clean/polluted", "fast/slow", "hot/cold", "true/false",
]  # fmt: skip
MEASURES = [
    "the unemployment rate", "the price of bread", "attendance", "air pollution", "the water level", "output",
    "turnover", "the death toll",
]  # fmt: skip
SUBJECTS = [
    "the drug", "the old bridge", "the lake", "the treaty", "the museum", "the plant", "the tower", "the species",
    "the road", "the well",
]  # fmt: skip
EVENTS = [
    "fire", "flood", "election", "trade fair", "strike", "earthquake", "opening of the library", "peace treaty",
    "coronation", "music festival", "trial", "building of the harbour",
]  # fmt: skip
COMPARATIVES = [
    "larger/smaller", "older/younger", "richer/poorer", "warmer/colder", "higher/lower", "busier/quieter",
    "cheaper/more expensive", "safer/more dangerous", "wetter/drier", "closer to the sea/farther from the sea",
]  # fmt: skip

Random = np.random.Generator
Made = tuple[str, str, int]


def _pick(random: Random, options: list[str] | tuple[str, ...]) -> str:
    return options[int(random.integers(len(options)))]


def _two(random: Random, options: list[str]) -> tuple[str, str]:
    first, second = random.choice(len(options), 2, replace=False)
    return options[first], options[second]


def _one_of(random: Random, *made: Made) -> Made:
    return made[int(random.integers(len(made)))]


def roles(random: Random) -> Made:
    """Who did it to whom."""
    one, other = _two(random, PEOPLE if random.random() < 0.5 else GROUPS)
    verb, participle, reverse = PAST[int(random.integers(len(PAST)))]
    when = _pick(random, ("", f" in {random.integers(1950, 2020)}", " last spring", " after long talks"))
    active, passive, turned = (
        f"{one} {verb} {other}{when}.",
        f"{other} was {participle} by {one}{when}.",
        f"{other} {reverse} {one}{when}.",
    )
    evidence = _pick(random, (active, passive, turned))
    true = _pick(random, (f"{one} {verb} {other}.", f"{other} was {participle} by {one}.", f"{other} {reverse} {one}."))
    false = _pick(
        random, (f"{other} {verb} {one}.", f"{one} was {participle} by {other}.", f"{one} {reverse} {other}.")
    )
    third = _pick(random, [each for each in PEOPLE + GROUPS if each not in (one, other)])
    unsettled = f"{one} {verb} {third}."
    return _one_of(
        random, (true, evidence, SUPPORTS), (true, evidence, SUPPORTS), (false, evidence, REFUTES),
        (false, evidence, REFUTES), (unsettled, evidence, NEITHER),
    )  # fmt: skip


def amounts(random: Random) -> Made:
    """More than, fewer than, at least, exactly, about."""
    place, things = _pick(random, PLACES), _pick(random, THINGS)
    value = int(random.choice([random.integers(3, 60), random.integers(60, 999), random.integers(1, 99) * 1000]))
    written = f"{value:,}" if random.random() < 0.7 else str(value)
    evidence = _pick(
        random,
        (f"{place} has {written} {things}.", f"There are {written} {things} in {place}.",
         f"A count in {place} came to {written} {things}.", f"{written} {things} were counted in {place} that year."),
    )  # fmt: skip
    below, above = _round(value * random.uniform(0.3, 0.9)), _round(value * random.uniform(1.15, 3.0))
    other = _pick(random, [each for each in PLACES if each != place])
    pairs = [
        (f"{place} has more than {below} {things}.", SUPPORTS),
        (f"{place} has fewer than {above} {things}.", SUPPORTS),
        (f"There are at least {below} {things} in {place}.", SUPPORTS),
        (f"{place} has {written} {things}.", SUPPORTS),
        (f"{place} has more than {above} {things}.", REFUTES),
        (f"{place} has fewer than {below} {things}.", REFUTES),
        (f"There are at most {below} {things} in {place}.", REFUTES),
        (f"{place} has {above} {things}.", REFUTES),
        (f"{place} has exactly {value * 10:,} {things}.", REFUTES),
        (f"{other} has more than {below} {things}.", NEITHER),
        (f"{place} had more {things} ten years earlier.", NEITHER),
    ]
    claim, label = pairs[int(random.integers(len(pairs)))]
    return claim, evidence, label


def _round(value: float) -> str:
    size = 10 ** max(len(str(int(value))) - 2, 0)
    return f"{max(int(value // size * size), 1):,}"


def dates(random: Random) -> Made:
    """Before, after, in, since."""
    subject = _pick(
        random, (_pick(random, GROUPS), f"the {_pick(random, PLACES)} bridge", f"the {_pick(random, PLACES)} school")
    )
    verb = _pick(random, ("was founded", "was built", "opened", "was closed", "went bankrupt", "was renamed"))
    year = int(random.integers(1820, 2020))
    near, far = int(random.integers(1, 5)), int(random.integers(5, 60))
    written = _pick(random, (f"in {year}", f"in the spring of {year}", f"on 4 March {year}", f"on May 12, {year}"))
    evidence = f"{_first(subject)} {verb} {written}."
    early, late = year - _pick_int(random, near, far), year + _pick_int(random, near, far)
    other = _pick(random, GROUPS)
    pairs = [
        (f"{_first(subject)} {verb} in {year}.", SUPPORTS),
        (f"{_first(subject)} {verb} after {early}.", SUPPORTS),
        (f"{_first(subject)} {verb} before {late}.", SUPPORTS),
        (f"It was in {year} that {subject} {verb}.", SUPPORTS),
        (f"{_first(subject)} {verb} in {late}.", REFUTES),
        (f"{_first(subject)} {verb} before {early}.", REFUTES),
        (f"{_first(subject)} {verb} after {late}.", REFUTES),
        (f"{_first(subject)} {verb} in {early}.", REFUTES),
        (f"{_first(other)} {verb} in {year}.", NEITHER if other != subject else SUPPORTS),
        (f"{_first(subject)} {verb} because of money.", NEITHER),
    ]
    claim, label = pairs[int(random.integers(len(pairs)))]
    return claim, evidence, label


def _pick_int(random: Random, *options: int) -> int:
    return options[int(random.integers(len(options)))]


def _first(text: str) -> str:
    return text[0].upper() + text[1:]


def quantifiers(random: Random) -> Made:
    """All, most, some, none."""
    place, things = _pick(random, PLACES), _pick(random, THINGS)
    state = _pick(random, ("checked", "lost", "insured", "old", "registered", "damaged", "imported", "free of charge"))
    everything = _pick(
        random, (f"All {things} in {place} were {state}", f"Every one of the {things} in {place} was {state}")
    )
    nothing = _pick(random, (f"None of the {things} in {place} were {state}", f"No {things} in {place} were {state}"))
    some = _pick(random, (f"Some of the {things} in {place} were {state}", f"A few {things} in {place} were {state}"))
    most = f"Most of the {things} in {place} were {state}"
    part = f"Not all {things} in {place} were {state}"
    pairs = [
        (some, everything, SUPPORTS), (most, everything, SUPPORTS), (nothing, everything, REFUTES),
        (part, everything, REFUTES), (some, most, SUPPORTS), (everything, part, REFUTES), (nothing, most, REFUTES),
        (nothing, some, REFUTES), (everything, nothing, REFUTES), (some, nothing, REFUTES), (part, nothing, SUPPORTS),
        (everything, some, NEITHER), (most, some, NEITHER), (nothing, part, NEITHER), (some, part, NEITHER),
    ]  # fmt: skip
    claim, evidence, label = pairs[int(random.integers(len(pairs)))]
    return f"{claim}.", f"{evidence}.", label


def hedges(random: Random) -> Made:
    """What may be, what was planned, said or denied, is not yet so."""
    person, group, place = _pick(random, PEOPLE), _pick(random, GROUPS), _pick(random, PLACES)
    fact, base = _pair(
        random,
        (f"{_first(group)} closed its office in {place}", f"close its office in {place}"),
        (f"{person} joined {group}", f"join {group}"),
        (f"{person} moved to {place}", f"move to {place}"),
        (f"{_first(group)} won the contract in {place}", f"win the contract in {place}"),
        (f"{person} resigned from {group}", f"resign from {group}"),
    )
    who = person if fact.startswith(person) else _first(group)
    unsure = _pick(
        random,
        (f"{who} may {base}.", f"{who} might soon {base}.", f"{who} planned to {base}.",
         f"It is unclear whether {who} will {base}.",
         f"Rumours say that {who} could {base}.", f"{who} was asked to {base}.", f"{who} hoped to {base}."),
    )  # fmt: skip
    denied = _pick(
        random,
        (
            f"{who} did not {base}.",
            f"{who} refused to {base}.",
            f"{who} failed to {base}.",
            f"{who} never managed to {base}.",
        ),
    )
    said = _pick(random, (f"It was confirmed that {fact}.", f"{fact} in the end.", f"{who} managed to {base}."))
    negative = f"{who} did not {base}."
    return _one_of(
        random, (f"{fact}.", unsure, NEITHER), (negative, unsure, NEITHER), (f"{fact}.", denied, REFUTES),
        (negative, denied, SUPPORTS), (f"{fact}.", said, SUPPORTS), (negative, said, REFUTES),
    )  # fmt: skip


def _pair(random: Random, *options: tuple[str, str]) -> tuple[str, str]:
    return options[int(random.integers(len(options)))]


def opposites(random: Random) -> Made:
    """Rose and fell, safe and dangerous."""
    place = _pick(random, PLACES)
    other = _pick(random, [each for each in PLACES if each != place])
    moving = random.random() < 0.5
    yes, no = _pick(random, OPPOSITES if moving else ADJECTIVES).split("/")
    yes, no = (yes, no) if random.random() < 0.5 else (no, yes)
    subject = _first(_pick(random, MEASURES if moving else SUBJECTS))
    verb = "" if moving else "is "
    true, false, elsewhere = (
        f"{subject} in {where} {verb}{state}" for where, state in ((place, yes), (place, no), (other, yes))
    )
    denied = f"{subject} in {place} " + (f"did not change, it neither {yes} nor {no}" if moving else f"is not {yes}")
    added = _pick(random, ("", ", officials said", ", according to a report", " again this year"))
    return _one_of(
        random,
        (f"{true}.", f"{true}{added}.", SUPPORTS),
        (f"{true}.", f"{false}{added}.", REFUTES),
        (f"{true}.", f"{denied}{added}.", REFUTES),
        (f"{denied}.", f"{true}{added}.", REFUTES),
        (f"{true}.", f"{elsewhere}{added}.", NEITHER),
        (f"{denied}.", f"{denied}{added}.", SUPPORTS),
        (f"{denied}.", f"{false}{added}.", REFUTES if moving else SUPPORTS),
    )


def who_is_meant(random: Random) -> Made:
    """One office, two holders; one holder, two offices: what is true of one place settles nothing about another."""
    one, other = _two(random, PEOPLE)
    here, there = _two(random, PLACES)
    office = _pick(
        random, ("mayor", "chief of police", "bishop", "treasurer", "head teacher", "ambassador", "governor")
    )
    stated, turned = f"{one} is the {office} of {here}.", f"The {office} of {here} is {one}."
    aside, titled = f"{one}, {office} of {here}, spoke first.", f"{here}: The {office} is {one}."
    evidence = _pick(random, (stated, turned, aside, titled))
    return _one_of(
        random,
        (stated, evidence, SUPPORTS),
        (turned, evidence, SUPPORTS),
        (f"The {office} of {here} is {other}.", evidence, REFUTES),
        (f"{other} is the {office} of {here}.", evidence, REFUTES),
        (f"{other} is the {office} of {there}.", evidence, NEITHER),
        (f"The {office} of {there} is {one}.", evidence, NEITHER),
        (f"{one} is not the {office} of {here}.", evidence, REFUTES),
        (f"{other} is not the {office} of {here}.", evidence, SUPPORTS),
    )


def order_of_events(random: Random) -> Made:
    """What came first."""
    place, other = _two(random, PLACES)
    one, later = _two(random, EVENTS)
    one, later = f"the {one} in {place}", f"the {later} in {place}"
    early = int(random.integers(1850, 2000))
    late = early + int(random.integers(1, 20))
    evidence = _pick(
        random,
        (f"{_first(one)} took place before {later}.", f"{_first(later)} came after {one}.",
         f"{_first(one)} was in {early}, {later} in {late}.", f"{_first(one)} was followed by {later}.",
         f"{_first(later)} happened {late - early} years later than {one}."),
    )  # fmt: skip
    true = _pick(
        random,
        (f"{_first(one)} took place before {later}.", f"{_first(later)} took place after {one}.",
         f"{_first(one)} was earlier than {later}.", f"{_first(later)} followed {one}."),
    )  # fmt: skip
    false = _pick(
        random,
        (f"{_first(later)} took place before {one}.", f"{_first(one)} took place after {later}.",
         f"{_first(later)} was earlier than {one}.", f"{_first(one)} followed {later}."),
    )  # fmt: skip
    unsettled = true.replace(place, other)
    return _one_of(random, (true, evidence, SUPPORTS), (false, evidence, REFUTES), (unsettled, evidence, NEITHER))


def comparisons(random: Random) -> Made:
    """More than, less than, as much as."""
    one, other = _two(random, PLACES)
    third = _pick(random, [each for each in PLACES if each not in (one, other)])
    more, less = _pick(random, COMPARATIVES).split("/")
    evidence = _pick(random, (f"{one} is {more} than {other}.", f"{other} is {less} than {one}."))
    same = f"{one} is exactly as {_pick(random, ('old', 'big', 'rich'))} as {other}."
    true = _pick(random, (f"{one} is {more} than {other}.", f"{other} is {less} than {one}.",
                          f"{other} is not {more} than {one}."))  # fmt: skip
    false = _pick(random, (f"{other} is {more} than {one}.", f"{one} is {less} than {other}.",
                           f"{one} is not {more} than {other}."))  # fmt: skip
    return _one_of(
        random, (true, evidence, SUPPORTS), (false, evidence, REFUTES),
        (_pick(random, (true, false)).replace(other, third), evidence, NEITHER), (f"{one} is {more} than all others.",
         evidence, NEITHER), (same, same, SUPPORTS),
    )  # fmt: skip


def states_over_time(random: Random) -> Made:
    """What was so is not so any more; what will be is not so yet."""
    person, group, place = _pick(random, PEOPLE), _pick(random, GROUPS), _pick(random, PLACES)
    state = _pick(random, (f"works for {group}", f"lives in {place}", f"plays for {group}", f"owns a house in {place}"))
    base = state.replace("works", "work").replace("lives", "live").replace("plays", "play").replace("owns", "own")
    former = _pick(random, (f"{person} used to {base}, but no longer does.", f"{person} no longer {state}.",
                            f"{person} stopped being someone who {state} years ago."))  # fmt: skip
    present = _pick(random, (f"{person} still {state}.", f"{person} {state} to this day.", f"{person} now {state}."))
    future = f"{person} will {base} from next year on."
    return _one_of(
        random,
        (f"{person} {state}.", former, REFUTES),
        (f"{person} {state}.", present, SUPPORTS),
        (f"{person} no longer {state}.", former, SUPPORTS),
        (f"{person} no longer {state}.", present, REFUTES),
        (f"{person} used to {base}.", former, SUPPORTS),
        (f"{person} {state}.", f"{person} has never wanted to {base} and does not.", REFUTES),
        (f"{person} will {base}.", future, SUPPORTS),
        (f"{person} {state}.", f"{_pick(random, [each for each in PEOPLE if each != person])} {state}.", NEITHER),
    )


KINDS: tuple[Callable[[Random], Made], ...] = (
    roles, amounts, dates, quantifiers, hedges, opposites, who_is_meant,
    order_of_events, comparisons, states_over_time, *WORDINGS, roles, doers, order_of_events, comparisons,
)  # fmt: skip
"""What turns on the order of words counts twice: an encoder of this size learns it last."""


def made_up(count: int, *, seed: int) -> Iterator[Example]:
    """`count` examples, every kind as often as the others."""
    random = np.random.default_rng(seed)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        claim, evidence, label = kind(random)
        yield Example(claim, (evidence,), label, f"templates/{kind.__name__}")
