"""Prose: article bodies become sentences that look like those of the news corpora."""

import re
import unicodedata


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# A full stop after these never ends a sentence: a name or a number follows.
TITLES = _words(
    """adm brig capt cmdr col cpl dr fr gen gov hon insp lt maj messrs mr mrs ms pres prof rep reps rev sen sens sgt st
    supt vs jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e ft mt al"""
)
# After these it does only when the next word is one that mostly begins sentences.
AMBIGUOUS = _words("a.m p.m inc co corp ltd jr sr etc no ave blvd rd dept est ph.d")
OPENERS = _words(
    """a after all although an and as at because before both but by despite during for from he her here his how however
    i if in it its last many meanwhile most my no now on one only our she since so some still that the their then there
    these they this those though to two under until we what when where which while who why with yet you"""
)
BOUNDARY = re.compile(r"""(?:[.!?]|\.{2,})['")\]]*\s+(?=['"(\[]*[A-Z0-9])""")
INITIALS = re.compile(r"(?:[a-z]\.)+[a-z]")
LAST_WORD = re.compile(r"""[^\s'"(\[]*$""")
FIRST_WORD = re.compile(r"""['"(\[]*([\w.]+)""")
BRACKET_CODES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
}
"""How the Penn Treebank, and FEVER's Wikipedia pages after it, write brackets and quotation marks."""
_BRACKET_CODE = re.compile("|".join(map(re.escape, BRACKET_CODES)))
SYMBOL = re.compile(r"\.{2,}|-{2,}|[^\w\s]")
PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–−", "-"),
        **dict.fromkeys("—―", "--"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0f", ""),
        "…": "...",
    }
)


def split_sentences(text: str) -> list[str]:
    """Sentences of running text by rule: a line break ends one; so does `.`, `!` or `?` before a capital or a digit.

    Titles (`Mr.`), initials (`J. Smith`), common abbreviations (`U.S.`) and the number of a line (`1.`) do not.
    Typographic quotes and dashes become plain ones, runs of blanks one blank.
    """
    return [
        sentence
        for line in text.translate(PLAIN).splitlines()
        if line.strip()
        for sentence in _split_line(" ".join(line.split()))
    ]


def separate_punctuation(text: str) -> str:
    """Words and punctuation divided by single blanks, as the EMNLP news files are: `don ' t`, `2 . 5`, `, "`.

    Runs of dots become `...`, runs of hyphens `--`; doing it twice changes nothing.
    """
    plain = unicodedata.normalize("NFC", text).translate(PLAIN)
    return " ".join(SYMBOL.sub(_apart, plain).split())


def decode_brackets(text: str) -> str:
    """Replace the Penn Treebank's codes for brackets and quotation marks, as in FEVER, by the characters."""
    return _BRACKET_CODE.sub(lambda code: BRACKET_CODES[code[0]], text)


def _split_line(line: str) -> list[str]:
    sentences, start = [], 0
    for boundary in BOUNDARY.finditer(line):
        if _ends_sentence(line[start : boundary.start()], boundary[0], line[boundary.end() :]):
            sentences.append(line[start : boundary.end()].rstrip())
            start = boundary.end()
    return [*sentences, line[start:]]


def _ends_sentence(before: str, mark: str, after: str) -> bool:
    if mark.rstrip() != ".":
        return True
    last = LAST_WORD.search(before)
    word = last[0].lower() if last else ""
    if word in TITLES or before.isdigit() or (len(word) == 1 and word.isalpha() and word != "i"):
        return False
    if word in AMBIGUOUS or INITIALS.fullmatch(word):
        first = FIRST_WORD.match(after)
        return first is not None and first[1].lower() in OPENERS
    return True


def _apart(symbol: re.Match[str]) -> str:
    text = symbol[0]
    if unicodedata.category(text[0]).startswith("M"):
        return text
    return f" {text if len(text) == 1 else text[0] * (3 if text[0] == '.' else 2)} "
