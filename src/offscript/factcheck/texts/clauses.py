"""Clauses of a sentence: comments that state nothing are left out, and what a relative clause says stands by itself."""

import itertools
import re
from collections.abc import Sequence

from offscript.factcheck.tagging import Token

_WORDS = {
    "finite": """is are was were has had have did does can could will would may might must became began came found
    founded gave grew held led lies lost made ran rose said sold stands took went won wrote built bought carries closed
    contains covers crosses employs employed flows houses includes lives moved opened operates owns produces rises runs
    serves stood uses costs measures opens closes""",
    "binding": """and or nor but not except unless if only than when whenever provided either both rather until""",
    "subordinate": """after although as because before if once since though unless until when whereas while""",
}
FINITE = frozenset(_WORDS["finite"].split())  # verbs, some of which the tagger takes for nouns
FEWEST_WORDS = 3  # of what is left when a comment goes
_SPEAKER = r"(?:I|I['’]\w+|we|we['’]\w+|you|you['’]\w+|my|our|one|nobody|somebody|everybody|people|they)"
_COMMENT = re.compile(
    r"(?:,| –| —)\s+(?:(?:and|but|so|or|though|although|which|as|if|whether)\s+)*"
    r"(?:" + _SPEAKER + r"\b|a fact (?:that|which)|or so\b|so they|some of (?:them|it|us)\b|as (?:if|though)\b|alas\b|"
    r"thank (?:god|goodness)|if (?:the )?(?:stories|rumours|rumors|legends?|reports)).*$"
    r"|\s+(?:and|but),\s+(?:if|I|perhaps|in my|to my|some|as)\b.*$",
    re.DOTALL,
)
"""What follows the statement of a sentence and is the writer's own: `…, and I could not take my eyes off it`."""
_ASIDE = re.compile(
    r",\s+(?:they say|people say|it is said|it seems|I am told|I think|I believe|I suppose|if you ask me|of course|"
    r"no doubt|alas|apparently|sadly|fortunately|unfortunately),(?=\s)"
)
_INNER = re.compile(r"^(?P<subject>[^,;:]{3,70}), (?P<word>which|who) (?P<told>[^,;:]+), (?P<rest>[^,].*)$", re.DOTALL)
_LAST = re.compile(r"^(?P<whole>.+\b(?P<name>[A-Z][\w'’-]*)), (?P<word>which|who) (?P<told>[^,;:]+)\.$", re.DOTALL)
_BREAK = re.compile(r",\s+|\s+[–—]\s+")
_BINDING = frozenset(_WORDS["binding"].split())
"""What a part of a sentence begins with that the part before it cannot do without."""
_SUBORDINATE = frozenset(_WORDS["subordinate"].split())
_COUNTED = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozens?|hundreds?|half)\b")
_APPOSITION = re.compile(r"^(?P<whole>[^;:]+), (?P<what>an? [^,;:]+)\.$", re.DOTALL)
_ADJUNCT = re.compile(r"\s+(?:in|with|on|at|by|for|from|under) an? [a-z]+ (?:that|which|who) [^,;:]*\.$")
_NAME = re.compile(r"(?:\b[Tt]he )?(?:[A-Z][\w'’.-]*(?: (?:of|the|de|and))? )*[A-Z][\w'’-]*$")


def without_comment(sentence: str) -> str:
    """The sentence without what its writer thinks of it.

    Args:
        sentence: One of a text.

    Returns:
        What states something; the sentence itself where it has no comment, or nothing would be left without it.
    """
    stated = _COMMENT.sub("", sentence)
    if stated == sentence or len(stated.split()) < FEWEST_WORDS or '"' in sentence or "“" in sentence:
        return _ASIDE.sub("", sentence)
    return f"{_ASIDE.sub('', stated).rstrip(' ,;–—')}."


def relative_clauses(sentence: str) -> list[str]:
    """The statements of a sentence with a relative clause between commas, or at its end after a name; `…, a town` too.

    Args:
        sentence: One that stands alone.

    Returns:
        The main clause first; the sentence alone where it has no such clause.
    """
    if inner := _INNER.match(sentence):
        subject = inner["subject"]
        return [f"{subject} {inner['rest']}", f"{subject} {inner['told']}."]
    if (last := _LAST.match(sentence)) and (name := _NAME.search(last["whole"])):
        named = name[0][:1].upper() + name[0][1:]
        return [f"{last['whole']}.", f"{named} {last['told']}."]
    if (last := _APPOSITION.match(sentence)) and (name := _NAME.search(last["whole"])) and name.start() > 0:
        return [f"{last['whole']}.", f"{name[0][:1].upper()}{name[0][1:]} is {last['what']}."]
    return [sentence]


def states(tokens: Sequence[Token]) -> bool:
    """Whether words hold a verb with something before it; `to go` and `going` state nothing by themselves."""
    return any(
        (token.tag in ("VERB", "AUX") and not token.text.endswith("ing") and before.text.lower() != "to")
        or token.text.lower() in FINITE
        for before, token in itertools.pairwise(tokens)
    )


def main_statement(sentence: str, tokens: Sequence[Token]) -> list[str]:
    """What a sentence states before it goes on with a loose part, after a comma, that may be left out.

    `The treaty was signed in 1748, on board a ship, since neither side would land.` states that it was signed in 1748,
    whatever is known about the ship. What names or counts something is not lost: the whole sentence is then a claim
    too.

    Args:
        sentence: One that stands alone.
        tokens: Its words as tagged.

    Returns:
        The main statement, and the sentence itself where the rest of it tells something that can be looked up; the
        sentence alone where it has no such part.
    """
    if any(quote in sentence for quote in '"“”'):
        return [sentence]
    if (adjunct := _ADJUNCT.search(sentence)) and not _tells(adjunct[0], _between(tokens, adjunct.start(), None)):
        main = sentence[: adjunct.start()]  # `in a style that nobody could name`
        if len(main.split()) > FEWEST_WORDS and states(_between(tokens, 0, adjunct.start())):
            return main_statement(f"{main}.", _between(tokens, 0, adjunct.start()))
    for found in _BREAK.finditer(sentence):
        before, after = _between(tokens, 0, found.start()), _between(tokens, found.end(), None)
        if not before or not after or not _is_loose(before, after):
            continue
        main, rest = sentence[: found.start()], sentence[found.end() :]
        return [f"{main}.", sentence] if _tells(rest, after) else main_statement(f"{main}.", before)
    return [sentence]


def _between(tokens: Sequence[Token], start: int, end: int | None) -> list[Token]:
    return [token for token in tokens if token.start >= start and (end is None or token.start < end)]


def _tells(part: str, tokens: Sequence[Token]) -> bool:
    """Whether a part of a sentence names or counts something."""
    return bool(_COUNTED.search(part)) or any(token.tag == "PROPN" for token in tokens)


def _is_loose(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """Whether a sentence is whole before a break, and does not need what comes after it."""
    first, last, following = before[0].text.lower(), before[-1], after[0]
    if len(before) <= FEWEST_WORDS or first in _SUBORDINATE or not states(before):
        return False
    unfinished = last.tag in ("ADJ", "DET", "ADP", "CCONJ", "ADV") and following.tag in ("ADJ", "ADV", "NOUN", "CCONJ")
    placed = last.tag == following.tag == "PROPN" and not states(after)  # `Paris, Texas`
    described = last.tag in ("NOUN", "PROPN", "NUM") and following.tag in (
        "ADJ",
        "ADV",
    )  # `…, high enough for snow and`
    listed = not described and not states(after) and any(token.tag == "CCONJ" for token in after[:5])
    return not (unfinished or placed or listed or following.text.lower() in _BINDING or following.text[0].isdigit())
