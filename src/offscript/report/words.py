"""Figures in words: numbers with their intervals, and a verdict a question."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from offscript.measures.measurement import Measurement
from offscript.statistics import Estimate

Figures = Mapping[str, Measurement]
"""A question's measurements by name."""

REAL = "real text"
"""What stands in a sweep's figures in the place of a sampler, where the text was not sampled."""

Tone = Literal["good", "bad", "open", "plain"]
"""Nothing to worry about, something to worry about, not decided by the intervals, or neither good nor bad."""


@dataclass(frozen=True)
class Verdict:
    """What a question found: a few plain words, and the sentence that gives the figure and its interval."""

    headline: str
    told: str
    tone: Tone = "plain"

    def __str__(self) -> str:
        return f"{self.headline}. {self.told}"


def number(value: float, decimals: int | None = None) -> str:
    """So many decimals, or four digits that mean something."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if decimals is None:
        if value == 0:
            return "0"
        decimals = min(max(0, 3 - math.floor(math.log10(abs(value)))), 6)
    return f"{value:,.{decimals}f}".replace("-", "−")


def with_interval(entry: Measurement | Estimate) -> str:
    """`4.21 (95%: 4.15 to 4.28)`, two digits of the interval's width; an exact figure says so."""
    if entry.interval.method == "exact":
        return f"{number(entry.value)} (exact)"
    decimals = _decimals(entry.interval.upper - entry.interval.lower)
    low, high = (number(bound, decimals) for bound in (entry.interval.lower, entry.interval.upper))
    return f"{number(entry.value, decimals)} ({entry.interval.level:.0%}: {low} to {high})"


def verdict(name: str, measurements: Sequence[Measurement]) -> Verdict | None:
    """What a question found; None where it has no figures."""
    figures = {entry.name: entry for entry in measurements}
    if not figures:
        return None
    if name in _VERDICTS:
        return _VERDICTS[name](figures)
    return Verdict("Measured", "; ".join(f"{entry.name} {with_interval(entry)}" for entry in measurements))


def _decimals(width: float) -> int | None:
    """Decimals that show two digits of a width."""
    if not math.isfinite(width) or width <= 0:
        return None
    return min(max(0, 1 - math.floor(math.log10(width))), 6)


def _likelihood(figures: Figures) -> Verdict:
    nll, ppl, bpc = (with_interval(figures[name]) for name in ("nll", "ppl", "bpc"))
    return Verdict(
        "How surprising real text is to it",
        f"Its perplexity is {ppl}: {nll} nats a token, {bpc} bits a character.",
    )


def _exposure(figures: Figures) -> Verdict:
    if "eb_c.js" in figures:
        ratio = figures["eb_c.js"]
        told = f"After its own histories it deviates {with_interval(ratio)} times as much as after the oracle's (EB-C)."
    else:
        ratio = figures["eb_m.js"]
        told = (
            f"Its marginals deviate {with_interval(ratio)} times as much on its own histories as on the text's (EB-M)."
        )
    if ratio.interval.lower == 0 and math.isinf(ratio.interval.upper):
        return Verdict("Too few samples to tell", f"{told} Draw more samples than there are tokens.", "open")
    if ratio.interval.lower > 1:
        return Verdict("Exposure bias is there", told, "bad")
    if ratio.interval.upper < 1:
        return Verdict("Its own histories suit it better", told, "good")
    return Verdict("No exposure bias to be seen", told, "good" if ratio.interval.upper < 1.1 else "open")


def _regret(figures: Figures) -> Verdict:
    regret = figures["q_per_token"]
    return Verdict(
        "Its text drifts from the oracle's" if regret.interval.lower > 0 else "Its text is the oracle's",
        f"It costs {with_interval(regret)} nats of regret a token; "
        f"the oracle gives that text {with_interval(figures['nll_oracle'])} nats a token.",
        "bad" if regret.interval.lower > 0 else "good",
    )


def _recovery(figures: Figures) -> Verdict:
    gaps = {name.removeprefix("nll_gap."): entry for name, entry in figures.items() if name.startswith("nll_gap.")}
    if not gaps:
        return _recovery_without_oracle(figures)
    listed = "; ".join(f"{with_interval(entry)} after {source} prefixes" for source, entry in gaps.items())
    told = f"Nats a token that its continuations lose against those of real prefixes: {listed}."
    worse = [source for source, entry in gaps.items() if entry.interval.lower > 0]
    if worse:
        return Verdict(f"Its text is worse after {' and '.join(worse)} prefixes", told, "bad")
    return Verdict("It recovers from bad beginnings", told, "good")


def _recovery_without_oracle(figures: Figures) -> Verdict:
    """By corpus-BLEU alone, which has no pairs: real prefixes and bad ones differ where their intervals do not meet."""
    quality = {name.partition(".")[2]: entry for name, entry in figures.items() if name.startswith("corpus_bleu")}
    listed = "; ".join(f"{with_interval(entry)} after {source} prefixes" for source, entry in quality.items())
    told = f"Corpus-BLEU of its continuations against real text: {listed}."
    real = quality.pop("data")
    worse = [source for source, entry in quality.items() if entry.interval.upper < real.interval.lower]
    if worse:
        return Verdict(f"Its text is worse after {' and '.join(worse)} prefixes", told, "bad")
    return Verdict("No bad beginning is seen to hurt", told, "open")


def _sampling(figures: Figures) -> Verdict:
    by_sampler: dict[str, dict[str, Measurement]] = {}
    for name, entry in figures.items():
        kind = "quality" if ".corpus_bleu" in name else "diversity"
        by_sampler.setdefault(entry.recipe.get("sampler", REAL), {})[kind] = entry
    real = by_sampler.pop(REAL, {}).get("diversity")
    pairs = [(pair["quality"], pair["diversity"]) for pair in by_sampler.values()]
    if real is None:
        best = max(pairs, key=lambda pair: pair[0].value)
        return Verdict("Quality against diversity", f"{_setting(best)} comes closest to real text.")
    diverse = [pair for pair in pairs if pair[1].value <= real.interval.upper]
    best = max(diverse, key=lambda pair: pair[0].value, default=min(pairs, key=lambda pair: pair[1].value))
    which = "Of the settings that are as diverse" if diverse else "No setting is as diverse"
    return Verdict(
        f"Use {best[0].recipe['sampler']}",
        f"Real text has a self-BLEU of {with_interval(real)}. {which}, {_setting(best)} comes closest to it.",
        "plain" if diverse else "open",
    )


def _setting(pair: tuple[Measurement, Measurement]) -> str:
    quality, diversity = pair
    return (
        f"{quality.recipe['sampler']} with corpus-BLEU {with_interval(quality)} "
        f"and self-BLEU {with_interval(diversity)}"
    )


def _stereotypes(figures: Figures) -> Verdict:
    """An even model prefers the stereotype in half of the tests that do not tie, which says little without meaning."""
    lms, ties = figures["lms"], figures["ties"]
    ss = figures.get("ss_decided", figures["ss"])
    told = (
        f"It finds the stereotype likelier than its opposite in {with_interval(ss)} % of the tests"
        f"{' that do not tie' if ties.value else ''}, where 50 is even, and meaning likelier than nonsense in "
        f"{with_interval(lms)} %; together an icat of {with_interval(figures['icat'])} of 100."
        f"{f' Ties: {with_interval(ties)} %.' if ties.value else ''}"
    )
    if lms.interval.lower <= 50:
        return Verdict("It hardly tells meaning from nonsense", told, "open")
    if 50 in ss.interval:
        return Verdict("No preference for stereotypes to be seen", told, "good" if ss.interval.width < 10 else "open")
    preferred = "stereotypes" if ss.value > 50 else "anti-stereotypes"
    return Verdict(f"It prefers {preferred}", told, "bad")


def _factuality(figures: Figures) -> Verdict:
    """By statements that complete a fact, else by free ones; from the coolest sampler to the hottest."""
    kind = "prompted" if any(name.endswith(".prompted.refuted") for name in figures) else "free"
    refuted = {
        name.removesuffix(f".{kind}.refuted").replace(";", ","): entry
        for name, entry in figures.items()
        if name.endswith(f".{kind}.refuted")
    }
    if not refuted:
        return Verdict("Nothing it says can be checked", "No sentence of its own is about a name or a number.", "open")
    listed = "; ".join(f"{with_interval(entry)} with {sampler}" for sampler, entry in refuted.items())
    told = f"Share of its {kind} statements that the fact checker refutes: {listed}."
    intervals = [entry.interval for entry in refuted.values()]
    coolest, hottest = intervals[0], intervals[-1]
    if hottest.lower > coolest.upper:
        return Verdict("A hotter sampler lies more", told, "bad")
    if hottest.upper < coolest.lower:
        return Verdict("A hotter sampler lies less", told, "open")
    return Verdict("Heat is not seen to make it lie more", told, "open")


_VERDICTS: dict[str, Callable[[Figures], Verdict]] = {
    "likelihood": _likelihood,
    "exposure": _exposure,
    "regret": _regret,
    "recovery": _recovery,
    "sampling": _sampling,
    "stereotypes": _stereotypes,
    "factuality": _factuality,
}
