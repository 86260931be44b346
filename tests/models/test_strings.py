"""Adapters, fewer bits, mixtures and models without a cache: the same figures as transformers and peft give."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript.errors import OffscriptError
from offscript.models import load_model
from offscript.models.hub import HubLanguageModel
from offscript.models.hub_uncached import UncachedHubLanguageModel
from offscript.models.registry import mixed_parts
from offscript.sampling import generate

TOKENS = torch.tensor([[4, 9, 17, 1], [30, 5, 5, 8]])
INPUTS = torch.tensor([[0, 4, 9, 17], [0, 30, 5, 5]])


def _close(found: torch.Tensor, expected: torch.Tensor, within: float = 1e-5) -> None:
    torch.testing.assert_close(found, expected.to(found.dtype), atol=within, rtol=0)


def _told(text: str) -> str:
    with pytest.raises(OffscriptError) as fault:
        load_model(text)
    assert "\n" not in str(fault.value)
    return str(fault.value)


@pytest.fixture
def adapter(tmp_path: Path, causal_network: Callable[[str], Any], hub_folder: Path) -> tuple[Path, torch.Tensor]:
    """A LoRA with random weights, and what peft's own forward pass answers."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(4)
        base = AutoModelForCausalLM.from_pretrained(hub_folder)
        config = LoraConfig(r=3, lora_alpha=8, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True)
        adapted = get_peft_model(base, config).eval()
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.5)
    adapted.save_pretrained(tmp_path / "lora")
    with torch.inference_mode():
        return tmp_path / "lora", adapted(INPUTS).logits.log_softmax(dim=-1)


def test_an_adapter_is_what_peft_makes_of_the_base(hub_folder: Path, adapter: tuple[Path, torch.Tensor]) -> None:
    folder, expected = adapter
    base, model = load_model(str(hub_folder)), load_model(f"{hub_folder},adapter={folder}")
    [scored], [plain] = model.score(TOKENS), base.score(TOKENS)
    _close(scored.log_probs, expected, 2e-5)
    assert float((scored.log_probs - plain.log_probs).abs().max()) > 0.1
    assert model.name == f"{hub_folder},adapter={folder}"
    assert model.weight_hash != base.weight_hash
    assert model.vocabulary.fingerprint == base.vocabulary.fingerprint


def _of_another_name(folder: Path) -> None:
    _configure(folder, base_model_name_or_path="some/other-model")


def _configure(folder: Path, **values: Any) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def _of_another_width(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "adapter_model.safetensors")
    wider = {key: torch.cat([value, value], dim=1) if "lora_A" in key else value for key, value in weights.items()}
    save_file(wider, folder / "adapter_model.safetensors")


def _of_another_architecture(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "adapter_model.safetensors")
    renamed = {key.replace("transformer.h", "model.layers"): value for key, value in weights.items()}
    save_file(renamed, folder / "adapter_model.safetensors")


def _damaged(folder: Path) -> None:
    (folder / "adapter_model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0not a header at all")


def _pickled(folder: Path) -> None:
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_of_another_name, "belongs to some/other-model, not to"),
        (_of_another_width, "does not fit .*; there is no transformer.h.0.attn.c_attn of width 32; name the base"),
        (_of_another_architecture, "does not fit .*; there is no model.layers.0.attn.c_attn"),
        (_damaged, "cannot be loaded"),
        (_pickled, "pickle"),
        (lambda folder: _configure(folder, peft_type="PROMPT_TUNING"), "is of the kind 'PROMPT_TUNING'"),
        (lambda folder: (folder / "adapter_config.json").write_text("[1"), "cannot be read"),
        (lambda folder: (folder / "adapter_config.json").unlink(), "is not an adapter; it has no adapter_config.json"),
    ],
)
def test_an_adapter_that_does_not_belong_is_refused(
    hub_folder: Path, adapter: tuple[Path, torch.Tensor], change: Callable[[Path], None], expected: str
) -> None:
    import re

    change(adapter[0])
    assert re.search(expected, _told(f"{hub_folder},adapter={adapter[0]}"))


def test_the_hint_for_a_bare_adapter_loads_it(hub_folder: Path, adapter: tuple[Path, torch.Tensor]) -> None:
    hint = _told(str(adapter[0])).rpartition("write ")[2]
    assert load_model(hint.replace("BASE", str(hub_folder))).name == f"{hub_folder},adapter={adapter[0]}"


@pytest.mark.parametrize("bits", ["int8", "int4"])
def test_fewer_bits_are_those_of_bitsandbytes(tmp_path: Path, tokenizer: Any, bits: str) -> None:
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(1)
        sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
        LlamaForCausalLM(LlamaConfig(vocab_size=32, **sizes, initializer_range=0.3)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    settings: dict[str, Any] = {"load_in_8bit": True}
    if bits == "int4":
        settings = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": torch.float32}
    network = AutoModelForCausalLM.from_pretrained(
        tmp_path, quantization_config=BitsAndBytesConfig(**settings), dtype=torch.float32, device_map="cpu"
    ).eval()
    model, whole = load_model(f"{tmp_path},load={bits}"), load_model(str(tmp_path))
    with torch.inference_mode():
        expected = network(INPUTS).logits.log_softmax(dim=-1)
    [scored], [plain] = model.score(TOKENS), whole.score(TOKENS)
    _close(scored.log_probs, expected)
    assert float((scored.log_probs - plain.log_probs).abs().max()) > 1e-4
    assert model.name == f"{tmp_path},load={bits}"
    assert model.weight_hash != whole.weight_hash
    assert model.weight_hash == load_model(f"{tmp_path},load={bits}").weight_hash


def test_a_network_may_spread_over_the_devices(hub_folder: Path) -> None:
    [spread], [plain] = (load_model(text).score(TOKENS) for text in (f"{hub_folder},device_map=auto", str(hub_folder)))
    _close(spread.log_probs, plain.log_probs)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("load=int3", "write load=int8 or load=int4"),
        ("device_map=balanced", "write device_map=auto"),
        ("load=int8,adapter=x", "an adapter is merged into whole weights"),
    ],
)
def test_settings_that_cannot_be_had_are_refused(hub_folder: Path, settings: str, expected: str) -> None:
    assert expected in _told(f"{hub_folder},{settings}")


def test_a_package_that_is_missing_is_named(hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    hidden = ("peft", "bitsandbytes")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in hidden else real(name, *more))
    assert 'needs peft; it is not installed; pip install -e ".[adapters]"' in _told(f"{hub_folder},adapter=./x")
    assert 'needs bitsandbytes; it is not installed; pip install -e ".[quantised]"' in _told(f"{hub_folder},load=int4")


def _network(kind: str) -> Any:
    from transformers import (
        MambaConfig,
        MambaForCausalLM,
        OpenAIGPTConfig,
        OpenAIGPTLMHeadModel,
        XLNetConfig,
        XLNetLMHeadModel,
    )

    with torch.random.fork_rng():
        torch.manual_seed(2)
        if kind == "xlnet":
            sizes = {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24, "initializer_range": 0.5}
            return XLNetLMHeadModel(XLNetConfig(vocab_size=32, **sizes)).eval()
        if kind == "mamba":
            sizes = {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4, "initializer_range": 0.5}
            return MambaForCausalLM(MambaConfig(vocab_size=32, **sizes)).eval()
        sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 24, "initializer_range": 0.5}
        return OpenAIGPTLMHeadModel(OpenAIGPTConfig(vocab_size=32, **sizes)).eval()


@pytest.mark.parametrize("kind", ["xlnet", "openai-gpt", "mamba"])
def test_a_model_without_a_cache_is_what_transformers_generates_from(tmp_path: Path, tokenizer: Any, kind: str) -> None:
    network = _network(kind)
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load_model(str(tmp_path))
    assert isinstance(model, UncachedHubLanguageModel)
    scored = torch.cat([chunk.log_probs for chunk in model.score(TOKENS)], dim=1)
    for length in range(1, INPUTS.shape[1] + 1):
        with torch.inference_mode():
            given = {"max_new_tokens": 1, "do_sample": False, "output_logits": True, "return_dict_in_generate": True}
            answer = network.generate(INPUTS[:, :length], **given, pad_token_id=1, eos_token_id=None)
        _close(scored[:, length - 1], answer.logits[0].log_softmax(dim=-1))
    log_probs, state = model.start(2)
    for place in range(3):
        _close(log_probs, scored[:, place])
        log_probs, state = model.advance(state, TOKENS[:, place])
    [part] = model.score(TOKENS, range(2, 4))
    _close(part.log_probs, scored[:, 2:])
    assert generate(model, 3, 5, seed=1).tokens.shape == (3, 5)


def test_a_chat_before_a_model_without_a_cache(tokenizer: Any) -> None:
    import copy

    talking = copy.deepcopy(tokenizer)
    talking.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}w9"
    network = _network("openai-gpt")
    [scored] = UncachedHubLanguageModel(network, talking, chat="w1 w2").score(TOKENS)
    opening = torch.tensor([[4, 5, 12]]).expand(2, -1)
    with torch.inference_mode():
        expected = network(torch.cat([opening, TOKENS[:, :-1]], dim=1)).logits[:, 2:].log_softmax(dim=-1)
    _close(scored.log_probs, expected)


def test_a_mixture_is_the_mean_of_the_probabilities(
    tmp_path: Path, causal_network: Callable[[str], Any], tokenizer: Any
) -> None:
    folders = [tmp_path / kind for kind in ("gpt2", "llama")]
    for folder in folders:
        causal_network(folder.name).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    parts = [next(iter(load_model(str(folder)).score(TOKENS))).log_probs.exp() for folder in folders]
    even = load_model(f"{folders[0]}+{folders[1]}")
    assert even.name == f"{folders[0]}+{folders[1]}"
    [scored] = even.score(TOKENS)
    _close(scored.log_probs.exp(), sum(parts) / 2)
    uneven = load_model(f'{folders[0]},dtype=float32+{folders[1]},weights="3,1"')
    [scored] = uneven.score(TOKENS)
    _close(scored.log_probs.exp(), (3 * parts[0] + parts[1]) / 4)
    log_probs, state = uneven.start(2, TOKENS[:, :2])
    _close(log_probs, scored.log_probs[:, 2])
    log_probs, _ = uneven.advance(state.select(torch.tensor([1])), TOKENS[1:, 2])
    _close(log_probs, scored.log_probs[1:, 3])
    assert len({even.weight_hash, uneven.weight_hash, *(model.weight_hash for model in even.models)}) == 4
    assert "weights" in _told(f'{folders[0]}+{folders[1]},weights="1,x"')
    assert "3 weights" in _told(f'{folders[0]}+{folders[1]},weights="1,2,3"')
    assert "different vocabularies" in _told(f"{folders[0]}+offscript/news")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("gpt2+gpt2-medium", ["gpt2", "gpt2-medium"]),
        ("hf/a,dtype=float16+hf/b,adapter=c", ["hf/a,dtype=float16", "hf/b,adapter=c"]),
        ("hf/a,chat=what is 1+1", ["hf/a,chat=what is 1+1"]),
        ('hf/a,chat="hf/b+hf/c"', ['hf/a,chat="hf/b+hf/c"']),
        ("hf/c++", ["hf/c++"]),
        ("openai/command-r+@http://host/v1", ["openai/command-r+@http://host/v1"]),
        ("a+b+c", ["a", "b", "c"]),
    ],
)
def test_a_plus_parts_models_and_nothing_else(text: str, parts: list[str]) -> None:
    assert mixed_parts(text) == parts


def test_a_folder_with_a_plus_in_its_name_is_one_model(hub_folder: Path) -> None:
    folder = hub_folder.rename(hub_folder.parent / "a+b")
    assert isinstance(load_model(f"{folder},dtype=float32"), HubLanguageModel)
