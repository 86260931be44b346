"""The table as a page of the documentation."""

from coverage_table.cases import RANGE, Case


def page(rows: list[tuple[Case, float]], repeats: int) -> str:
    """The page as Markdown."""
    lines = [
        "# How often the intervals cover",
        "",
        "Made by `make coverage` (`tools/coverage_table`): samples from populations whose figure is known, and",
        f"how often the 95 % interval contains it. {repeats:,} samples per row, fewer where each must be resampled by",
        "itself, so that the shares are good to about a hundredth. Each method stands at the smallest size it accepts",
        "and at larger ones; below that size it refuses. Rows outside 93 to 97 % are in bold, with the reason below.",
        "",
        "| figure | size | population | covers |",
        "|---|---|---|---|",
    ]
    for case, share in rows:
        told = f"{100 * share:.1f} %"
        lines.append(
            f"| {case.figure} | {case.size} | {case.population} | "
            f"{told if RANGE[0] <= share <= RANGE[1] else f'**{told}**'} |"
        )
    return "\n".join([*lines, "", *NOTES, ""])


NOTES = [
    "Above 97 %, wide by design: shares are discrete, so that no interval covers 95 % at every share (of 20 values",
    "with a share of .01, 0, 1 or 2 are ones, and any interval holds .01 in 82, 98 or 99.9 % of samples); the",
    "jackknife overstates how far counts of distinct words vary; terms and examples are both resampled; sampling adds",
    "to a distance, and its interval leaves room for that.",
    "",
    "Refused, because nothing covers there: a correlation of fewer than 6 pairs (Pearson) or 10 (Spearman), a figure",
    "of a whole set of 2 sentences (74 %), a mean, a rate or a ratio of fewer than 4 values, a calibration error of",
    "fewer than 100 items, a difference of two means of fewer than 12 values each that do not pair (90 % for 4 and 8",
    "skewed values of unlike spread, 99 % for alike ones).",
    "",
    "Below 93 %: the naive interval of ratings, which takes the ratings of one rater or of one item for independent;",
    "it is no method of offscript and stands there for comparison.",
]
