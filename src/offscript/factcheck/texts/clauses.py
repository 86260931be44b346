"""Clauses of a sentence: comments that state nothing are left out, and what a relative clause says stands by itself."""

import re

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
    """The statements of a sentence with a relative clause between commas, or at its end after a name.

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
    return [sentence]
