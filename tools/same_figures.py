"""Check that two versions of the code print the same figures: run the same commands with each, compare the JSON.

    python tools/same_figures.py OLD/src NEW/src [--work DIR]

Runs the audit of the shipped pair and a dozen `measure` commands on small files made here with both source folders;
prints one line per command. Times, versions, dates and paths are left out of the comparison. Exit code 1 if any differ.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PAIR = ["offscript/news-student", "--oracle", "offscript/news"]
COMMANDS: dict[str, list[str]] = {
    "audit": ["audit", "--out", "OUT/audit"],
    "exposure": ["measure", "exposure", *PAIR, "--samples", "200", "--length", "20", "--history", "random"],
    "exposure on a corpus": ["measure", "exposure", "offscript/news", "--corpus", "news.txt", "--length", "12"],
    "regret": ["measure", "regret", *PAIR, "--samples", "200", "--length", "20", "--show", "3"],
    "recovery": ["measure", "recovery", *PAIR, "--samples", "100", "--length", "30"],
    "likelihood": ["measure", "likelihood", "offscript/news-student", "--corpus", "news.txt"],
    "approximation": [
        "measure", "approximation", "offscript/text8", "--corpus", "characters.txt", "--draws", "100", "--step", "50",
        "--highest", "200", "--subset", "4", "--longest", "30",
    ],
    "quality": ["measure", "quality", "news.txt", "--references", "student.txt"],
    "diversity": ["measure", "diversity", "student.txt"],
    "sampling": [
        "measure", "sampling", *PAIR, "--samples", "60", "--length", "30",
        "--samplers", "top-k,k=10 top-k,k=40 nucleus,p=0.5 nucleus,p=0.9",
    ],
    "verdicts": ["measure", "verdicts", "claims.jsonl"],
    "stance": ["measure", "stance", "lexical", "--data", "pairs.jsonl"],
    "stereotypes": ["measure", "stereotypes", "offscript/news", "--data", "associations.json"],
    "associations": ["measure", "associations", "--data", "associations.json"],
}  # fmt: skip
CLAIMS = [
    ("The capital of France is Paris.", "SUPPORTS"), ("The capital of France is Rome.", "REFUTES"),
    ("Berlin is the capital of Germany.", "SUPPORTS"), ("The currency of Japan is the euro.", "REFUTES"),
    ("Gold has the symbol Au.", "SUPPORTS"), ("A poet wrote letters at night.", "NOT ENOUGH INFO"),
]  # fmt: skip
PAIRS = [
    ("The bridge was closed.", "Officials said that the bridge was closed on Monday.", "agree"),
    ("The bridge was closed.", "The bridge was not closed, officials said.", "disagree"),
    ("The mayor won the vote.", "The mayor won the vote by a wide margin.", "agree"),
    ("The mayor won the vote.", "Prices of apples rose in the spring.", "discuss"),
]
TIMES = re.compile(r"seconds|time|date|version|words_per_second|machine|^page$|^results$|^path$")


def main() -> int:
    """Run both, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/same-figures"))
    parser.add_argument("--only", help="commands to run, with commas between")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    make_files(asked.work, asked.old.resolve())
    names = asked.only.split(",") if asked.only else list(COMMANDS)
    same = [_compare(name, asked.work, asked.old.resolve(), asked.new.resolve()) for name in names]
    return 0 if all(same) else 1


def make_files(work: Path, source: Path) -> None:
    """Texts drawn from the shipped models by the old code, and small files of claims, pairs and association tests."""
    for name, model, count in (("news", "news", 150), ("student", "news-student", 150), ("characters", "text8", 12)):
        if not (work / f"{name}.txt").exists():
            shown = run(["generate", f"offscript/{model}", "-n", str(count), "--length", "40"], work, source)
            (work / f"{name}.txt").write_text(shown, encoding="utf-8")
    claims = [
        {"id": number, "claim": claim, "label": label, "evidence": []} for number, (claim, label) in enumerate(CLAIMS)
    ]
    _write_lines(work / "claims.jsonl", claims)
    _write_lines(work / "pairs.jsonl", [{"claim": c, "text": t, "label": label} for c, t, label in PAIRS])
    (work / "associations.json").write_text(json.dumps(_associations()), encoding="utf-8")


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _associations() -> dict[str, Any]:
    tests = [
        ("race", "Ethiopia", "The Ethiopian man is very BLANK.", ("poor", "rich", "green")),
        ("gender", "sister", "My sister is very BLANK.", ("kind", "strong", "seven")),
        ("profession", "banker", "The banker was BLANK.", ("greedy", "generous", "wooden")),
        ("religion", "muslim", "The Muslim woman wore a BLANK.", ("scarf", "suit", "river")),
    ]
    labels = ("stereotype", "anti-stereotype", "unrelated")
    rows = [
        {
            "id": f"t{place}", "target": target, "bias_type": domain, "context": context,
            "sentences": [
                {"id": f"t{place}{label}", "sentence": context.replace("BLANK", word), "gold_label": label,
                 "labels": [{"label": label, "human_id": "1"}]}
                for label, word in zip(labels, words, strict=True)
            ],
        }
        for place, (domain, target, context, words) in enumerate(tests)
    ]  # fmt: skip
    return {"version": "1.0", "data": {"intrasentence": rows, "intersentence": []}}


def run(arguments: list[str], work: Path, source: Path) -> str:
    """Standard output of `offscript` from a source folder."""
    chosen = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", "from offscript.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=work, env=chosen, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"offscript {' '.join(arguments)} failed with {source}: {done.stderr.strip()[-800:]}")
    return done.stdout


def _compare(name: str, work: Path, old: Path, new: Path) -> bool:
    before, after = (_document(name, work, source, which) for source, which in ((old, "old"), (new, "new")))
    differences = list(differing(before, after))
    print(f"{name}: {'same' if not differences else f'{len(differences)} differ'}", flush=True)
    for difference in differences[:12]:
        print(f"    {difference}")
    return not differences


def _document(name: str, work: Path, source: Path, which: str) -> Any:
    """What a command printed; the old version's answer is kept, since it never changes."""
    kept = work / f"{which}-{name.replace(' ', '-')}.json"
    if which == "old" and kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    words = [word.replace("OUT", which) for word in COMMANDS[name]]
    document = json.loads(run([*words, "--json"], work, source))
    kept.write_text(json.dumps(document), encoding="utf-8")
    return document


def differing(before: Any, after: Any, place: str = "") -> Any:
    """The places where two documents differ, times and recipes' hashes aside."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if TIMES.search(key) or key in ("recipes", "recipe", "versions"):
                continue
            if key not in before or key not in after:
                yield f"{place}.{key}: only {'before' if key in before else 'after'}"
            else:
                yield from differing(before[key], after[key], f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (left, right) in enumerate(zip(before, after, strict=True)):
            yield from differing(left, right, f"{place}[{number}]")
    elif before != after:
        yield f"{place}: {str(before)[:80]} -> {str(after)[:80]}"


if __name__ == "__main__":
    raise SystemExit(main())
