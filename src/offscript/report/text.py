"""The page of a checked text: each claim marked by its verdict in its place, its evidence beside it, totals above."""

from typing import Any

from offscript.factcheck.checked import Verdict
from offscript.factcheck.texts.checking import CheckedText, TextSentence, between
from offscript.report.rendering import render

WORDS = {Verdict.supported: "supported", Verdict.refuted: "refuted", Verdict.unknown: "undecided"}
TONES = {Verdict.supported: "fine", Verdict.refuted: "found", Verdict.unknown: "cannot-tell"}
MARKS = {Verdict.supported: "✓", Verdict.refuted: "▲", Verdict.unknown: "?"}
QUOTED = 2  # sentences of evidence for a claim


def text_page(checked: CheckedText) -> str:
    """One page that needs nothing else: the text with a mark, a word and a colour for every claim."""
    totals = [
        {
            "word": WORDS[total.verdict],
            "tone": TONES[total.verdict],
            "count": total.count,
            "share": f"{total.share:.0%} [{total.lower:.0%}, {total.upper:.0%}]",
        }
        for total in checked.totals()
    ]
    return render(
        "text.html.j2",
        charts=False,
        title=checked.title or "A text",
        not_checked=checked.not_checked,
        totals=totals,
        claims=len(checked.claims),
        unread=sum(bool(sentence.not_checked) for sentence in checked.sentences),
        foreign=sum(sentence.not_checked.startswith("not English") for sentence in checked.sentences),
        paragraphs=_paragraphs(checked),
    )


def _paragraphs(checked: CheckedText) -> list[dict[str, Any]]:
    """Sentences by paragraph, each with the number of its note; the notes of a paragraph stand beside it."""
    paragraphs: list[dict[str, Any]] = [{"sentences": [], "notes": []}]
    number = 0
    for gap, sentence in zip(between(checked.text, checked.sentences), checked.sentences, strict=False):
        if "\n\n" in gap or gap.count("\n") > 1:
            paragraphs.append({"sentences": [], "notes": []})
        number += sentence.verdict is not None
        paragraphs[-1]["sentences"].append(_shown(sentence, number))
        if sentence.verdict is not None:
            paragraphs[-1]["notes"].append({"number": number, "claims": [_claim(each) for each in sentence.claims]})
    return [each for each in paragraphs if each["sentences"]]


def _shown(sentence: TextSentence, number: int) -> dict[str, Any]:
    verdict = sentence.verdict
    return {
        "text": sentence.text,
        "number": number,
        "tone": TONES[verdict] if verdict else "",
        "word": WORDS[verdict] if verdict else sentence.not_checked,
        "mark": MARKS[verdict] if verdict else "",
    }


def _claim(claim: Any) -> dict[str, Any]:
    written = claim.to_json()
    evidence = sorted(written["evidence"], key=lambda each: not each["deciding"])[:QUOTED]
    verdict = claim.check.verdict
    return {
        "claim": claim.claim,
        "word": WORDS[verdict],
        "tone": TONES[verdict],
        "confidence": f"{claim.check.confidence:.0%}",
        "evidence": evidence,
    }
