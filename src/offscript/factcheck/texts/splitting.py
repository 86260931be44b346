"""Sentences split into claims: what `and`, `which`, a colon or a reason joins stands by itself."""

import re
from collections.abc import Iterator, Sequence

from offscript.factcheck.tagging import Tagger, Token, default_tagger
from offscript.factcheck.texts.clauses import FINITE, main_statement, relative_clauses, states
from offscript.factcheck.texts.standing import POSSESSIVE, apostrophe, capital

_DATED = re.compile(r"(?:In|On|Since|By|After|Before|Until|From) (?:[\w'’-]+ ){1,4}?(?=(?:he|she|it) )")
_SPLIT = re.compile(r"(?:,|;)?\s+and\s+|,\s+but\s+|;\s+")
_CLAUSE_BREAK = re.compile(r"\b(?:who|which|whose|where|when|that|because|although|between|both)\b")
_TRIMMED = re.compile(r"^[\s,;–—-]+|[\s,;–—-]+$")
_FRAME = re.compile(
    r"(?:As (?:for|to) [^,:]{2,60}|For (?:those|anyone|everyone) who [^,:]{2,60}|As so often[^,:]{0,40}|"
    r"On (?:this|that|the (?:first|second|third|other|one))(?: [^,:]{2,20})?|In (?:fact|truth)|To be sure|Of course|"
    r"As it happens),? (?=[a-z])"
)
"""What only leads up to a statement: `As for the bridge, …`."""
_COLON = re.compile(r":\s+")
_REASON = re.compile(r",\s+(?:since|because|for|as)\s+|\s+because\s+")
_HAVING = re.compile(r",\s+having (been )?(?=[a-z])")
FEWEST_WORDS = 4
TELLING_WORDS = 6  # of a reason that names and counts nothing


def split_claims(sentence: str, *, tagger: Tagger | None = None) -> list[str]:
    """The claims that a sentence joins by `and`, `;`, `which`, a colon or a reason; one subject is written out for all.

    What a claim goes on with after a comma and can do without is left out, or checked beside it (`main_statement`).

    Args:
        sentence: One that stands alone.
        tagger: Finds the verbs; the one that ships by default.

    Returns:
        One claim or more; the sentence itself where a split is not sure.
    """
    tagger = tagger or default_tagger()
    parts = [part for stated in _statements(sentence, tagger) for part in _joined(stated, tagger)]
    claims = [claim for part in parts for claim in main_statement(part, tagger.tag([part])[0])]
    return list(dict.fromkeys(claims))


def _statements(sentence: str, tagger: Tagger) -> Iterator[str]:
    """What a sentence states by itself: after what leads up to it, after a colon, and as the reason for the rest."""
    if any(quote in sentence for quote in '"“”'):
        yield sentence
        return
    frame = _FRAME.match(sentence)
    sentence = capital(sentence[frame.end() :]) if frame else sentence
    tokens = tagger.tag([sentence])[0]
    for found in (*_COLON.finditer(sentence), *_REASON.finditer(sentence), *_HAVING.finditer(sentence)):
        left, right = sentence[: found.start()], sentence[found.end() :]
        if _long_enough(left) and _has_verb(left) and (parts := _parts(left, right, found, tokens)):
            for part in parts:
                yield from _statements(part, tagger)
            return
    yield sentence


def _parts(left: str, right: str, found: re.Match[str], tokens: Sequence[Token]) -> list[str]:
    """The statements on both sides of a break that tell something; none where the break is none."""
    before = [token for token in tokens if token.start < found.start()]
    after = [token for token in tokens if token.start >= found.end()]
    subject = _subject(left, before)
    if found.re is _HAVING:
        return [_closed(left), f"{subject} {'was' if found[1] else 'had'} {right}"] if subject else []
    if not (_long_enough(right) and _is_clause(right, tokens, found.end())):
        return []
    parts = [_closed(left)] if found.re is _REASON or _names_or_counts(before) else []
    if found.re is _COLON or len(right.split()) >= TELLING_WORDS or _names_or_counts(after):
        parts.append(_with_subject(right, subject) if subject else capital(right))
    return parts


def _names_or_counts(tokens: Sequence[Token]) -> bool:
    return any(token.tag in ("PROPN", "NUM") for token in tokens)


def _joined(sentence: str, tagger: Tagger) -> list[str]:
    """The claims that `and`, `;`, `which` or `who` join; the sentence itself where a split is not sure."""
    main, *told = relative_clauses(sentence)
    if told and _has_verb(main) and all(map(_has_verb, told)):
        return [claim for part in (main, *told) for claim in _joined(part, tagger)]
    breaks = [found for found in _SPLIT.finditer(sentence) if not _inside_brackets(sentence, found.start())]
    if not breaks or len(breaks) > 4:
        return [sentence]
    tokens = tagger.tag([sentence])[0]
    subject = _subject(sentence, tokens)
    if not subject:
        return [sentence]
    parts, start, first_clause = [], 0, True
    for found in breaks:
        left, right = sentence[start : found.start()], sentence[found.end() :]
        if _CLAUSE_BREAK.search(left) and first_clause and "," not in left + found[0]:
            continue
        if _begins_with_verb(tokens, found.end()) and _has_verb(left):
            parts.append(left if first_clause else f"{subject} {left}")
            start, first_clause = found.end(), False
        elif _is_clause(right, tokens, found.end()) and (found[0].strip() != "and"):
            parts.append(left if first_clause else f"{subject} {left}")
            rest = _joined(_with_subject(right, subject), tagger)
            return [*map(_closed, parts), *rest] if all(map(_long_enough, parts)) else [sentence]
    if not parts:
        return [sentence]
    parts.append(f"{subject} {sentence[start:]}")
    return [_closed(part) for part in parts] if all(map(_long_enough, parts)) else [sentence]


def _with_subject(clause: str, subject: str) -> str:
    """A clause of its own; a pronoun that it begins with means the subject of the one before."""
    clause = capital(clause)
    dated = _DATED.match(clause)
    pronoun = re.compile(r"(He|She|It|Its|His|Her)\s+", re.IGNORECASE if dated else 0).match(
        clause, dated.end() if dated else 0
    )
    if pronoun is None:
        return clause
    possessive = apostrophe(subject) if pronoun[1].capitalize() in POSSESSIVE else ""
    return f"{dated[0] if dated else ''}{subject}{possessive} {clause[pronoun.end() :]}"


def _subject(sentence: str, tokens: Sequence[Token]) -> str:
    """What stands before the first finite verb."""
    for place, token in enumerate(tokens):
        if place and _is_finite(token):
            return _TRIMMED.sub("", sentence[: token.start].partition(",")[0]) if place <= 12 else ""
    return ""


def _is_finite(token: Token) -> bool:
    return token.text.lower() in FINITE or (token.tag in ("VERB", "AUX") and token.text.lower().endswith(("ed", "s")))


def _begins_with_verb(tokens: Sequence[Token], start: int) -> bool:
    token = next((each for each in tokens if each.start >= start and each.tag != "ADV"), None)  # `still looks`
    return token is not None and _is_finite(token)


def _is_clause(right: str, tokens: Sequence[Token], start: int) -> bool:
    """A subject with a verb after it, within a few words."""
    after = [each for each in tokens if each.start >= start]
    return (
        bool(after) and not _is_finite(after[0]) and any(_is_finite(each) for each in after[1:8]) and _has_verb(right)
    )


def _has_verb(text: str) -> bool:
    words = [word.strip(",.").lower() for word in text.split()]
    known = any(word in FINITE or (word.endswith("ed") and len(word) > 3) for word in words)
    return known or states(default_tagger().tag([text])[0])


def _inside_brackets(sentence: str, place: int) -> bool:
    before = sentence[:place]
    return before.count("(") > before.count(")") or before.count('"') % 2 == 1 or before.count("“") > before.count("”")


def _long_enough(part: str) -> bool:
    return len(part.split()) >= FEWEST_WORDS


def _closed(part: str) -> str:
    part = _TRIMMED.sub("", part)
    return part if part.endswith((".", "!", "?")) else f"{part}."
