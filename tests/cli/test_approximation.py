"""A generator that only emits tokens, by the same commands as any model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript.corpora import CharacterVocabulary
from offscript.models.noise_lstm import NoiseLSTM, NoiseLSTMSettings
from offscript.models.storage import save

Command = Callable[..., Any]


@pytest.fixture
def offscript(offscript: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run `offscript …` beside a saved generator and a text."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        save(NoiseLSTM(CharacterVocabulary(), NoiseLSTMSettings(hidden=6, embedding=4, states=8)), tmp_path / "gan")
    (tmp_path / "text.txt").write_text("the cat sat\non the mat\nand that was that\n" * 4)
    monkeypatch.chdir(tmp_path)
    return offscript


@pytest.mark.parametrize("model", ["gan", "gan,approximate=100", "offscript/text8,approximate=100,seed=3"])
def test_likelihood_and_samples(offscript: Command, model: str) -> None:
    found = offscript("measure", "likelihood", model, "--corpus", "text.txt", "--json", "--quiet").json["results"]
    assert 0 < found["likelihood"]["bpc"] < 20
    assert ("never_drawn" in found["likelihood"]) == ("approximate" in model)
    drawn = offscript("generate", model, "-n", "3", "--length", "12", "--json", "--quiet").json
    assert [len(text) for text in drawn["texts"]] == [12, 12, 12]


@pytest.mark.parametrize("question", ["exposure", "regret"])
def test_it_is_held_against_an_oracle(offscript: Command, question: str) -> None:
    asked = ["--oracle", "offscript/text8", "--samples", "40", "--length", "6", "--json", "--quiet"]
    found = offscript("measure", question, "gan,approximate=200", *asked).json["results"][question]
    assert found["cgd_model.js" if question == "exposure" else "q_per_token"] > 0


def test_how_many_draws_it_takes(offscript: Command, tmp_path: Path) -> None:
    asked = ["--corpus", "text.txt", "--draws", "300", "--step", "100", "--highest", "300", "--subset", "6"]
    for model, gap, plot in (("offscript/text8", True, ("--plot", "draws.html")), ("gan", False, ())):
        found = offscript("measure", "approximation", model, *asked, *plot, "--json").json["results"]
        assert ("bpc_gap" in found["approximation"]) == gap
        assert len(found["approximation"]["by_length.error"]) == 3
        assert found["approximation"]["bound"] == 4_297_078
    assert (tmp_path / "draws.html").is_file()


def test_pieces_of_text_without_lines(offscript: Command) -> None:
    asked = ["--corpus", "text.txt", "--pieces", "5", "--draws", "50", "--step", "20", "--highest", "20", "--json"]
    found = offscript("measure", "approximation", "uniform", *asked).json["results"]
    assert found["approximation"]["bpc"] > 4.755


@pytest.mark.parametrize(
    ("model", "told"),
    [("gan,approximate=0", "an approximation by 0 draws"), ("gan,aproximate=5", "takes no setting 'aproximate'")],
)
def test_wrong_settings_get_one_line(offscript: Command, model: str, told: str) -> None:
    done = offscript("measure", "likelihood", model, "--corpus", "text.txt")
    assert done.code == 2
    assert told in done.errors
    assert len(done.errors.strip().splitlines()) == 1
