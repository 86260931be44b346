"""Claims and texts as rows of word pieces."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer


class PairEncoder:
    """Packs claims with texts and cuts them to `length` tokens, the longer of the two first; without torch."""

    def __init__(self, tokenizer: Tokenizer, length: int, *, padding: int = 0) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())  # its own, as truncation is a state of it
        self._tokenizer.enable_truncation(length, strategy="longest_first")
        self._tokenizer.enable_padding(pad_id=padding)

    def __call__(self, pairs: Sequence[tuple[str, str | None]]) -> dict[str, NDArray[np.int64]]:
        """Arrays [rows, time] named as the fields of `PairBatch`."""
        rows = self._tokenizer.encode_batch([pair[0] if pair[1] is None else pair for pair in pairs])
        places = [[2 if place is None else place for place in row.sequence_ids] for row in rows]
        sequence = np.array(places, dtype=np.int64)
        return {
            "tokens": np.array([row.ids for row in rows], dtype=np.int64),
            "types": np.array([row.type_ids for row in rows], dtype=np.int64),
            "real": np.array([row.attention_mask for row in rows], dtype=np.int64),
            "claim": (sequence == 0).astype(np.int64),
            "text": (sequence == 1).astype(np.int64),
        }


def unlimited(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer without the truncation and padding that its file asks for."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
