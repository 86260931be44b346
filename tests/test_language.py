"""Plain English in everything a person reads: idioms that readers stumbled over stay out."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
READ = [
    *sorted((REPOSITORY / "src").rglob("*.py")),
    *sorted((REPOSITORY / "src").rglob("*.yaml")),
    *sorted((REPOSITORY / "src").rglob("*.html")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile")),
]
BANNED = {
    r"\b(?:nats|bits) a (?:token|character|sequence)\b": "per",
    r"\b(?:one|line|item) a (?:line|row|verb|question|model|variant|core)\b": "per",
    r"\bheld against\b": "compared with",
    r"\bto be seen\b": "detected",
    r"\bwhere it stood\b": "where it stopped",
    r"\bgo(?:es)? astray\b": "name the deviation",
    r"\bis answered with\b": "returns",
    r"\bhow to make it again\b": "Reproduce this",
    r"\bmakes? (?:it|them) again\b": "reproduces it",
    r"\bNot asked: \w": "Skipped",
    r"\bhotter sampler\b": "higher temperature",
    r"\bat what price\b": "at what cost",
    r"\bthe other rooms\b": "the other packages",
    r"\bsample\(s\);": "need at least 2 samples",
}
"""Each idiom with what to write instead."""


@pytest.mark.parametrize("idiom", BANNED)
def test_an_idiom_stays_out(idiom: str) -> None:
    pattern = re.compile(idiom, re.IGNORECASE)
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}: {match[0]}"
        for path in READ
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (match := pattern.search(line))
    ]
    assert found == [], f"write: {BANNED[idiom]}"
