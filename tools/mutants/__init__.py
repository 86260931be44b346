"""Change the code a little, many times, and count how often the tests notice.

    make mutants ARGS="--count 200 --seed 1"                        a random sample of changes
    PYTHONPATH=tools python -m mutants --only means --count 20      changes of modules whose path contains "means"
    PYTHONPATH=tools python -m mutants --report                     what is known so far

A change (mutant) swaps one operator or constant in `statistics/`, `measures/` or `sampling/`. The tests of these
packages and of the report run once with a tracer, which notes the lines that each test reaches. For every change, the
tests that reach its line run in a forked process, fast ones first, with the changed function in the place of the real
one; the files stay as they are. Results go to a file, so that a later run goes on.

Not changed, because no test should have to notice:

- annotations, the text of messages, and assertions;
- `strict=` of `zip` and `frozen=` of dataclasses, which are assertions too: they stop a fault of the code around them;
- `maxsize=` of caches, the default of `batch_size`, and constants whose names end in `AT_ONCE`, `ELEMENTS`, `_CHUNK` or
  `_PIECE`: how much is held at once, not what comes out (tests set them to small numbers and compare);
- the sign of `dim=-1` and `axis=-1`: the last axis of a table is also its axis 1;
- numbers that say how a chart looks, such as `"opacity": 0.2`, in dictionaries.

Survivors are listed in `survivors.md`; those that no test can notice, because the program means the same, have the
reason in `judged.yaml`, for one change or for all changes of a line.
"""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE, TESTS = REPOSITORY / "src", REPOSITORY / "tests"
PACKAGES = ("statistics", "measures", "sampling")
FOLDERS = (*PACKAGES, "report")  # of tests
