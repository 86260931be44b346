"""Encoded corpora: the token ids of every sentence in one flat array, in memory or on disk."""

import hashlib
import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from offscript._files import replacing, sha256_of, write_json
from offscript.corpora.records import Schema, read_json
from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError

Integers = NDArray[np.integer[Any]]
BLOCK = 1 << 13
DESCRIPTION, TOKENS, OFFSETS = "corpus.json", "tokens.bin", "offsets.bin"
_OFFSETS_AT_ONCE = 1 << 20
_AGAIN = "encode the corpus again"
OFFSET_TYPE = np.dtype("<i8")


class Column:
    """A growing array: values are handed to `write` in blocks and hashed on the way."""

    def __init__(self, dtype: np.dtype[Any], write: Callable[[Integers], object]) -> None:
        self.count = 0
        self._dtype, self._write = dtype, write
        self._waiting: list[int] = []
        self._digest = hashlib.sha256()

    def extend(self, values: Sequence[int]) -> None:
        """Add values at the end."""
        self._waiting += values
        self.count += len(values)
        if len(self._waiting) >= BLOCK:
            self._flush()

    def finish(self) -> str:
        """Write what is left; the SHA-256 of all bytes."""
        self._flush()
        return self._digest.hexdigest()

    def _flush(self) -> None:
        block = np.array(self._waiting, self._dtype)
        self._digest.update(block.data)
        self._write(block)
        self._waiting.clear()


class Array(Protocol):
    """A flat array that is read by pieces."""

    def between(self, start: int, stop: int) -> Integers:
        """Elements start … stop-1."""

    def pairs(self, indices: NDArray[np.int64]) -> Integers:
        """Element i and its successor for each index, [n, 2]."""


class MemoryArray:
    """An array in memory."""

    def __init__(self, values: Integers) -> None:
        self._values = values
        self._values.flags.writeable = False

    def between(self, start: int, stop: int) -> Integers:
        return self._values[start:stop]

    def pairs(self, indices: NDArray[np.int64]) -> Integers:
        return np.stack([self._values[indices], self._values[indices + 1]], axis=1)


class FileArray:
    """An array in a file, read by position.

    Not a memory map: mapped pages stay resident while the file is walked through, so memory would grow with it.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self._path, self._dtype = path, dtype
        self._descriptor = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)

    def between(self, start: int, stop: int) -> Integers:
        size = self._dtype.itemsize
        return np.frombuffer(self._read(size * start, size * (stop - start)), self._dtype)

    def pairs(self, indices: NDArray[np.int64]) -> Integers:
        size = self._dtype.itemsize
        read = b"".join([self._read(size * index, 2 * size) for index in indices.tolist()])
        return np.frombuffer(read, self._dtype).reshape(-1, 2)

    def _read(self, start: int, size: int) -> bytes:
        read = os.pread(self._descriptor, size, start)
        if len(read) < size:
            raise OffscriptError(f"{self._path} was cut off while it was read", next=_AGAIN)
        return read


class Description(Schema):
    """What an encoded corpus holds; the JSON document beside its two arrays."""

    noun = "the description of an encoded corpus"
    hint = "encode the corpus again"

    sentences: int = Field(ge=1)
    tokens: int = Field(ge=1)
    token_type: Literal["<u2", "<u4"]
    vocabulary: str
    end: bool
    data_hash: str
    tokens_sha256: str
    offsets_sha256: str


class EncodedCorpus:
    """Sentences as token ids. `corpus[i]` is the i-th; a corpus on disk is read piece by piece, never as a whole."""

    def __init__(self, description: Description, tokens: Array, offsets: Array) -> None:
        self.description = description
        self._tokens, self._offsets = tokens, offsets

    @classmethod
    def open(cls, folder: Path, *, vocabulary: Vocabulary | None = None) -> "EncodedCorpus":
        """The corpus that `encode_corpus` wrote, its files checked.

        Args:
            folder: Where it was written.
            vocabulary: Refuse a corpus that was encoded with another one.
        """
        description = _read_description(folder)
        if vocabulary is not None and vocabulary.fingerprint != description.vocabulary:
            raise OffscriptError(
                f"{folder} was encoded with another vocabulary",
                why=f"{description.vocabulary} is not {vocabulary.fingerprint}",
                next=_AGAIN,
            )
        token_type = np.dtype(description.token_type)
        _check_file(folder / TOKENS, description.tokens * token_type.itemsize, description.tokens_sha256)
        _check_file(folder / OFFSETS, (description.sentences + 1) * OFFSET_TYPE.itemsize, description.offsets_sha256)
        offsets = FileArray(folder / OFFSETS, OFFSET_TYPE)
        _check_offsets(folder / OFFSETS, offsets, description)
        return cls(description, FileArray(folder / TOKENS, token_type), offsets)

    def __len__(self) -> int:
        return self.description.sentences

    def __getitem__(self, index: int) -> Integers:
        if not 0 <= index < len(self):
            raise IndexError(f"sentence {index} of {len(self)}")
        start, stop = self._offsets.between(index, index + 2)
        return self._tokens.between(int(start), int(stop))

    @property
    def tokens(self) -> int:
        """How many tokens the sentences have together."""
        return self.description.tokens

    @property
    def data_hash(self) -> str:
        """SHA-256 over the text of the sentences, each after its length in bytes."""
        return self.description.data_hash

    def lengths(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many tokens each of these sentences has."""
        pairs = self._offsets.pairs(indices)  # [n, 2]
        return pairs[:, 1] - pairs[:, 0]

    def lengths_between(self, start: int, stop: int) -> NDArray[np.int64]:
        """Lengths of the sentences start … stop-1, in one read."""
        return np.diff(self._offsets.between(start, stop + 1))


def encode_corpus(
    sentences: Iterable[str], vocabulary: Vocabulary, *, end: bool, folder: Path | None = None
) -> EncodedCorpus:
    """Encode a stream of sentences; sentences without a token are skipped.

    Args:
        sentences: The stream.
        vocabulary: What gives ids to its words.
        end: Whether to close every sentence with the vocabulary's end token.
        folder: Where the ids go, block by block; the corpus appears there whole or not at all. None for memory.

    Returns:
        The corpus.
    """
    if end and vocabulary.end is None:
        raise OffscriptError("the vocabulary has no end token", next="encode with end=False or add one")
    if folder is None:
        return _encode_in_memory(sentences, vocabulary, end)
    with ExitStack() as stack:
        tokens = stack.enter_context(stack.enter_context(replacing(folder / TOKENS)).open("wb"))
        offsets = stack.enter_context(stack.enter_context(replacing(folder / OFFSETS)).open("wb"))
        description = _encode(
            sentences, vocabulary, end, lambda block: tokens.write(block.data), lambda block: offsets.write(block.data)
        )
        (folder / DESCRIPTION).unlink(missing_ok=True)
    write_json(folder / DESCRIPTION, description.model_dump())
    return EncodedCorpus.open(folder, vocabulary=vocabulary)


def _encode_in_memory(sentences: Iterable[str], vocabulary: Vocabulary, end: bool) -> EncodedCorpus:
    tokens: list[Integers] = []
    offsets: list[Integers] = []
    description = _encode(sentences, vocabulary, end, tokens.append, offsets.append)
    return EncodedCorpus(description, MemoryArray(np.concatenate(tokens)), MemoryArray(np.concatenate(offsets)))


def _encode(
    sentences: Iterable[str],
    vocabulary: Vocabulary,
    end: bool,
    write_tokens: Callable[[Integers], object],
    write_offsets: Callable[[Integers], object],
) -> Description:
    token_type: Literal["<u2", "<u4"] = "<u2" if vocabulary.inputs <= 1 << 16 else "<u4"
    tokens, offsets = Column(np.dtype(token_type), write_tokens), Column(OFFSET_TYPE, write_offsets)
    closing = [vocabulary.end] if end and vocabulary.end is not None else []
    digest = hashlib.sha256()
    offsets.extend([0])
    for number, sentence in enumerate(sentences, start=1):
        if ids := _encoded(sentence, vocabulary, number):
            tokens.extend(ids + closing)
            offsets.extend([tokens.count])
            text = sentence.encode("utf-8")
            digest.update(len(text).to_bytes(8, "little") + text)
    if not tokens.count:
        raise OffscriptError("no sentence to encode", next="check the source and the filters")
    return Description(
        sentences=offsets.count - 1,
        tokens=tokens.count,
        token_type=token_type,
        vocabulary=vocabulary.fingerprint,
        end=end,
        data_hash=digest.hexdigest(),
        tokens_sha256=tokens.finish(),
        offsets_sha256=offsets.finish(),
    )


def _encoded(sentence: str, vocabulary: Vocabulary, number: int) -> list[int]:
    try:
        return vocabulary.encode(sentence)
    except OffscriptError as error:
        raise OffscriptError(f"sentence {number}: {error.what}", why=error.why, next=error.next) from error


def _read_description(folder: Path) -> Description:
    path = folder / DESCRIPTION
    if not path.exists():
        raise OffscriptError(f"no encoded corpus in {folder}", next="encode the corpus first")
    return read_json(path, Description)


def _check_offsets(path: Path, offsets: FileArray, description: Description) -> None:
    """Refuse offsets that do not ascend from 0 to the number of tokens: a sentence would lie outside the file."""
    last = 0
    for start in range(0, description.sentences + 1, _OFFSETS_AT_ONCE):
        block = offsets.between(start, min(start + _OFFSETS_AT_ONCE, description.sentences + 1))
        if block[0] < last or (start == 0 and block[0]) or (block[1:] < block[:-1]).any():
            last = -1
            break
        last = int(block[-1])
    if last != description.tokens:
        raise OffscriptError(
            f"{path} does not fit the tokens", why="its offsets do not ascend to their number", next=_AGAIN
        )


def _check_file(path: Path, size: int, sha256: str) -> None:
    if not path.is_file() or path.stat().st_size != size or sha256_of(path) != sha256:
        raise OffscriptError(
            f"{path} is not the file that was written",
            why="it is missing, cut off or changed",
            next=_AGAIN,
        )
