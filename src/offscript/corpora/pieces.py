"""Byte-pair pieces learned from text, by the `tokenizers` library: one vocabulary for several languages."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from offscript.corpora.vocabularies import END, Vocabulary
from offscript.errors import OffscriptError


class PieceVocabulary(Vocabulary):
    """Byte-level BPE: every text has ids, and the text comes back from them unchanged.

    Args:
        described: The tokenizer as JSON, as `describe` gives it.
    """

    def __init__(self, described: str) -> None:
        from tokenizers import Tokenizer

        with _reading_pieces():
            self._tokenizer = Tokenizer.from_str(described)
        end = self._tokenizer.token_to_id(END)
        if end is None:
            raise OffscriptError(f"the pieces of a vocabulary lack {END}", next="train the vocabulary again")
        self.size = self.start = self._tokenizer.get_vocab_size()
        self.end, self.unknown = int(end), None

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> "PieceVocabulary":
        """Learn pieces from texts.

        Args:
            texts: Of all languages that are to share the pieces.
            size: How many pieces, at least the 256 bytes and the end token.
        """
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer.to_str())

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        kept = [int(index) for index in ids if index not in (self.start, self.end)]
        return str(self._tokenizer.decode(kept, skip_special_tokens=False)).removeprefix(" ")

    def symbols(self) -> Sequence[str]:
        return [str(self._tokenizer.id_to_token(index)) for index in range(self.size)]

    def describe(self) -> dict[str, Any]:
        return {"kind": "pieces", "tokenizer": json.loads(self._tokenizer.to_str())}


class _reading_pieces:  # noqa: N801 (used as a function is)
    """Convert what the library raises, which is `Exception` itself, into one line."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: object) -> None:
        if kind is Exception:
            raise OffscriptError("the pieces of a vocabulary cannot be read", why=str(fault)) from fault
