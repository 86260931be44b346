"""What sets a run apart from the first of a comparison, in one sentence."""

from collections.abc import Sequence

from offscript.audits.comparison import Comparison, Contrast
from offscript.measures.measurement import Measurement
from offscript.measures.question import Finding, Gauge, Status
from offscript.measures.words import number, p_value, with_interval
from offscript.report.figures import in_words, known_question

_NAMED = 4  # questions that the sentence names
_TWICE = 2.0
_NOTHING = "no difference beyond chance"


def difference_finding(comparison: Comparison, run: str) -> Finding:
    """What differs from the first run by more than chance: one figure per question, how many more, and nothing else.

    The hypothesis is that no figure differs. P-values are corrected for all figures of the comparison (Holm), so where
    nothing differs the finding names a difference at most once in twenty times.

    Args:
        comparison: What `compare_runs` gave.
        run: The label of a later run.

    Returns:
        The finding; *found* where a figure is worse, *fine* where all that differ are better.
    """
    contrasts = [contrast for contrast in comparison.contrasts if contrast.run == run]
    real = [contrast for contrast in contrasts if contrast.real]
    first = comparison.runs[0].label
    if not real:
        counted = f"{len(contrasts)} figures were compared with those of {first}, with Holm's correction at 5 %."
        return Finding(_capital(_NOTHING), counted)
    leads = leading(real)[:_NAMED]
    questions = {contrast.figure.partition(".")[0] for contrast in leads}
    related = sum(contrast.figure.partition(".")[0] in questions for contrast in real) - len(leads)
    others = len(real) - len(leads) - related
    parts = [phrase(contrast, gauge_of(contrast)) for contrast in leads]
    parts += [_differ("related", related)] if related else []
    parts.append(_differ("other", others) if others else "no other difference beyond chance")
    sentence = "; ".join(f"{_in_full(contrast)} {told(contrast)}" for contrast in leads)
    return Finding(_capital(", ".join(parts)), f"Compared with {first}: {sentence}.", _status(real))


def told(contrast: Contrast) -> str:
    """A contrast in words: `73.5 instead of 18.9, by 55 (95%: 50 to 60; corrected p = 0.02)`."""
    first, second = number(contrast.first.value), number(contrast.second.value)
    difference = with_interval(contrast.difference).removesuffix(")")
    return f"{second} instead of {first}, by {difference}; corrected {p_value(contrast.corrected)})"


def leading(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """One contrast per question: of the figure that it is known by, else of the one that differs most surely."""
    by_question: dict[str, list[Contrast]] = {}
    for contrast in contrasts:
        by_question.setdefault(contrast.figure.partition(".")[0], []).append(contrast)
    return [_lead(question, own) for question, own in by_question.items()]


def known_by(question: str, figures: dict[str, Measurement]) -> list[str]:
    """The figures that a question is known by, first the one that its scorecard draws.

    Args:
        question: its name.
        figures: those of a run, by name.

    Returns:
        Names of figures, which the run need not have.
    """
    asked = known_question(question)
    gauge = asked.gauge(figures)
    return [*([] if gauge is None else [gauge.figure]), *asked.headlines]


def gauge_of(contrast: Contrast) -> Gauge | None:
    """How the scorecard draws a contrast's figure, where it does."""
    gauge = known_question(contrast.first.question).gauge({contrast.first.name: contrast.first})
    return gauge if gauge is not None and gauge.figure == contrast.first.name else None


def phrase(contrast: Contrast, gauge: Gauge | None) -> str:
    """`perplexity 23 % lower`, `EB-C 3.1 times as high`, `stereotype preferred (ss) 4.2 points lower`."""
    label = in_words(contrast.first) if gauge is None else gauge.label
    first, second = contrast.first, contrast.second
    direction = "higher" if contrast.value > 0 else "lower"
    unit = "" if gauge is None else gauge.unit
    if min(first.interval.lower, second.interval.lower) <= 0 or unit == "%":  # no zero to take a part of
        return f"{label} {number(abs(contrast.value))}{' points' if unit == '%' else ''} {direction}"
    ratio = second.value / first.value
    if ratio >= _TWICE:
        return f"{label} {number(ratio, 1)} times as high"
    share = 100 * abs(ratio - 1)
    return f"{label} {number(share, 0 if share >= 10 else 1)} % {direction}"


def _in_full(contrast: Contrast) -> str:
    """The figure in words with its key behind, by which the table below lists it."""
    words = in_words(contrast.first)
    return words if words == contrast.figure else f"{words} ({contrast.figure})"


def _lead(question: str, contrasts: Sequence[Contrast]) -> Contrast:
    figures = {contrast.first.name: contrast.first for contrast in contrasts}
    for name in (*known_by(question, figures), *(each.name for each in known_question(question).compared)):
        for contrast in contrasts:
            if contrast.first.name == name:
                return contrast
    return max(contrasts, key=_certainty)


def _certainty(contrast: Contrast) -> float:
    error = contrast.difference.standard_error
    return abs(contrast.value) / error if error else 0.0


def _status(real: Sequence[Contrast]) -> Status:
    verdicts = {contrast.verdict for contrast in real}
    if "worse" in verdicts:
        return "found"
    return "fine" if verdicts == {"better"} else "for information"


def _differ(kind: str, count: int) -> str:
    return f"1 {kind} figure differs too" if count == 1 else f"{count} {kind} figures differ too"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
