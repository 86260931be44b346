"""More made-up facts in more wordings: what is merely said to be so, who does what, spans of time, and portions.

A small encoder learns the phrases that it has seen rather than what they have in common, so these come in many forms.
"""

from collections.abc import Sequence

import numpy as np

from offscript.factcheck.inference.examples import LABELS

SUPPORTS, REFUTES, NEITHER = range(len(LABELS))
Random = np.random.Generator
Made = tuple[str, str, int]

FACTS = (  # subject, past, base, participle
    ("the storm", "damaged the harbour", "damage the harbour", "damaged the harbour"),
    ("the painter", "sold the house", "sell the house", "sold the house"),
    ("the committee", "approved the budget", "approve the budget", "approved the budget"),
    ("the virus", "came from a market", "come from a market", "come from a market"),
    ("the airline", "cancelled the flights", "cancel the flights", "cancelled the flights"),
    ("the senator", "took a bribe", "take a bribe", "taken a bribe"),
    ("the treatment", "lowered blood pressure", "lower blood pressure", "lowered blood pressure"),
    ("the actress", "left the series", "leave the series", "left the series"),
    ("the company", "bought its rival", "buy its rival", "bought its rival"),
    ("the volcano", "erupted twice", "erupt twice", "erupted twice"),
    ("the goalkeeper", "broke his arm", "break his arm", "broken his arm"),
    ("the king", "signed the treaty", "sign the treaty", "signed the treaty"),
    ("the factory", "polluted the river", "pollute the river", "polluted the river"),
    ("the band", "recorded a new album", "record a new album", "recorded a new album"),
    ("the ship", "carried gold", "carry gold", "carried gold"),
    ("the thief", "entered by the window", "enter by the window", "entered by the window"),
    ("the city", "banned old cars", "ban old cars", "banned old cars"),
    ("the spacecraft", "reached the comet", "reach the comet", "reached the comet"),
    ("the author", "wrote the letter", "write the letter", "written the letter"),
    ("the vitamin", "prevented colds", "prevent colds", "prevented colds"),
)
UNSURE = (
    "{S} may have {done}.", "{S} might have {done}.", "{S} could have {done}.", "{S} is thought to have {done}.",
    "{S} is said to have {done}.", "{S} is believed to have {done}.", "{S} reportedly {did}.", "{S} allegedly {did}.",
    "Perhaps {s} {did}.", "Possibly {s} {did}.", "There are rumours that {s} {did}.",
    "Some experts suspect that {s} {did}.", "It is possible that {s} {did}.",
    "It has not been confirmed that {s} {did}.", "Whether {s} {did} is not known.", "It is disputed whether {s} {did}.",
    "Critics claim that {s} {did}.", "Nobody has shown that {s} {did}.", "{S} is expected to {do} next year.",
    "{S} is likely to {do} soon.", "{S} was about to {do}.", "{S} intends to {do}.", "{S} was supposed to {do}.",
    "If the weather had held, {s} would have {done}.", "The question is whether {s} {did}.", "{S} tried to {do}.",
)  # fmt: skip
SURE = (
    "It has been confirmed that {s} {did}.", "Records show that {s} {did}.", "There is no doubt that {s} {did}.",
    "{S} certainly {did}.", "Everyone agrees that {s} {did}.", "As expected, {s} {did}.", "{S} has in fact {done}.",
    "{S} admitted that it had happened: {s} {did}.", "Witnesses proved that {s} {did}.", "{S} finally {did}.",
)  # fmt: skip
DENIED = (
    "{S} did not {do}.", "{S} never {did}.", "{S} has not {done}.", "It is not true that {s} {did}.",
    "It turned out that {s} had not {done}.", "The report that {s} {did} was false.", "{S} decided not to {do}.",
    "Nothing of the kind happened: {s} did not {do}.", "In the end {s} did not {do}.", "{S} was unable to {do}.",
)  # fmt: skip
DOERS = (
    "the fox", "the dog", "the nurse", "the captain", "the baker", "the lawyer", "the horse", "the judge", "the pilot",
    "the student", "the wolf", "the tailor", "the farmer", "the singer", "the guard", "the clerk", "France", "Denmark",
    "Ajax", "Porto", "Maria", "Robert", "Dr Lee", "Mrs Hall", "Boston", "Leeds", "Kenya", "Peru", "Nokia", "Fiat",
)  # fmt: skip
DEEDS = (  # past, participle, present
    ("chased", "chased", "chases"), ("saw", "seen", "sees"), ("helped", "helped", "helps"), ("hit", "hit", "hits"),
    ("called", "called", "calls"), ("admired", "admired", "admires"), ("accused", "accused", "accuses"),
    ("thanked", "thanked", "thanks"), ("bit", "bitten", "bites"), ("warned", "warned", "warns"),
    ("employed", "employed", "employs"), ("fed", "fed", "feeds"), ("ignored", "ignored", "ignores"),
    ("visited", "visited", "visits"), ("protected", "protected", "protects"), ("loved", "loved", "loves"),
    ("invaded", "invaded", "invades"), ("owned", "owned", "owns"), ("funded", "funded", "funds"),
    ("defeated", "defeated", "defeats"), ("trusted", "trusted", "trusts"), ("sued", "sued", "sues"),
    ("followed", "followed", "follows"), ("painted", "painted", "paints"), ("advised", "advised", "advises"),
    ("beat", "beaten", "beats"), ("pushed", "pushed", "pushes"), ("supplied", "supplied", "supplies"),
)  # fmt: skip
LASTING = (
    "The festival", "The war", "The strike", "Her reign", "The mission", "The television show", "The drought",
    "His term as mayor", "The experiment", "The partnership", "The exhibition", "The blockade",
)  # fmt: skip
COUNTED = (
    "patients", "members", "schools", "voters", "employees", "houses", "farmers", "species", "players", "shops",
    "passengers", "lakes",
)  # fmt: skip
STATES = ("were vaccinated", "agreed", "were repaired", "were affected", "took part", "were replaced", "survived")


def _pick(random: Random, options: Sequence[str]) -> str:
    return options[int(random.integers(len(options)))]


def _first(text: str) -> str:
    return text[0].upper() + text[1:]


def hearsay(random: Random) -> Made:
    """What may be, is said or is planned settles nothing; what is confirmed or denied does."""
    subject, past, base, participle = FACTS[int(random.integers(len(FACTS)))]

    def said(frames: Sequence[str]) -> str:
        return _pick(random, frames).format(S=_first(subject), s=subject, did=past, do=base, done=participle)

    fact, denial = f"{_first(subject)} {past}.", said(DENIED[:4])
    open_, unsure = said(("It is possible that {s} {did}.", "{S} may have {done}.", "Perhaps {s} {did}.")), said(UNSURE)
    other = _pick(random, [each[0] for each in FACTS if each[0] != subject])
    options = (
        (fact, unsure, NEITHER), (fact, said(UNSURE), NEITHER), (denial, unsure, NEITHER),
        (open_, said(UNSURE[:4]), SUPPORTS), (fact, said(SURE), SUPPORTS), (fact, said(SURE), SUPPORTS),
        (denial, said(SURE), REFUTES), (fact, said(DENIED), REFUTES), (denial, said(DENIED), SUPPORTS),
        (f"It is certain that {subject} {past}.", said(UNSURE[8:15]), REFUTES),
        (f"{_first(other)} {past}.", said(SURE), NEITHER),
    )  # fmt: skip
    return options[int(random.integers(len(options)))]


def doers(random: Random) -> Made:
    """Who does it to whom, by the order of words and by active or passive voice."""
    one, other, third = (DOERS[place] for place in random.choice(len(DOERS), 3, replace=False))
    past, participle, present = DEEDS[int(random.integers(len(DEEDS)))]
    added = _pick(random, ("", "", " yesterday", " near the old mill", " for the second time", " during the war"))

    def told(doer: str, target: str, end: str) -> str:
        forms = (
            f"{doer} {past} {target}", f"{target} was {participle} by {doer}", f"{doer} {present} {target}",
            f"it was {doer} that {past} {target}", f"the one that {past} {target} was {doer}",
            f"{doer} has {participle} {target}",
        )  # fmt: skip
        return f"{_first(_pick(random, forms))}{end}."

    evidence, choice = told(one, other, added), int(random.integers(5))
    if choice == 0:
        return told(one, third, ""), evidence, NEITHER
    return (told(one, other, ""), evidence, SUPPORTS) if choice < 3 else (told(other, one, ""), evidence, REFUTES)


def spans(random: Random) -> Made:
    """When something began, ended, and went on."""
    what, begun = _pick(random, LASTING), int(random.integers(1800, 2005))
    years = int(random.integers(3, 20))
    ended = begun + years
    inside, before, after = (
        int(random.integers(begun + 1, ended)), begun - int(random.integers(2, 30)), ended + int(random.integers(2, 30))
    )  # fmt: skip
    evidence = _pick(
        random,
        (f"{what} lasted from {begun} to {ended}.", f"{what} began in {begun} and ended in {ended}.",
         f"{what} started in {begun} and was over by {ended}.", f"{what} ({begun}–{ended}) is well documented."),
    )  # fmt: skip
    options = (
        (f"{what} began in {begun}.", SUPPORTS), (f"{what} ended in {ended}.", SUPPORTS),
        (f"{what} was going on in {inside}.", SUPPORTS), (f"{what} had ended by {after}.", SUPPORTS),
        (f"{what} started before {inside}.", SUPPORTS), (f"{what} was over before {after}.", SUPPORTS),
        (f"{what} began in {ended}.", REFUTES), (f"{what} ended in {begun}.", REFUTES),
        (f"{what} was still going on in {after}.", REFUTES), (f"{what} started before {before}.", REFUTES),
        (f"{what} was over before {inside}.", REFUTES), (f"{what} began after {inside}.", REFUTES),
        (f"{what} was planned in {before}.", NEITHER), (f"{what} was popular in {inside}.", NEITHER),
    )  # fmt: skip
    claim, label = options[int(random.integers(len(options)))]
    return claim, evidence, label


def portions(random: Random) -> Made:
    """Percentages, halves and exceptions as quantifiers."""
    counted, state = _pick(random, COUNTED), _pick(random, STATES)
    share = int(random.choice([random.integers(5, 45), random.integers(55, 96)]))
    few, many = share < 50, share > 50
    but = _pick(random, ("two", "three", "a handful", "one in ten"))
    everyone, nobody = f"All {counted} {state}.", f"No {counted} {state}."
    half, some = f"More than half of the {counted} {state}.", f"Some {counted} {state}."
    partial = _pick(
        random, (f"{share} percent of the {counted} {state}.", f"About {share} % of all {counted} {state}.")
    )
    nearly, one = (
        f"All but {but} of the {counted} {state}.",
        f"Only one of the {counted} did so: few {counted} {state}.",
    )
    options = (
        (some, partial, SUPPORTS), (half, partial, SUPPORTS if many else REFUTES), (everyone, partial, REFUTES),
        (nobody, partial, REFUTES),
        (f"Fewer than half of the {counted} {state}.", partial, SUPPORTS if few else REFUTES),
        (f"Most {counted} {state}.", partial, SUPPORTS if many else REFUTES), (everyone, nearly, REFUTES),
        (f"Most {counted} {state}.", nearly, SUPPORTS), (f"Not every one of the {counted} {state}.", nearly, SUPPORTS),
        (f"Most {counted} {state}.", one, REFUTES), (some, f"At least one of the {counted} {state}.", SUPPORTS),
        (half, f"Several {counted} {state}.", NEITHER), (everyone, f"Many {counted} {state}.", NEITHER),
        (nobody, f"Several {counted} {state}.", REFUTES),
        (everyone, f"Every single one of the {counted} {state}.", SUPPORTS),
    )  # fmt: skip
    return options[int(random.integers(len(options)))]


WORDINGS = (hearsay, doers, spans, portions)
