"""What a claim and a sentence are about: the names of either, and how far they are the same."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.factcheck.stance.tokens import STOP_WORDS
from offscript.factcheck.tagging import default_tagger

STEM = 6  # letters by which words are compared: `Germany` names what `German` is of
_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_OPENING = frozenset(
    [
        "there",
        "here",
        "after",
        "before",
        "during",
        "since",
        "until",
        "all",
        "every",
        "each",
        "many",
        "most",
        "some",
        "several",
        "no",
        "none",
        "only",
        "not",
        "one",
        "two",
        "three",
        "people",
        "according",
        "when",
        "while",
        "because",
        "if",
        "although",
        "however",
        "today",
        "now",
        "never",
        "always",
    ]
)
"""Words with a capital at the beginning of a sentence that name nothing."""

_FORMS = {
    forms[0]: forms
    for forms in (
        ("covid", "corona", "sars-cov", "ncov"),
        ("usa", "united states", "u.s.", "americ"),
        ("britai", "british", "united kingdom", "u.k."),
        ("nether", "dutch", "holland"),
        ("swiss", "switze"),
        ("french", "france"),
        ("greek", "greece"),
        ("danish", "denmar"),
        ("spanis", "spain"),
        ("polish", "poland"),
        ("welsh", "wales"),
        ("irish", "irelan"),
    )
}
"""Names that have more than one form, as they occur in texts in small letters, by the form that stands for all."""
_ALIASES = {
    form[:STEM]: name for name, forms in _FORMS.items() for form in forms if " " not in form and "." not in form
}


def names_of(text: str) -> frozenset[str]:
    """The words of a text that name something: those with a capital, its first word only where it is a name.

    Every sentence begins with a capital. Its first word names something if the tagger says so, if a name goes on after
    it, or if it has more capitals or figures.

    Args:
        text: A claim, a title or a sentence.

    Returns:
        The words in small letters, cut to `STEM` letters; what has several names goes by the first of them.
    """
    return frozenset(_ALIASES.get(name, name) for name in (word.lower()[:STEM] for word in _naming_words(text)))


def _naming_words(text: str) -> list[str]:
    """The words of `names_of` as they are written."""
    matches = list(_WORD.finditer(text))
    found = []
    for place, match in enumerate(matches):
        word = match[0].removesuffix("'s").removesuffix("’s")
        lower = word.lower()
        if not word[0].isupper() or lower in STOP_WORDS:
            continue
        if place == 0 and (lower in _OPENING or not _is_named(text, word, matches)):
            continue
        found.append(word)
    return found


def _is_named(text: str, word: str, matches: Sequence[re.Match[str]]) -> bool:
    """Whether a text's first word names something."""
    if not word[1:].islower() or (len(matches) > 1 and matches[1][0][0].isupper()):
        return True
    return any(token.tag == "PROPN" for token in default_tagger().tag([text])[0][:2])


def inner_names(text: str) -> frozenset[str]:
    """As `names_of`, without the first word, which has its capital from its place."""
    first = _WORD.search(text)
    rest = names_of(text[first.end() :]) if first else frozenset()
    return rest or names_of(text)


def named_shares(claim: str, texts: Sequence[str]) -> FloatArray:
    """The share of the claim's names that each text holds, 1 for a claim without any; [texts]."""
    names = names_of(claim)
    if not names:
        return np.ones(len(texts))
    forms = [_FORMS.get(name, (name,)) for name in names]
    counts = [sum(any(form in lower for form in own) for own in forms) for lower in map(str.lower, texts)]
    return np.array(counts, dtype=np.float64) / len(names)


def about_others(claim: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each text is about something else: it names something, but nothing that the claim names; [texts].

    A text without a name says nothing about whom it is said of. Abbreviations do not tell, either: where a claim names
    `COVID-19` or `DBP` alone, a text on the same thing may spell it out, or have said it before.
    """
    telling = any(word[1:].islower() for word in _naming_words(claim))
    if not telling:
        return np.zeros(len(texts), dtype=np.bool_)
    missing = named_shares(claim, texts) == 0
    return np.array([bool(none) and bool(names_of(text)) for none, text in zip(missing, texts, strict=True)], np.bool_)


def title_shares(claim: str, titles: Sequence[str]) -> FloatArray:
    """The share of each title's words, without what it has in brackets, that the claim holds; 1 of no title."""
    asked = claim.lower()
    shares = []
    for title in titles:
        words = [word.lower()[:STEM] for word in _WORD.findall(title.partition(" (")[0])]
        telling = [word for word in words if word not in STOP_WORDS] or words
        shares.append(sum(word in asked for word in telling) / len(telling) if telling else 1.0)
    return np.array(shares, dtype=np.float64)
