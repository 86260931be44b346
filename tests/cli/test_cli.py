"""The command line as a user meets it: output on standard output, one clear line for what is wrong."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from typing import Any

import pytest

from offscript import __version__
from offscript.corpora import WordVocabulary
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save

Command = Callable[..., Any]
TABLE = {
    "kind": "tabular",
    "vocabulary": ["A", "B"],
    "length": 2,
    "next": {"": [0.9, 0.1], "A": [0.9, 0.1], "B": [0.5, 0.5]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "table.json").write_text(json.dumps(TABLE))
    (tmp_path / "text.txt").write_text("A B\nB B\nA A\nB A\n")
    (tmp_path / "empty.txt").write_text("")
    return tmp_path


@pytest.fixture
def offscript(offscript: Command, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Command:
    """Run a command beside a table and texts."""
    monkeypatch.chdir(folder)
    return offscript


def test_likelihood_of_a_table_is_exact(offscript: Command) -> None:
    done = offscript("measure", "likelihood", "table.json", "--corpus", "text.txt", "--json")
    assert done.code == 0, done.errors
    results = done.json["results"]["likelihood"]
    nll = -(log(0.9 * 0.1) + 2 * log(0.1 * 0.5) + log(0.9 * 0.9)) / 8
    assert results["nll"] == pytest.approx(nll, abs=1e-12)
    assert results["ppl"] == pytest.approx(exp(nll), abs=1e-12)
    assert results["bpc"] == pytest.approx(nll * 8 / log(2) / 12, abs=1e-12)
    assert results["ci"]["nll"]["lower"] < nll < results["ci"]["nll"]["upper"]


def test_generate_prints_one_sequence_a_line_and_repeats_with_its_seed(offscript: Command) -> None:
    first, second = (
        offscript("generate", "table.json", "-n", "20", "--length", "2", "--seed", "3", "--batch-size", size)
        for size in ("1", "20")
    )
    assert first.code == 0, first.errors
    lines = first.output.splitlines()
    assert len(lines) == 20
    assert set(lines) <= {"A A", "A B", "B A", "B B"}
    assert first.output == second.output


def test_generate_takes_a_sampler_and_a_prefix(offscript: Command) -> None:
    done = offscript("generate", "table.json", "--prefix", "A", "--length", "2", "--sampler", "greedy")
    assert done.output.splitlines() == ["A A"] * 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["measure", "likelihood", "table.json", "--corpus", "missing.txt"], "missing.txt"),
        (["measure", "likelihood", "table.json", "--corpus", "empty.txt"], "empty.txt"),
        (["measure", "likelihood", "nowhere.json", "--corpus", "text.txt"], "nowhere.json"),
        (["generate", "table.json", "--sampler", "nucleos,p=0.9"], "did you mean 'nucleus'"),
        (["measure", "quality", "text.txt", "--references", "missing.txt"], "missing.txt"),
        (["measure", "diversity", "text.txt", "--tokenizer", "nltc"], "did you mean 'nltk'"),
        (["generate", "table.json", "--prefix", "C"], "'C' is not in the vocabulary"),
        (["train", "nothing.yaml"], "no recipe 'nothing.yaml'"),
        (["audit", "table.json", "--only", "nothing"], "no question 'nothing'"),
        (["audit", "table.json", "--budget", "huge"], "known: quick, standard, paper"),
        (["report", "."], "no audit in ."),
    ],
)
def test_bad_input_gives_one_line_and_exit_2(offscript: Command, arguments: list[str], message: str) -> None:
    done = offscript(*arguments)
    assert done.code == 2
    assert done.output == ""
    assert len(done.errors.splitlines()) == 1
    assert message in done.errors


def test_quality_and_diversity_of_a_file(offscript: Command) -> None:
    done = offscript("measure", "quality", "text.txt", "--references", "text.txt", "--json", "--order", "2")
    results = done.json["results"]["quality"]
    assert results["corpus_bleu_1"] == results["corpus_bleu_2"] == 1.0
    done = offscript("measure", "diversity", "text.txt", "--json")
    results = done.json["results"]["diversity"]
    assert results["distinct_1"] == pytest.approx(2 / 8)
    assert results["distinct_2"] == 1.0
    assert results["entropy_2"] == pytest.approx(log(4))


@pytest.mark.parametrize("what", ["models", "samplers", "measures", "algorithms", "recipes"])
def test_ls_lists_as_table_and_as_json(offscript: Command, what: str) -> None:
    listed = offscript("ls", what, "--json").json
    assert isinstance(listed, list)
    assert offscript("ls", what).code == 0


def test_ls_algorithms_names_their_settings(offscript: Command) -> None:
    settings = {row["algorithm"]: row["settings"] for row in offscript("ls", "algorithms", "--json").json}
    assert settings["teacher-forcing"] == "label_smoothing=0.0"
    assert settings["scheduled-sampling"] == 'label_smoothing=0.0, rate=0.1, curriculum="linear", drawing="parallel"'
    assert settings["searnn"].startswith('oracle (required), roll_in="reference"')
    assert settings["recurrent-gan"].startswith('critic={"hidden": 128, "embedding": 32}, convolution=null')


def test_audit_writes_results_and_page(offscript: Command, folder: Path) -> None:
    vocabulary = WordVocabulary(["<unk>", "<eos>", "a", "b"])
    for name in ("student", "oracle"):
        save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=4, embedding=4)), folder / name)
    done = offscript("audit", "student", "--oracle", "oracle", "--length", "6", "--limit", "30", "--json")
    assert done.code == 0, done.errors
    found = done.json
    assert {"nll", "ppl", "bpc"} <= set(found["results"]["likelihood"])
    page = folder / found["page"]
    before = page.read_text(encoding="utf-8")
    page.unlink()
    assert offscript("report", "audit").code == 0
    assert page.read_text(encoding="utf-8") == before


def test_the_installed_script_answers() -> None:
    script = Path(sys.executable).with_name("offscript")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == __version__


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["audti"], "no such command 'audti'. Did you mean 'audit'?; see offscript --help"),
        (["measure", "exposre", "x"], "see offscript measure --help"),
        (["measure", "exposure", "x", "--smaples", "3"], "no such option: --smaples"),
        (["generate"], "missing argument 'model'; see offscript generate --help"),
        (["ls", "algorithm"], "'algorithms'"),
    ],
)
def test_bad_usage_is_told_in_one_line(offscript: Command, arguments: list[str], told: str) -> None:
    done = offscript(*arguments)
    assert (done.code, done.output) == (2, "")
    assert done.errors.startswith("offscript: ")
    assert told in done.errors
    assert done.errors.count("\n") == 1


def test_no_verb_shows_the_help(offscript: Command) -> None:
    done = offscript()
    assert "Usage: offscript" in done.output + done.errors
    assert "Measure one thing about a model" in done.output + done.errors


CRASHING = """
import offscript.models
from offscript.cli import main

def crash(*_, **__):
    raise ValueError("spam\\nand eggs")

offscript.models.load_model = crash
main()
"""


@pytest.mark.parametrize("debug", [False, True])
def test_a_crash_ends_with_exit_code_3_and_shows_its_place_if_asked(debug: bool) -> None:
    command = [sys.executable, "-c", CRASHING, "generate", "offscript/news", "-n", "1", *["--debug"] * debug]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert ("Traceback" in done.stderr) == debug
    if not debug:
        assert done.stderr.startswith("offscript: crashed with ValueError: spam and eggs; --debug ")
        assert done.stderr.count("\n") == 1


def test_ctrl_c_in_train_says_how_to_resume_and_resuming_says_from_where(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("a b a b b a\n" * 200, encoding="utf-8")
    recipe = tmp_path / "tiny.yaml"
    text = f"[{{path: {tmp_path / 'corpus.txt'}}}]"
    recipe.write_text(
        f"name: tiny\nmodel: {{kind: lstm, hidden: 4, embedding: 4}}\ndata: {{train: {text}, validation: {text}}}\n"
        "stop: {epochs: 100000}\n"
    )
    begin = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # test runners may ignore it
    command = [sys.executable, "-c", f"{begin}; from offscript.cli import main; main()", "train", str(recipe)]
    command += ["--out", "run"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    log = tmp_path / "run" / "log.jsonl"
    deadline = time.monotonic() + 120
    while not (log.is_file() and log.stat().st_size) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "stopped at step" in errors
    assert f"resume with: offscript train {recipe} --out run" in errors
    step = re.search(r"stopped at step ([\d,]+)", errors)
    assert step is not None
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = next(line for line in process.stderr if "preparing" not in line)
    process.kill()
    process.communicate()
    assert line.startswith(f"tiny: resumes from step {step[1]} of ")
