"""Vocabularies: which symbols a model predicts, and how text becomes their ids and back."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from offscript._untrusted import refuse_remote_code
from offscript.corpora.prose import separate_punctuation
from offscript.corpora.records import Schema, Texts, checked
from offscript.errors import OffscriptError, missing_package

UNKNOWN = "<unk>"
END = "<eos>"
TEXT8_SYMBOLS = tuple(" abcdefghijklmnopqrstuvwxyz")


class Vocabulary(ABC):
    """`size` symbols with ids 0 … size-1; `start` is what stands before position 0.

    `start` may equal `size`: a symbol that is read but never predicted. `end` closes a sequence and `unknown`
    stands for every word that has no id; either may be None.
    """

    size: int
    start: int
    end: int | None
    unknown: int | None

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Ids of a text, without start and end."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids; start and end leave no trace."""

    @abstractmethod
    def symbols(self) -> Sequence[str]:
        """Every symbol in the order of its id."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What `vocabulary_from` needs to make the same vocabulary again."""

    @property
    def inputs(self) -> int:
        """How many ids a model may read: the predicted ones, and start where it stands outside them."""
        return max(self.size, self.start + 1)

    @property
    def fingerprint(self) -> str:
        """A hash that is equal exactly when two vocabularies give the same ids to the same symbols."""
        listed = json.dumps([list(self.symbols()), self.start, self.end], ensure_ascii=False)
        return hashlib.sha256(listed.encode()).hexdigest()[:16]


class _Listed(Vocabulary):
    """Symbols given as a list."""

    def __init__(self, listed: Sequence[str], *, end: str | None, unknown: str | None) -> None:
        if not listed:
            raise OffscriptError("cannot use an empty vocabulary", next="give at least one symbol")
        self._symbols = list(listed)
        self._ids = {symbol: index for index, symbol in enumerate(self._symbols)}
        if len(self._ids) < len(self._symbols):
            twice = next(symbol for symbol, count in Counter(self._symbols).items() if count > 1)
            raise OffscriptError(f"the symbol {twice!r} stands twice in the vocabulary")
        self.size = self.start = len(self._symbols)
        self.end = None if end is None else self._id_of_special(end)
        self.unknown = None if unknown is None else self._id_of_special(unknown)

    def symbols(self) -> Sequence[str]:
        return self._symbols

    def _id_of_special(self, symbol: str) -> int:
        if symbol not in self._ids:
            raise OffscriptError(f"the vocabulary has no {symbol!r}", next="add it or name another")
        return self._ids[symbol]

    def _lookup(self, symbol: str) -> int:
        found = self._ids.get(symbol, self.unknown)
        if found is None:
            raise OffscriptError(
                f"{symbol!r} is not in the vocabulary of {self.size} symbols",
                why="it has no symbol for unknown ones",
                next="filter the text or use a vocabulary with <unk>",
            )
        return found


class WordVocabulary(_Listed):
    """Words divided by white space.

    Args:
        words: Every word, in the order of its id.
        lower: Whether to lower-case text first.
        end: The word that closes a sequence; None for none.
        unknown: The word that stands for all others; None to refuse them.
    """

    def __init__(
        self, words: Sequence[str], *, lower: bool = False, end: str | None = END, unknown: str | None = UNKNOWN
    ) -> None:
        super().__init__(words, end=end, unknown=unknown)
        self.lower = lower

    @classmethod
    def count(cls, sentences: Iterable[str], size: int, *, lower: bool = False) -> "WordVocabulary":
        """The most frequent words of the sentences; ties by the alphabet.

        Args:
            sentences: The text, words divided by white space.
            size: How many words, `<unk>` and `<eos>` included.
            lower: Whether to lower-case them first.
        """
        if size < 3:
            raise OffscriptError(
                f"cannot make a vocabulary of {size} words",
                why="two places go to <unk> and <eos>",
                next="ask for 3 or more",
            )
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update((sentence.lower() if lower else sentence).split())
        for special in (UNKNOWN, END):
            counts.pop(special, None)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls([UNKNOWN, END, *ranked[: size - 2]], lower=lower)

    def encode(self, text: str) -> list[int]:
        return [self._lookup(word) for word in (text.lower() if self.lower else text).split()]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self._symbols[index] for index in ids if index not in (self.start, self.end))

    def describe(self) -> dict[str, Any]:
        special = {
            "end": None if self.end is None else self._symbols[self.end],
            "unknown": None if self.unknown is None else self._symbols[self.unknown],
        }
        return {"kind": "word", "lower": self.lower, **special, "symbols": self._symbols}


class CharacterVocabulary(_Listed):
    """One symbol per character.

    Args:
        characters: Every character, in the order of its id; text8's 27 by default.
        end: The character that closes a sequence; None for none.
        unknown: The character that stands for all others; None to refuse them.
    """

    def __init__(
        self, characters: Sequence[str] = TEXT8_SYMBOLS, *, end: str | None = None, unknown: str | None = None
    ) -> None:
        super().__init__(characters, end=end, unknown=unknown)

    @classmethod
    def count(cls, sentences: Iterable[str]) -> "CharacterVocabulary":
        """Every character that occurs, in the order of its code point."""
        seen: set[str] = set()
        for sentence in sentences:
            seen.update(sentence)
        return cls(sorted(seen))

    def encode(self, text: str) -> list[int]:
        return [self._lookup(character) for character in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._symbols[index] for index in ids if index not in (self.start, self.end))

    def describe(self) -> dict[str, Any]:
        special = {
            "end": None if self.end is None else self._symbols[self.end],
            "unknown": None if self.unknown is None else self._symbols[self.unknown],
        }
        return {"kind": "character", **special, "symbols": self._symbols}


class HubVocabulary(Vocabulary):
    """A Hugging Face tokenizer.

    Args:
        tokenizer: The tokenizer.
        size: How many symbols the network predicts, if that is more than the tokenizer has.
        name: What to call it; its own name otherwise.
        revision: Of which revision it is.
        start: What stands before position 0; its beginning-of-text token, else its end-of-text token otherwise.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        size: int | None = None,
        name: str = "",
        revision: str | None = None,
        start: int | None = None,
    ) -> None:
        self.tokenizer, self.name, self.revision = tokenizer, name or str(tokenizer.name_or_path), revision
        self._known = len(tokenizer)  # which takes a millisecond where there are 262,144
        self.size = size or self._known
        self.end = tokenizer.eos_token_id
        self.unknown = tokenizer.unk_token_id
        self.given_start = start
        usual = [each for each in (start, tokenizer.bos_token_id, tokenizer.eos_token_id) if each is not None]
        if not usual:
            raise OffscriptError(
                f"the tokenizer {self.name!r} has neither a start nor an end token",
                next="add ,start=TOKEN to the model string, or set its bos_token",
            )
        self.start = usual[0]

    @classmethod
    def load(cls, name: str, *, revision: str | None = None) -> "HubVocabulary":
        """By Hub id or folder; nothing is fetched for a folder."""
        try:
            from transformers import AutoTokenizer
        except ImportError as error:
            raise missing_package(f"the tokenizer {name!r}", "transformers") from error
        refuse_remote_code(name, revision=revision, next="use another tokenizer")
        try:
            tokenizer = AutoTokenizer.from_pretrained(name, revision=revision, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise OffscriptError(
                f"the tokenizer {name!r} cannot be loaded", why=str(error), next="check its name or folder"
            ) from error
        return cls(tokenizer, name=name, revision=revision)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        kept = [int(index) for index in ids if index not in (self.start, self.end) and index < self._known]
        text: str = self.tokenizer.decode(kept, clean_up_tokenization_spaces=False)
        return text

    def symbols(self) -> Sequence[str]:
        known: list[str] = self.tokenizer.convert_ids_to_tokens(range(min(self.size, self._known)))
        return [*known, *(f"<unused {index}>" for index in range(len(known), self.size))]

    def describe(self) -> dict[str, Any]:
        start = {} if self.given_start is None else {"start": self.given_start}
        return {"kind": "hub", "name": self.name, "revision": self.revision, "size": self.size, **start}

    def save(self, folder: Path) -> None:
        """Write the tokenizer's own files."""
        self.tokenizer.save_pretrained(folder)


class ListedDescription(Schema):
    """What a vocabulary of listed symbols is made from."""

    symbols: Texts
    end: str | None = None
    unknown: str | None = None


class WordDescription(ListedDescription):
    """What a vocabulary of words is made from."""

    lower: bool = False


class HubDescription(Schema):
    """What a vocabulary of a Hub tokenizer is made from."""

    name: str
    size: int = Field(ge=1)
    revision: str | None = None
    start: int | None = Field(None, ge=0)


class PieceDescription(Schema):
    """What a vocabulary of learned pieces is made from: a document of the `tokenizers` library."""

    tokenizer: dict[str, Any]


def vocabulary_from(described: object) -> Vocabulary:
    """Make a vocabulary again from what `describe` gave.

    Args:
        described: The description, as it was read from a file.

    Returns:
        A vocabulary equal to the one described.
    """
    kind = described.get("kind") if isinstance(described, dict) else None
    refused = f"a {kind} vocabulary cannot be made from its description"

    def settings(schema: type[Schema]) -> dict[str, Any]:
        description = checked(schema, described, lambda what, **_: OffscriptError(refused, why=what))
        return description.model_dump(exclude_unset=True)

    match kind:
        case "word":
            words = settings(WordDescription)
            return WordVocabulary(words.pop("symbols"), **words)
        case "character":
            characters = settings(ListedDescription)
            return CharacterVocabulary(characters.pop("symbols"), **characters)
        case "hub":
            return _hub_vocabulary(**settings(HubDescription))
        case "pieces":
            from offscript.corpora.pieces import PieceVocabulary

            return PieceVocabulary(json.dumps(settings(PieceDescription)["tokenizer"]))
    raise OffscriptError(f"unknown kind of vocabulary {kind!r}", next="known: word, character, hub, pieces")


def _hub_vocabulary(name: str, size: int, revision: str | None = None, start: int | None = None) -> HubVocabulary:
    loaded = HubVocabulary.load(name, revision=revision)
    return HubVocabulary(loaded.tokenizer, size=size, name=name, revision=revision, start=start)


def encode_prose(vocabulary: Vocabulary, text: str) -> list[int]:
    """Ids of text as people write it. Punctuation is set apart first for a vocabulary of words, which knows it so."""
    return vocabulary.encode(separate_punctuation(text) if isinstance(vocabulary, WordVocabulary) else text)
