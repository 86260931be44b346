"""Scoring text with a Hugging Face model through `HubLanguageModel`, beside calling the model directly."""

import argparse

import torch
from _side_by_side import print_ratio, print_times, side_by_side
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from offscript.models import HubLanguageModel

WORDS, ROWS, TIME = 5000, 16, 64


def small_model() -> HubLanguageModel:
    """A GPT-2 of six layers with random weights; nothing is fetched."""
    words = Tokenizer(WordLevel({f"w{index}": index for index in range(WORDS)}, unk_token="w0"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w1")
    config = GPT2Config(vocab_size=WORDS, n_embd=384, n_layer=6, n_head=6, n_positions=128)
    return HubLanguageModel(GPT2LMHeadModel(config), tokenizer)


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    model = small_model()
    tokens = torch.randint(WORDS, (ROWS, TIME), generator=torch.Generator().manual_seed(1))

    def directly() -> None:
        with torch.inference_mode():
            model.network(tokens).logits.log_softmax(dim=-1)

    times = side_by_side(
        {"the model itself": directly, "HubLanguageModel": lambda: list(model.score(tokens))}, asked.repeats
    )
    print_times(times)
    print_ratio("time against the model itself", times["HubLanguageModel"], times["the model itself"], goal="≤ 1.1 x")


if __name__ == "__main__":
    main()
