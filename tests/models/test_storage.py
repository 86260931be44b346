"""Models on disk: what is saved comes back, and what is not whole is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast

from offscript._files import sha256_of
from offscript.corpora import CharacterVocabulary, HubVocabulary, Vocabulary, WordVocabulary
from offscript.errors import OffscriptError
from offscript.models import load_model
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.storage import build, checked_settings, load, read_card, save
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings

WORDS = WordVocabulary(["<unk>", "<eos>", "a", "b", "ü"], lower=True)
MODELS: dict[str, Callable[[], NeuralLanguageModel]] = {
    "lstm": lambda: LSTMLanguageModel(WORDS, LSTMSettings(hidden=6, embedding=4, layers=2, dropout=0.2)),
    "lstm, tied": lambda: LSTMLanguageModel(WORDS, LSTMSettings(hidden=6, embedding=6, tied=True)),
    "transformer": lambda: TransformerLanguageModel(
        CharacterVocabulary(), TransformerSettings(width=8, heads=2, layers=1, context=9, positions="learned")
    ),
    "transformer, tied": lambda: TransformerLanguageModel(
        WORDS, TransformerSettings(width=8, heads=2, layers=2, context=9, tied=True)
    ),
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save(MODELS["lstm"](), tmp_path / "model")
    return tmp_path / "model"


def _tokens(vocabulary: Vocabulary) -> torch.Tensor:
    return torch.randint(vocabulary.size, (3, 5), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("kind", MODELS)
def test_what_is_saved_comes_back(kind: str, tmp_path: Path) -> None:
    model = MODELS[kind]()
    save(model, tmp_path / "model", card={"about": "a test"})
    loaded = load_model(str(tmp_path / "model"))
    assert type(loaded) is type(model)
    assert loaded.settings == model.settings
    assert loaded.name == str(tmp_path / "model")
    assert loaded.vocabulary.fingerprint == model.vocabulary.fingerprint
    assert loaded.weight_hash == model.weight_hash
    assert not loaded.training
    tokens = _tokens(model.vocabulary)
    assert torch.equal(loaded.log_likelihoods(tokens), model.log_likelihoods(tokens))
    assert read_card(tmp_path / "model")["about"] == "a test"


def test_a_vocabulary_keeps_its_ways(saved: Path) -> None:
    assert load(saved).vocabulary.encode("A Ü c") == [2, 4, 0]


def test_half_precision_halves_the_file(saved: Path, tmp_path: Path) -> None:
    model = load(saved)
    save(model, tmp_path / "half", half=True)
    sizes = [(folder / "weights.safetensors").stat().st_size for folder in (saved, tmp_path / "half")]
    assert sizes[1] < 0.7 * sizes[0]
    loaded = load(tmp_path / "half")
    for name, weight in loaded.state_dict().items():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, model.state_dict()[name].half().float())


def test_saving_again_replaces_the_model(saved: Path) -> None:
    save(MODELS["transformer"](), saved)
    assert isinstance(load(saved), TransformerLanguageModel)


def test_a_card_is_written_last(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save that is cut off leaves no card, and so no model that could be mistaken for the old or the new one."""

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("safetensors.torch.save_file", fail)
    with pytest.raises(OSError, match="no space"):
        save(MODELS["transformer"](), saved)
    with pytest.raises(OffscriptError, match=r"holds no model; there is no card\.json"):
        load(saved)


@pytest.mark.parametrize("file", ["weights.safetensors", "vocabulary.json"])
@pytest.mark.parametrize("place", [0.0, 0.5, 0.999])
def test_one_flipped_bit_is_found(saved: Path, file: str, place: float) -> None:
    content = bytearray((saved / file).read_bytes())
    content[int(place * len(content))] ^= 1
    (saved / file).write_bytes(bytes(content))
    with pytest.raises(OffscriptError, match=rf"{file} is not what its card describes; its hash differs"):
        load(saved)


def _rewritten(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        card = json.loads((folder / "card.json").read_text())
        change(card)
        (folder / "card.json").write_text(json.dumps(card))

    return rewrite


def _without_bias(folder: Path) -> None:
    weights = load_file(folder / "weights.safetensors")
    del weights["bias"]
    save_file(weights, folder / "weights.safetensors")
    _rewritten(lambda card: card["sha256"].update({"weights.safetensors": sha256_of(folder / "weights.safetensors")}))(
        folder
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "card.json").unlink(), r"holds no model; there is no card\.json"),
        (lambda folder: (folder / "card.json").write_text("{"), "card.json, line 1: not a model card; not valid JSON"),
        (
            lambda folder: (folder / "card.json").write_text("[1]"),
            "card.json: not a model card; not an object",
        ),
        (lambda folder: (folder / "card.json").write_bytes(b"\xff"), "card.json, line 1: byte 1 is not UTF-8"),
        (lambda folder: (folder / "weights.safetensors").unlink(), "weights.safetensors is missing; copy the model's"),
        (_rewritten(lambda card: card.pop("kind")), "not a model card; no field 'kind'"),
        (_rewritten(lambda card: card.update(settings=3)), "field 'settings' is not an object but int"),
        (_rewritten(lambda card: card.update(sha256={})), "its hash differs"),
        (_rewritten(lambda card: card.update(kind="lstn")), "unknown kind of model 'lstn'; did you mean 'lstm'"),
        (_rewritten(lambda card: card["settings"].update(hidden=7)), "does not hold the model its card describes"),
        (_rewritten(lambda card: card["settings"].update(widht=7)), "unknown key 'widht'"),
        (_without_bias, 'does not hold the model its card describes; .*"bias"'),
    ],
)
def test_a_spoilt_folder_gets_one_clear_line(saved: Path, spoil: Callable[[Path], Any], message: str) -> None:
    spoil(saved)
    with pytest.raises(OffscriptError, match=message) as caught:
        load(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl", "last.ckpt"])
def test_pickles_are_never_opened(tmp_path: Path, name: str) -> None:
    torch.save({"weight": torch.zeros(1)}, tmp_path / name)
    for place in (tmp_path, tmp_path / name):
        with pytest.raises(OffscriptError, match=rf"{name} looks like a pickle; opening one can run any code"):
            load_model(str(place))


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (
            "gru",
            {},
            "unknown kind of model 'gru'; known: encoder-decoder, lstm, manager-worker, noise-lstm, pretrained, "
            "transformer",
        ),
        ("lstm", {"hiden": 3}, "unknown key 'hiden'; did you mean 'hidden'?"),
        ("lstm", {"hidden": 0}, "hidden: Input should be greater than or equal to 1"),
        ("lstm", {"hidden": "many"}, "hidden: Input should be a valid integer"),
        ("lstm", {"tied": True, "hidden": 3, "embedding": 4}, "a tied output needs embedding = hidden, not 4 and 3"),
        ("transformer", {"postions": "rotary"}, "unknown key 'postions'; did you mean 'positions'?"),
    ],
)
def test_settings_that_do_not_fit_are_named(kind: str, settings: dict[str, Any], message: str) -> None:
    for make in (checked_settings, lambda kind, settings: build(kind, settings, WORDS)):
        with pytest.raises(OffscriptError) as caught:
            make(kind, settings)
        assert message in str(caught.value)


def test_the_tokenizer_goes_along_with_the_model(tmp_path: Path) -> None:
    """Its folder needs nothing from elsewhere."""
    words = Tokenizer(WordLevel({"<unk>": 0, "</s>": 1, "a": 2, "b": 3}, unk_token="<unk>"))
    words.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", eos_token="</s>").save_pretrained(
        tmp_path / "own"
    )
    vocabulary = HubVocabulary.load(str(tmp_path / "own"))
    save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=4, embedding=4)), tmp_path / "model")
    shutil.rmtree(tmp_path / "own")
    loaded = load_model(str(tmp_path / "model"))
    assert loaded.vocabulary.encode("b a c") == [3, 2, 0]
    assert loaded.vocabulary.fingerprint == vocabulary.fingerprint
