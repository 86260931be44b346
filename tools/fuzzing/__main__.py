"""The command line of the fuzzer."""

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

os.environ.update({"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "COLUMNS": "80"})
os.environ.setdefault("OMP_NUM_THREADS", "1")

from fuzzing import registry
from fuzzing.campaign import MOST_GROWTH, MOST_SECONDS, Campaign, Tally
from offscript.errors import OffscriptError

MEMORY = Path("/dev/shm")
FOUND = Path("fuzz-failures")


def main() -> None:
    """Run a campaign, or one stored input."""
    parser = argparse.ArgumentParser(description="Damaged inputs for every reader and the command line.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--slice", type=float, help="seconds of a kind before the next one has its turn")
    parser.add_argument("--inputs", type=int, help="stop when the tally has so many")
    parser.add_argument("--only", default="", help="kinds whose name matches this regular expression")
    parser.add_argument("--without", default="\0", help="not those whose name matches this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tally", type=Path, help="a file that several runs count in; a run goes on after the last")
    parser.add_argument("--store", type=Path, default=FOUND, help="where failing inputs go")
    parser.add_argument("--replay", type=Path, help="read one stored input again, and show its traceback")
    asked = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="fuzzing-", dir=MEMORY if MEMORY.is_dir() else None))
    os.environ["OFFSCRIPT_CACHE"] = str(place / "cache")
    try:
        sys.exit(_replay(asked.replay, place) if asked.replay else _campaign(asked, place))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _replay(path: Path, place: Path) -> int:
    name, kind = registry.kind_of_file(path, place)
    try:
        line = kind.outcome(kind.folder(place / "files"), path.read_bytes())
    except OffscriptError as error:
        line = str(error)
    print(f"{name}: {f'refused: {line}' if line else 'read'}")
    return 0


def _campaign(asked: argparse.Namespace, place: Path) -> int:
    wanted = {
        name: kind
        for name, kind in registry.all_kinds(place).items()
        if re.search(asked.only, name) and not re.search(asked.without, name)
    }
    if not wanted:
        raise SystemExit(f"no kind of input matches {asked.only!r}")
    campaign = Campaign(wanted, asked.store, asked.tally, asked.seed)
    before = campaign.inputs
    pieces = asked.slice or max(0.2, asked.seconds / max(1, len(wanted)))
    campaign.warm_up(place / "work")
    campaign.run(asked.seconds, pieces, place / "work", asked.inputs)
    _report(campaign, before)
    return 1 if campaign.failures else 0


def _report(campaign: Campaign, before: int) -> None:
    tallies = campaign.tallies
    for name in sorted(tallies):
        tally = tallies[name]
        print(f"{name:44} {tally.inputs:9,} inputs  {tally.refused:9,} refused  slowest {tally.slowest:6.3f} s")
    total = Tally()
    for tally in tallies.values():
        total.add(tally)
    print(
        f"{len(tallies)} kinds, {total.inputs:,} inputs ({total.inputs - before:,} in this run) "
        f"in {total.seconds:,.0f} s, "
        f"{len(campaign.failures)} failures (tracebacks, more than {MOST_SECONDS:g} s, more than "
        f"{MOST_GROWTH >> 30} GB); slowest {total.slowest:.2f} s"
    )


if __name__ == "__main__":
    main()
