"""Run all rows, or some, and write the table."""

import argparse
import json
import sys
import time
from pathlib import Path

from coverage_table import RANGE, cases, page


def main() -> None:
    """Run all, print each, write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--only", default="", help="rows whose figure contains this")
    parser.add_argument("--rows", type=Path, help="a file that finished rows are kept in")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    known = _known(asked.rows)
    rows = []
    for case in cases():
        if asked.only not in case.figure:
            continue
        began = time.monotonic()
        key = f"{case.figure} | {case.size} | {case.population} | {asked.repeats}"
        if key not in known:
            known[key] = case.coverage(asked.repeats)
            _keep(asked.rows, known)
        share = known[key]
        rows.append((case, share))
        mark = "" if RANGE[0] <= share <= RANGE[1] else " <"
        print(f"{case.figure:42} {case.size:28} {case.population:34} {share:.3f}{mark}", end="", file=sys.stderr)
        print(f"  {time.monotonic() - began:.1f} s", file=sys.stderr)
    table = page(rows, asked.repeats)
    if asked.out:
        asked.out.write_text(table, encoding="utf-8")
    else:
        print(table)


def _known(path: Path | None) -> dict[str, float]:
    return {} if path is None or not path.exists() else dict(json.loads(path.read_text(encoding="utf-8")))


def _keep(path: Path | None, known: dict[str, float]) -> None:
    if path is not None:
        path.write_text(json.dumps(known, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
