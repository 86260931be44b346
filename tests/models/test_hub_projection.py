"""Texts scored by one pass: the values of whole distributions, whatever the network does with its logits."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from offscript.models import hub
from offscript.models.hub import HubLanguageModel
from offscript.models.language_model import LanguageModel

SIZE, TIME = 32, 9
LENGTHS = [9, 4, 1, 7]


def _softcapped(tokenizer: Any) -> HubLanguageModel:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "head_dim": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "final_logit_softcapping": 0.5}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        network = Gemma2ForCausalLM(Gemma2Config(vocab_size=SIZE, **sizes, **heads, initializer_range=0.5))
    return HubLanguageModel(network, tokenizer)


@pytest.fixture(params=["gpt2", "llama", "softcapped"])
def model(request: pytest.FixtureRequest, causal_network: Callable[[str], Any], tokenizer: Any) -> HubLanguageModel:
    if request.param == "softcapped":
        return _softcapped(tokenizer)
    return HubLanguageModel(causal_network(request.param), tokenizer)


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(SIZE, (len(LENGTHS), TIME), generator=torch.Generator().manual_seed(3))


def _counted(values: Tensor, positions: range) -> Tensor:
    return torch.cat([row[[place < size for place in positions]] for row, size in zip(values, LENGTHS, strict=True)])


@pytest.mark.parametrize("positions", [range(TIME), range(2, 6)])
@pytest.mark.parametrize(("largest", "at_once"), [(4096, 1 << 22), (20, 3 * SIZE), (4, 1)])
def test_values_are_those_of_whole_distributions(
    model: HubLanguageModel,
    tokens: Tensor,
    positions: range,
    largest: int,
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = LanguageModel.log_likelihoods(model, tokens, positions)
    monkeypatch.setattr(hub, "LARGEST_PASS", largest)
    monkeypatch.setattr(hub, "FEWEST_AT_ONCE", 1)
    monkeypatch.setattr(hub, "SCORE_BUDGET", at_once)
    for lengths in (LENGTHS, None):
        found = model.log_likelihoods(tokens, positions, lengths)
        assert found.shape == expected.shape
        if lengths is None:
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
        torch.testing.assert_close(_counted(found, positions), _counted(expected, positions), atol=1e-5, rtol=0)


def test_a_network_that_changes_its_logits_is_found_out(
    model: HubLanguageModel, tokens: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.log_likelihoods(tokens)
    assert model._one_pass is (model.network.config.model_type != "gemma2")
    calls: list[int] = []
    monkeypatch.setattr(hub, "chosen_log_probs", lambda *_, **__: calls.append(1))
    model.log_likelihoods(tokens)
    assert len(calls) == (model.network.config.model_type != "gemma2")


def test_padding_is_not_projected(causal_network: Callable[[str], Any], tokenizer: Any, tokens: Tensor) -> None:
    model = HubLanguageModel(causal_network("gpt2"), tokenizer)
    widths: list[int] = []
    output = model.network.get_output_embeddings()
    hook = output.register_forward_hook(lambda _, given, __: widths.append(given[0].shape[:-1].numel()))
    model.log_likelihoods(tokens, lengths=LENGTHS)
    hook.remove()
    assert sorted(widths)[-1] == sum(LENGTHS)
