"""Human quality beside automatic scores: n-gram entropy and self-BLEU by system, and correlations by item."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.corpora.ratings import RatedText, Ratings
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure
from offscript.measures.bleu import leave_one_out_bleu, sentence_bleu
from offscript.measures.diversity.estimation import ngram_entropy
from offscript.measures.ngrams import NgramCounter, tabulate
from offscript.measures.ratings.estimation import item_rows, label
from offscript.measures.ratings.huse import NEIGHBOURS, estimate_huse
from offscript.statistics import Estimate, correlation_interval, jackknife, within

ENTROPY, SELF_BLEU = "entropy_3", "self_bleu_4"
_FEWEST_TEXTS = 3


def diversity_figures(texts: Sequence[RatedText]) -> dict[str, Figure]:
    """3-gram entropy and self-BLEU of each system's texts (Figures 5-1, 5-5 and A-6), from as many texts of each."""
    by_system: dict[str, list[list[str]]] = {}
    for each in texts:
        by_system.setdefault(each.system, []).append(each.text.split())
    enough = {name: rows for name, rows in by_system.items() if len(rows) >= _FEWEST_TEXTS}
    size = min((len(rows) for rows in enough.values()), default=0)
    figures: dict[str, Figure] = {}
    for name, rows in enough.items():
        entropy, self_bleu = _diversity(rows[:size])
        figures |= {f"{ENTROPY}.{label(name)}": Figure(entropy), f"{SELF_BLEU}.{label(name)}": Figure(self_bleu)}
    return figures


def _diversity(rows: Sequence[Sequence[str]]) -> tuple[Estimate, Estimate]:
    """3-gram entropy in nats, and self-BLEU-4, of as few as three texts."""
    (table,) = tabulate(rows)
    counter = NgramCounter(table)
    counts = [counter.next_order() for _ in range(3)][-1]

    def figures_of(kept: npt.NDArray[np.bool_]) -> FloatArray:
        entropy = ngram_entropy(counts.total(np.where(kept[counts.sentence], counts.count, 0)))
        return np.array([entropy, leave_one_out_bleu(table.select(kept), highest_order=4).corpus(4)])

    entropy, self_bleu = jackknife(figures_of, len(rows))
    return within(entropy, 0), within(self_bleu, 0, 1)


def correlation_figures(
    ratings: Ratings, texts: Sequence[RatedText], means: Mapping[str, Figure], gold: str
) -> dict[str, Figure]:
    """Correlations of the mean rating with automatic scores: of items, and across systems with their diversity."""
    rows = item_rows(ratings)
    by_item = {row["item"]: row["mean"] for row in rows}
    scores: dict[str, dict[str, float]] = {"log_prob": dict(ratings.log_probs)}
    known = {each.item: each for each in texts if each.item in by_item}
    scores["length"] = {item: float(len(each.text.split())) for item, each in known.items()}
    references = [each.text.split() for each in texts if each.system == gold]
    judged = [each for each in known.values() if each.system != gold]
    if references and judged:
        found = sentence_bleu([each.text.split() for each in judged], references).scores[:, -1]
        scores["bleu"] = {each.item: float(score) for each, score in zip(judged, found, strict=True)}
    figures: dict[str, Figure] = {}
    for name, values in scores.items():
        pairs = [(by_item[item], value) for item, value in values.items() if item in by_item]
        figures |= _correlation(f"correlation.{name}", pairs, "spearman")
    diversity = diversity_figures([each for each in texts if each.system != gold])
    for score in (ENTROPY, SELF_BLEU):
        pairs = [
            (mean.estimate.value, diversity[key].estimate.value)
            for name, mean in means.items()
            if (key := f"{score}.{name.partition('.')[2]}") in diversity
        ]
        figures |= _correlation(f"correlation.{score}", pairs, "pearson")
    return figures


def _correlation(name: str, pairs: Iterable[tuple[float, float]], kind: str) -> dict[str, Figure]:
    values = np.array(list(pairs), dtype=np.float64).reshape(-1, 2)
    try:
        return {name: Figure(correlation_interval(values[:, 0], values[:, 1], kind=kind))}
    except OffscriptError:  # too few pairs, or a constant
        return {}


def huse_figures(ratings: Ratings, gold: str, *, seed: int) -> dict[str, Figure]:
    """`huse`, `huse_q` and `huse_d` of each system beside human text; of a single system without its name."""
    rows = [row for row in item_rows(ratings) if row["item"] in ratings.log_probs]
    human = [row for row in rows if row["system"] == gold]
    systems = [name for name in ratings.names if name != gold]
    figures: dict[str, Figure] = {}
    if len(human) < NEIGHBOURS:
        return figures
    for name in systems:
        own = [row for row in rows if row["system"] == name]
        if len(own) < NEIGHBOURS:
            continue
        both = [*human, *own]
        quality = np.array([row["mean"] for row in both])
        log_probs = np.array([ratings.log_probs[row["item"]] for row in both])
        found = estimate_huse(quality, log_probs, np.arange(len(both)) < len(human), seed=seed)
        ending = "" if len(systems) == 1 else f".{label(name)}"
        figures |= {f"{key}{ending}": Figure(value) for key, value in found._asdict().items()}
    return figures


def quality_rows(means: Mapping[str, Figure], diversity: Mapping[str, Figure]) -> list[dict[str, Any]]:
    """Human quality with both diversities of each system, for the chart."""
    rows = []
    for name, mean in means.items():
        system = name.partition(".")[2]
        for score in (ENTROPY, SELF_BLEU):
            if (figure := diversity.get(f"{score}.{system}")) is not None:
                quality, other = mean.estimate, figure.estimate
                rows.append(
                    {
                        "system": system,
                        "score": score,
                        "quality": quality.value,
                        "lower": quality.interval.lower,
                        "upper": quality.interval.upper,
                        "diversity": other.value,
                        "left": other.interval.lower,
                        "right": other.interval.upper,
                    }
                )
    return rows
