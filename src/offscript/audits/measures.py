"""Measures as an experiment calls them: a model, an oracle, a seed, and settings that are plain data."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from offscript.corpora.readers import read_corpus
from offscript.corpora.splits import HALVES
from offscript.errors import OffscriptError
from offscript.measures.exposure import measure_exposure
from offscript.measures.likelihood import Texts, encode_texts, measure_likelihood
from offscript.measures.measurement import Measurement
from offscript.measures.quality import measure_quality
from offscript.measures.regret import measure_regret
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate, texts


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


def _likelihood(
    model: LanguageModel,
    oracle: LanguageModel | None,
    *,
    seed: int,
    corpus: Sequence[str] = (),
    samples: int = 1000,
    length: int = 50,
) -> list[Measurement]:
    """On a corpus, or on sequences of exactly `length` tokens drawn from the oracle."""
    if corpus:
        sentences = islice(read_corpus(list(corpus)), samples)
        encoded = encode_texts(sentences, model.vocabulary, longest=length, recipe={"corpus": list(corpus)})
    else:
        source = _required(oracle)
        drawn = generate(source, samples, length, seed=(seed, 1), stop_at_end=False).tokens.tolist()
        sizes = [len(model.vocabulary.decode(row)) for row in drawn]
        encoded = Texts(drawn, sizes, {"drawn from": source.name, "seed": seed, "length": length})
    return measure_likelihood(model, encoded)


def _quality(
    model: LanguageModel,
    oracle: LanguageModel | None,  # noqa: ARG001 (asked as every measure is)
    *,
    seed: int,
    corpus: Sequence[str],
    samples: int = 1000,
    references: int | None = None,
    length: int = 50,
) -> list[Measurement]:
    """Corpus-BLEU of sentences drawn from the model against those of a corpus, in the model's own tokens."""
    vocabulary = model.vocabulary
    drawn = generate(model, samples, length, seed=(seed, 2))
    found = [text.split() for text in texts(model, drawn)]
    real = [
        vocabulary.decode(vocabulary.encode(line)).split() for line in islice(read_corpus(list(corpus)), references)
    ]
    recipe = {"model": model.weight_hash, "corpus": list(corpus), "length": length, "seed": seed}
    return measure_quality(found, real, tokenization="the model's vocabulary", recipe=recipe)


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


MEASURES: dict[str, Callable[..., list[Measurement]]] = {
    "exposure": _exposure,
    "likelihood": _likelihood,
    "quality": _quality,
    "regret": _regret,
}
