"""Change the code a little, many times, and count how often the tests notice.

    make mutants ARGS="--count 200 --seed 1"      a random sample of changes
    python tools/mutants.py --only means --count 20
    python tools/mutants.py --report              what is known so far

A change (mutant) swaps one operator or constant in `statistics/`, `measures/` or `sampling/`. The tests that mirror the
module or import from it run in a forked process with the changed module in the place of the real one; the files stay
as they are. Results go to a file, so that a later run goes on. Survivors that no test can notice, because the program
means the same, are named with the reason in `tools/mutants_judged.yaml`.
"""

import argparse
import ast
import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE, TESTS = REPOSITORY / "src", REPOSITORY / "tests"
PACKAGES = ("statistics", "measures", "sampling")
JUDGED = Path(__file__).with_name("mutants_judged.yaml")
MOST_TESTS = 3
SPARE = 3.0  # times the processor seconds that the tests take without a change, and ten more

_SWAPS: dict[type[ast.AST], tuple[type[ast.AST], str]] = {
    ast.Lt: (ast.LtE, "< to <="),
    ast.LtE: (ast.Lt, "<= to <"),
    ast.Gt: (ast.GtE, "> to >="),
    ast.GtE: (ast.Gt, ">= to >"),
    ast.Eq: (ast.NotEq, "== to !="),
    ast.NotEq: (ast.Eq, "!= to =="),
    ast.Add: (ast.Sub, "+ to -"),
    ast.Sub: (ast.Add, "- to +"),
    ast.Mult: (ast.Div, "* to /"),
    ast.Div: (ast.Mult, "/ to *"),
    ast.FloorDiv: (ast.Mult, "// to *"),
    ast.Mod: (ast.Mult, "% to *"),
    ast.Pow: (ast.Mult, "** to *"),
    ast.And: (ast.Or, "and to or"),
    ast.Or: (ast.And, "or to and"),
    ast.Is: (ast.IsNot, "is to is not"),
    ast.IsNot: (ast.Is, "is not to is"),
    ast.In: (ast.NotIn, "in to not in"),
    ast.NotIn: (ast.In, "not in to in"),
    ast.BitAnd: (ast.BitOr, "& to |"),
    ast.BitOr: (ast.BitAnd, "| to &"),
}


@dataclass(frozen=True)
class Mutant:
    """One change: the number of the place among those of the module."""

    path: Path
    place: int
    line: int
    change: str
    text: str

    @property
    def key(self) -> str:
        """What names it across runs: it stays as long as the line does."""
        return f"{self.path.relative_to(SOURCE / 'offscript')}: {self.text} [{self.change}]"

    @property
    def module(self) -> str:
        """The dotted name of the module."""
        parts = self.path.relative_to(SOURCE).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def source(self) -> ast.Module:
        """The changed module."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        for place, (_, apply, _) in enumerate(_places(tree)):
            if place == self.place:
                apply()
                return ast.fix_missing_locations(tree)
        raise AssertionError(self.key)


def mutants_of(path: Path) -> list[Mutant]:
    """Every change of a module."""
    text = path.read_text(encoding="utf-8")
    lines, seen, mutants = text.splitlines(), Counter[str](), []
    for place, (line, _, change) in enumerate(_places(ast.parse(text))):
        told = " ".join(lines[line - 1].split())
        seen[f"{told} {change}"] += 1
        number = seen[f"{told} {change}"]
        mutants.append(Mutant(path, place, line, change if number == 1 else f"{change}, {number}", told))
    return mutants


def _places(tree: ast.Module) -> Iterator[tuple[int, Any, str]]:
    """Line, a function that changes the tree there, and what the change is; always in the same order."""
    for node in _code(tree):
        if isinstance(node, ast.Compare):
            for index, operator in enumerate(node.ops):
                other, change = _SWAPS[type(operator)]
                yield node.lineno, functools.partial(node.ops.__setitem__, index, other()), change
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _SWAPS:
            other, change = _SWAPS[type(node.op)]
            yield node.lineno, functools.partial(setattr, node, "op", other()), change
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            sign = "not x to x" if isinstance(node.op, ast.Not) else "-x to x"
            yield node.lineno, functools.partial(setattr, node, "op", ast.UAdd() if sign[0] == "-" else _Same()), sign
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            other = not node.value if isinstance(node.value, bool) else node.value + 1
            yield node.lineno, functools.partial(setattr, node, "value", other), f"{node.value} to {other}"


class _Same(ast.Not):
    """Twice not: the truth of what follows."""


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but annotations, messages of errors, and formats of texts."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed module to whoever imports it."""

    def __init__(self, mutant: Mutant) -> None:
        tree = mutant.source()
        for node in ast.walk(tree):
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, _Same):
                node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        self._mutant, self._code = mutant, compile(ast.fix_missing_locations(tree), str(mutant.path), "exec")

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        places = [str(self._mutant.path.parent)] if self._mutant.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, self._mutant.path, loader=self, submodule_search_locations=places
        )

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


@functools.cache
def tests_for(path: Path) -> tuple[str, ...]:
    """Test files of the module's package that name it or what it defines, those that name the most of it first."""
    relative = path.relative_to(SOURCE / "offscript")
    noun = relative.stem if relative.stem not in ("__init__", "estimation") else relative.parent.name
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    words = [name for name in defined if not name.startswith("_")]
    scores = {}
    for test in sorted((TESTS / relative.parts[0]).rglob("test_*.py")):
        text = test.read_text(encoding="utf-8")
        named = sum(bool(re.search(rf"\b{word}\b", text)) for word in words)
        mirrored = test.stem.removeprefix("test_").strip("_") == noun.strip("_") or test.parent.name == noun
        imported = str(relative.with_suffix("")).replace("/", ".").removesuffix(".__init__") in text
        if named or mirrored or imported:
            scores[test] = 100 * mirrored + 10 * imported + named
    best = sorted(scores, key=lambda test: -scores[test])[:MOST_TESTS]
    return tuple(str(test.relative_to(REPOSITORY)) for test in best)


def run_tests(test: str, mutant: Mutant | None, most: float) -> tuple[str, float]:
    """`killed`, `survived`, `timeout` or `broken`, and the processor seconds; in a process of its own."""
    child = os.fork()
    if child == 0:
        _in_child(test, mutant, most)
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        return "timeout", seconds
    code = os.waitstatus_to_exitcode(status)
    return {0: "survived", 1: "killed", 5: "no test"}.get(code, "broken"), seconds


def _in_child(test: str, mutant: Mutant | None, most: float) -> None:
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(most) + 1, int(most) + 2))
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        import pytest

        if mutant is not None:
            sys.meta_path.insert(0, _Finder(mutant))
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", "not slow and not browser"]
        code = int(pytest.main([*options, test]))
        code = 1 if code == 2 else code  # a module that cannot be imported is noticed
    finally:
        os._exit(code)


def main() -> None:
    """Run a sample, or report on what was run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=150, help="changes to try, those of earlier runs included")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--match", default="", help="changes whose name, as printed, matches this regular expression")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "mutants.jsonl")
    parser.add_argument("--report", action="store_true", help="run nothing")
    asked = parser.parse_args()
    os.chdir(REPOSITORY)
    sample = _sample(asked.only, asked.match, asked.seed, asked.count)
    known = _known(asked.results)
    if not asked.report:
        _load_libraries()
        _run(sample, known, asked.results)
    _report([mutant for mutant in sample if mutant.key in known], known)


def _sample(only: str, match: str, seed: int, count: int) -> list[Mutant]:
    paths = [path for package in PACKAGES for path in sorted((SOURCE / "offscript" / package).rglob("*.py"))]
    found = [mutant for path in paths if only in str(path) for mutant in mutants_of(path) if tests_for(path)]
    random.Random(seed).shuffle(found)
    return [mutant for mutant in found if re.search(match, mutant.key)][:count]


def _known(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    entries = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {entry["key"]: entry for entry in entries}


def _load_libraries() -> None:
    """What every child would import again; nothing of offscript, whose modules are changed."""
    sys.path.insert(0, str(SOURCE))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in ("numpy", "scipy.stats", "torch", "numba", "pydantic", "hypothesis", "pytest", "transformers"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _run(sample: list[Mutant], known: dict[str, dict[str, Any]], results: Path) -> None:
    baselines: dict[str, tuple[str, float]] = {}
    for number, mutant in enumerate(sample, start=1):
        if mutant.key in known:
            continue
        outcome, seconds = "no test", 0.0
        for test in tests_for(mutant.path):
            if test not in baselines:
                baselines[test] = run_tests(test, None, 600)
            passed, usual = baselines[test]
            if passed == "survived":  # else the test fails, or has nothing to run, without any change
                outcome, taken = run_tests(test, mutant, SPARE * usual + 10)
                seconds += taken
            if outcome in ("killed", "timeout", "broken"):
                break
        entry = {"key": mutant.key, "line": mutant.line, "outcome": outcome, "seconds": round(seconds, 1)}
        known[mutant.key] = entry
        with results.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")
        print(f"{number:4} {outcome:9} {seconds:5.1f} s  line {mutant.line}: {mutant.key}", flush=True)


def _report(sample: list[Mutant], known: dict[str, dict[str, Any]]) -> None:
    import yaml

    from offscript.statistics import proportion_interval

    judged = yaml.safe_load(JUDGED.read_text(encoding="utf-8")) or {} if JUDGED.exists() else {}
    outcomes = {mutant.key: known[mutant.key]["outcome"] for mutant in sample}
    noticed = [key for key, outcome in outcomes.items() if outcome in ("killed", "timeout")]
    survivors = [key for key, outcome in outcomes.items() if outcome == "survived"]
    same = [key for key in survivors if key in judged]
    print(f"\n{len(outcomes)} changes: {dict(Counter(outcomes.values()))}")
    for label, without in (("all", 0), ("without those that change nothing", len(same))):
        tried = len(noticed) + len(survivors) - without
        if tried < 2:
            continue
        interval = proportion_interval(len(noticed), tried).interval
        share = len(noticed) / tried
        print(
            f"score, {label}: {share:.1%} of {tried} ({interval.lower:.1%} to {interval.upper:.1%}, {interval.method})"
        )
    for key in survivors:
        print(f"survived: {key}" + (f"\n          judged: {judged[key]}" if key in judged else ""))


if __name__ == "__main__":
    main()
