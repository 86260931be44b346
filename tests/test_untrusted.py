"""Models that bring Python code: none of it runs, whatever standard input says, unless the model string trusts it."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from offscript._untrusted import refuse_remote_code
from offscript.corpora import HubVocabulary
from offscript.errors import OffscriptError
from offscript.factcheck.stance.teaching import mtranssan
from offscript.factcheck.stance.teaching.network import load_encoder
from offscript.models import load_model
from offscript.models.hub import MaskedLanguageModel, names_masked_model
from offscript.models.next_sentence import encoder_of

CODE = """
from pathlib import Path
Path({marker!r}).touch()
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
class Config(GPT2Config):
    model_type = "hostile"
class Model(GPT2LMHeadModel):
    config_class = Config
class Tokens(PreTrainedTokenizerFast):
    pass
"""
MAP = {
    "AutoConfig": "code.Config",
    "AutoModel": "code.Model",
    "AutoModelForCausalLM": "code.Model",
    "AutoModelForMaskedLM": "code.Model",
    "AutoTokenizer": ["code.Tokens", "code.Tokens"],
}
LOADERS: dict[str, Callable[[str], Any]] = {
    "load_model": load_model,
    "hf prefix": lambda folder: load_model(f"hf/{folder}"),
    "masked": MaskedLanguageModel.load,
    "recognising a masked model": names_masked_model,
    "next sentence": encoder_of,
    "vocabulary": HubVocabulary.load,
    "encoder": load_encoder,
    "stance": lambda folder: mtranssan.load(Path(folder)),
}


def _change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _save(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "<unk>": 2}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = GPT2Config(vocab_size=3, n_embd=8, n_layer=1, n_head=1, n_positions=16, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="<s>").save_pretrained(folder)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "the code ran"


@pytest.fixture
def hostile(tmp_path: Path, marker: Path) -> Path:
    """A model whose kind `transformers` does not know, with code that leaves a marker."""
    folder = tmp_path / "hostile"
    _save(folder)
    (folder / "code.py").write_text(CODE.format(marker=str(marker)))
    _change(folder / "config.json", model_type="hostile", architectures=["Model"], auto_map=MAP)
    return folder


@pytest.fixture
def hostile_tokenizer(tmp_path: Path, marker: Path) -> Path:
    """An ordinary model whose tokenizer brings the code."""
    folder = tmp_path / "hostile-tokenizer"
    _save(folder)
    (folder / "code.py").write_text(CODE.format(marker=str(marker)))
    _change(folder / "tokenizer_config.json", tokenizer_class="Tokens", auto_map=MAP)
    return folder


def _offscript(code: str, cache: Path, answer: str = "y\n" * 9) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], input=answer, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("place", ["hostile", "hostile_tokenizer"])
@pytest.mark.parametrize("loader", LOADERS)
def test_no_loader_runs_code(
    loader: str, place: str, marker: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder: Path = request.getfixturevalue(place)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 9))
    with pytest.raises(OffscriptError, match=r"brings Python code of its own; .* auto_map") as caught:
        LOADERS[loader](str(folder))
    assert "\n" not in str(caught.value)
    assert not marker.exists()
    assert sys.stdin.read().startswith("y"), "a question was asked"


@pytest.mark.parametrize("loader", sorted(set(LOADERS) - {"stance"}))
def test_transformers_is_told_not_to_trust(
    loader: str, hostile: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line of defence, for a configuration that was not recognised."""
    monkeypatch.setattr("offscript._untrusted._names_code", lambda value: False)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 9))
    with contextlib.suppress(OffscriptError):
        LOADERS[loader](str(hostile))
    assert not marker.exists()
    assert sys.stdin.read().startswith("y"), "a question was asked"


def test_a_gguf_file_is_not_read_beside_a_tokenizer_with_code(hostile_tokenizer: Path, marker: Path) -> None:
    (hostile_tokenizer / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(OffscriptError, match="brings Python code of its own"):
        load_model(str(hostile_tokenizer / "model.gguf"))
    assert not marker.exists()


def test_an_auto_map_deep_in_a_configuration_counts(tmp_path: Path) -> None:
    _save(tmp_path)
    _change(tmp_path / "config.json", text_config={"auto_map": MAP})
    with pytest.raises(OffscriptError, match=r"config\.json has an auto_map"):
        load_model(str(tmp_path))


@pytest.mark.slow
def test_the_command_line_does_not_take_yes_for_an_answer(hostile: Path, marker: Path, tmp_path: Path) -> None:
    command = ["measure", "likelihood", str(hostile), "--corpus", __file__]
    code = f"import sys; from offscript.cli import main; sys.argv = ['offscript', *{command!r}]; main()"
    finished = _offscript(code, tmp_path / "cache")
    assert finished.returncode == 2
    assert "brings Python code of its own" in finished.stderr
    assert "Do you wish to run" not in finished.stdout + finished.stderr
    assert not marker.exists()


@pytest.mark.slow
def test_a_hub_repository_is_refused_alike(hostile: Path, marker: Path, tmp_path: Path) -> None:
    repository = tmp_path / "cache/hub/models--some--model"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text("0" * 40)
    (repository / "snapshots").mkdir()
    hostile.rename(repository / "snapshots" / ("0" * 40))
    finished = _offscript("from offscript.models import load_model; load_model('hf/some/model')", tmp_path / "cache")
    assert "OffscriptError: the model 'some/model' brings Python code of its own" in finished.stderr
    assert not marker.exists()


@pytest.mark.slow
def test_a_model_string_can_trust_the_code(hostile: Path, marker: Path, tmp_path: Path) -> None:
    code = f"from offscript.models import load_model; print(type(load_model({f'{hostile},trust=1'!r}).network))"
    finished = _offscript(code, tmp_path / "cache", answer="")
    assert finished.returncode == 0, finished.stderr
    assert "code.Model" in finished.stdout
    assert marker.exists()


@pytest.mark.parametrize("trust", ["0", "false"])
def test_no_trust_can_be_written_down(hostile: Path, trust: str, marker: Path) -> None:
    with pytest.raises(OffscriptError, match=r"add ,trust=1 to the model string if you have read the code"):
        load_model(f"{hostile},trust={trust}")
    assert not marker.exists()


def test_trust_is_yes_or_no(tmp_path: Path) -> None:
    _save(tmp_path)
    with pytest.raises(OffscriptError, match="trust=perhaps is neither 0 nor 1"):
        load_model(f"{tmp_path},trust=perhaps")
    assert load_model(f"{tmp_path},trust=1").vocabulary.size == 3


def test_a_hub_out_of_reach_is_asked_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub.utils import _http, logging

    levels: list[int] = []

    def asked(*_: object, **__: object) -> None:
        levels.append(_http.logger.getEffectiveLevel())
        raise OSError("out of reach")

    logging.get_logger("huggingface_hub").setLevel(logging.WARNING)
    monkeypatch.setattr("transformers.utils.hub.cached_file", asked)
    refuse_remote_code("nobody/nothing")
    assert levels == [logging.ERROR, logging.ERROR]
