"""A vocabulary for text whose tokenizer nobody knows: words with the blanks before them, numbered as they come."""

import re
import threading
from collections.abc import Sequence
from typing import Any

from offscript.corpora.vocabularies import Vocabulary

_PIECE = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
_SPECIAL = ("<start>", "<end>")


class OpenWords(Vocabulary):
    """Words, single punctuation marks and closing blanks; joined, they are the text again.

    There are as many symbols as were read so far. Nothing can be predicted over such a vocabulary, but what counts
    words, such as repetition, can be measured. Two of them are never the same: ids depend on what was read.
    """

    start, end, unknown = 0, 1, None

    def __init__(self) -> None:
        self._symbols: list[str] = list(_SPECIAL)
        self._ids: dict[str, int] = {}
        self._adding = threading.Lock()

    @property
    def size(self) -> int:  # type: ignore[override]
        """Grows with what is read."""
        return len(self._symbols)

    def encode(self, text: str) -> list[int]:
        return [self._ids[piece] if piece in self._ids else self._added(piece) for piece in _PIECE.findall(text)]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._symbols[index] for index in ids if index >= len(_SPECIAL))

    def symbols(self) -> Sequence[str]:
        return self._symbols

    def describe(self) -> dict[str, Any]:
        return {"kind": "open words"}

    @property
    def fingerprint(self) -> str:
        return f"open words {id(self):x}"

    def _added(self, piece: str) -> int:
        with self._adding:
            if piece not in self._ids:
                self._symbols.append(piece)
                self._ids[piece] = len(self._symbols) - 1
        return self._ids[piece]
