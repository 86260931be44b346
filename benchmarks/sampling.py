"""Drawing 512 x 20 tokens from an LSTM with 512 units and 5,000 words: offscript's loop beside `torch.multinomial`."""

import argparse

import torch
from _side_by_side import print_ratio, print_times, side_by_side

from offscript.corpora import WordVocabulary
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.sampling import generate

WORDS, ROWS, TIME = 5000, 512, 20


def with_multinomial(model: LSTMLanguageModel) -> None:
    """The tight loop everybody writes: one step of `nn.LSTM`, softmax, `torch.multinomial`."""
    with torch.inference_mode():
        state, tokens = None, torch.full((ROWS, 1), model.vocabulary.start)
        for _ in range(TIME):
            features, state = model.recurrence(model.embedding(tokens), state)
            tokens = torch.multinomial(model.unnormalised(features[:, -1]).softmax(dim=-1), 1)


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    vocabulary = WordVocabulary([f"w{index}" for index in range(WORDS)], end=None, unknown=None)
    model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=512, embedding=512)).eval()
    times = side_by_side(
        {
            "nn.LSTM + softmax + torch.multinomial": lambda: with_multinomial(model),
            "offscript.sampling.generate": lambda: generate(model, ROWS, TIME, seed=1),
        },
        asked.repeats,
    )
    print_times(times)
    print_ratio("speed against multinomial", *times.values(), goal="≥ 1.6 x")


if __name__ == "__main__":
    main()
