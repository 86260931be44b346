"""Filters, from stream to stream, as the papers choose sentences, and splits by a sentence's own hash.

A token is what stands between blanks.
"""

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from offscript._specification import nearest
from offscript.errors import OffscriptError

TRAIN_VALIDATION_TEST = {"train": 0.9, "validation": 0.05, "test": 0.05}


def drop_rare_words(read: Callable[[], Iterable[str]], minimum: int) -> Iterator[str]:
    """Drop words that occur fewer than `minimum` times, together with the sentences that hold them.

    The regret paper's filter, with 100 as the minimum, before it keeps sentences of 10 to 50 words.

    Args:
        read: Begins the stream again each time: the first pass counts, the second chooses.
        minimum: How often a word must occur.

    Returns:
        The sentences in which every word is frequent.
    """
    if minimum < 1:
        raise OffscriptError(f"cannot use a minimum frequency of {minimum}", next="give 1 or more")
    counts = Counter(word for sentence in read() for word in sentence.split())
    frequent = {word for word, count in counts.items() if count >= minimum}
    del counts
    return (sentence for sentence in read() if frequent.issuperset(sentence.split()))


def keep_lengths(sentences: Iterable[str], shortest: int = 1, longest: int | None = None) -> Iterator[str]:
    """Keep sentences of `shortest` to `longest` tokens, both included.

    Args:
        sentences: The stream.
        shortest: The fewest tokens.
        longest: The most tokens; None for no limit.

    Returns:
        The sentences of a fitting length.
    """
    if shortest < 0 or (longest is not None and longest < shortest):
        raise OffscriptError(
            f"cannot use a length range of {shortest} to {longest}", next="give 0 <= shortest <= longest"
        )
    limit = float("inf") if longest is None else longest
    return (sentence for sentence in sentences if shortest <= len(sentence.split()) <= limit)


def cut_to_length(sentences: Iterable[str], length: int) -> Iterator[str]:
    """Cut to the first `length` tokens and drop sentences that do not reach it, as the exposure-bias paper does.

    Args:
        sentences: The stream.
        length: How many tokens every sentence then has.

    Returns:
        The sentences that are long enough, cut.
    """
    if length < 1:
        raise OffscriptError(f"cannot cut to a length of {length} tokens", next="give 1 or more")
    tokens = (sentence.split() for sentence in sentences)
    return (" ".join(words[:length]) for words in tokens if len(words) >= length)


def cut_into_pieces(sentences: Iterable[str], characters: int) -> Iterator[str]:
    """Pieces of exactly so many characters, for text without lines such as text8; a shorter rest is dropped.

    Args:
        sentences: The stream.
        characters: How many characters every piece has.

    Returns:
        The pieces in order.
    """
    if characters < 1:
        raise OffscriptError(f"cannot cut into pieces of {characters} characters", next="give 1 or more")
    return (
        sentence[start : start + characters]
        for sentence in sentences
        for start in range(0, len(sentence) - characters + 1, characters)
    )


def drop_repeats(sentences: Iterable[str]) -> Iterator[str]:
    """Keep the first of equal sentences. Remembers 16 bytes of hash for each distinct one.

    Args:
        sentences: The stream.

    Returns:
        The first of every group of equal sentences.
    """
    seen: set[bytes] = set()
    for sentence in sentences:
        if (digest := _digest(sentence)) not in seen:
            seen.add(digest)
            yield sentence


def exclude(sentences: Iterable[str], others: Iterable[str]) -> Iterator[str]:
    """Drop sentences that occur in `others`, case and punctuation aside. Remembers 16 bytes for each of `others`.

    Args:
        sentences: The stream.
        others: What must not occur in it, such as the test sentences.

    Returns:
        The sentences that are not in `others`.
    """
    known = {_digest(normal_form(other)) for other in others}
    return (sentence for sentence in sentences if _digest(normal_form(sentence)) not in known)


def normal_form(sentence: str) -> str:
    """Letters and digits alone, case folded: what stays the same however a sentence was tokenised."""
    return "".join(character for character in sentence.casefold() if character.isalnum())


class Split:
    """Divides sentences into named parts of given fractions.

    Equal sentences always fall into the same part, whatever stands around them.

    Args:
        fractions: The parts and their shares, which sum to 1.
        salt: Another salt divides otherwise.
    """

    def __init__(self, fractions: Mapping[str, float] = TRAIN_VALIDATION_TEST, *, salt: str = "") -> None:
        shares = list(fractions.values())
        if any(share < 0 for share in shares) or not math.isclose(sum(shares), 1):
            raise OffscriptError(f"the fractions {dict(fractions)} do not add up to 1", next="give parts of 1")
        self.fractions, self.salt = dict(fractions), salt
        self._stops = [round(stop * 2**64) for stop in itertools.accumulate(shares)]
        self._stops[-1] = 2**64
        self._key = hashlib.blake2b(salt.encode("utf-8")).digest()

    def part(self, sentence: str) -> str:
        """The part this sentence belongs to."""
        keyed = hashlib.blake2b(sentence.encode("utf-8"), digest_size=8, key=self._key)
        place = int.from_bytes(keyed.digest(), "little")
        return next(part for part, stop in zip(self.fractions, self._stops, strict=True) if place < stop)

    def select(self, sentences: Iterable[str], part: str) -> Iterator[str]:
        """The sentences of one part, in their order."""
        if part not in self.fractions:
            raise OffscriptError(f"the split has no part {part!r}", next=nearest(part, self.fractions))
        return (sentence for sentence in sentences if self.part(sentence) == part)


HALVES = Split({"first": 0.5, "second": 0.5}, salt="halves")
"""How a corpus is halved where one half trains a model and the other evaluates it."""


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()
