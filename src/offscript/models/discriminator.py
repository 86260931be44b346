"""The text GANs' convolutional discriminator (Zhang and LeCun 2015; Yu et al. 2017): real or generated?"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

ORIGINAL_WINDOWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20)
ORIGINAL_FILTERS = (100, 200, 200, 200, 200, 100, 100, 100, 100, 100, 160, 160)
"""SeqGAN's sizes for sequences of 20 tokens (Yu et al. 2017, appendix)."""


_BLOCK = 172
"""Rows of a matrix whose gradient is taken at once: of 43 to 860 the quickest on an AVX-512 processor."""


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

    _bfloat16 = False

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

    @contextmanager
    def bfloat16_products(self, wanted: bool = True) -> Iterator[None]:
        """Within it, matrix products of whole sequences' features read their factors in bfloat16.

        Sums within a product are float32, and so are parameters, maxima, their gradients, the gate and the logit.
        """
        before, self._bfloat16 = self._bfloat16, wanted
        try:
            yield
        finally:
            self._bfloat16 = before

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
        largest = iter(_largest_answers(embedded, weights, kept, bfloat16=self._bfloat16))
        # The bias and the rectifier commute with the maximum, and cost less after it.
        parts = [
            (next(largest).t() + convolution.bias.unsqueeze(1)).relu()
            if window <= time
            else embedded.new_zeros(convolution.out_features, rows)
            for window, convolution in self._pairs()
        ]
        return torch.cat(parts).t()

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
        answer = _product(pooled, self.highway.weight, self._bfloat16) + self.highway.bias
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


def _product(read: Tensor, weight: Tensor, bfloat16: bool) -> Tensor:
    """[..., columns] · [rows, columns]ᵀ in the precision of the weight, from factors in bfloat16 where asked."""
    if not bfloat16:
        return _linear_of_few(read, weight)
    # In one dimension more, torch would repeat the weight for each row.
    flat = functional.linear(read.bfloat16().flatten(0, -2), weight.bfloat16())
    return flat.to(weight.dtype).view(*read.shape[:-1], len(weight))


def _linear_of_few(read: Tensor, weight: Tensor) -> Tensor:
    """[..., columns] · [rows, columns]ᵀ, in products that MKL is quick at where few vectors meet a large matrix."""
    if read.device.type != "cpu" or read.dim() != 2 or not torch.is_grad_enabled():
        return functional.linear(read, weight)
    product: Tensor = _LinearOfFew.apply(read, weight)  # type: ignore[no-untyped-call]
    return product


class _LinearOfFew(torch.autograd.Function):
    """As `functional.linear`; the gradient of the weights is taken in blocks, which takes two thirds of the time."""

    @staticmethod
    def forward(ctx: Any, read: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(read, weight)
        return (weight @ read.t().contiguous()).t()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        read, weight = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph: this gradient will be differentiated
            return gradient @ weight, gradient.t() @ read
        columns, read = gradient.t().contiguous(), read.contiguous()
        blocks = columns.split(_BLOCK)
        of_weight = torch.empty_like(weight)
        for block, part in zip(blocks, of_weight.split(_BLOCK), strict=True):
            torch.mm(block, read, out=part)
        return gradient.contiguous() @ weight, of_weight


def _largest_answers(
    embedded: Tensor, weights: Sequence[Tensor], kept: int, *, bfloat16: bool = False
) -> Sequence[Tensor]:
    """The largest answer [rows, filters] to windows of [rows, time, embedding], for each of several widths.

    The weights of a width are [filters, window * embedding]. Windows that end within the first `kept` positions do not
    count. The three ways to compute it give the same maxima; the sparse one has the cheaper gradient.
    """
    compilable = embedded.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled("cpu")
    if embedded.device.type != "cpu" or not compilable:
        return _plain_maxima(embedded, weights, kept, bfloat16)
    if torch.is_grad_enabled() and any(each.requires_grad for each in (embedded, *weights)):
        sparse: tuple[Tensor, ...] = _SparseMaxima.apply(embedded, kept, bfloat16, *weights)  # type: ignore[no-untyped-call]
        return sparse
    every = _answers(embedded, weights, kept, bfloat16)
    return [answers.amax(dim=1) if over else answers.amax(dim=0).t() for answers, over in every]


def _plain_maxima(embedded: Tensor, weights: Sequence[Tensor], kept: int, bfloat16: bool = False) -> list[Tensor]:
    """The definition, on any device, in operations that can be differentiated repeatedly."""
    maxima = []
    for weight in weights:
        window = weight.shape[1] // embedded.shape[2]
        read = _windows(embedded[:, _first_window(window, kept) :], window)
        maxima.append(_product(read, weight, bfloat16).amax(dim=1))
    return maxima


def _first_window(window: int, kept: int) -> int:
    """Where the first window begins that ends after the first `kept` positions."""
    return max(0, kept + 1 - window)


def _answers(embedded: Tensor, weights: Sequence[Tensor], kept: int, bfloat16: bool) -> Iterator[tuple[Tensor, int]]:
    """Every filter's answer to every window of [rows, time, embedding], and the dimension of the windows.

    A window is one stretch of memory, so a product over all rows, or over all windows of a row, needs no copy of them.
    The larger of the two numbers goes into the products: [windows, filters, rows] and 0, or [rows, windows, filters]
    and 1. In bfloat16 one product over copied windows takes half as long as many that share them.
    """
    rows, time, size = embedded.shape
    read, columns = embedded.contiguous(), embedded.flatten(1).t().contiguous()
    for weight in weights:
        length = weight.shape[1]
        first = _first_window(length // size, kept)
        count = time + 1 - length // size - first
        if bfloat16:
            yield _product(_windows(embedded[:, first:].bfloat16(), length // size), weight, bfloat16), 1
        elif count <= rows:  # weights on the left, a column per row on the right: each is read as it lies
            shape, strides = (count, length, rows), (size * rows, rows, 1)
            windows = columns.as_strided(shape, strides, columns.storage_offset() + first * size * rows)
            yield torch.bmm(weight.expand(count, -1, -1), windows), 0
        else:
            shape, strides = (rows, count, length), (time * size, size, 1)
            windows = read.as_strided(shape, strides, read.storage_offset() + first * size)
            # A product of few rows takes half as long where the weights lie as it reads them.
            yield torch.bmm(windows, weight.t().contiguous().expand(rows, -1, -1)), 1


class _SparseMaxima(torch.autograd.Function):
    """As `_plain_maxima`, with a gradient that reads the windows of the maxima and no others.

    A maximum passes its gradient to one window, so the gradient takes two vectors per row and filter instead of two
    matrix products over all windows. Of tied windows the first takes all of it, where `amax` would give each a share.
    Windows tie because they hold the same tokens: then the gradients of the weights and of the tokens' embeddings are
    the same either way.
    """

    @staticmethod
    def forward(ctx: Any, embedded: Tensor, kept: int, bfloat16: bool, *weights: Tensor) -> tuple[Tensor, ...]:
        maxima, begins = [], []
        for weight, answers in zip(weights, _answers(embedded, weights, kept, bfloat16), strict=True):
            largest, places = _first_largest(*answers)
            maxima.append(largest)
            begins.append(places.add_(_first_window(weight.shape[1] // embedded.shape[2], kept)))
        ctx.kept, ctx.bfloat16 = kept, bfloat16
        ctx.save_for_backward(embedded, *weights, *begins)
        return tuple(maxima)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        embedded, *others = ctx.saved_tensors
        weights, begins = others[: len(gradients)], others[len(gradients) :]
        if torch.is_grad_enabled():  # create_graph: this gradient will be differentiated
            of_embedded, *differentiable = _plain_gradients(embedded, weights, ctx.kept, ctx.bfloat16, gradients)
            return of_embedded, None, None, *differentiable
        flat, size = embedded.detach().contiguous().flatten(1), embedded.shape[2]  # [rows, time * size]
        of_flat = torch.zeros_like(flat)
        parts = zip(weights, gradients, begins, strict=True)
        of_weights = [_add_gradients(flat, of_flat, size, *part) for part in parts]
        return of_flat.view(embedded.shape), None, None, *of_weights


def _plain_gradients(
    embedded: Tensor, weights: Sequence[Tensor], kept: int, bfloat16: bool, gradients: Sequence[Tensor]
) -> list[Tensor | None]:
    """Differentiable gradients of the plain maxima: of what was embedded, and of the weights."""
    inputs = [embedded, *weights]
    wanted = [each for each in inputs if each.requires_grad]
    maxima = _plain_maxima(embedded, weights, kept, bfloat16)
    found = iter(torch.autograd.grad(maxima, wanted, gradients, create_graph=True))
    return [next(found) if each.requires_grad else None for each in inputs]


def _first_largest(answers: Tensor, over: int) -> tuple[Tensor, Tensor]:
    """The largest answer, and the first window that reaches it: [rows, filters] each."""
    outer = answers.shape[:over]  # the dimensions beside the windows: rows and filters, or both after them
    read = answers.flatten(over + 1)
    read = read.view(outer.numel(), *read.shape[over:])
    largest = torch.empty(len(read), read.shape[2], dtype=answers.dtype)
    places = torch.empty(len(read), read.shape[2], dtype=torch.int32)
    _compiled_loops().find_largest(*(each.numpy() for each in (read, largest, places)))
    return (largest, places) if over else (largest.view(answers.shape[1:]).t(), places.view(answers.shape[1:]).t())


def _add_gradients(
    flat: Tensor, of_flat: Tensor, size: int, weight: Tensor, gradient: Tensor, begins: Tensor
) -> Tensor:
    """The gradient of one width's weights; that of the embedded tokens is added to `of_flat` [rows, time * size]."""
    if weight.shape[1] == flat.shape[1]:  # one window per row: matrix products waste nothing
        of_flat += gradient @ weight
        return gradient.t() @ flat
    of_weight = torch.zeros_like(weight)
    by_filter = (each.t().contiguous() for each in (gradient, begins))
    arrays = (flat, of_flat, weight.detach().contiguous(), of_weight, *by_filter)
    _compiled_loops().add_windows(*(each.numpy() for each in arrays), size)
    return of_weight


class _Loops(NamedTuple):
    find_largest: Callable[..., None]
    add_windows: Callable[..., None]


@functools.cache
def _compiled_loops() -> _Loops:
    from offscript._compiled import compiled, multiplying  # late: it imports numba, which only training needs

    return _Loops(compiled(_find_largest), multiplying(_add_windows))


def _find_largest(answers: np.ndarray, largest: np.ndarray, places: np.ndarray) -> None:
    """The largest of the middle dimension of answers [outer, windows, inner], and where it is first: [outer, inner]."""
    for outer in range(answers.shape[0]):
        for inner in range(answers.shape[2]):
            largest[outer, inner] = answers[outer, 0, inner]
            places[outer, inner] = 0
        for window in range(1, answers.shape[1]):
            for inner in range(answers.shape[2]):
                value, highest = answers[outer, window, inner], largest[outer, inner]
                higher = value > highest or value != value  # what is not a number is seen
                largest[outer, inner] = value if higher else highest
                places[outer, inner] = window if higher else places[outer, inner]


def _add_windows(
    flat: np.ndarray,
    of_flat: np.ndarray,
    weight: np.ndarray,
    of_weight: np.ndarray,
    gradient: np.ndarray,
    begins: np.ndarray,
    size: int,
) -> None:
    """Add gradient * window to a filter's weights and gradient * weights to the window, for [filters, rows].

    One filter at a time, so that its weights stay in the nearest cache, and four rows at a time, which saves reading
    and writing the sums. The order is fixed, and with it the rounding.
    """
    length, rows = weight.shape[1], flat.shape[0]
    kept = np.empty(rows, dtype=np.int64)
    for number in range(weight.shape[0]):
        own, of_own, factors, count = weight[number], of_weight[number], gradient[number], 0
        for row in range(rows):
            kept[count] = row
            count += factors[row] != 0  # the rectifier stopped the others
        whole = count - count % 4
        for first in range(0, whole, 4):
            a, b, c, d = kept[first], kept[first + 1], kept[first + 2], kept[first + 3]
            p, q, r, s = factors[a], factors[b], factors[c], factors[d]
            at_a, at_b = begins[number, a] * size, begins[number, b] * size
            at_c, at_d = begins[number, c] * size, begins[number, d] * size
            read_a, read_b = flat[a, at_a : at_a + length], flat[b, at_b : at_b + length]
            read_c, read_d = flat[c, at_c : at_c + length], flat[d, at_d : at_d + length]
            for index in range(length):
                pairs = p * read_a[index] + q * read_b[index], r * read_c[index] + s * read_d[index]
                of_own[index] += pairs[0] + pairs[1]
            to_a, to_b = of_flat[a, at_a : at_a + length], of_flat[b, at_b : at_b + length]
            to_c, to_d = of_flat[c, at_c : at_c + length], of_flat[d, at_d : at_d + length]
            for index in range(length):
                value = own[index]
                to_a[index] += p * value
                to_b[index] += q * value
                to_c[index] += r * value
                to_d[index] += s * value
        for row in kept[whole:count]:
            factor, begin = factors[row], begins[number, row] * size
            window, of_window = flat[row, begin : begin + length], of_flat[row, begin : begin + length]
            for index in range(length):
                of_own[index] += factor * window[index]
                of_window[index] += factor * own[index]
