"""The text GANs' convolutional discriminator (Zhang and LeCun 2015; Yu et al. 2017): real or generated?"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

ORIGINAL_WINDOWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20)
ORIGINAL_FILTERS = (100, 200, 200, 200, 200, 100, 100, 100, 100, 100, 160, 160)
"""SeqGAN's sizes for sequences of 20 tokens (Yu et al. 2017, appendix)."""


class ConvolutionSettings(BaseModel):
    """Sizes of the network: so many filters for each width of window, in tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embedding: int = Field(32, ge=1)
    windows: tuple[int, ...] = Field((1, 2, 3, 4, 5), min_length=1)
    filters: int | tuple[int, ...] = Field(32, description="of every window, or of each one in turn")
    dropout: float = Field(0.25, ge=0, lt=1)
    highway: Literal["separate", "shared"] = Field(
        "separate", description="whether gate and transform have a matrix each, as in SeqGAN, or share one"
    )
    highway_bias: float = Field(0.0, description="added to the gate; -2 lets most features pass at first")

    @model_validator(mode="after")
    def _a_number_for_each_window(self) -> "ConvolutionSettings":
        if len(self.each) != len(self.windows) or min(self.each) < 1 or min(self.windows) < 1:
            raise ValueError(f"needs one positive number of filters per window, got {self.filters} for {self.windows}")
        return self

    @property
    def each(self) -> tuple[int, ...]:
        """The number of filters of each window."""
        return (self.filters,) * len(self.windows) if isinstance(self.filters, int) else self.filters

    @property
    def width(self) -> int:
        """How many features a sequence has."""
        return sum(self.each)


class ConvolutionalDiscriminator(nn.Module):
    """Windows over the embedded tokens, the largest answer of each filter, a highway, and one logit.

    Only windows that lie within the sequence count; where none does, the filter answers 0. So the features of every
    prefix are running maxima, and all of them cost no more than those of the whole.
    """

    def __init__(self, size: int, settings: ConvolutionSettings) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = nn.Parameter(torch.randn(size, settings.embedding) * settings.embedding**-0.5)
        self.convolutions = nn.ModuleList(
            nn.Linear(window * settings.embedding, filters)
            for window, filters in zip(settings.windows, settings.each, strict=True)
        )
        self.highway = nn.Linear(settings.width, settings.width * (1 if settings.highway == "shared" else 2))
        self.dropout = nn.Dropout(settings.dropout)
        self.output = nn.Linear(settings.width, 1)

    def forward(self, sequences: Tensor) -> Tensor:
        """A logit [rows] for tokens [rows, time], or for distributions over them [rows, time, V]."""
        return self.logits(self.features(sequences))

    def logits(self, features: Tensor) -> Tensor:
        """A logit [rows] for the features [rows, width] of sequences."""
        logits: Tensor = self.output(self.dropout(features)).squeeze(1)
        return logits

    def features(self, sequences: Tensor) -> Tensor:
        """Features [rows, width] of whole sequences."""
        return self.mixed(self.pooled(self.embedded(sequences)))

    def prefix_features(self, tokens: Tensor) -> Tensor:
        """Features [rows, time + 1, width] of every prefix of tokens [rows, time], from the empty one to the whole."""
        return self.mixed(self.prefix_maxima(tokens))

    def prefix_maxima(self, tokens: Tensor) -> Tensor:
        """As `prefix_features`, before the highway: [rows, time + 1, width]."""
        rows, time = tokens.shape
        maxima = torch.zeros(rows, time + 1, self.settings.width, device=tokens.device)
        first, embedded = 0, self.embedded(tokens)
        for window, convolution in self._pairs():
            if window <= time:
                answers = convolution(_windows(embedded, window)).relu()  # [rows, time - window + 1, filters]
                maxima[:, window:, first : first + convolution.out_features] = answers.cummax(dim=1).values
            first += convolution.out_features
        return maxima

    def continued_features(self, tokens: Tensor, kept: int, maxima: Tensor) -> Tensor:
        """Features of tokens [rows, time] whose first `kept` are a prefix with known maxima [rows, width].

        Only windows that end after the prefix are read, which is half of the work over all prefixes of a sequence.
        """
        first = max(0, kept + 1 - max(self.settings.windows))
        rest = self.pooled(self.embedded(tokens[:, first:]), kept - first)
        return self.mixed(torch.maximum(maxima, rest))

    def embedded(self, sequences: Tensor) -> Tensor:
        """[rows, time, embedding]."""
        if sequences.is_floating_point():
            return sequences @ self.embedding
        return functional.embedding(sequences, self.embedding)

    def pooled(self, embedded: Tensor, kept: int = 0) -> Tensor:
        """The largest answer of every filter [rows, width], of windows that end after the first `kept` tokens."""
        rows, time, _ = embedded.shape
        weights = [convolution.weight for window, convolution in self._pairs() if window <= time]
        largest = iter(_largest_answers(embedded, weights, kept))
        # The bias and the rectifier commute with the maximum, and cost less after it.
        parts = [
            (next(largest) + convolution.bias).relu()
            if window <= time
            else embedded.new_zeros(rows, convolution.out_features)
            for window, convolution in self._pairs()
        ]
        return torch.cat(parts, dim=1)

    def latest(self, embedded: Tensor, read: int) -> Tensor:
        """Every filter's answer [rows, width] to the window that ends at the last of [rows, time, embedding].

        `read` is the number of tokens that there are; what stands before them in `embedded` counts for nothing.
        """
        rows, time, _ = embedded.shape
        parts = [
            convolution(embedded[:, time - window :].flatten(1)).relu()
            if window <= read
            else embedded.new_zeros(rows, convolution.out_features)
            for window, convolution in self._pairs()
        ]
        return torch.cat(parts, dim=1)

    def mixed(self, pooled: Tensor) -> Tensor:
        """The highway (Srivastava et al. 2015): gate · relu(transformed) + (1 - gate) · pooled, on [..., width]."""
        answer = self.highway(pooled)
        gate, transformed = (answer, answer) if self.settings.highway == "shared" else answer.chunk(2, dim=-1)
        gate = (gate + self.settings.highway_bias).sigmoid()
        return torch.lerp(pooled, transformed.relu(), gate)

    def _pairs(self) -> list[tuple[int, nn.Linear]]:
        """Every width of window with its filters."""
        found = []
        for window, convolution in zip(self.settings.windows, self.convolutions, strict=True):
            assert isinstance(convolution, nn.Linear)
            found.append((window, convolution))
        return found


def _windows(embedded: Tensor, window: int) -> Tensor:
    """Every window of [rows, time, embedding] as one vector: [rows, time - window + 1, window * embedding]."""
    return embedded.unfold(1, window, 1).transpose(2, 3).flatten(2)


def _largest_answers(embedded: Tensor, weights: Sequence[Tensor], kept: int) -> Sequence[Tensor]:
    """The largest answer [rows, filters] to windows of [rows, time, embedding], for each of several widths.

    The weights of a width are [filters, window * embedding]. Windows that end within the first `kept` positions do not
    count. The three ways to compute it give the same maxima; the sparse one has the cheaper gradient.
    """
    compilable = embedded.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled("cpu")
    if embedded.device.type != "cpu" or not compilable:
        return _plain_maxima(embedded, weights, kept)
    if torch.is_grad_enabled() and any(each.requires_grad for each in (embedded, *weights)):
        sparse: tuple[Tensor, ...] = _SparseMaxima.apply(embedded, kept, *weights)  # type: ignore[no-untyped-call]
        return sparse
    read = embedded.contiguous()
    return [answers.amax(dim=over) for answers, over in (_answers(read, weight, kept) for weight in weights)]


def _plain_maxima(embedded: Tensor, weights: Sequence[Tensor], kept: int) -> list[Tensor]:
    """The definition, on any device, in operations that can be differentiated repeatedly."""
    maxima = []
    for weight in weights:
        window = weight.shape[1] // embedded.shape[2]
        read = _windows(embedded[:, _first_window(window, kept) :], window)
        maxima.append(functional.linear(read, weight).amax(dim=1))
    return maxima


def _first_window(window: int, kept: int) -> int:
    """Where the first window begins that ends after the first `kept` positions."""
    return max(0, kept + 1 - window)


def _answers(read: Tensor, weight: Tensor, kept: int) -> tuple[Tensor, int]:
    """Every filter's answer to every window of contiguous [rows, time, embedding], and the dimension of the windows.

    A window is one stretch of memory, so a product over all rows, or over all windows of a row, needs no copy of them.
    The larger of the two numbers goes into the products: [windows, rows, filters] and 0, or [rows, windows, filters]
    and 1.
    """
    rows, time, size = read.shape
    first = _first_window(weight.shape[1] // size, kept)
    shape, strides, over = (time + 1 - weight.shape[1] // size - first, rows), (size, time * size), 0
    if shape[0] > rows:
        shape, strides, over = shape[::-1], strides[::-1], 1
    windows = read.as_strided((*shape, weight.shape[1]), (*strides, 1), read.storage_offset() + first * size)
    return torch.bmm(windows, weight.t().expand(len(windows), -1, -1)), over


class _SparseMaxima(torch.autograd.Function):
    """As `_plain_maxima`, with a gradient that reads the windows of the maxima and no others.

    A maximum passes its gradient to one window, so the gradient takes two vectors per row and filter instead of two
    matrix products over all windows. Of tied windows the first takes all of it, where `amax` would give each a share.
    Windows tie because they hold the same tokens: then the gradients of the weights and of the tokens' embeddings are
    the same either way.
    """

    @staticmethod
    def forward(ctx: Any, embedded: Tensor, kept: int, *weights: Tensor) -> tuple[Tensor, ...]:
        read, maxima, begins = embedded.contiguous(), [], []
        for weight in weights:
            answers, over = _answers(read, weight, kept)
            maxima.append(answers.amax(dim=over))
            begins.append(_first_places(answers, maxima[-1], over))
            begins[-1] += _first_window(weight.shape[1] // read.shape[2], kept)
        ctx.kept = kept
        ctx.save_for_backward(embedded, *weights, *begins)
        return tuple(maxima)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        embedded, *others = ctx.saved_tensors
        weights, begins = others[: len(gradients)], others[len(gradients) :]
        if torch.is_grad_enabled():  # create_graph: this gradient will be differentiated
            of_embedded, *differentiable = _plain_gradients(embedded, weights, ctx.kept, gradients)
            return of_embedded, None, *differentiable
        flat, size = embedded.detach().contiguous().flatten(1), embedded.shape[2]  # [rows, time * size]
        of_flat = torch.zeros_like(flat)
        parts = zip(weights, gradients, begins, strict=True)
        of_weights = [_add_gradients(flat, of_flat, size, *part) for part in parts]
        return of_flat.view(embedded.shape), None, *of_weights


def _plain_gradients(
    embedded: Tensor, weights: Sequence[Tensor], kept: int, gradients: Sequence[Tensor]
) -> list[Tensor | None]:
    """Differentiable gradients of the plain maxima: of what was embedded, and of the weights."""
    inputs = [embedded, *weights]
    wanted = [each for each in inputs if each.requires_grad]
    maxima = _plain_maxima(embedded, weights, kept)
    found = iter(torch.autograd.grad(maxima, wanted, gradients, create_graph=True))
    return [next(found) if each.requires_grad else None for each in inputs]


def _first_places(answers: Tensor, maxima: Tensor, over: int) -> Tensor:
    """Which window is the first to reach the maximum, [rows, filters]."""
    places = torch.zeros(maxima.shape, dtype=torch.int32)
    arrays = [answers, maxima, places]
    if over == 0:  # rows and filters are one dimension to the loop
        arrays = [answers.flatten(1)[None], maxima.flatten()[None], places.view(1, -1)]
    find, _ = _compiled_loops()
    find(*(each.numpy() for each in arrays))
    return places


def _add_gradients(
    flat: Tensor, of_flat: Tensor, size: int, weight: Tensor, gradient: Tensor, begins: Tensor
) -> Tensor:
    """The gradient of one width's weights; that of the embedded tokens is added to `of_flat` [rows, time * size]."""
    if weight.shape[1] == flat.shape[1]:  # one window per row: matrix products waste nothing
        of_flat += gradient @ weight
        return gradient.t() @ flat
    of_weight = torch.zeros_like(weight)
    _, add = _compiled_loops()
    arrays = (flat, of_flat, weight.detach().contiguous(), of_weight, gradient.contiguous(), begins)
    add(*(each.numpy() for each in arrays), size)
    return of_weight


@functools.cache
def _compiled_loops() -> tuple[Callable[..., None], Callable[..., None]]:
    from offscript._compiled import compiled  # late: it imports numba, which only training needs

    return compiled(_find_first), compiled(_add_windows)


def _find_first(answers: np.ndarray, maxima: np.ndarray, places: np.ndarray) -> None:
    """The first of the middle dimension of answers [outer, windows, inner] that equals the maximum [outer, inner]."""
    for outer in range(answers.shape[0]):
        for window in range(answers.shape[1] - 1, -1, -1):
            for inner in range(answers.shape[2]):
                if answers[outer, window, inner] == maxima[outer, inner]:
                    places[outer, inner] = window


def _add_windows(
    flat: np.ndarray,
    of_flat: np.ndarray,
    weight: np.ndarray,
    of_weight: np.ndarray,
    gradient: np.ndarray,
    begins: np.ndarray,
    size: int,
) -> None:
    """Add gradient * window to a filter's weights and gradient * weights to the window, per row and filter.

    One filter at a time, so that its weights stay in the nearest cache. The order is fixed, and with it the rounding.
    """
    length = weight.shape[1]
    for number in range(weight.shape[0]):
        own, of_own = weight[number], of_weight[number]
        for row in range(flat.shape[0]):
            factor = gradient[row, number]
            if factor == 0:  # the rectifier stopped it
                continue
            begin = begins[row, number] * size
            window, of_window = flat[row, begin : begin + length], of_flat[row, begin : begin + length]
            for index in range(length):
                of_own[index] += factor * window[index]
            for index in range(length):
                of_window[index] += factor * own[index]
