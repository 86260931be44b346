"""Run the commands of the documentation on the base install: a fresh virtual environment without any extra.

    python tools/check_base_install.py [--wheel FILE | --python ENVIRONMENT/bin/python] [--list] [FILE.md …]

Every `sh`, `console` (lines after `$ `) and `python` block of README.md and docs/ is read. A block that begins with a
comment of a file's name (`# mine.yaml`, `# mine.py`) is that file. A comment says what a command needs beyond the base
install, and the comment on the first line of a Python block does so for the block:

    offscript sweep grid.yaml --on ray     # on one machine or many (needs ray)
    offscript audit hf/gpt2                # (needs network)
    offscript reproduce regret/table-1     # (takes minutes)

A command without such a comment must end with exit code 0. One that needs an extra must end with exit code 2 and name
the extra. One that takes minutes is started and stopped. What needs data or a network is left out. Audits and a few
other commands are shortened (`SHORTER`). Files that the documentation takes for granted (`my.txt`, `./my-model` …) are
made here. With `--sbom FILE` the packages of the fresh environment are listed as a CycloneDX bill of materials.
"""

import argparse
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENTS = ("docs/**/*.md", "README.md")
ELSEWHERE = ("make", "pip", "curl", "git")  # programs that set up or ask a service; other tests run those
OUTSIDE = frozenset({"data", "encoder", "network"})
MINUTES = "minutes"
LONG_ENOUGH = 20.0  # seconds after which a command that takes minutes has shown that it starts
DEADLINE = 300.0
SHORTER = {
    "offscript audit": "--limit 40 --length 8 --quiet",
    "offscript measure exposure ./": "--samples 40 --length 8",
    "offscript measure regret ./": "--samples 40 --length 8",
    "offscript measure sampling": "--samples 20 --length 12 --samplers nucleus",
    "offscript measure approximation": "--limit 5 --highest 50 --step 20 --subset 5",
    "offscript measure likelihood": "--limit 5",
    "offscript train recipe.yaml": "stop.epochs=1 model.embedding=16",
    "offscript train mine.yaml": "stop.epochs=1 model.hidden=16 model.embedding=16",
}
"""Options that bring a command from minutes to seconds, by the command's beginning."""

_FENCE = re.compile(r"^```(\w*).*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"# ([\w-]+\.(?:py|yaml))\b")
_NEEDS = re.compile(r"\((?:needs (\w+)|takes (minutes))\)")


@dataclass(frozen=True)
class Command:
    """A shell command or a Python block, where it stands, and what it needs beyond the base install."""

    place: str
    text: str
    needs: str = ""
    python: bool = False

    @property
    def title(self) -> str:
        """One line that tells commands apart."""
        return " ".join(self.text.split())[:90] if not self.python else f"python: {self.text.splitlines()[0]} …"


def main() -> None:
    """Check every command and exit with 1 if one does not do as the documentation says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="Markdown files; README.md and docs/*.md by default.")
    parser.add_argument("--python", type=Path, help="Use this environment instead of a fresh one.")
    parser.add_argument("--wheel", type=Path, help="Install this wheel, not the source tree, into the fresh envinment.")
    parser.add_argument("--sbom", type=Path, help="List what the fresh environment holds in this CycloneDX file.")
    parser.add_argument("--install-only", action="store_true", help="Run no command.")
    parser.add_argument("--list", action="store_true", help="List the commands and what they need.")
    options = parser.parse_args()
    files = options.files or [path for pattern in DOCUMENTS for path in sorted(REPOSITORY.glob(pattern))]
    commands: dict[str, Command] = {}
    for command in (command for path in files for command in commands_of(path)):
        commands.setdefault(command.text, command)  # said twice, run once
    if options.list:
        for command in commands.values():
            print(f"{command.place:<24} {command.needs or '-':<10} {command.title}")
        return
    with tempfile.TemporaryDirectory(prefix="offscript-base-") as folder:
        python = options.python or fresh_environment(Path(folder) / "environment", options.wheel or REPOSITORY)
        if options.sbom is not None:
            write_bill_of_materials(python, options.sbom)
        if options.install_only:
            return
        sys.exit(1 if check_all(list(commands.values()), python.absolute(), Path(folder)) else 0)


def commands_of(path: Path) -> list[Command]:
    """The commands of one Markdown file in order."""
    text = path.read_text(encoding="utf-8")
    found: list[Command] = []
    for block in _FENCE.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        if block[1] == "sh":
            found += _shell_commands(path, line, block[2])
        elif block[1] == "console":
            found += _shell_commands(path, line, re.sub(r"^(?:\$ ?|.*$)", "", block[2], flags=re.MULTILINE))
        elif block[1] == "python":
            found.append(Command(f"{path.name}:{line}", block[2], _needs(block[2].splitlines()[0]), python=True))
    return found


def _shell_commands(path: Path, first: int, block: str) -> Iterator[Command]:
    """A command ends where its quotes are closed; what follows `#` is its comment."""
    pending = ""
    for number, line in enumerate(block.splitlines(), start=first):
        pending += line
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:  # a quote is still open
            pending += "\n"
            continue
        if words and words[0] not in ELSEWHERE:
            yield Command(f"{path.name}:{number}", _without_comment(pending), _needs(pending))
        pending = ""


def _without_comment(command: str) -> str:
    return re.sub(r"\s+#.*\Z", "", command)


def _needs(comment: str) -> str:
    found = _NEEDS.search(comment)
    return next(filter(None, found.groups())) if found else ""


def fresh_environment(folder: Path, source: Path) -> Path:
    """A virtual environment with the base install alone, of a wheel or a source tree; its Python."""
    begun = time.monotonic()
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", "--no-compile", "-c", str(REPOSITORY / "constraints.txt")]
    subprocess.run([python, *install, str(source)], check=True, stderr=subprocess.DEVNULL)
    print(f"base install in {time.monotonic() - begun:.0f} s", flush=True)
    return python


def write_bill_of_materials(python: Path, path: Path) -> None:
    """List the packages of an environment, with versions and licences, in CycloneDX's JSON."""
    program = [sys.executable, "-m", "cyclonedx_py", "environment", "--short-PURLs", "--output-reproducible"]
    described = ["--pyproject", str(REPOSITORY / "pyproject.toml"), "--mc-type", "library"]
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*program, *described, "--output-file", str(path), str(python)], check=True)
    print(f"{len(json.loads(path.read_text())['components'])} packages are listed in {path}", flush=True)


def check_all(commands: list[Command], python: Path, folder: Path) -> list[Command]:
    """Run the commands in one folder; those that fail."""
    work = folder / "work"
    work.mkdir()
    environment = _environment(python, folder)
    make_files(work, python, environment)
    failed = []
    for command in commands:
        if command.needs in OUTSIDE or (command.python and command.needs):
            print(f"left out  {command.place:<22} {command.title} (needs {command.needs})", flush=True)
            continue
        begun = time.monotonic()
        fault = run(command, python, work, environment)
        took = time.monotonic() - begun
        print(f"{'FAILED' if fault else 'ok':<6}{took:4.0f}s {command.place:<22} {command.title}", flush=True)
        if fault:
            failed.append(command)
            print("    " + fault.replace("\n", "\n    "), flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    print(f"{len(commands)} commands, {len(failed)} failed, {seconds:.0f} s of processor time with the installation")
    return failed


def run(command: Command, python: Path, work: Path, environment: dict[str, str]) -> str:
    """Run one command; what is wrong with how it ended, or nothing."""
    arguments = [str(python), "-c", command.text] if command.python else ["bash", "-c", _shortened(command.text)]
    process = subprocess.Popen(
        arguments,
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=LONG_ENOUGH if command.needs == MINUTES else DEADLINE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return "" if command.needs == MINUTES else f"no end after {DEADLINE:g} s\n{output[-1000:]}"
    if command.needs and command.needs != MINUTES:
        named = f'pip install -e ".[{command.needs}]"' in output
        return "" if process.returncode == 2 and named else f"the extra is not named\n{output[-1500:]}"
    gate = "--fail-on" in command.text
    return "" if process.returncode == 0 or (gate and process.returncode == 1) else output[-3000:]


def _shortened(command: str) -> str:
    added = [options for beginning, options in SHORTER.items() if command.startswith(beginning)]
    if command.startswith("offscript audit ./") and "--oracle" in command and "--only" not in command:
        added.append("--only likelihood,exposure")
    return " ".join([command, *added])


def _environment(python: Path, folder: Path) -> dict[str, str]:
    """Nothing of the user's own: another home, another cache, no network."""
    kept = {name: value for name, value in os.environ.items() if name in ("LANG", "LC_ALL", "OMP_NUM_THREADS")}
    return {
        **kept,
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "OFFSCRIPT_CACHE": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
        "NO_COLOR": "1",
    }


def make_files(work: Path, python: Path, environment: dict[str, str]) -> None:
    """The files and folders that the documentation takes for granted."""
    sentences = [
        f"the {word} is on the {place} and the {place} is in the city of the {word}"
        for word in WORDS
        for place in WORDS
    ] * 2
    for name in ("my.txt", "other.txt", "samples.txt", "real.txt"):
        (work / name).write_text("\n".join(sentences) + "\n")
    (work / "SmolLM2-135M-Instruct.Q4_1.gguf").touch()
    _write_named_blocks(work)
    _write_documents(work)
    _write_associations(work)
    assets = subprocess.check_output(
        [python, "-c", "import offscript.assets; print(offscript.assets.__path__[0])"], env=environment, text=True
    )
    for name in ("my-model", "before", "after", "other", "gan", "quantised", "full"):
        shutil.copytree(Path(assets.strip()) / "news-student", work / name)
    shutil.copytree(Path(assets.strip()) / "news", work / "oracle")


WORDS = ("man", "woman", "house", "street", "city", "child", "dog", "team", "car", "game")


def _write_named_blocks(work: Path) -> None:
    """Every block that begins with a comment of its file's name; a block that continues a file is added to it."""
    for path in (each for pattern in DOCUMENTS for each in sorted(REPOSITORY.glob(pattern))):
        for block in _FENCE.finditer(path.read_text(encoding="utf-8")):
            if name := _NAMED.match(block[2]):
                with (work / name[1]).open("a", encoding="utf-8") as file:
                    file.write(block[2])
    (work / "recipe.yaml").write_text((work / "mine.yaml").read_text().replace("name: mine", "name: recipe"))


def _write_documents(work: Path) -> None:
    articles = [
        {"id": "article-17", "title": "Telemundo", "text": "Telemundo is an American Spanish-language network."},
        {"id": "article-18", "title": "Australia", "text": "The capital of Australia is Canberra."},
    ]
    for name in ("articles.jsonl", "more.jsonl"):
        (work / name).write_text("".join(f"{json.dumps(article)}\n" for article in articles))
    queries = [{"id": "1", "text": "Telemundo network"}, {"id": "2", "text": "capital of Australia"}]
    for name in ("q.jsonl", "queries.jsonl"):
        (work / name).write_text("".join(f"{json.dumps(query)}\n" for query in queries))
    (work / "article.md").write_text(
        "# Australia\n\nThe capital of Australia is Canberra. It is a city. What a city!\n"
    )
    (work / "qrels.txt").write_text("1 0 article-17 1\n2 0 article-18 1\n")
    claims = [
        {"id": 1, "claim": "The capital of Australia is Canberra.", "label": "SUPPORTED", "evidence": ["article-18"]},
        {"id": 2, "claim": "The capital of Australia is Sydney.", "label": "REFUTED", "evidence": ["article-18"]},
    ]
    (work / "claims.jsonl").write_text("".join(f"{json.dumps(claim)}\n" for claim in claims))
    (work / "ratings.csv").write_text("source_url,fact\nhttps://example.org,high\n")


def _write_associations(work: Path) -> None:
    tasks = {"intrasentence": "the {} is BLANK .", "intersentence": "the {} is here ."}
    labels = {"stereotype": "the {} is small .", "anti-stereotype": "the {} is big .", "unrelated": "the {} is seven ."}
    records = {
        task: [
            {
                "id": f"{task}-{word}",
                "target": word,
                "bias_type": "profession",
                "context": context.format(word),
                "sentences": [
                    {"id": f"{task}-{word}-{label}", "sentence": text.format(word), "gold_label": label}
                    for label, text in labels.items()
                ],
            }
            for word in WORDS
        ]
        for task, context in tasks.items()
    }
    (work / "dev.json").write_text(json.dumps({"data": records}))
    scores = {
        task: [
            {"id": sentence["id"], "score": -float(place)}
            for record in listed
            for place, sentence in enumerate(record["sentences"])
        ]
        for task, listed in records.items()
    }
    (work / "scores.json").write_text(json.dumps(scores))
    lexicon = work / "opinion-lexicon"
    lexicon.mkdir()
    (lexicon / "positive-words.txt").write_text("big\n")
    (lexicon / "negative-words.txt").write_text("small\n")


if __name__ == "__main__":
    main()
