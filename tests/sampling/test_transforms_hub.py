"""Hugging Face's own warpers as the oracle: the same tokens kept, the same text generated."""

import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList
from transformers.generation import logits_process as peers

from offscript.errors import OffscriptError
from offscript.sampling.transforms import (
    Epsilon,
    Eta,
    MinP,
    Nucleus,
    RandomMaskAll,
    Tempered,
    TopK,
    Transform,
    Typical,
    as_logits_processor,
)
from offscript.sampling.transforms.properties import SETTINGS_OF_THE_THESIS

PAIRS: dict[str, tuple[Callable[[Any], Transform], Callable[[Any], Any], tuple[float, ...]]] = {
    "top-k": (TopK, peers.TopKLogitsWarper, (1, 2, 5, 50, 1000)),
    "nucleus": (Nucleus, peers.TopPLogitsWarper, (0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.999, 1.0)),
    "min-p": (MinP, peers.MinPLogitsWarper, (0.0, 0.05, 0.25, 0.5, 1.0)),
    "typical": (Typical, peers.TypicalLogitsWarper, (0.1, 0.25, 0.5, 0.9, 0.999)),
    "eta": (Eta, peers.EtaLogitsWarper, (0.0003, 0.004, 0.1, 0.25, 0.9)),
    "epsilon": (Epsilon, peers.EpsilonLogitsWarper, (0.0003, 0.004, 0.125, 0.25, 0.9)),
    "tempered": (Tempered, peers.TemperatureLogitsWarper, (0.1, 0.7, 1.0, 1.5)),
}
CASES = [(name, value) for name, (_, _, values) in PAIRS.items() for value in values]


def assert_same(name: str, value: float, logits: Tensor) -> None:
    transform, peer, _ = PAIRS[name]
    expected = peer(value)(None, logits)
    assert torch.equal(transform(value).log_weights(logits), expected)
    assert torch.equal(transform(value)(logits).isneginf(), expected.log_softmax(dim=-1).isneginf())


@pytest.mark.parametrize(("name", "value"), CASES)
def test_random_rows_keep_the_same_tokens(name: str, value: float) -> None:
    generator = torch.Generator().manual_seed(1)
    for scale in (0.5, 1.0, 4.0):
        assert_same(name, value, scale * torch.randn(70, 997, generator=generator))


@pytest.mark.parametrize(("name", "value"), CASES)
def test_rows_full_of_ties_keep_the_same_tokens(name: str, value: float) -> None:
    generator = torch.Generator().manual_seed(2)
    few = torch.randint(0, 4, (64, 301), generator=generator).float()
    coarse = torch.randn(64, 301, generator=generator).bfloat16().float()
    cut = few.masked_fill(torch.rand(64, 301, generator=generator) < 0.5, -math.inf)
    for logits in (few, coarse, cut, torch.zeros(3, 256), torch.tensor([[0.0, -math.inf, -math.inf]])):
        assert_same(name, value, logits)


@pytest.mark.parametrize(("name", "value"), CASES)
def test_sums_and_probabilities_that_meet_the_setting_exactly_keep_the_same_tokens(name: str, value: float) -> None:
    halves = torch.tensor([[0.5, 0.25, 0.125, 0.0625, 0.0625], [0.25, 0.25, 0.25, 0.125, 0.125]]).log()
    steps = torch.arange(20).float().mul(-math.log(2)).repeat(2, 1)
    for logits in (halves, steps, torch.zeros(2, 4), torch.zeros(1, 16), torch.zeros(1, 1)):
        assert_same(name, value, logits)


@given(
    st.sampled_from(CASES),
    st.lists(st.one_of(st.integers(-3, 3), st.floats(-30, 30, width=32)), min_size=1, max_size=30),
)
def test_drawn_rows_keep_the_same_tokens(case: tuple[str, float], row: list[float]) -> None:
    assert_same(*case, torch.tensor([row], dtype=torch.float32))


def test_nucleus_on_a_large_vocabulary_keeps_the_same_tokens() -> None:
    logits = 2 * torch.randn(66, 50257, generator=torch.Generator().manual_seed(3))
    for p in (0.9, 1.0):
        assert_same("nucleus", p, logits)
        assert_same("nucleus", p, logits.log_softmax(dim=-1))


@pytest.fixture(scope="module")
def tiny_gpt2() -> GPT2LMHeadModel:
    torch.manual_seed(0)
    settings = {"vocab_size": 60, "n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(**settings, bos_token_id=0, eos_token_id=0, initializer_range=0.5))
    return model.eval()


def generated(model: GPT2LMHeadModel, rows: int = 3, **settings: Any) -> Tensor:
    prompt = torch.tensor([[5, 6], [7, 8], [9, 10]])[:rows]
    torch.manual_seed(7)
    defaults = {"do_sample": True, "max_new_tokens": 12, "pad_token_id": 0, "top_k": 0}
    mask = torch.ones_like(prompt)
    text: Tensor = model.generate(prompt, attention_mask=mask, **(defaults | settings))
    return text


@pytest.mark.parametrize(
    ("sampler", "own"),
    [
        ("top-k,k=5", {"top_k": 5}),
        ("nucleus,p=0.7", {"top_p": 0.7}),
        ("tempered,temperature=0.5", {"temperature": 0.5}),
        ("min-p,p=0.3", {"min_p": 0.3}),
        ("typical,p=0.4", {"typical_p": 0.4}),
        ("eta,epsilon=0.1", {"eta_cutoff": 0.1}),
        ("epsilon,epsilon=0.05", {"epsilon_cutoff": 0.05}),
        ("greedy", {"do_sample": False}),
    ],
)
def test_generate_writes_the_same_text_as_with_its_own_setting(
    tiny_gpt2: GPT2LMHeadModel, sampler: str, own: dict[str, Any]
) -> None:
    processors = LogitsProcessorList([as_logits_processor(sampler)])
    ours = generated(tiny_gpt2, logits_processor=processors)
    assert torch.equal(ours, generated(tiny_gpt2, **own))
    if "do_sample" not in own:
        assert not torch.equal(ours, generated(tiny_gpt2))


def test_a_random_transform_in_generate_follows_its_seed_and_not_the_batch(tiny_gpt2: GPT2LMHeadModel) -> None:
    def text(seed: int, rows: int) -> Tensor:
        processor = as_logits_processor(RandomMaskAll(0.5), seed=seed)
        return generated(tiny_gpt2, rows, do_sample=False, logits_processor=LogitsProcessorList([processor]))

    assert torch.equal(text(0, 3)[:2], text(0, 2))
    assert not torch.equal(text(0, 3), text(1, 3))


def test_every_transform_runs_in_generate(tiny_gpt2: GPT2LMHeadModel) -> None:
    for sampler in SETTINGS_OF_THE_THESIS:
        processors = LogitsProcessorList([as_logits_processor(sampler, seed=0)])
        assert generated(tiny_gpt2, logits_processor=processors).shape[0] == 3


def test_missing_transformers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(OffscriptError, match="needs transformers; it is not installed; pip install transformers"):
        as_logits_processor("greedy")
