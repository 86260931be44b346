"""Taggers: words with their parts of speech, the names they make up, and which tagger is used when none is named."""

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from offscript._files import replacing, sha256_of, write_json
from offscript.corpora.lines import Lines
from offscript.errors import OffscriptError, explaining
from offscript.factcheck.tagging.perceptron import decode, seen_of, train_weights

TAGS = (
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
)
"""The universal parts of speech, in the order of every array of tags."""

# Words as the treebank cuts them: 's and n't apart, hyphens apart, numbers, initials and addresses in one piece. The
# parts of addresses are bounded, so that no text is read more than a few times over.
_TOKEN = re.compile(
    r"""https?://\S+|www\.\S+|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{1,63}
    |(?:[A-Za-z]\.){2,}|\d+(?:[.,:]\d+)+
    |(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|etc|Inc|Co|Corp|Ltd|No|Prof|Gen|Sen|Rep|Gov)\.(?=\s)
    |[^\W_]+?(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m|S|RE|VE|LL|D|M)\b
    |[^\W_]+(?:['’][^\W_]{3,})*|\.{2,}|-{2,}|\S""",
    re.VERBOSE,
)
# What may stand within a name without being one: University of Oxford, Procter & Gamble, Coca-Cola, McDonald's.
_LINKS = frozenset({"of", "the", "&", "-", "–", "'s", "’s", "de", "la", "del", "van", "von", "der", "di", "da"})
_LONGEST_LINK = 2
COLUMNS = 10
PIPELINES = ("en_core_web_trf", "en_core_web_lg", "en_core_web_md", "en_core_web_sm")
"""Model packages, the best first."""
# Dates, amounts and the like are no names; they are found as numbers.
ENTITY_LABELS = frozenset(
    {"PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"}
)
SHIPPED = Path(__file__).parents[2] / "assets" / "factcheck" / "tagger"
WEIGHTS, CARD = "weights.safetensors", "card.json"
ROWS, EPOCHS = 1 << 16, 10
LARGEST = 127  # of a signed byte


class Token(NamedTuple):
    """The word at text[start:end] and its universal part of speech."""

    text: str
    tag: str
    start: int
    end: int


def spans(text: str) -> list[tuple[int, int]]:
    """Where the words and signs of a text begin and end."""
    return [match.span() for match in _TOKEN.finditer(text)]


def named_entities(text: str, tokens: Sequence[Token]) -> list[str]:
    """Names in order: runs of proper nouns, also across a link such as the `of the` in `Bank of the West`."""
    return [text[tokens[first].start : tokens[last].end] for first, last in _runs(tokens)]


def _runs(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """First and last token of every name."""
    first = last = None
    for place in range(len(tokens)):
        if not _in_name(tokens, place):
            continue
        if first is None or last is None:
            first = place
        elif not _linked(tokens[last + 1 : place]):
            yield first, last
            first = place
        last = place
    if first is not None and last is not None:
        yield first, last


def _in_name(tokens: Sequence[Token], place: int) -> bool:
    """Whether a word is a proper noun, or stands beside one, written large: the `United` of `the United States`."""
    if tokens[place].tag == "PROPN":
        return True
    beside = tokens[max(place - 1, 0) : place + 2]
    written_large = tokens[place].text[:1].isupper() and tokens[place].tag in ("ADJ", "NOUN", "VERB")
    return written_large and any(token.tag == "PROPN" for token in beside)


def _linked(between: Sequence[Token]) -> bool:
    return len(between) <= _LONGEST_LINK and all(token.text in _LINKS for token in between)


class TaggedSentence(NamedTuple):
    """Words and the part of speech of each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_treebank(path: Path | str) -> Iterator[TaggedSentence]:
    """Sentences of a .conllu file, plain or compressed; of its ten columns the word (2) and the tag (4) count.

    Ranges such as `3-4 don't`, whose parts follow, and words that are only understood (`8.1`) are left out.
    """
    lines = Lines(Path(path))
    words: list[str] = []
    tags: list[str] = []
    for line in lines:
        columns = line.rstrip("\n").split("\t")
        if not line.strip():
            if words:
                yield TaggedSentence(tuple(words), tuple(tags))
            words, tags = [], []
        elif not line.startswith("#") and columns[0].isdecimal():
            if len(columns) != COLUMNS or columns[3] not in TAGS or not columns[1]:
                raise lines.fault("not a word of CoNLL-U", next="write ten columns, the fourth a universal tag")
            words.append(columns[1])
            tags.append(columns[3])
    if words:
        yield TaggedSentence(tuple(words), tuple(tags))


def installed_pipeline() -> Any | None:
    """The best spaCy pipeline that is installed, or None."""
    name = next(filter(_is_installed, PIPELINES), None)
    if name is None or not _is_installed("spacy"):
        return None
    import spacy

    return spacy.load(name)


class SpacyTagger:
    """A spaCy pipeline as a tagger."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def tag(self, texts: Sequence[str]) -> list[list[Token]]:
        parsed = self._pipeline.pipe(texts)
        return [[_token(word) for word in document if not word.is_space] for document in parsed]

    def entities(self, text: str) -> list[str]:
        return [entity.text for entity in self._pipeline(text).ents if entity.label_ in ENTITY_LABELS]


def _is_installed(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _token(word: Any) -> Token:
    return Token(word.text, word.pos_ or "X", word.idx, word.idx + len(word.text))


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
            tags=len(TAGS),
            epochs=epochs,
            generator=np.random.default_rng(seed),
        )
        unit = float(np.abs(learned).max()) / LARGEST or 1.0  # nothing is learned where one tag is all there is
        return cls(np.round(learned / unit).astype(np.int8))

    @classmethod
    def load(cls, folder: Path) -> "PerceptronTagger":
        """Read what `save` wrote; weights that the card does not describe are refused."""
        remedy = "install offscript again"
        with explaining(f"{folder} holds no tagger", next=remedy, also=(OSError, SafetensorError)):
            described = json.loads((folder / CARD).read_text(encoding="utf-8"))["sha256"][WEIGHTS]
            whole = sha256_of(folder / WEIGHTS) == described
            weights = load_file(folder / WEIGHTS)["weights"] if whole else None
            if weights is not None:
                _check_shape(weights)
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


def _check_shape(weights: NDArray[Any]) -> None:
    if weights.dtype != np.int8 or weights.shape[1:] != (len(TAGS),) or not len(weights):
        raise ValueError(f"weights of {weights.dtype} {list(weights.shape)}")


def _tokens(places: Sequence[tuple[int, int]], words: Sequence[str], tags: Sequence[str]) -> list[Token]:
    return [Token(word, tag, *place) for place, word, tag in zip(places, words, tags, strict=True)]


@functools.cache
def default_tagger() -> Tagger:
    """A spaCy model where one is installed, else the tagger that ships."""
    pipeline = installed_pipeline()
    return SpacyTagger(pipeline) if pipeline is not None else PerceptronTagger.load(SHIPPED)
