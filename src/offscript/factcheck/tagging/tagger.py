"""Taggers: what tags the words of texts, and which one is used when none is named."""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from offscript._files import replacing, sha256_of, write_json
from offscript.errors import OffscriptError
from offscript.factcheck.tagging.perceptron import decode, seen_of, train_weights
from offscript.factcheck.tagging.spacy_pipeline import SpacyTagger, installed_pipeline
from offscript.factcheck.tagging.token import TAGS, Token, named_entities, spans
from offscript.factcheck.tagging.treebank import TaggedSentence

SHIPPED = Path(__file__).parents[2] / "assets" / "factcheck" / "tagger"
WEIGHTS, CARD = "weights.safetensors", "card.json"
ROWS, EPOCHS = 1 << 16, 10
LARGEST = 127  # of a signed byte


class Tagger(Protocol):
    """Gives every word of a text its part of speech, and finds the names in it."""

    def tag(self, texts: Sequence[str]) -> list[list[Token]]:
        """The tagged words of every text; a text is taken as one sentence, as claims and titles are."""

    def entities(self, text: str) -> list[str]:
        """The names in a text, in order."""


class PerceptronTagger:
    """The tagger that ships: weights of hashed features, one byte each."""

    def __init__(self, weights: NDArray[np.int8]) -> None:
        self.weights = weights  # [rows, tags]
        self._floats = weights.astype(np.float32)

    @classmethod
    def train(
        cls, sentences: Iterable[TaggedSentence], *, seed: int, rows: int = ROWS, epochs: int = EPOCHS
    ) -> "PerceptronTagger":
        """Learn from tagged sentences; the same seed gives the same weights."""
        listed = list(sentences)
        if not listed:
            raise OffscriptError("no sentence to learn from", next="give a treebank in the CoNLL-U layout")
        gold = np.array([TAGS.index(tag) for sentence in listed for tag in sentence.tags], dtype=np.int8)
        learned = train_weights(
            seen_of([word for sentence in listed for word in sentence.words]),
            np.cumsum([len(sentence.words) for sentence in listed]),
            gold,
            rows=rows,
            epochs=epochs,
            generator=np.random.default_rng(seed),
        )
        unit = float(np.abs(learned).max()) / LARGEST or 1.0  # nothing is learned where one tag is all there is
        return cls(np.round(learned / unit).astype(np.int8))

    @classmethod
    def load(cls, folder: Path) -> "PerceptronTagger":
        """Read what `save` wrote; weights that the card does not describe are refused."""
        try:
            described = json.loads((folder / CARD).read_text(encoding="utf-8"))["sha256"][WEIGHTS]
            whole = sha256_of(folder / WEIGHTS) == described
            weights = load_file(folder / WEIGHTS)["weights"] if whole else None
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise OffscriptError(f"{folder} holds no tagger", why=str(error), next="install offscript again") from error
        if weights is None:
            raise OffscriptError(f"{folder / WEIGHTS} is not what its card describes", next="install offscript again")
        return cls(weights)

    def save(self, folder: Path, card: Mapping[str, Any]) -> None:
        """Write the weights and a card that says how they came about; their hash is added to it."""
        with replacing(folder / WEIGHTS) as temporary:
            save_file({"weights": self.weights}, temporary)
        write_json(folder / CARD, {**card, "sha256": {WEIGHTS: sha256_of(folder / WEIGHTS)}})

    def tag(self, texts: Sequence[str]) -> list[list[Token]]:
        places = [spans(text) for text in texts]
        words = [[text[start:end] for start, end in own] for text, own in zip(texts, places, strict=True)]
        return [_tokens(*one) for one in zip(places, words, self.tag_words(words), strict=True)]

    def entities(self, text: str) -> list[str]:
        return named_entities(text, self.tag([text])[0])

    def tag_words(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The parts of speech of sentences that are cut into words already."""
        ends = np.cumsum([len(words) for words in sentences], dtype=np.int64)
        tags = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.int8)
        if tags.size:
            decode(self._floats, seen_of([word for words in sentences for word in words]), ends, tags)
        named = [TAGS[tag] for tag in tags]
        return [named[end - len(words) : end] for end, words in zip(ends.tolist(), sentences, strict=True)]


def _tokens(places: Sequence[tuple[int, int]], words: Sequence[str], tags: Sequence[str]) -> list[Token]:
    return [Token(word, tag, *place) for place, word, tag in zip(places, words, tags, strict=True)]


@functools.cache
def default_tagger() -> Tagger:
    """A spaCy model where one is installed, else the tagger that ships."""
    pipeline = installed_pipeline()
    return SpacyTagger(pipeline) if pipeline is not None else PerceptronTagger.load(SHIPPED)
