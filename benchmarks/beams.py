"""Batched beam search beside `generate` of transformers, on the same networks: a Marian and a GPT-2.

python benchmarks/beams.py [--repeats 3] [--threads 1]

Random weights, for which nothing is fetched. End tokens are made likely, so that sequences end at different lengths as
translations do; both ways find the same sequences.
"""

import argparse
from typing import Any

import torch
from _side_by_side import print_ratio, print_times, side_by_side
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from offscript.models.hub import HubLanguageModel
from offscript.models.hub_sources import HubSeq2Seq
from offscript.models.sources import Sources
from offscript.sampling.beams import beam_search

WORDS, ROWS, BEAMS, LENGTH = 8000, 32, 4, 40


def tokenizer() -> Any:
    """One symbol per word."""
    words = Tokenizer(WordLevel({f"w{index}": index for index in range(WORDS)}, unk_token="w2"))
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w1", pad_token="w0")


def translation() -> None:
    """A Marian of three layers on either side."""
    common = {"vocab_size": WORDS, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    sizes = {"d_model": 256, "encoder_layers": 3, "decoder_layers": 3, "encoder_ffn_dim": 512, "decoder_ffn_dim": 512}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "forced_eos_token_id": None, "init_std": 0.1}
    network = MarianMTModel(MarianConfig(**common, **sizes, **heads)).eval()
    network.final_logits_bias[:, 1] += 6.0
    generator = torch.Generator().manual_seed(1)
    rows = [torch.randint(2, WORDS, (5 + row % 15,), generator=generator).tolist() for row in range(ROWS)]
    sources = Sources.of(rows)
    given = HubSeq2Seq(network, tokenizer()).given(sources)
    asked = {"input_ids": sources.tokens, "attention_mask": sources.real.long()}
    compare("Marian, 3 + 3 layers", network, asked, lambda: beam_search(given, ROWS, LENGTH, beams=BEAMS), 1)


def causal() -> None:
    """A GPT-2 of four layers, which continues prefixes of four tokens."""
    sizes = {"n_embd": 256, "n_layer": 4, "n_head": 4, "n_positions": 64, "initializer_range": 0.1}
    config = GPT2Config(vocab_size=WORDS, bos_token_id=0, eos_token_id=1, pad_token_id=1, **sizes)
    network = GPT2LMHeadModel(config).eval()
    prefixes = torch.randint(2, WORDS, (ROWS, 4), generator=torch.Generator().manual_seed(1))
    model = HubLanguageModel(network, tokenizer(), start=0)
    inputs = torch.cat([torch.zeros(ROWS, 1, dtype=torch.long), prefixes], dim=1)
    asked = {"input_ids": inputs, "attention_mask": torch.ones_like(inputs)}
    ours = lambda: beam_search(model, ROWS, LENGTH + 4, beams=BEAMS, prefixes=prefixes)  # noqa: E731
    compare("GPT-2, 4 layers", network, asked, ours, 5)


def compare(label: str, network: Any, asked: dict[str, Any], ours: Any, begun: int) -> None:
    """Both searches in turn, after a look at whether they agree."""

    def theirs() -> Any:
        with torch.inference_mode():
            return network.generate(**asked, num_beams=BEAMS, max_new_tokens=LENGTH, do_sample=False)

    found = ours()
    same = sum(
        _words(mine[: int(length)]) == _words(other)
        for mine, length, other in zip(
            found.tokens[:, begun - 1 :].tolist(), found.lengths, theirs()[:, begun:].tolist(), strict=True
        )
    )
    print(f"{label}: {same} of {ROWS} sequences agree")
    times = side_by_side({f"{label}: transformers' generate": theirs, f"{label}: beam_search": ours}, ARGUMENTS.repeats)
    print_times(times)
    print_ratio("speed against generate", *times.values(), goal="≥ 1 x")


def _words(row: list[int]) -> list[int]:
    """Up to the end token."""
    return row[: row.index(1)] if 1 in row else row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    ARGUMENTS = parser.parse_args()
    torch.set_num_threads(ARGUMENTS.threads)
    torch.manual_seed(1)
    translation()
    causal()
