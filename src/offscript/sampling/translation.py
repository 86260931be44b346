"""Translations of texts: sources in, texts out."""

from collections.abc import Sequence

from offscript.models.sources import Seq2SeqLanguageModel
from offscript.sampling.generation import generate, texts
from offscript.sampling.transforms import Transform
from offscript.sampling.transforms.base import Greedy


def translate(
    model: Seq2SeqLanguageModel,
    sources: Sequence[str],
    transform: Transform | None = None,
    *,
    length: int = 100,
    seed: int = 0,
    batch_size: int = 64,
) -> list[str]:
    """One translation of each source; the most probable token at every step unless a transform is given.

    Args:
        model: The model.
        sources: The texts to translate; those of like length are translated together.
        transform: How to draw.
        length: The most tokens of a translation.
        seed: Decides every random number.
        batch_size: How many are translated at once.

    Returns:
        The translations in the order of the sources.
    """
    read = model.read_sources(sources)
    order = read.real.sum(dim=1).argsort(stable=True)
    given = model.given(read.of_rows(order))
    drawn = generate(given, len(sources), length, seed=seed, transform=transform or Greedy(), batch_size=batch_size)
    found = dict(zip(order.tolist(), texts(given, drawn), strict=True))
    return [found[row] for row in range(len(sources))]
