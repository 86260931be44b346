"""The discriminator: features of prefixes are those of the prefixes alone, relaxed sequences are read as hard ones."""

import pytest
import torch
from torch.nn import functional

from offscript.models.discriminator import ConvolutionalDiscriminator, ConvolutionSettings


def _discriminator() -> ConvolutionalDiscriminator:
    with torch.random.fork_rng():
        torch.manual_seed(2)
        return ConvolutionalDiscriminator(9, ConvolutionSettings(embedding=5, windows=(1, 2, 4), filters=3)).eval()


def test_prefix_features_are_the_features_of_prefixes() -> None:
    network, tokens = _discriminator(), torch.randint(9, (6, 7), generator=torch.Generator().manual_seed(1))
    prefixes = network.prefix_features(tokens)
    assert prefixes.shape == (6, 8, 9)
    for length in range(1, 8):
        assert torch.allclose(prefixes[:, length], network.features(tokens[:, :length]), atol=1e-6)
    assert torch.allclose(prefixes[:, 0], network.mixed(torch.zeros(6, 9)), atol=1e-6)


def test_one_hot_distributions_are_read_as_tokens() -> None:
    network, tokens = _discriminator(), torch.randint(9, (4, 5), generator=torch.Generator().manual_seed(1))
    assert torch.allclose(network(tokens), network(functional.one_hot(tokens, 9).float()), atol=1e-6)


def test_sequences_shorter_than_a_window_are_read() -> None:
    assert _discriminator()(torch.tensor([[1], [2]])).shape == (2,)


def test_filters_read_every_window_within_the_sequence_and_no_other() -> None:
    """The largest answer of a convolution without padding, by PyTorch's own."""
    network, tokens = _discriminator(), torch.randint(9, (6, 7), generator=torch.Generator().manual_seed(1))
    embedded, expected = network.embedded(tokens), []
    for window, convolution in network._pairs():
        kernel = convolution.weight.view(3, window, 5).transpose(1, 2)
        answers = functional.conv1d(embedded.transpose(1, 2), kernel, convolution.bias)
        expected.append(answers.amax(dim=2).relu())
    assert torch.allclose(network.pooled(embedded), torch.cat(expected, dim=1), atol=1e-6)


@pytest.mark.parametrize("kept", range(1, 7))
def test_what_goes_on_after_a_prefix_has_the_features_of_the_whole(kept: int) -> None:
    network, drawn = _discriminator(), torch.Generator().manual_seed(1)
    tokens, others = torch.randint(9, (2, 6, 7), generator=drawn)
    others[:, :kept] = tokens[:, :kept]
    continued = network.continued_features(others, kept, network.prefix_maxima(tokens)[:, kept])
    assert torch.allclose(continued, network.features(others), atol=1e-6)


def test_sizes_by_window_and_a_shared_highway() -> None:
    settings = ConvolutionSettings(windows=(1, 3), filters=(2, 4), highway="shared")
    network = ConvolutionalDiscriminator(9, settings)
    assert network.features(torch.zeros(5, 7, dtype=torch.long)).shape == (5, settings.width) == (5, 6)
    assert network.highway.out_features == 6
    with pytest.raises(ValueError, match="one positive number of filters per window"):
        ConvolutionSettings(windows=(1, 3), filters=(2,))
