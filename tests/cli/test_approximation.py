"""A generator that only emits tokens, by the same commands as any model."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript.cli import main
from offscript.corpora import CharacterVocabulary
from offscript.models import save
from offscript.models.noise_lstm import NoiseLSTM, NoiseLSTMSettings

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run `offscript …` beside a saved generator and a text."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        save(NoiseLSTM(CharacterVocabulary(), NoiseLSTMSettings(hidden=6, embedding=4, states=8)), tmp_path / "gan")
    (tmp_path / "text.txt").write_text("the cat sat\non the mat\nand that was that\n" * 4)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["offscript", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return run


def _answer(done: tuple[int, str, str]) -> dict[str, Any]:
    code, output, errors = done
    assert code == 0, errors
    document: dict[str, Any] = json.loads(output)
    return document


@pytest.mark.parametrize("model", ["gan", "gan,approximate=100", "offscript/text8,approximate=100,seed=3"])
def test_likelihood_and_samples(command: Command, model: str) -> None:
    found = _answer(command("measure", "likelihood", model, "--corpus", "text.txt", "--json", "--quiet"))["results"]
    assert 0 < found["likelihood"]["bpc"] < 20
    assert ("never_drawn" in found["likelihood"]) == ("approximate" in model)
    drawn = _answer(command("generate", model, "-n", "3", "--length", "12", "--json", "--quiet"))
    assert [len(text) for text in drawn["texts"]] == [12, 12, 12]


@pytest.mark.parametrize("question", ["exposure", "regret"])
def test_it_is_held_against_an_oracle(command: Command, question: str) -> None:
    asked = ["--oracle", "offscript/text8", "--samples", "40", "--length", "6", "--json", "--quiet"]
    found = _answer(command("measure", question, "gan,approximate=200", *asked))["results"][question]
    assert found["cgd_model.js" if question == "exposure" else "q_per_token"] > 0


def test_how_many_draws_it_takes(command: Command, tmp_path: Path) -> None:
    asked = ["--corpus", "text.txt", "--draws", "300", "--step", "100", "--highest", "300", "--subset", "6"]
    for model, gap, plot in (("offscript/text8", True, ("--plot", "draws.html")), ("gan", False, ())):
        found = _answer(command("measure", "approximation", model, *asked, *plot, "--json"))["results"]
        assert ("bpc_gap" in found["approximation"]) == gap
        assert len(found["approximation"]["by_length.error"]) == 3
        assert found["approximation"]["bound"] == 4_297_078
    assert (tmp_path / "draws.html").is_file()


def test_pieces_of_text_without_lines(command: Command) -> None:
    asked = ["--corpus", "text.txt", "--pieces", "5", "--draws", "50", "--step", "20", "--highest", "20", "--json"]
    found = command("measure", "approximation", "uniform", *asked)
    assert _answer(found)["results"]["approximation"]["bpc"] > 4.755


@pytest.mark.parametrize(
    ("model", "told"),
    [("gan,approximate=0", "an approximation by 0 draws"), ("gan,aproximate=5", "takes no setting 'aproximate'")],
)
def test_wrong_settings_get_one_line(command: Command, model: str, told: str) -> None:
    code, _, errors = command("measure", "likelihood", model, "--corpus", "text.txt")
    assert code == 2
    assert told in errors
    assert len(errors.strip().splitlines()) == 1
