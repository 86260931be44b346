"""The claim as a visitor typed it: the one thing that the service takes in."""

import unicodedata

from offscript.errors import OffscriptError

LONGEST_CLAIM = 500
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn"}


def read_claim(text: str) -> str:
    """A claim on one line without control and format characters; one that is blank or too long is refused."""
    if len(text) > 8 * LONGEST_CLAIM:
        raise _too_long(len(text))
    visible = "".join(" " if unicodedata.category(letter) in _INVISIBLE else letter for letter in text)
    claim = " ".join(visible.split())
    if not claim:
        raise OffscriptError("the claim is empty", next="write a sentence that can be true or false")
    if len(claim) > LONGEST_CLAIM:
        raise _too_long(len(claim))
    return claim


def _too_long(length: int) -> OffscriptError:
    return OffscriptError(
        f"the claim has {length:,} characters", next=f"{LONGEST_CLAIM} are allowed; check one sentence"
    )
