"""The judge: features of prefixes are those of the prefixes alone, relaxed sequences are judged as hard ones."""

import torch
from torch.nn import functional

from offscript.models.discriminator import ConvolutionalDiscriminator, ConvolutionSettings


def _judge() -> ConvolutionalDiscriminator:
    with torch.random.fork_rng():
        torch.manual_seed(2)
        return ConvolutionalDiscriminator(9, ConvolutionSettings(embedding=5, windows=(1, 2, 4), filters=3)).eval()


def test_prefix_features_are_the_features_of_prefixes() -> None:
    judge, tokens = _judge(), torch.randint(9, (6, 7), generator=torch.Generator().manual_seed(1))
    prefixes = judge.prefix_features(tokens)
    assert prefixes.shape == (6, 8, 9)
    for length in range(1, 8):
        assert torch.allclose(prefixes[:, length], judge.features(tokens[:, :length]), atol=1e-6)
    assert torch.allclose(prefixes[:, 0], judge.mixed(torch.zeros(6, 9)), atol=1e-6)


def test_one_hot_distributions_are_judged_as_tokens() -> None:
    judge, tokens = _judge(), torch.randint(9, (4, 5), generator=torch.Generator().manual_seed(1))
    assert torch.allclose(judge(tokens), judge(functional.one_hot(tokens, 9).float()), atol=1e-6)


def test_sequences_shorter_than_a_window_are_judged() -> None:
    assert _judge()(torch.tensor([[1], [2]])).shape == (2,)
