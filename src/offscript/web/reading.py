"""A document as its page shows it: its text shaded by stance, its rationales, and its language."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check, CheckedDocument, CheckedSentence
from offscript.factcheck.stance.stance import STANCES
from offscript.web.drawings import PlacedWord, Radar, Slice, cut, draw_radar, place_words
from offscript.web.results import (
    Passage,
    document_link,
    shorten,
    stance_shares,
    tellingness,
    title_of,
    to_passage,
    web_address,
)

TELLING = "telling"
ORDERS = (TELLING, *STANCES)
LONGEST_SENTENCE = 2_000
MOST_SENTENCES = 400
RATIONALES = 8
CUE_TEXT = 200_000

Cues = Callable[[str], Mapping[str, Mapping[str, int]]]
"""For every lexicon the cues that a text holds, and how often."""


class Cloud(NamedTuple):
    """The cues of one lexicon."""

    lexicon: str
    score: float
    words: list[PlacedWord]


class Choice(NamedTuple):
    """A link that orders the rationales by something."""

    name: str
    link: str
    current: bool


class Reading(NamedTuple):
    """All that the page of a document shows."""

    claim: str
    title: str
    address: str
    shown_address: str
    date: str
    kind: str
    stance: str
    pie: list[Slice]
    radar: Radar | None
    clouds: list[Cloud]
    choices: list[Choice]
    rationales: list[Passage]
    paragraphs: list[list[Passage]]
    left_out: int


def show_reading(check: Check, number: int, order: str, cues: Cues) -> Reading:
    """The page of one document of a check, its rationales ordered by a stance or by how telling they are."""
    if order not in ORDERS:
        raise OffscriptError(f"no order {shorten(order, 40)[0]!r}", next=f"known: {', '.join(ORDERS)}")
    if not 0 <= number < len(check.documents):
        raise OffscriptError(f"the check has no document {number}", why=f"it has {len(check.documents)}")
    checked = check.documents[number]
    address = web_address(checked.document)
    return Reading(
        claim=check.claim,
        title=title_of(checked.document),
        address=address,
        shown_address=shorten(address, 90)[0],
        date=shorten(checked.document.date, 32)[0],
        kind=checked.kind.value,
        stance=checked.stance.label,
        pie=cut(stance_shares(checked.stance)),
        radar=draw_radar(checked.language),
        clouds=_clouds(checked, cues),
        choices=[Choice(name, document_link(check.claim, number, order=name), name == order) for name in ORDERS],
        rationales=[to_passage(sentence, LONGEST_SENTENCE // 4) for sentence in _ordered(checked, order)],
        paragraphs=_paragraphs(checked),
        left_out=max(0, len(checked.sentences) - MOST_SENTENCES),
    )


def _ordered(checked: CheckedDocument, order: str) -> list[CheckedSentence]:
    """The first rationales; of equals the one that stands first in the document."""

    def weight(sentence: CheckedSentence) -> float:
        if order == TELLING:
            return tellingness(sentence.stance)
        return sentence.stance.probabilities[STANCES.index(order)]

    spoken = [sentence for sentence in checked.sentences if sentence.text.strip()]
    return sorted(spoken, key=lambda sentence: (-weight(sentence), sentence.number))[:RATIONALES]


def _paragraphs(checked: CheckedDocument) -> list[list[Passage]]:
    """The text in its own order; an empty line between two sentences begins a paragraph."""
    paragraphs: list[list[Passage]] = []
    end = 0
    for sentence in checked.sentences[:MOST_SENTENCES]:
        between = checked.document.text[end : sentence.start]
        tail = checked.document.text[max(end - 2, 0) : end]
        if not paragraphs or "\n\n" in tail + between:
            paragraphs.append([])
        paragraphs[-1].append(to_passage(sentence, LONGEST_SENTENCE))
        end = sentence.end
    return paragraphs


def _clouds(checked: CheckedDocument, cues: Cues) -> list[Cloud]:
    found = cues(checked.document.text[:CUE_TEXT])
    clouds = [Cloud(name, checked.language.get(name, 0.0), place_words(words)) for name, words in found.items()]
    return [cloud for cloud in clouds if cloud.words]
