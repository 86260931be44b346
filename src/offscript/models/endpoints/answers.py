"""What servers say about tokens, in the two layouts that they use: lists side by side, or one record per token."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from offscript.errors import OffscriptError, explaining

_HIDDEN = ("\ufffd", "bytes:", "token_id:")
"""What stands in a token's text where its bytes are no text, or where a server gives ids instead."""

_ROUNDING = 1e-3
"""How far above 0 rounding may bring a log-probability."""


class Option(NamedTuple):
    """A token that a server lists at a place, with its id where it gives one; there may be a whole vocabulary."""

    token: str
    id: int | None
    log_prob: float


@dataclass(frozen=True)
class Place:
    """A token of a text, its log-probability (None for the first of a text), and the likeliest tokens there."""

    token: str
    id: int | None
    log_prob: float | None
    options: tuple[Option, ...]


def places_of(choice: Mapping[str, Any], server: str) -> list[Place]:
    """The tokens of an answer with their log-probabilities; none where it has none.

    Args:
        choice: One of an answer's `choices`.
        server: Who gave it, for messages.
    """
    given = choice.get("logprobs")
    if given is None:
        return []
    with explaining(f"{server} gives log-probabilities in a layout that is not known"):
        records = given.get("content")
        places = _from_lists(given) if records is None else [_from_record(record) for record in records]
    for place in places:
        for value in (place.log_prob, *(option.log_prob for option in place.options)):
            if value is not None and not value <= _ROUNDING:
                raise OffscriptError(f"{server} gives {value} as a log-probability", next="look at the server's model")
    return places


def without_repetition(choice: Mapping[str, Any]) -> dict[str, Any]:
    """A choice as it is kept: where an option has an id, its text and bytes say nothing more."""
    given = choice.get("logprobs")
    records = given.get("content") if isinstance(given, Mapping) else None
    if not isinstance(records, list):
        return dict(choice)
    return {**choice, "logprobs": {"content": [_shortened(record) for record in records]}}


def _shortened(record: Any) -> Any:
    options = record.get("top_logprobs") if isinstance(record, Mapping) else None
    if not isinstance(options, list) or not all(isinstance(each, Mapping) and "id" in each for each in options):
        return record
    kept = [{"id": each["id"], "logprob": each.get("logprob")} for each in options]
    return {**record, "top_logprobs": kept}


def _from_lists(given: Mapping[str, Any]) -> list[Place]:
    tokens, values = given["tokens"], given["token_logprobs"]
    listed = given.get("top_logprobs") or [None] * len(tokens)
    return [
        Place(str(token), None, None if value is None else float(value), _options(options))
        for token, value, options in zip(tokens, values, listed, strict=True)
    ]


def _options(options: Any) -> tuple[Option, ...]:
    if not options:
        return ()
    if isinstance(options, Mapping):
        return tuple(Option(str(token), None, float(value)) for token, value in options.items())
    return tuple(_option(record) for record in options)


def _option(record: Mapping[str, Any]) -> Option:
    number, value = record.get("id"), record["logprob"]
    token = record.get("token", "") if isinstance(number, int) else record["token"]
    return Option(str(token), number if isinstance(number, int) else None, _number(value))


def _from_record(record: Mapping[str, Any]) -> Place:
    own = _option(record)
    return Place(own.token, own.id, own.log_prob, tuple(_option(each) for each in record.get("top_logprobs") or ()))


def _number(value: Any) -> float:
    """Some servers write what is impossible as null."""
    return -math.inf if value is None else float(value)


def normalised(place: Place, size: int) -> Place:
    """The same place with probabilities that add up to 1, where a server lists the whole vocabulary.

    llama.cpp adds them up in single precision, from the largest down, and so loses the tail: with 49,152 tokens all its
    log-probabilities are some 2e-4 too large, which is more than two runs of one network differ by.

    Args:
        place: What the server says.
        size: The vocabulary's; a shorter list is left as it is, because what it leaves out is not known.
    """
    if len({option.id for option in place.options} - {None}) < size:
        return place
    total = float(np.exp([option.log_prob for option in place.options]).sum())
    if total <= 0:
        return place
    excess = math.log(total)
    options = tuple(Option(option.token, option.id, option.log_prob - excess) for option in place.options)
    return replace(place, log_prob=None if place.log_prob is None else place.log_prob - excess, options=options)


def same_token(told: str, piece: str) -> bool:
    """Whether a server's text of a token can be the piece; blanks, and what is no text by itself, are not compared."""
    told, piece = told.replace("Ġ", " ").replace("▁", " ").strip(), piece.strip()
    if not told or not piece or any(sign in told for sign in _HIDDEN) or "\ufffd" in piece:
        return True
    return told == piece


def aligned(places: Sequence[Place], ids: Sequence[int], pieces: Sequence[str], whose: str) -> list[Place]:
    """The places of given tokens; refused where the server cut the text into others.

    Args:
        places: What the server answered, with what it added behind.
        ids: The given tokens.
        pieces: Their texts.
        whose: The tokenizer, for the message.
    """
    for place, index, piece in zip(places, ids, pieces, strict=False):
        equal = place.id == index if place.id is not None else same_token(place.token, piece)
        if not equal:
            raise OffscriptError(
                f"the server's tokens are not those of tokenizer={whose}",
                why=f"it has {place.token!r} where that has {piece!r}",
                next="name the tokenizer of the model that is served",
            )
    if len(places) < len(ids):
        raise OffscriptError(
            f"the server's tokens are not those of tokenizer={whose}",
            why=f"it has {len(places)} where that has {len(ids)}",
            next="name the tokenizer of the model that is served",
        )
    return list(places[: len(ids)])
