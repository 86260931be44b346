import lzma
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from offscript.measures.bleu import leave_one_out_bleu, sentence_bleu
from offscript.measures.measurement import Measurement
from offscript.measures.quality import measure_quality
from offscript.measures.tokenizers import tokenize

# BLEU-2 … BLEU-5 as published with the samples.
TEST = {
    "seq": (0.745, 0.498, 0.294, 0.180),
    "rank": (0.743, 0.467, 0.264, 0.156),
    "mle": (0.731, 0.497, 0.305, 0.189),
}
TRAIN = {
    "seq": (0.917, 0.747, 0.530, 0.348),
    "rank": (0.937, 0.799, 0.601, 0.414),
    "mle": (0.921, 0.768, 0.570, 0.392),
}
SELF = {
    "seq": (0.950, 0.840, 0.670, 0.489),
    "rank": (0.959, 0.882, 0.762, 0.618),
    "mle": (0.916, 0.769, 0.583, 0.408),
}


def test_every_order_is_a_measurement_with_interval_and_recipe() -> None:
    generator = np.random.default_rng(0)
    samples, references = generator.integers(0, 9, (40, 7)), generator.integers(0, 9, (25, 7))
    measured = measure_quality(samples, references, tokenization="ids", recipe={"samples": "a.txt"})
    assert [figure.name for figure in measured] == [f"corpus_bleu_{order}" for order in range(1, 6)]
    scores = sentence_bleu(samples, references).scores
    for order, figure in enumerate(measured, start=1):
        assert figure.value == pytest.approx(scores[:, order - 1].mean(), abs=1e-12)
        assert figure.value in figure.interval
        assert figure.interval.width > 0
        assert figure.per_item is not None
        assert figure.per_item.tolist() == scores[:, order - 1].tolist()
        assert figure.higher_is_better is True
        expected = {"tokenization": "ids", "order": order, "smoothing": "method 1, 0.1", "references": 25}
        assert figure.recipe.items() >= (expected | {"sentences": 40, "samples": "a.txt"}).items()
        assert Measurement.from_json(figure.to_json()) == figure


@cache
def tokens_of(path: Path) -> list[list[str] | list[int]]:
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        return tokenize(stream, "nltk")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["seq", "rank", "mle"])
def test_published_scores_come_out_to_the_third_digit(data_folder: Path, model: str) -> None:
    samples = tokens_of(data_folder / "texygen-coco-samples" / f"{model}.txt.xz")
    captions = data_folder / "image-coco-captions"
    for file, published in (("test_coco", TEST), ("image_coco", TRAIN)):
        scores = sentence_bleu(samples, tokens_of(captions / f"{file}.txt.xz")).scores.mean(axis=0)
        assert scores[1:] == pytest.approx(published[model], abs=0.001)
    assert leave_one_out_bleu(samples).scores.mean(axis=0)[1:] == pytest.approx(SELF[model], abs=0.001)
