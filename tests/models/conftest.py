"""Tiny Hugging Face models with a tokenizer of their own: nothing is fetched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

WORDS = ["<s>", "</s>", "<unk>", *(f"w{index}" for index in range(27))]
CONTEXT = 24


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@pytest.fixture(scope="session")
def causal_network() -> Callable[[str], Any]:
    """A GPT-2 or a Llama with random weights; its output is wider than the tokenizer's vocabulary."""
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    def build(kind: str) -> Any:
        common = {"vocab_size": 32, "bos_token_id": 0, "eos_token_id": 1}
        with torch.random.fork_rng():
            torch.manual_seed(1)
            if kind == "gpt2":
                return GPT2LMHeadModel(
                    GPT2Config(n_positions=CONTEXT, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5, **common)
                ).eval()
            return LlamaForCausalLM(
                LlamaConfig(
                    max_position_embeddings=CONTEXT,
                    hidden_size=16,
                    intermediate_size=24,
                    num_hidden_layers=2,
                    num_attention_heads=4,
                    num_key_value_heads=2,
                    initializer_range=0.5,
                    **common,
                )
            ).eval()

    return build


@pytest.fixture
def hub_folder(tmp_path: Path, causal_network: Callable[[str], Any], tokenizer: Any) -> Path:
    """What `save_pretrained` writes of a GPT-2 and its tokenizer."""
    folder = tmp_path / "tiny-gpt2"
    causal_network("gpt2").save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
