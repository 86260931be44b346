"""What do people think of the samples? Means over items and raters, agreement, HUSE (section 5.4, A.3 to A.6).

Ratings come from a study that `offscript serve --study` collected, or from a file.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from offscript.measures.question import Answer, Compared, Files, Finding, Progress, Question, Settings, Table, setting
from offscript.measures.words import with_interval

if TYPE_CHECKING:
    from offscript.corpora.ratings import RatedText, Ratings
    from offscript.measures._figures import Figure
    from offscript.measures.charts import Chart
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

_COLUMNS = ("item", "rater", "system", "rating", "seconds", "passed")
_SHOWN_PAIRS = 40


class RatingSettings(Settings):
    """Which ratings, what their columns are called, and how they are filtered."""

    source: Path = setting(
        about="A study's folder, or ratings as CSV, TSV or JSON lines: item,rater,system,rating[,seconds][,passed].",
        argument=True,
    )
    item: str | None = setting(None, "Column of the item; several joined by +, as for the other columns.")
    rater: str | None = setting(None, "Column of the rater.")
    system: str | None = setting(None, "Column of what made the item.")
    rating: str | None = setting(None, "Column of the rating, a number or a category.")
    seconds: str | None = setting(None, "Column of the time.")
    passed: str | None = setting(None, "Column that says whether the rater passed the checks of attention.")
    where: Files = setting((), "Only rows with COLUMN=VALUE, or COLUMN!=VALUE; may be repeated.")
    empty: str | None = setting(None, "Category that an empty rating stands for; else it is missing.")
    time_of: Literal["rating", "rater"] | None = setting(None, "What the time is of: a rating, or all of a rater.")
    failed: Literal["drop", "keep"] = setting("drop", "Drop or keep ratings of those who failed a check.")
    fastest: float = setting(4.5, "The filter drops raters below so many seconds per rating (45 for ten).", ge=0)
    slowest: int = setting(20, "The filter keeps so many ratings of each item, of the slowest raters.", ge=1)
    against: str | None = setting(None, "Compare every system with this one, not all pairs.")
    difference: float = setting(0.2, "Say how many raters would find a difference of this size.")
    gold: str = setting("gold", "The system that is human text.")
    texts: Path | None = setting(None, "JSON lines of item or system, text and log_prob, for diversity and HUSE.")


class RatingsQuestion(Question[RatingSettings]):
    """Human quality by system, agreement of the raters, and HUSE."""

    name = "ratings"
    title = "What do people think of its samples?"
    about = "Means of people's ratings by system, agreement (alpha, kappa, ICC), paired comparisons, HUSE."
    Settings = RatingSettings
    example = "ratings.csv"
    needs = ()
    flags = ("seed",)
    headlines = ("alpha_ordinal", "alpha_nominal")
    compared = (Compared("alpha_ordinal"), Compared("icc"))

    def depends_on(self, subject: "Subject", settings: RatingSettings) -> dict[str, Any]:
        """The ratings themselves."""
        return {"ratings": _hash(settings.source)}

    def measure(self, subject: "Subject", settings: RatingSettings, progress: Progress) -> Answer:
        """All that the ratings tell; what their columns do not give is left out."""
        from offscript.measures._figures import as_measurements
        from offscript.measures.measurement import environment
        from offscript.measures.ratings.estimation import agreement_figures, without_failed

        began = time.monotonic()
        ratings, texts = _read(settings)
        total = len(ratings)
        if settings.failed == "drop":
            ratings = without_failed(ratings)
        answer = _Parts()
        if ratings.numeric:
            _add_means(answer, ratings, texts, settings, subject.seed)
        answer.figures |= agreement_figures(ratings)
        answer.details["counts"] = _counts(ratings, total)
        recipe = {
            "measure": self.name,
            "ratings": {"name": str(settings.source), "sha256": _hash(settings.source)},
            **settings.model_dump(mode="json", exclude={"source"}),
            "seed": subject.seed,
            **environment(),
        }
        shared: dict[str, Any] = {"question": self.name, "seed": subject.seed, "recipe": recipe}
        shared["seconds"] = time.monotonic() - began
        measurements = [
            entry
            for name, figure in answer.figures.items()
            for entry in as_measurements({name: figure}, n=answer.sizes.get(name, len(ratings)), **shared)
        ]
        title = f"{len(ratings):,} ratings of {settings.source}"
        return Answer(measurements, answer.exhibits, answer.details, answer.tables, title)

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """The means, and how far raters agree; the comparisons have the tests."""
        if not figures:
            return None
        means = [
            f"{name.partition('.')[2]} {with_interval(f)}" for name, f in figures.items() if name.startswith("mean.")
        ]
        agreement = next((figures[name] for name in ("alpha_ordinal", "alpha_nominal") if name in figures), None)
        sentence = f"Mean rating: {'; '.join(means)}. " if means else ""
        if agreement is not None:
            sentence += (
                f"Raters agree with {agreement.name} {with_interval(agreement)}, where 0 is chance and 1 perfect."
            )
        return Finding("People rated its samples", sentence.strip())

    def charts(self, measurements: "Sequence[Measurement]") -> "list[Chart]":
        """How the means converge with the number of ratings (Figure A-5)."""
        from offscript.measures.charts import curve_chart, curves_of

        curves = curves_of([entry for entry in measurements if entry.name.startswith("mean.")], "mean.")
        if not curves:
            return []
        return [("Mean rating by ratings per item", curve_chart(curves, x="ratings per item", y="mean rating"))]


class _Parts:
    """An answer as it grows."""

    def __init__(self) -> None:
        self.figures: dict[str, Figure] = {}
        self.sizes: dict[str, int] = {}
        self.details: dict[str, Any] = {}
        self.tables: list[Table] = []
        self.exhibits: list[dict[str, Any]] = []


def _read(settings: RatingSettings) -> "tuple[Ratings, list[RatedText]]":
    """Ratings with the texts they are of, where known."""
    from dataclasses import replace

    from offscript.corpora.ratings import Layout, RatedText, layout_of_file, read_ratings, read_texts

    if settings.source.is_dir():
        from offscript.studies.export import study_ratings, study_texts

        return study_ratings(settings.source), study_texts(settings.source)
    columns = {name: getattr(settings, name) for name in _COLUMNS if getattr(settings, name)}
    ratings = read_ratings(
        settings.source, columns=columns, where=settings.where, empty=settings.empty, time_of=settings.time_of
    )
    if settings.texts is None:
        systems = dict(zip(ratings.items.tolist(), ratings.systems.tolist(), strict=True))
        return ratings, [RatedText(item, systems[item], text) for item, text in ratings.texts.items()]
    known = layout_of_file(settings.source)
    texts = read_texts(settings.texts, like=Layout(known.name, (), {**known.columns, **columns}), where=settings.where)
    log_probs = {each.item: each.log_prob for each in texts if each.item and each.log_prob is not None}
    return replace(ratings, log_probs={**ratings.log_probs, **log_probs}), texts


def _add_means(
    answer: _Parts, ratings: "Ratings", texts: "list[RatedText]", settings: RatingSettings, seed: int
) -> None:
    from offscript.measures.ratings.automatic import correlation_figures, diversity_figures, huse_figures
    from offscript.measures.ratings.comparisons import compare_systems
    from offscript.measures.ratings.estimation import convergence_by_items, item_rows, mean_figures, system_rows

    means = mean_figures(ratings, "mean", seed=seed)
    answer.figures |= means
    systems = system_rows(ratings, means, "mean")
    answer.sizes |= {name: row["ratings"] for name, row in zip(means, systems, strict=True)}
    answer.details |= {"systems": systems, "items": item_rows(ratings)}
    answer.tables.append(Table([_short(row) for row in systems], title="By system"))
    _add_filtered(answer, ratings, settings)
    pairs = compare_systems(ratings, against=settings.against, difference=settings.difference)
    answer.details["comparisons"] = pairs
    if pairs:
        told = f" (the first {_SHOWN_PAIRS} of {len(pairs)}; --json has all)" if len(pairs) > _SHOWN_PAIRS else ""
        shown = [_pair(row, settings.difference) for row in pairs[:_SHOWN_PAIRS]]
        answer.tables.append(Table(shown, title=f"In pairs, first minus second{told}"))
    answer.details["convergence_by_items"] = {
        name: convergence_by_items(ratings.of(name), seed) for name in ratings.names
    }
    diversity = diversity_figures(texts)
    answer.figures |= diversity
    answer.figures |= correlation_figures(ratings, texts, means, settings.gold)
    answer.figures |= huse_figures(ratings, settings.gold, seed=seed)
    _add_trade_off(answer, means, diversity)


def _add_filtered(answer: _Parts, ratings: "Ratings", settings: RatingSettings) -> None:
    """The thesis's filter beside the whole."""
    from offscript.measures.ratings.estimation import filter_by_time, mean_figures, system_rows

    filtered = filter_by_time(ratings, fastest=settings.fastest, slowest=settings.slowest)
    if filtered is None or not len(filtered.ratings):
        return
    figures = mean_figures(filtered.ratings, "mean_filtered", seed=None)
    answer.figures |= figures
    rows = system_rows(filtered.ratings, figures, "mean_filtered")
    answer.sizes |= {name: row["ratings"] for name, row in zip(figures, rows, strict=True)}
    answer.details["filtered"] = {
        "raters_dropped": filtered.raters,
        "ratings_dropped": filtered.dropped,
        "systems": rows,
    }
    title = f"Filtered by time: {filtered.raters} raters and {filtered.dropped:,} ratings dropped"
    answer.tables.append(Table([_short(row) for row in rows], title=title))


def _add_trade_off(answer: _Parts, means: "dict[str, Figure]", diversity: "dict[str, Figure]") -> None:
    from offscript.measures.charts import scatter_chart
    from offscript.measures.ratings.automatic import ENTROPY, SELF_BLEU, quality_rows

    rows = quality_rows(means, diversity)
    for score, told in (
        (ENTROPY, "3-gram entropy (higher: more diverse)"),
        (SELF_BLEU, "self-BLEU (lower: more diverse)"),
    ):
        points = [row for row in rows if row["score"] == score]
        if points:
            spec = scatter_chart(points, x=told, y="mean rating")
            answer.exhibits.append(
                {"kind": "chart", "title": f"Human quality over {told.partition(' (')[0]}", "spec": spec}
            )


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row that fits a terminal."""
    return {name: value for name, value in row.items() if name != "sd_sample"}


def _pair(row: Mapping[str, Any], wished: float) -> dict[str, Any]:
    """A comparison that fits a terminal."""
    lower, upper = row["ci"]
    return {
        "pair": f"{row['first']} - {row['second']}",
        "difference": f"{row['difference']:.2f} ({lower:.2f} … {upper:.2f})",
        "p (Holm)": f"{row['p_value_holm']:.2g}",
        "paired t": "" if row["t"] is None else f"{row['t']:.2f}",
        f"raters for {wished:g}": row["raters_needed"] or "more items",
    }


def _counts(ratings: "Ratings", total: int) -> dict[str, Any]:
    import numpy as np

    return {
        "ratings": len(ratings),
        "failed_checks": total - len(ratings),
        "items": len(np.unique(ratings.items)),
        "raters": len(np.unique(ratings.raters)),
        "left_out": dict(ratings.left_out),
    }


def _hash(source: Path) -> str:
    from offscript._files import sha256_of

    if source.is_dir():
        from offscript.studies.export import study_hash

        return study_hash(source)
    return sha256_of(source)
