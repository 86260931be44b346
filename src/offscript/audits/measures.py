"""Measures as an experiment calls them: a model, an oracle, a seed, and settings that are plain data."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from offscript.corpora.filters import HALVES, cut_into_pieces
from offscript.corpora.readers import read_corpus
from offscript.errors import OffscriptError
from offscript.measures.approximation import measure_approximation
from offscript.measures.diversity import measure_diversity
from offscript.measures.exposure import deviations_of_rows, measure_exposure
from offscript.measures.likelihood import Texts, encode_texts, measure_likelihood
from offscript.measures.measurement import Measurement
from offscript.measures.quality import measure_quality
from offscript.measures.regret import measure_regret
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate, texts
from offscript.sampling.transforms import Transform, parse_transform
from offscript.statistics import mean_interval


def _exposure(
    model: LanguageModel,
    oracle: LanguageModel | None,
    *,
    seed: int,
    corpus: Sequence[str] = (),
    half: str | None = None,
    **settings: Any,
) -> list[Measurement]:
    data = None if not corpus else _rows(model, corpus, half, settings["length"])
    return measure_exposure(model, oracle, seed=seed, data=data, **settings)


def _regret(model: LanguageModel, oracle: LanguageModel | None, *, seed: int, **settings: Any) -> list[Measurement]:
    return measure_regret(model, _required(oracle), seed=seed, **settings)


def _likelihood(model: LanguageModel, oracle: LanguageModel | None, *, seed: int, **chosen: Any) -> list[Measurement]:
    """On a corpus, or on sequences of exactly `length` tokens drawn from the oracle."""
    return measure_likelihood(model, _gold(model, oracle, seed=seed, **chosen))


def _approximation(
    model: LanguageModel,
    oracle: LanguageModel | None,
    *,
    seed: int,
    draws: int = 2000,
    step: int = 200,
    highest: int = 3000,
    subset: int = 50,
    **chosen: Any,
) -> list[Measurement]:
    """On the texts that `likelihood` takes."""
    gold = _gold(model, oracle, seed=seed, **chosen)
    return measure_approximation(model, gold, draws=draws, seed=seed, step=step, highest=highest, subset=subset)


def _gold(
    model: LanguageModel,
    oracle: LanguageModel | None,
    *,
    seed: int,
    corpus: Sequence[str] = (),
    pieces: int | None = None,
    half: str | None = None,
    samples: int = 1000,
    length: int = 50,
) -> Texts:
    """Texts to predict: of a corpus, or of one half of it; or drawn from the oracle, of exactly `length` tokens."""
    if corpus:
        sentences = read_corpus(list(corpus)) if pieces is None else cut_into_pieces(read_corpus(list(corpus)), pieces)
        chosen = islice(sentences if half is None else HALVES.select(sentences, half), samples)
        recipe = {"corpus": list(corpus), "pieces": pieces, "half": half}
        return encode_texts(chosen, model.vocabulary, longest=length, recipe=recipe)
    source = _required(oracle)
    drawn = generate(source, samples, length, seed=(seed, 1), stop_at_end=False).tokens.tolist()
    sizes = [len(model.vocabulary.decode(row)) for row in drawn]
    return Texts(drawn, sizes, {"drawn from": source.name, "seed": seed, "length": length})


def _diversity(
    model: LanguageModel,
    oracle: LanguageModel | None,  # noqa: ARG001 (asked as every measure is)
    *,
    seed: int,
    samples: int = 1000,
    length: int = 50,
    sampler: str | None = None,
) -> list[Measurement]:
    """Of sequences drawn from the model, in its own tokens."""
    drawn = generate(model, samples, length, seed=(seed, 3), transform=_transform(sampler))
    rows = [row[:size] for row, size in zip(drawn.tokens.tolist(), drawn.lengths.tolist(), strict=True)]
    recipe = {"model": model.weight_hash, "length": length, "sampler": sampler, "seed": seed}
    return measure_diversity(rows, tokenization="the model's vocabulary", recipe=recipe)


def _quality(
    model: LanguageModel,
    oracle: LanguageModel | None,  # noqa: ARG001 (asked as every measure is)
    *,
    seed: int,
    corpus: Sequence[str],
    samples: int = 1000,
    references: int | None = None,
    length: int = 50,
    sampler: str | None = None,
) -> list[Measurement]:
    """Corpus-BLEU of sentences drawn from the model against those of a corpus, in the model's own tokens."""
    vocabulary = model.vocabulary
    drawn = generate(model, samples, length, seed=(seed, 2), transform=_transform(sampler))
    found = [text.split() for text in texts(model, drawn)]
    real = [
        vocabulary.decode(vocabulary.encode(line)).split() for line in islice(read_corpus(list(corpus)), references)
    ]
    recipe = {"model": model.weight_hash, "corpus": list(corpus), "length": length, "sampler": sampler, "seed": seed}
    return measure_quality(found, real, tokenization="the model's vocabulary", recipe=recipe)


def _transform(sampler: str | None) -> Transform | None:
    return None if sampler is None else parse_transform(sampler)


def _rows(model: LanguageModel, corpus: Sequence[str], half: str | None, length: int) -> Tensor:
    """Sentences of a corpus, or of one half of it, cut to `length` tokens; shorter ones are left out."""
    sentences = read_corpus(list(corpus))
    if half is not None:
        sentences = HALVES.select(sentences, half)
    encoded = (model.vocabulary.encode(sentence) for sentence in sentences)
    rows = [ids[:length] for ids in encoded if len(ids) >= length]
    if not rows:
        raise OffscriptError(f"no sentence of {', '.join(corpus)} has {length} tokens", next="ask for a shorter length")
    return torch.tensor(rows)


def _required(oracle: LanguageModel | None) -> LanguageModel:
    if oracle is None:
        raise OffscriptError("the experiment names no oracle", next="add `oracle:` to it")
    return oracle


def _deviations(
    model: LanguageModel, oracle: LanguageModel | None, *, seed: int, rows: Sequence[int], **settings: Any
) -> list[Measurement]:
    """What EB-C is made of, for the rows from the first to before the last: a share of a larger measurement's work.

    `per_item` holds the deviations, [rows, length-1].
    """
    found = deviations_of_rows(model, _required(oracle), range(*rows), seed=seed, **settings)
    recipe = {"model": model.weight_hash, "rows": list(rows), "seed": seed, **settings}
    shared: dict[str, Any] = {"question": "deviations", "seed": seed, "n": rows[1] - rows[0], "seconds": 0.0}
    return [
        Measurement.of(
            mean_interval(values.mean(axis=1)),
            name=f"{kind}/{distance}",
            recipe={**recipe, "dtype": str(values.dtype)},
            per_item=values,
            **shared,
        )
        for kind, by_distance in found.items()
        for distance, values in by_distance.items()
    ]


MEASURES: dict[str, Callable[..., list[Measurement]]] = {
    "approximation": _approximation,
    "deviations": _deviations,
    "diversity": _diversity,
    "exposure": _exposure,
    "likelihood": _likelihood,
    "quality": _quality,
    "regret": _regret,
}
