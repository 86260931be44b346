"""Write docs/papers.md: every claim of the papers that an experiment tests, and where it stands.

    python tools/write_papers.py [--take runs/reproduce]

The page is made of the small files under src/offscript/experiments/results. `--take FOLDER` first copies there what
`offscript reproduce` wrote to FOLDER, of each experiment the largest scale.
"""

import argparse
from pathlib import Path

import yaml

from offscript._files import write_json, write_text
from offscript.experiments.experiment import SCALES, read_experiment
from offscript.experiments.standing import NAME, WORDS, Claim, Standing, counted, papers, read_standing, standings
from offscript.experiments.tables import experiments

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "src" / "offscript" / "experiments" / "results"
PAGE = ROOT / "docs" / "papers.md"
HEAD = """# The papers, claim by claim

Made by `make papers` from the result files that ship; do not edit. A claim *holds* or *does not hold* where the 95 %
interval of our figure decides it, else it is *not decided*; what would decide it takes today's figures for the true
ones. `quick` runs are small: they test a claim on models that two cores train in minutes. Times are those of the
stored run, on two cores that other work may have shared. Below each claim stands what is tested:
`VARIANT/QUESTION.FIGURE`, as [measures](measures.md) names it, and in brackets where the paper says it. Run one again
with `offscript reproduce EXPERIMENT --scale SCALE`.
"""


def page(known: dict[str, Standing], missing: list[dict[str, str]]) -> str:
    """The page as Markdown.

    Args:
        known: Standings by experiment.
        missing: Why a table or figure has no experiment: `paper`, `what` and `why`.

    Returns:
        Its text.
    """
    claims = [claim for standing in known.values() for claim in standing.claims]
    told = counted(claim.verdict for claim in claims)
    parts = [HEAD, f"\n**{len(claims)} claims of {len(known)} experiments: {told}.**\n"]
    for paper in dict.fromkeys(each.paper for each in known.values()):
        parts.append(f"\n## {paper}\n")
        parts += [_section(each) for each in known.values() if each.paper == paper]
    return "".join([*parts, _coverage(missing), *_not_run(known)])


def _coverage(missing: list[dict[str, str]]) -> str:
    """Which experiment stands for each table and figure, and why some have none."""
    listed = papers()
    tables, figures = (
        [names for paper in listed.values() for names in getattr(paper, kind).values()]
        for kind in ("tables", "figures")
    )
    counted_tables, counted_figures = (
        f"{sum(map(bool, names))} of {len(names)} {kind}"
        for names, kind in ((tables, "tables"), (figures, "result figures"))
    )
    parts = [f"\n## Every table and figure\n\n{counted_tables} and {counted_figures} have an experiment.\n"]
    parts.append("\n| paper | table or figure | experiments |\n|---|---|---|\n")
    reasons = {(each["paper"], each["what"]): each["why"] for each in missing}
    for name, paper in listed.items():
        for what, by in {**paper.tables, **paper.figures}.items():
            told = ", ".join(f"`{each}`" for each in by) or f"none: {reasons[name, what]}"
            parts.append(f"| {paper.title} | {what} | {told} |\n")
    return "".join(parts)


def _not_run(known: dict[str, Standing]) -> list[str]:
    names = [name for name in experiments() if name not in known]
    if not names:
        return []
    listed = ", ".join(f"`{name}`" for name in names)
    return [f"\n## Without a result here\n\nExperiments whose results are not stored yet: {listed}.\n"]


def _section(standing: Standing) -> str:
    runs = "one run" if standing.runs == 1 else f"{standing.runs} runs"
    head = f"\n### {standing.title}\n\n`{standing.experiment}`, scale {standing.scale}, {runs}, {standing.time}.\n"
    if not standing.claims:
        return head
    rows = "".join(map(_row, standing.claims, sentences(standing)))
    return f"{head}\n| claim | found here | verdict |\n|---|---|---|\n{rows}"


def sentences(standing: Standing) -> list[str]:
    """The claims of a standing in words; empty where the experiment is not one of the package's."""
    if standing.experiment not in experiments():
        return [""] * len(standing.claims)
    return [each.claim for each in read_experiment(standing.experiment, standing.scale).expected]


def _row(claim: Claim, sentence: str) -> str:
    told = f"{sentence}<br>*{claim.statement}*" if sentence else claim.statement
    verdict = f"{WORDS[claim.verdict]}; {claim.needs} would decide it" if claim.needs else WORDS[claim.verdict]
    return "| " + " | ".join(each.replace("|", "\\|") for each in (told, claim.found, verdict)) + " |\n"


def take(folder: Path) -> None:
    """Copy what a folder of reproductions says of each experiment, at the largest scale it was run at."""
    for name in experiments():
        found = [folder / name / scale / NAME for scale in SCALES]
        if kept := [path for path in found if path.is_file()]:
            write_json(RESULTS / f"{name}.json", read_standing(kept[-1]).model_dump())


def missing_results() -> list[dict[str, str]]:
    """Tables and figures that no experiment has, with the reason."""
    rows: list[dict[str, str]] = yaml.safe_load((RESULTS / "missing.yaml").read_text(encoding="utf-8"))
    return rows


def main() -> None:
    """Take new results where a folder is given, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--take", type=Path)
    given = parser.parse_args()
    if given.take is not None:
        take(given.take)
    write_text(PAGE, page(standings(), missing_results()))


if __name__ == "__main__":
    main()
