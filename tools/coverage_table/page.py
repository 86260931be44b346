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
    "Above 97 %, wide by design: shares are discrete, so that no interval covers 95 % at every share; rates, macro",
    "averages and correlations of few items take the wider of two intervals, and the difference of two figures adds",
    "two such intervals up; the calibration error of a calibrated model is 0, at the edge of what it can be; terms and",
    "examples are both resampled; the jackknife overstates how far counts of distinct words vary; distances leave room",
    "for their bias.",
    "",
    "Below 93 %: correlations of very skewed values, and the naive interval of ratings, which takes the ratings of one",
    "rater or of one item for independent; it is no method of offscript and stands there for comparison.",
]
