"""The command line: trace the tests, run a sample of changes, report."""

import argparse
import contextlib
import functools
import importlib
import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from mutants import FOLDERS, PACKAGES, REPOSITORY, SOURCE, TESTS
from mutants.changes import Mutant, mutants_of

JUDGED = Path(__file__).with_name("judged.yaml")
MOST_SECONDS = 18.0  # of traced tests for one change, fast ones first
SLOWEST = 20.0
MOST_TESTS = 120
LISTINGS = (
    "tests/measures/test_registry.py::test_listings_and_reference_are_current",
    "tests/measures/test_declared.py::test_what_is_declared_is_what_was_written_down",
    "tests/measures/test_declared.py::test_defaults_are_those_that_were_written_down",
)
"""They compare what is declared (settings, defaults, bounds, needs) with what was written; they run none of it."""


def main() -> None:
    """Run a sample, or report on what was run."""
    parser = argparse.ArgumentParser(description="Change the code a little, and count how often the tests notice.")
    parser.add_argument("--count", type=int, default=150, help="changes to try, those of earlier runs included")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--match", default="", help="changes whose name, as printed, matches this regular expression")
    parser.add_argument("--again", action="store_true", help="run those that survived once more")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "mutants.jsonl")
    parser.add_argument("--reach", type=Path, default=REPOSITORY / "mutants_reach.json", help="lines of each test")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--out", type=Path, help="write the scores and the survivors to this file, too")
    asked = parser.parse_args()
    os.chdir(REPOSITORY)
    sample = _sample(asked.only, asked.match, asked.seed, asked.count)
    if not asked.report:
        _load_libraries()
        _trace(asked.reach, [str(TESTS / folder) for folder in FOLDERS])
        known = _known(asked.results)
        left = [
            mutant
            for mutant in sample
            if mutant.key not in known or (asked.again and known[mutant.key]["outcome"] in ("survived", "no test"))
        ]
        _run(left, asked.reach, asked.results)
    known = _known(asked.results)
    lines = _report([mutant for mutant in sample if mutant.key in known], known)
    print("\n" + "\n".join(lines))
    if asked.out:
        asked.out.write_text(_page(lines, f"seed {asked.seed}"), encoding="utf-8")


def _sample(only: str, match: str, seed: int, count: int) -> list[Mutant]:
    paths = [path for package in PACKAGES for path in sorted((SOURCE / "offscript" / package).rglob("*.py"))]
    mutants = [mutant for path in paths if only in str(path) for mutant in mutants_of(path)]
    random.Random(seed).shuffle(mutants)
    return [mutant for mutant in mutants if re.search(match, mutant.key)][:count]


def _known(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    entries = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {entry["key"]: entry for entry in entries}


def _load_libraries() -> None:
    """What every child would import again; nothing of offscript, whose modules are changed."""
    sys.path.insert(0, str(SOURCE))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when transformers is imported
    for name in ("numpy", "scipy.stats", "torch", "numba", "pydantic", "hypothesis", "pytest", "transformers"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _trace(path: Path, folders: list[str]) -> None:
    """Run the tests that no earlier run has traced, in a child, which imports what is changed later."""
    import pytest

    from mutants.reach import Tracer
    from mutants.trial import OPTIONS

    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = int(pytest.main([*OPTIONS, *folders], plugins=[Tracer(path)]))
        finally:
            os._exit(code)
    os.waitpid(child, 0)


def _run(left: list[Mutant], reach: Path, results: Path) -> None:
    """Changes in functions in one child that has imported all; the others in a child each."""
    import pytest

    from mutants import trial
    from mutants.reach import load_reach

    tests = load_reach(reach)
    by_line: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name in sorted(tests, key=lambda name: tests[name]["seconds"]):
        for file, lines in tests[name]["lines"].items():
            for line in lines:
                by_line[file, line].append(name)

    def note(mutant: Mutant, outcome: str, seconds: float) -> None:
        entry = {"key": mutant.key, "line": mutant.line, "outcome": outcome, "seconds": round(seconds, 1)}
        with results.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")
        print(f"{outcome:9} {seconds:5.1f} s  line {mutant.line}: {mutant.key}", flush=True)

    inside, outside = [], []
    for mutant in left:
        names, seconds = _chosen(mutant, by_line, tests)
        (inside if mutant.function else outside).append((mutant, names, seconds))
    if inside:
        child = os.fork()
        if child == 0:
            wanted = sorted({name for _, names, _ in inside for name in names})
            files = sorted({name.partition("::")[0] for name in wanted})
            try:
                pytest.main(["-s", *trial.OPTIONS, *files], plugins=[trial.Trials(inside, note)])
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    for mutant, names, seconds in outside:
        if names:
            run = functools.partial(trial.import_changed, mutant, names)
            note(mutant, *trial.in_child(run, trial.SPARE * seconds + 60))
        else:
            note(mutant, "no test", 0.0)


def _chosen(
    mutant: Mutant, by_line: dict[tuple[str, int], list[str]], tests: dict[str, dict[str, Any]]
) -> tuple[list[str], float]:
    """Names of tests that reach the change, those that reach little else first, and their seconds.

    Beside the module's own file, the first test of every file comes before the second of any: tests of one file tend to
    notice the same.
    """
    names = sorted(_reaching(mutant, by_line, tests), key=lambda name: sum(map(len, tests[name]["lines"].values())))
    stem, folder = mutant.path.stem, mutant.path.parent.name
    noun = folder if stem in ("__init__", "estimation") else stem.strip("_")
    own = [name for name in names if noun in name.partition("::")[0]]
    chosen: list[str] = []
    seconds = 0.0
    declared = [] if mutant.function else [name for name in LISTINGS if name in tests]
    for name in dict.fromkeys([*declared, *names[: MOST_TESTS // 4], *own[: MOST_TESTS // 2], *_in_turn(names)]):
        taken = tests[name]["seconds"]
        if len(chosen) < MOST_TESTS and taken < SLOWEST and (seconds + taken < MOST_SECONDS or not chosen):
            chosen.append(name)
            seconds += taken
    return chosen, seconds


def _reaching(mutant: Mutant, by_line: dict[tuple[str, int], list[str]], tests: dict[str, dict[str, Any]]) -> list[str]:
    """Names of all tests that reach the change, fast ones first.

    A line of a module or of a class runs when it is imported, so that every test of the module's functions counts;
    those that reach the next line come first, which is within the function if the change is in its defaults.
    """
    file = str(mutant.path.relative_to(SOURCE))
    if mutant.function:
        return by_line[file, mutant.line] or by_line[file, mutant.function]  # a line within an expression
    lines = sorted(line for path, line in by_line if path == file)
    following = next((line for line in lines if line > mutant.line), 0)
    others = {name for line in lines for name in by_line[file, line]}
    return [
        *by_line[file, following],
        *sorted(others - set(by_line[file, following]), key=lambda name: tests[name]["seconds"]),
    ]


def _in_turn(names: list[str]) -> list[str]:
    """The first of each file, then the second of each file, and so on."""
    seen: Counter[str] = Counter()
    turns = []
    for name in names:
        file = name.partition("::")[0]
        turns.append((seen[file], name))
        seen[file] += 1
    return [name for _, name in sorted(turns, key=lambda turn: turn[0])]


def _report(sample: list[Mutant], known: dict[str, dict[str, Any]]) -> list[str]:
    """Scores of all and of each package, then the survivors with what was judged of them."""
    import yaml

    from offscript.statistics import proportion_interval

    judged = yaml.safe_load(JUDGED.read_text(encoding="utf-8")) or {}
    outcomes = {mutant.key: known[mutant.key]["outcome"] for mutant in sample}
    noticed = [key for key, outcome in outcomes.items() if outcome in ("killed", "timeout")]
    survivors = [key for key, outcome in outcomes.items() if outcome in ("survived", "no test")]
    same = [key for key in survivors if _reason(key, judged)]
    lines = [f"{len(outcomes)} changes: {dict(Counter(outcomes.values()))}"]
    rows = [("all", noticed, survivors), ("without those that change nothing", noticed, set(survivors) - set(same))]
    for package in PACKAGES:
        of = [[key for key in keys if key.startswith(f"{package}/")] for keys in rows[1][1:]]
        rows.append((f"{package}/ without those that change nothing", *of))
    for label, yes, no in rows:
        tried = len(yes) + len(no)
        if tried < 2:
            continue
        interval = proportion_interval(len(yes), tried).interval
        share, bounds = len(yes) / tried, f"{interval.lower:.1%} to {interval.upper:.1%}, {interval.method}"
        lines.append(f"score, {label}: {share:.1%} of {tried} ({bounds})")
    for key in sorted(survivors):
        what, reason = outcomes[key], _reason(key, judged)
        lines.append(f"{what}: {key}" + (f" (judged: {reason.strip()})" if reason else ""))
    return lines


def _page(lines: list[str], sample: str) -> str:
    """The report as Markdown: what survived that a test should notice, then what no test can notice."""
    scores = [line for line in lines if not line.startswith(("survived: ", "no test: "))]
    survivors = [line.split(": ", 1)[1] for line in lines if line not in scores]
    judged = [line for line in survivors if " (judged: " in line]
    told = [line for line in survivors if line not in judged]
    return "\n".join(
        [
            "# Changes that tests did not notice",
            "",
            f'Written by `make mutants ARGS="… --out tools/mutants/survivors.md"`, a random sample ({sample}).',
            "",
            *(f"- {line}" for line in scores),
            "",
            "Noticed by no test:",
            "",
            *(f"- `{line}`" for line in told),
            "",
            "The same program, so that no test can notice (`judged.yaml` has the reasons for all samples):",
            "",
            *(f"- `{key}`: {reason[:-1]}" for key, _, reason in (line.partition(" (judged: ") for line in judged)),
            "",
        ]
    )


def _reason(key: str, judged: dict[str, str]) -> str:
    """Why no test can notice the change, as judged for it or for its whole line; empty where it was not."""
    return judged.get(key) or judged.get(key.rpartition(" [")[0]) or ""


if __name__ == "__main__":
    main()
