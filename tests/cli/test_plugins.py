"""A model and a sampler in a file of their own: named, listed and used like the built-in ones."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript import _catalogue, plugins
from offscript._plugins import PLUGINS_VARIABLE
from offscript.corpora import CharacterVocabulary
from offscript.errors import OffscriptError
from offscript.models import HistoryModel, LanguageModel, load_model
from offscript.models.hub import names_masked_model
from offscript.sampling.transforms import check_properties, parse_transform

PLUGIN = '''
from offscript import plugins
from offscript.corpora import CharacterVocabulary
from offscript.models import HistoryModel

class Favouring(HistoryModel):
    def __init__(self, letter, sharpness):
        self.vocabulary = CharacterVocabulary()
        self.favourite = self.vocabulary.encode(letter)[0]
        self.sharpness = sharpness

    def predict(self, histories):
        logits = histories.new_zeros(len(histories), self.vocabulary.size, dtype=float)
        logits[:, self.favourite] = self.sharpness
        return logits.log_softmax(-1)

@plugins.model("toy")
def load(rest, sharpness=3):
    """One letter more often than the others."""
    return Favouring(rest or "a", sharpness)

@plugins.sampler("flatten")
def flatten(log_probs, power=0.5):
    """Probabilities raised to a power."""
    return power * log_probs
'''


@pytest.fixture(autouse=True)
def _own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test registers is gone afterwards, and a plug-in file is loaded anew."""
    monkeypatch.setenv(PLUGINS_VARIABLE, "")
    for registry in (_catalogue.MODELS, _catalogue.SAMPLERS):
        monkeypatch.setattr(registry, "_things", dict(registry._things))
    for name in [name for name in sys.modules if name.startswith("offscript_plugin_")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    return path


def _offscript(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from offscript.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("after", [False, True], ids=["before the verb", "after the verb"])
def test_a_plugin_is_listed_and_used(offscript: Callable[..., Any], plugin: Path, after: bool) -> None:
    def run(*arguments: str) -> Any:
        given = ["--plugin", str(plugin)]
        return offscript(*([*arguments, *given] if after else [*given, *arguments]))

    models = {row["name"]: row for row in run("ls", "models", "--json").json}
    assert models["toy/…"]["about"] == "One letter more often than the others."
    assert "offscript/news" in models
    [flatten] = [row for row in run("ls", "samplers", "--json").json if row["sampler"] == "flatten"]
    assert flatten["about"] == "Probabilities raised to a power."
    assert (flatten["entropy reduction"], flatten["order preservation"], flatten["slope preservation"]) == (
        "no",
        "yes",
        "yes",
    )
    text = run("generate", "toy/e,sharpness=9", "-n", "3", "--length", "20", "--seed", "1").output
    assert text.count("e") > 50
    flat = run("generate", "toy/e,sharpness=9", "--sampler", "flatten,power=0.1", "-n", "3", "--length", "20").output
    assert flat.count("e") < 30


def test_what_comes_after_two_hyphens_is_left_alone(offscript: Callable[..., Any], plugin: Path) -> None:
    shown = offscript("ls", "models", "--", "--plugin", str(plugin))
    assert shown.code == 2
    assert "toy" not in _catalogue.MODELS


@pytest.mark.parametrize("arguments", [["--plugin"], ["ls", "models", "--plugin"]])
def test_a_plugin_option_without_a_value_is_one_line(offscript: Callable[..., Any], arguments: list[str]) -> None:
    shown = offscript(*arguments)
    assert shown.code == 2
    assert "requires an argument" in shown.errors


def test_a_plugin_that_is_not_there_is_one_line(offscript: Callable[..., Any]) -> None:
    shown = offscript("--plugin", "nowhere.py", "ls", "models")
    assert (shown.code, shown.errors) == (2, "offscript: there is no plug-in nowhere.py; check the path\n")


@pytest.mark.slow
def test_the_environment_names_plugins_too(plugin: Path) -> None:
    shown = _offscript("ls", "models", "--json", OFFSCRIPT_PLUGINS=str(plugin))
    assert "toy/…" in [row["name"] for row in json.loads(shown.stdout)]


@pytest.mark.parametrize("what", ["models", "samplers"])
def test_listing_imports_no_torch(what: str) -> None:
    code = (
        f"import sys; from offscript.cli import main; sys.argv = ['offscript', 'ls', '{what}']\n"
        "try: main()\nexcept SystemExit: print(*(name for name in ('torch', 'transformers') if name in sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert finished.stdout.splitlines()[-1] == ""


class Flat(HistoryModel):
    vocabulary = CharacterVocabulary()

    def predict(self, histories: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(histories), self.vocabulary.size).log_softmax(-1)


def _register(loader: Callable[..., Any]) -> None:
    plugins.model("toy")(loader)


def test_a_loader_gets_what_follows_its_name_and_the_settings_it_takes() -> None:
    calls: list[tuple[str, int, str]] = []

    def load(rest: str, size: int, device: str) -> LanguageModel:
        calls.append((rest, size, device))
        return Flat()

    _register(load)
    model = load_model("toy/a/b@c,size=3")
    assert calls == [("a/b@c", 3, "cpu")]
    assert model.name == "toy/a/b@c,size=3"
    assert model.weight_hash == "toy/a/b@c,size=3 Flat"
    load_model("toy,size=1,approximate=10")
    assert calls[-1] == ("", 1, "cpu")
    assert not names_masked_model("toy/a,size=3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("toy/a", "toy/a needs a setting 'size'; add size=…"),
        ("toy/a,sise=3", "toy/a takes no setting 'sise'; did you mean 'size'?"),
        ("toy/a,size=3,device=cuda", "toy/a takes no setting 'device'"),
    ],
)
def test_settings_of_a_loader_are_checked(text: str, message: str) -> None:
    _register(lambda rest, size, device: Flat())
    with pytest.raises(OffscriptError) as caught:
        load_model(text)
    assert str(caught.value).startswith(message)


def test_a_loader_may_take_any_setting_or_none() -> None:
    _register(lambda rest, **settings: Flat() if settings == {"x": 1, "device": "cpu"} else None)
    assert isinstance(load_model("toy,x=1"), Flat)
    with pytest.raises(OffscriptError, match="the loader of toy returned a NoneType; return a LanguageModel"):
        load_model("toy,x=2")


@pytest.mark.parametrize("name", ["hf", "offscript", "uniform"])
def test_built_in_names_cannot_be_taken(name: str) -> None:
    with pytest.raises(OffscriptError, match=f"there already is a model '{name}'"):
        plugins.model(name)(lambda rest: Flat())


def test_a_history_model_answers_like_every_model() -> None:
    model, tokens = Flat(), torch.tensor([[1, 2, 3], [3, 4, 5]])
    [scored] = model.score(tokens)
    assert scored.log_probs.shape == (2, 3, 27)
    torch.testing.assert_close(model.log_likelihoods(tokens).exp(), torch.full((2, 3), 1 / 27))
    log_probs, state = model.start(2, tokens)
    assert state.select(torch.tensor([1, 1])).tokens.tolist() == [[27, 3, 4, 5]] * 2
    assert log_probs.shape == (2, 27)


def test_a_sampler_is_a_function_with_settings(plugin: Path) -> None:
    plugins.load_plugin(str(plugin))
    chosen = parse_transform("flatten,power=0.25")
    assert str(chosen) == "flatten,power=0.25"
    assert str(parse_transform("flatten")) == "flatten,power=0.5"
    assert chosen == parse_transform("flatten,power=0.25")
    assert chosen != parse_transform("flatten")
    logits = torch.tensor([[0.0, 4.0]])
    torch.testing.assert_close(chosen(logits), torch.tensor([[0.0, 1.0]]).log_softmax(-1))
    assert logits.tolist() == [[0.0, 4.0]]
    assert check_properties("flatten").satisfies("slope preservation")
    with pytest.raises(OffscriptError, match=r"flatten takes no setting 'pover'; did you mean 'power'\?"):
        parse_transform("flatten,pover=2")
    with pytest.raises(OffscriptError, match=r"no sampler 'flaten'; did you mean 'flatten'\?"):
        parse_transform("flaten")


def test_a_sampler_that_returns_its_input_leaves_it_alone() -> None:
    plugins.sampler("same")(lambda log_probs: log_probs)
    logits = torch.tensor([[0.0, 4.0]])
    assert parse_transform("same")(logits).exp().sum() == pytest.approx(1)
    assert logits.tolist() == [[0.0, 4.0]]


def test_a_sampler_that_changes_the_shape_is_refused() -> None:
    plugins.sampler("short")(lambda log_probs: log_probs[:, 1:])
    with pytest.raises(OffscriptError, match=r"the sampler short changes the shape; \(1, 2\) became \(1, 1\)"):
        parse_transform("short")(torch.zeros(1, 2))


def test_a_sampler_can_be_a_class() -> None:
    from dataclasses import dataclass
    from typing import ClassVar

    from offscript.sampling.transforms.base import Deterministic

    @plugins.sampler("shifted")
    @dataclass(frozen=True)
    class Shifted(Deterministic):
        by: float
        times: float = 1
        name: ClassVar[str] = "shifted"

        def weigh(self, log_probs: torch.Tensor) -> torch.Tensor:
            return log_probs + self.by * self.times

    assert str(parse_transform("shifted,by=-2")) == "shifted,by=-2,times=1"
    with pytest.raises(OffscriptError, match="'shifted' lacks by"):
        parse_transform("shifted")
    with pytest.raises(OffscriptError, match="shifted with by='x'"):
        parse_transform("shifted,by=x")
