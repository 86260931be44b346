"""Model strings: which model each names, and what a misspelt one is told."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript import _catalogue
from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models import hub_sources, load_model, registry, shipped_models
from offscript.models.hub import HubLanguageModel
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save
from offscript.models.tabular import Tabular, Uniform

FROM_HUB = Uniform(WordVocabulary(["a"], end=None, unknown=None), "from the Hub")
DEFAULTS = {"dtype": "float32", "start": None, "trust": 0, "device": "cpu"}
TABLE = {"kind": "tabular", "vocabulary": ["A", "B"], "length": 1, "next": {"": [0.5, 0.5]}}


def _save_lstm(folder: Path, about: str = "") -> None:
    vocabulary = WordVocabulary(["<unk>", "<eos>", "a"])
    save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=2, embedding=2)), folder, card={"about": about})


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that ships two small models, and a working folder beside it."""
    folder = tmp_path / "assets"
    for name in ("paper", "paper-student"):
        _save_lstm(folder / name, about=name)
    monkeypatch.setattr(_catalogue, "ASSETS", folder)
    monkeypatch.setattr(registry, "ASSETS", folder)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return folder


@pytest.fixture
def asked_of_hub(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was asked of the Hub, where nothing is."""
    asked: list[dict[str, Any]] = []

    def remember(
        name: str, *, dtype: str = "float32", start: Any = None, trust: Any = 0, device: str = "cpu", **chat: Any
    ) -> Uniform:
        assert set(chat.values()) <= {None}
        asked.append({"name": name, "dtype": dtype, "start": start, "trust": trust, "device": device})
        return FROM_HUB

    monkeypatch.setattr(HubLanguageModel, "load", remember)
    monkeypatch.setattr(hub_sources, "has_encoder", lambda name, trust: False)
    monkeypatch.setitem(_catalogue.MODELS._things, "hf", remember)
    return asked


def test_cards_of_other_things_that_ship_are_left_alone(assets: Path) -> None:
    (assets / "stance").mkdir()
    (assets / "stance/card.json").write_text('{"kind": "onnx"}')
    assert list(shipped_models()) == ["offscript/paper", "offscript/paper-student"]


@pytest.mark.usefixtures("assets")
def test_shipped_models_are_listed_with_their_cards() -> None:
    listed = shipped_models()
    assert list(listed) == ["offscript/paper", "offscript/paper-student"]
    assert listed["offscript/paper"]["about"] == "paper"


@pytest.mark.usefixtures("assets")
@pytest.mark.parametrize("text", ["offscript/paper", "paper"])
def test_a_shipped_name_is_a_shipped_model(text: str) -> None:
    model = load_model(text)
    assert isinstance(model, LSTMLanguageModel)
    assert model.name == "offscript/paper"


@pytest.mark.usefixtures("assets")
def test_a_shipped_name_comes_before_a_folder() -> None:
    _save_lstm(Path("paper"))
    assert load_model("paper").name == "offscript/paper"
    assert load_model("./paper").name == "paper"


@pytest.mark.usefixtures("assets")
def test_a_folder_comes_before_the_hub(asked_of_hub: list[dict[str, Any]]) -> None:
    _save_lstm(Path("gpt2"))
    assert isinstance(load_model("gpt2"), LSTMLanguageModel)
    assert asked_of_hub == []


@pytest.mark.usefixtures("assets")
@pytest.mark.parametrize("name", ["7", "nan"])
def test_a_folder_whose_name_reads_as_another_kind_gives_its_symbols(
    asked_of_hub: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    _save_lstm(Path(name))
    assert load_model(f"uniform,vocabulary={name}").vocabulary.size == 3
    assert not asked_of_hub


def test_a_tabular_file_is_a_model() -> None:
    Path("toy.json").write_text(json.dumps(TABLE))
    model = load_model("toy.json")
    assert isinstance(model, Tabular)
    assert model.name == "toy"


@pytest.mark.usefixtures("assets")
@pytest.mark.parametrize(
    ("text", "name", "settings"),
    [
        ("gpt2", "gpt2", {}),
        ("hf/gpt2", "gpt2", {}),
        ("hf/paper", "paper", {}),
        ("hf/openai-community/gpt2@main,dtype=float16", "openai-community/gpt2@main", {"dtype": "float16"}),
        ("EleutherAI/pythia-70m@step1", "EleutherAI/pythia-70m@step1", {}),
        ("hf/gpt2,start=<s>,trust=1", "gpt2", {"start": "<s>", "trust": 1}),
    ],
)
def test_anything_else_is_asked_of_the_hub(
    asked_of_hub: list[dict[str, Any]], text: str, name: str, settings: dict[str, Any]
) -> None:
    assert load_model(text) is FROM_HUB
    assert asked_of_hub == [{"name": name, **DEFAULTS, **settings}]


@pytest.mark.usefixtures("assets")
@pytest.mark.parametrize("name", ["model.gguf", "with@sign.gguf"])
def test_a_gguf_file_is_read_as_one(asked_of_hub: list[dict[str, Any]], name: str) -> None:
    Path(name).touch()
    load_model(f"{name},dtype=bfloat16")
    assert asked_of_hub == [{"name": name, **DEFAULTS, "dtype": "bfloat16"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("offscript/papr", "no shipped model is called 'offscript/papr'; did you mean 'paper'?"),
        ("offscript/zzz", "known: paper, paper-student"),
        ("papr", "did you mean 'paper'? write hf/papr for the Hub's"),
        ("paper-studnet", "did you mean 'paper-student'?"),
        ("offscript/paper,dtype=float16", "offscript/paper takes no setting 'dtype'; leave it out"),
        ("hf/gpt2,dtyp=float16", "hf/gpt2 takes no setting 'dtyp'; did you mean 'dtype'?"),
        ("hf/gpt2,dtype=int4", "unknown dtype 'int4'; known: float32, float16, bfloat16"),
        ("paper,dtype", "'dtype' in 'paper,dtype' is not key=value"),
        ("", "no name in ''"),
        ("https://huggingface.co/gpt2", "is a URL; a model string names a shipped model, a folder, a file or a Hub id"),
        ("https://huggingface.co/gpt2", "; write hf/gpt2"),
        ("https://huggingface.co/HuggingFaceTB/SmolLM2-135M", "; write hf/HuggingFaceTB/SmolLM2-135M"),
        ("https://huggingface.co/a/b/tree/main", "; write hf/a/b"),
        ("https://hf.co/a/b/resolve/v1.0/model.safetensors", "; write hf/a/b@v1.0"),
        ("https://example.org/model.gguf", "is a URL; a model string names"),
        ("https://example.org/model.gguf", "; download it and name the folder or file"),
        ("./nowhere", "there is no file or folder ./nowhere"),
        ("/nowhere/at/all", "there is no file or folder /nowhere/at/all"),
        ("runs/nowhere/model", "there is no file or folder runs/nowhere/model"),
        ("toy.json", "there is no file or folder toy.json"),
        (".", "holds no model; there is no card.json"),
    ],
)
@pytest.mark.usefixtures("assets")
def test_a_string_that_names_nothing_gets_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(OffscriptError) as caught:
        load_model(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_hub_out_of_reach_gets_one_clear_line() -> None:
    with pytest.raises(OffscriptError, match="the model 'no-such/model' cannot be loaded") as caught:
        load_model("hf/no-such/model")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("assets")
@pytest.mark.parametrize("device", ["nonsense", "cuda:99"])
def test_a_device_that_is_not_here_is_refused_first(device: str) -> None:
    with pytest.raises(OffscriptError, match=f"the device '{device}' cannot be used"):
        load_model("paper", device=device)


def test_every_shipped_model_loads_and_is_small() -> None:
    """The hash check inside `load_model` also shows that no shipped file was changed by hand."""
    names = shipped_models()
    assert "offscript/news" in names
    for name in names:
        model = load_model(name)
        assert torch.isfinite(model.start(1)[0]).all()
        folder = registry.ASSETS / name.removeprefix(registry.SHIPPED)
        assert (folder / "weights.safetensors").stat().st_size < 16e6
