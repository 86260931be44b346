"""Figures in words: numbers with their intervals, and a verdict a question."""

import math
from collections.abc import Callable, Sequence

from offscript.measures.measurement import Measurement


def number(value: float) -> str:
    """Four digits that mean something."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def with_interval(entry: Measurement) -> str:
    """`4.213 (95 %: 4.150 to 4.276)`; an exact figure says so."""
    if entry.interval.method == "exact":
        return f"{number(entry.value)} (exact)"
    bounds = f"{number(entry.interval.lower)} to {number(entry.interval.upper)}"
    return f"{number(entry.value)} ({entry.interval.level:.0%}: {bounds})"


def verdict(name: str, measurements: Sequence[Measurement]) -> str:
    """What a question found, in one plain sentence."""
    figures = {entry.name: entry for entry in measurements}
    if name in _VERDICTS and figures:
        return _VERDICTS[name](figures)
    return "; ".join(f"{entry.name} {with_interval(entry)}" for entry in measurements)


def _likelihood(figures: dict[str, Measurement]) -> str:
    return f"It predicts gold text with a perplexity of {with_interval(figures['ppl'])}."


def _exposure(figures: dict[str, Measurement]) -> str:
    if "eb_c.js" in figures:
        ratio = figures["eb_c.js"]
        told = f"After its own histories it deviates {with_interval(ratio)} times as much as after the oracle's (EB-C)"
    else:
        ratio = figures["eb_m.js"]
        told = (
            f"Its marginals deviate {with_interval(ratio)} times as much on its own histories as on the text's (EB-M)"
        )
    if ratio.interval.lower > 1:
        return f"{told}: exposure bias is there."
    return f"{told}: " + ("none to be seen." if ratio.interval.upper > 1 else "its own histories suit it better.")


def _regret(figures: dict[str, Measurement]) -> str:
    return (
        f"Each token of its own text costs {with_interval(figures['q_per_token'])} nats of regret; "
        f"the oracle gives that text {with_interval(figures['nll_oracle'])} nats a token."
    )


def _recovery(figures: dict[str, Measurement]) -> str:
    told = [
        f"{with_interval(entry)} after {name.removeprefix('nll_gap.')} prefixes"
        for name, entry in figures.items()
        if name.startswith("nll_gap.")
    ]
    return f"Nats a token that its continuations lose against those of data prefixes: {'; '.join(told)}."


def _sampling(figures: dict[str, Measurement]) -> str:
    quality = {entry.recipe["sampler"]: entry for name, entry in figures.items() if ".corpus_bleu" in name}
    best = max(quality.values(), key=lambda entry: entry.value)
    freest = min((entry for name, entry in figures.items() if ".self_bleu" in name), key=lambda entry: entry.value)
    return (
        f"{best.recipe['sampler']} is the most careful setting, with corpus-BLEU {with_interval(best)}; "
        f"{freest.recipe['sampler']} the most diverse, with self-BLEU {with_interval(freest)}."
    )


_VERDICTS: dict[str, Callable[[dict[str, Measurement]], str]] = {
    "likelihood": _likelihood,
    "exposure": _exposure,
    "regret": _regret,
    "recovery": _recovery,
    "sampling": _sampling,
}
