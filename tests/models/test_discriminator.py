"""The discriminator: features of prefixes are those of the prefixes alone, relaxed sequences are read as hard ones."""

from collections.abc import Sequence

import pytest
import torch
from torch.nn import functional

from offscript.models import discriminator
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


SHAPES = [(6, 7), (64, 20), (2, 30), (1, 7), (1, 1), (0, 7), (9, 2)]
"""Rows and time: more rows than windows, fewer, one, none, and sequences shorter than some window."""


def _inputs(rows: int, time: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Embedded tokens of size 5, and the weights of windows that fit, with no two answers alike."""
    drawn = torch.Generator().manual_seed(3)
    embedded = torch.randn(rows, time, 5, dtype=dtype, generator=drawn)
    sizes = [(window, filters) for window, filters in [(1, 3), (4, 2), (2, 4), (7, 3)] if window <= time]
    weights = [torch.randn(filters, window * 5, dtype=dtype, generator=drawn) for window, filters in sizes]
    return embedded.requires_grad_(), [weight.requires_grad_() for weight in weights]


def _gradients(maxima: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Of a sum that weighs every maximum differently, some with nothing."""
    total = sum((each * torch.arange(each.numel()).view_as(each).remainder(5)).sum() for each in maxima)
    assert isinstance(total, torch.Tensor)
    return torch.autograd.grad(total, list(inputs))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "time"), SHAPES)
def test_sparse_maxima_and_their_gradients_are_those_of_the_plain_formula(
    rows: int, time: int, dtype: torch.dtype
) -> None:
    embedded, weights = _inputs(rows, time, dtype)
    plain = discriminator._plain_maxima(embedded, weights, 0)
    sparse = discriminator._largest_answers(embedded, weights, 0)
    assert all(each.grad_fn is not None and "SparseMaxima" in each.grad_fn.name() for each in sparse)
    with torch.no_grad():
        without = discriminator._largest_answers(embedded, weights, 0)
    for one, other, third in zip(plain, sparse, without, strict=True):
        torch.testing.assert_close(other, one)
        assert torch.equal(other, third)
    inputs = [embedded, *weights]
    for one, other in zip(_gradients(plain, inputs), _gradients(sparse, inputs), strict=True):
        torch.testing.assert_close(other, one)


@pytest.mark.parametrize("kept", range(7))
def test_sparse_maxima_leave_out_windows_within_the_prefix(kept: int) -> None:
    embedded, weights = _inputs(6, 7)
    plain = discriminator._plain_maxima(embedded, weights, kept)
    sparse = discriminator._largest_answers(embedded, weights, kept)
    inputs = [embedded, *weights]
    torch.testing.assert_close(tuple(sparse), tuple(plain))
    torch.testing.assert_close(_gradients(sparse, inputs), _gradients(plain, inputs))


def test_maxima_at_the_original_sizes_are_those_of_the_plain_formula() -> None:
    drawn = torch.Generator().manual_seed(3)
    embedded = torch.randn(64, 20, 64, generator=drawn)
    sizes = zip(discriminator.ORIGINAL_WINDOWS, discriminator.ORIGINAL_FILTERS, strict=True)
    weights = [torch.randn(filters, window * 64, generator=drawn).requires_grad_() for window, filters in sizes]
    plain = discriminator._plain_maxima(embedded, weights, 0)
    for one, other in zip(plain, discriminator._largest_answers(embedded, weights, 0), strict=True):
        # Answers of about 35, sums of up to 1,280 products in single precision, in another order.
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("rows", "time"), [(3, 7), (9, 4)])
def test_the_sparse_gradient_and_its_own_gradient_are_exact(rows: int, time: int) -> None:
    """By finite differences; the second one is what a gradient penalty needs."""
    embedded, weights = _inputs(rows, time)

    def maxima(read: torch.Tensor, *others: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(each.square() for each in discriminator._largest_answers(read, others, 0))

    assert torch.autograd.gradcheck(maxima, (embedded, *weights), fast_mode=True)
    assert torch.autograd.gradgradcheck(maxima, (embedded, *weights), fast_mode=True)


def test_of_tied_windows_the_first_takes_the_gradient() -> None:
    embedded = torch.tensor([[[1.0], [2.0], [2.0], [0.0]]], requires_grad=True)
    [largest] = discriminator._largest_answers(embedded, [torch.ones(1, 1)], 0)
    largest.sum().backward()
    assert embedded.grad is not None
    assert embedded.grad.flatten().tolist() == [0.0, 1.0, 0.0, 0.0]


def test_repeated_tokens_leave_the_gradients_of_all_parameters_as_they_are() -> None:
    """Windows that tie hold the same tokens: it does not matter which of them takes the gradient."""
    tokens = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [2, 3, 2, 3, 2, 3, 2], [4, 4, 5, 5, 4, 4, 5]])
    network = _discriminator().double()
    parameters = [network.embedding, *(convolution.weight for _, convolution in network._pairs())]
    found = []
    for maxima in (discriminator._largest_answers, discriminator._plain_maxima):
        found.append(_gradients(maxima(network.embedded(tokens), parameters[1:], 0), parameters))
    torch.testing.assert_close(*found)


def test_only_what_needs_a_gradient_gets_one() -> None:
    embedded, weights = _inputs(6, 7)
    for frozen in ([embedded], weights):
        for each in (embedded, *weights):
            each.requires_grad_(all(each is not other for other in frozen)).grad = None
        largest = discriminator._largest_answers(embedded, weights, 0)
        taught = [each for each in (embedded, *weights) if each.requires_grad]
        total = torch.stack([each.square().sum() for each in largest]).sum()
        first = torch.autograd.grad(total, taught, create_graph=True)
        torch.stack([each.square().sum() for each in first]).sum().backward()
        assert [each.grad is not None for each in (embedded, *weights)] == [
            each.requires_grad for each in (embedded, *weights)
        ]


def test_memory_in_another_order_is_read_in_its_own() -> None:
    embedded, weights = _inputs(6, 7)
    turned = embedded.detach().transpose(0, 1).contiguous().transpose(0, 1).requires_grad_()
    assert not turned.is_contiguous()
    inputs = [
        _gradients(discriminator._largest_answers(read, weights, 0), [read, *weights]) for read in (embedded, turned)
    ]
    torch.testing.assert_close(*inputs)


def test_a_value_that_is_not_a_number_is_seen() -> None:
    embedded, weights = _inputs(6, 7)
    with torch.no_grad():
        embedded[2, 3, 1] = float("nan")
    for each in discriminator._largest_answers(embedded, weights, 0):
        assert torch.equal(each.isnan().all(dim=1), torch.arange(6) == 2)


def test_lower_precision_takes_the_plain_formula() -> None:
    embedded, weights = _inputs(6, 7, torch.bfloat16)
    plain = discriminator._plain_maxima(embedded, weights, 0)
    for one, other in zip(plain, discriminator._largest_answers(embedded, weights, 0), strict=True):
        assert torch.equal(one, other)
    single, others = _inputs(6, 7, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert discriminator._largest_answers(single, others, 0)[0].dtype == torch.bfloat16


def test_gradients_are_the_same_to_the_last_bit_every_time() -> None:
    network = _discriminator()
    tokens = torch.randint(9, (64, 20), generator=torch.Generator().manual_seed(1))
    parameters = list(network.parameters())
    first, *others = (torch.autograd.grad(network(tokens).square().sum(), parameters) for _ in range(3))
    for other in others:
        assert all(torch.equal(one, again) for one, again in zip(first, other, strict=True))


def test_filters_of_windows_that_do_not_fit_have_no_gradient() -> None:
    network = _discriminator()
    network(torch.tensor([[1, 2], [3, 4]])).sum().backward()
    fits = [convolution.weight.grad is not None for _, convolution in network._pairs()]
    assert fits == [convolution.bias.grad is not None for _, convolution in network._pairs()] == [True, True, False]


@pytest.mark.parametrize("features", [3, 2 * discriminator._BLOCK + 1])
def test_the_product_of_few_rows_is_the_plain_one_and_so_are_its_gradients(features: int) -> None:
    """In one block of the weights' gradient and in several; the second gradient is what a penalty needs."""
    drawn = torch.Generator().manual_seed(3)
    read, weight = (torch.randn(*shape, dtype=torch.float64, generator=drawn) for shape in [(2, 4), (features, 4)])
    inputs = read.t().contiguous().t().requires_grad_(), weight.requires_grad_()
    torch.testing.assert_close(discriminator._linear_of_few(*inputs), functional.linear(*inputs))
    assert torch.autograd.gradcheck(discriminator._linear_of_few, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(discriminator._linear_of_few, inputs, fast_mode=True)


def test_products_in_bfloat16_are_near_the_plain_ones_and_end_with_the_context() -> None:
    """Values and gradients differ by the rounding of bfloat16, 2⁻⁸, and do differ; afterwards nothing is left of it."""
    network, tokens = _discriminator(), torch.randint(9, (9, 7), generator=torch.Generator().manual_seed(1))

    def values_and_slopes() -> tuple[torch.Tensor, torch.Tensor]:
        features = network.features(tokens)
        (slopes,) = torch.autograd.grad(features.square().sum(), network.highway.weight)
        return features.detach(), slopes

    plain = values_and_slopes()
    with network.bfloat16_products():
        rounded = values_and_slopes()
        with network.bfloat16_products(False):
            within = values_and_slopes()
    for one, other, restored, after in zip(plain, rounded, within, values_and_slopes(), strict=True):
        assert not torch.equal(one, other)
        torch.testing.assert_close(other, one, rtol=0.05, atol=0.05 * float(one.abs().max()))
        assert torch.equal(one, restored)
        assert torch.equal(one, after)
