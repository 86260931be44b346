"""The command line as a kind of input: one argument per line, run in this process in a folder of small files.

Left out are verbs that serve or train for as long as they are told to, and `--plugin`, which runs the code it is given.
"""

import contextlib
import io
import json
import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

from fuzzing.kinds import Kind, records
from fuzzing.written import POLICY, RATINGS
from offscript.cli import main
from offscript.errors import OffscriptError

HISTORIES = [" ".join(history) for length in range(6) for history in product("AB", repeat=length)]
TABLE = {
    "kind": "tabular",
    "vocabulary": ["A", "B"],
    "length": 6,
    "end": "B",
    "next": {history: [0.6, 0.4] for history in HISTORIES if "B" not in history},
}
FILES = {
    "t.json": json.dumps(TABLE),
    "d.jsonl": records({"id": "1", "title": "T", "text": "One dog. Two."}, {"id": "2", "text": "A cat."}),
    "r.csv": RATINGS,
    "p.json": str(POLICY).replace("'", '"'),
    "q.jsonl": records({"id": "1", "text": "dog"}),
    "qrels": "1 0 1 1\n",
    "text.txt": "A A B\nA B\nB\nA A A\n",
    "grid.yaml": "model: t.json\nquestion: likelihood\ngrid: {seed: [1, 2]}\n",
}
COMMANDS = (
    "ls", "ls samplers", "ls questions --json", "ls models", "ls recipes", "data --json", "init new",
    "generate t.json -n 2 --length 3 --seed 1 --sampler top-k,k=1", "generate t.json -n 2 --json --prefix A",
    "generate uniform,vocabulary=t.json -n 1 --length 2",
    "index d.jsonl --out index --json", "index d.jsonl --out index --format jsonl --stemmer none --limit 1 --replace",
    "index --check --out index", "report runs", "compare runs other --out c.html",
    "compare a.json b.json --fail-on worse",
    "measure likelihood t.json --corpus text.txt --limit 4", "measure samples t.json --limit 2 --length 3",
    "measure ratings --ratings r.csv", "measure retrieval --index index --queries q.jsonl --judgments qrels",
    "audit t.json --oracle t.json --only likelihood --limit 4 --length 6 --out runs --quiet --set likelihood.samples=4",
    "audit t.json --only samples --limit 2 --length 6 --out runs --fail-on samples.x>1 --quiet",
    "sweep missing.yaml", "study status missing", "study links missing", "study export missing --out x.csv",
    "reproduce missing.yaml", "train missing.yaml model.hidden=3",
    "measure likelihood t.json --corpus a=text.txt --corpus b=text.txt --limit 4",
    "generate t.json+t.json -n 1 --length 3",
    "measure memorisation t.json --training text.txt --control text.txt --samples 4 --length 4",
    "measure degeneration t.json --corpus text.txt --limit 4 --length 4",
    "check --file q.jsonl --out c.jsonl --index index",
)  # fmt: skip
WORDS = (
    *(
        "\n--help",
        "\n--json",
        "\n--seed\n-1",
        "\n--seed\n99999999999999999999",
        "\n--limit\n0",
        "\n--length\n1e3",
        "\n--",
    ),
    *(
        "\n--sampler\nnucleus,p=2",
        "\n--sampler\nlearned,path=p.json",
        "\n--sampler\n,",
        "\n--only\n,",
        "\n--set\na.b=c",
    ),
    *(
        "\n--out\n",
        "\n--format\ntrec",
        "\n--corpus\nd.jsonl",
        "\n--fail-on\nx",
        "\n--quiet",
        "\n--debug",
        "\n-n\n0",
        "\n-n\nx",
    ),
    *(
        "t.json",
        "d.jsonl",
        "r.csv",
        "text.txt",
        "grid.yaml",
        "offscript/nothing",
        "uniform",
        "hf/none",
        "*",
        "index",
        "runs",
    ),
    *(
        "t.json,approximate=2",
        "t.json+t.json",
        "openai/m@http://127.0.0.1:9/v1",
        "t.json,adapter=index",
        "news=text.txt",
        "t.json,sources=text.txt",
        "t.json,x=1",
        "https://huggingface.co/a/b",
        "=",
        ",",
        ".",
        "\n",
    ),
)
_LEFT_OUT = ("serve", "--plugin", "--workers", "--device", "offscript/news", "offscript/text8", "--stance", "--search")
_LARGEST = 60  # tokens, samples and sequences that a command may be asked for
_FINE = (0, 1, 2)


def command_kinds() -> dict[str, Kind]:
    """One kind for each command."""
    kinds = {}
    for place, command in enumerate(COMMANDS, start=1):
        verb = " ".join(command.split()[:2])
        example = "\n".join(command.split())
        kinds[f"command {place}: {verb}"] = Kind(
            "arguments", example, _run, FILES, whole_folder=True, format="words", words=WORDS, leaves_files=True
        )
    return kinds


def _run(folder: Path) -> None:
    """Run a command as the installed script does; its line is raised again, any other end than a documented one too."""
    arguments = (folder / "arguments").read_bytes().decode("utf-8", "surrogateescape").split("\n")
    if _is_left_out(arguments):
        return
    output, errors = io.StringIO(), io.StringIO()
    before, here, hook = sys.argv, Path.cwd(), sys.excepthook
    sys.argv = ["offscript", *arguments]
    os.chdir(folder)
    code: Any = 0
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        os.chdir(here)
        sys.argv, sys.excepthook = before, hook
    if code not in _FINE:
        raise AssertionError(f"the command ended with {code!r}: {errors.getvalue()[-300:]}")
    if code == 2:
        line = errors.getvalue().rstrip("\n").rpartition("offscript: ")[2]
        raise OffscriptError(line or "no line", why="" if "\n" not in line else line)


def _is_left_out(arguments: list[str]) -> bool:
    """Arguments that would run for long, run code, or write outside the folder."""
    joined = "\n".join(arguments)
    return (
        any(word in joined for word in _LEFT_OUT)
        or (arguments[0] == "audit" and "t.json" not in joined)  # the shipped model's audit takes minutes
        or any(each.startswith(("/", "~")) or ".." in each or "=/" in each or ",/" in each for each in arguments)
        or any(each.isdecimal() and _LARGEST < int(each[:20]) < 10**15 for each in arguments)
    )
