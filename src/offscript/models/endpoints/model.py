"""A model behind an API: it continues texts and, where the server says so much, gives their log-probabilities."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from offscript._abilities import Gives
from offscript.corpora.vocabularies import HubVocabulary, Vocabulary
from offscript.errors import OffscriptError
from offscript.models.endpoints.answers import Place, aligned, normalised, places_of
from offscript.models.endpoints.client import Client, FailingError, RefusedError
from offscript.models.endpoints.drawing import Drawing, find_drawing
from offscript.models.language_model import LanguageModel, Scored, State, checked_positions

_PROBE = "The cat sat on the mat."
_COMPLETIONS, _CHAT, _SLOT = "completions", "chat/completions", "{}"
_AT_ONCE = 256
"""Requests of one round; their answers are held together."""

_OPTIONS = 400_000
"""Tokens with log-probabilities that the answers of one round may list: some 200 MB."""

_CHOICES, _SEEDS = 64, 1 << 31
"""Choices of one request, and how many seeds every server takes."""

_PER_WORD = 2
"""Tokens that a server is asked for in place of a word: most words are one or two, and what is too much is cut."""

_TEMPLATE = 64
"""Tokens that a chat template may add to a message, at most, for the budget."""


class Mode(Enum):
    """How log-probabilities are had: of a whole prompt at once, token by token, or not at all."""

    echo_ids = "echo, prompts as token ids"
    echo_text = "echo, prompts as text"
    echo_added = "echo, prompts as text, to which the server adds the start"
    next_token = "the likeliest next tokens, prompts as token ids"
    texts = "texts alone"


class Endpoint(LanguageModel):
    """A model of an OpenAI-compatible server.

    Args:
        client: Asks the server.
        vocabulary: The served model's tokenizer; words where nobody knows it.
        start: The text before position 0; the tokenizer's start token by default.
        chat: A message that texts answer, through the chat API; `{}` in it is where the beginning of a text goes.
        system: What the system says first.
        top: How many of the likeliest tokens a server without `echo` is asked for.
    """

    def __init__(
        self,
        client: Client,
        vocabulary: Vocabulary,
        *,
        start: str | None = None,
        chat: str | None = None,
        system: str | None = None,
        top: int = 5,
    ) -> None:
        self.client, self.vocabulary, self.top = client, vocabulary, top
        self._start, self._chat, self._system = start, chat, system
        self.name = str(client.address)

    @property
    def weight_hash(self) -> str:
        """Of what is known about the model: where it is and how it is asked; its weights are not."""
        tokens = self.vocabulary.fingerprint if isinstance(self.vocabulary, HubVocabulary) else "words"
        asked = [str(self.client.address), tokens, self._start, self._chat, self._system, self.top]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()

    @property
    def gives(self) -> Gives:
        return Gives.texts if self.mode is Mode.texts else Gives.likelihoods

    @property
    def limits(self) -> str:
        if isinstance(self.vocabulary, HubVocabulary) or self._chat is not None:
            return f"{self.name} gives {self.gives.words}"
        return f"{self.name} gives texts, and log-probabilities only where its tokenizer is known (tokenizer=ID)"

    @property
    def pace(self) -> float | None:
        """What the requests so far came to, as many at once as may be."""
        self.mode  # noqa: B018 (asks the server once, where it was never asked)
        return (self.client.ledger.pace or 10.0) * self.client.manners.concurrency

    @property
    def reading(self) -> str:
        how = f"The model is behind an API, which gives {self.mode.value}."
        if self._chat is not None:
            how += f" Every text answers the message {self._chat!r}."
        if not self._drawing.extra:
            how += " It may cut its distribution by defaults of its own before it draws: it takes no top_k and min_p."
        if not isinstance(self.vocabulary, HubVocabulary):
            how += " Its tokenizer is not known, so tokens here are words."
        return how

    @cached_property
    def mode(self) -> Mode:
        """What the server can do, by asking it once; the finding is kept."""
        if not isinstance(self.vocabulary, HubVocabulary) or self._chat is not None:
            return Mode.texts
        found = self._decided("mode", self._find_mode)
        return Mode[found["mode"]]

    def _decided(self, what: str, find: Any) -> Any:
        key = f"{what} {self.weight_hash}"
        known = self.client.ledger.find(key)
        if known is None:
            known = find()
            self.client.ledger.keep(key, known, unused=0, seconds=0.0, drawn=0)
        return known

    def _find_mode(self) -> dict[str, str]:
        ids = [self._opening, *self.vocabulary.encode(_PROBE)]
        misread: OffscriptError | None = None
        for mode in (Mode.echo_ids, Mode.echo_text, Mode.echo_added):
            places = self._tried(ids, mode)
            if len(places) > 1:
                try:
                    self._aligned(places, ids)
                    return {"mode": mode.name}
                except OffscriptError as fault:
                    misread = misread or fault
        if misread is not None:
            raise misread
        places = self._tried(ids, Mode.next_token)
        return {"mode": (Mode.next_token if places and places[0].options else Mode.texts).name}

    def _tried(self, ids: Sequence[int], mode: Mode) -> list[Place]:
        """What a server says of a prompt, nothing where it does not take the question.

        A server may also fail at what it cannot do (llama-cpp-python answers 500). It fails at everything if it also
        fails at a plain request, which then says so.
        """
        try:
            [choices] = self._ask(_COMPLETIONS, [self._reading_request(ids, mode)], trying=True)
        except FailingError:
            self._ask(_COMPLETIONS, [{"prompt": self._text(ids), "max_tokens": 1}])
            return []
        except RefusedError:
            return []
        return places_of(choices[0], self.name)

    # --- log-probabilities of given texts

    def begin(self, rows: int) -> State:
        raise self._no_distributions()

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        raise self._no_distributions()

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        raise self._no_distributions()

    def log_likelihoods(
        self, tokens: Tensor, positions: range | None = None, lengths: Sequence[int] | None = None
    ) -> Tensor:
        """As of every model; what lies beyond the lengths is not asked for, and 0."""
        asked = checked_positions(tokens, positions)
        values = torch.zeros(len(tokens), len(asked), dtype=torch.float64)
        for row, place, told, target in self._told(tokens, asked, lengths):
            values[row, place] = self._log_prob(told, target)
        return values

    def likeliest(
        self, tokens: Tensor, positions: range | None = None, lengths: Sequence[int] | None = None
    ) -> tuple[Tensor, Tensor]:
        asked = checked_positions(tokens, positions)
        best = torch.zeros(len(tokens), len(asked), dtype=torch.float64)
        right = torch.zeros(len(tokens), len(asked), dtype=torch.bool)
        for row, place, told, target in self._told(tokens, asked, lengths):
            own = self._listed(told, target)
            best[row, place] = max(
                [option.log_prob for option in told.options] + ([] if own is None else [own]), default=0.0
            )
            right[row, place] = own is not None and own >= float(best[row, place])
        return best, right

    def _told(
        self, tokens: Tensor, positions: range, lengths: Sequence[int] | None
    ) -> Iterator[tuple[int, int, Place, int]]:
        """Row, column, what the server says there and the token that stands there."""
        if self.mode is Mode.texts:
            raise OffscriptError(self.limits, next="name the model's weights, or a server with logprobs")
        sizes = [tokens.shape[1]] * len(tokens) if lengths is None else lengths
        rows = [[self._opening, *row[:size]] for row, size in zip(tokens.tolist(), sizes, strict=True)]
        wanted = [
            (row, place) for row, size in enumerate(sizes) for place in positions if place < size
        ]  # place t is told after start and t tokens
        read = self._next_places if self.mode is Mode.next_token else self._echoed_places
        for (row, place), told in zip(wanted, read(rows, wanted), strict=True):
            yield row, place - positions.start, told, rows[row][place + 1]

    def _next_places(self, rows: Sequence[list[int]], wanted: Sequence[tuple[int, int]]) -> Iterator[Place]:
        """A request per place; few at once where each lists a whole vocabulary."""
        requests = [self._reading_request(rows[row][: place + 1], self.mode) for row, place in wanted]
        for choices in self._ask_all(requests, at_once=max(1, min(_AT_ONCE, _OPTIONS // self.top))):
            places = places_of(choices[0], self.name)
            if not places:
                raise OffscriptError(f"{self.name} gives no log-probability of a token", next="look at the server")
            yield normalised(places[0], self.vocabulary.size)

    def _echoed_places(self, rows: Sequence[list[int]], wanted: Sequence[tuple[int, int]]) -> Iterator[Place]:
        """A request per text; `wanted` goes through the texts in order."""
        needed = sorted({row for row, _ in wanted})
        answers = self._ask_all([self._reading_request(rows[row], self.mode) for row in needed])
        places, present = list[Place](), -1
        for row, place in wanted:
            if row != present:
                present = row
                places = self._aligned(places_of(next(answers)[0], self.name), rows[row])
            yield places[place + 1]

    def _reading_request(self, ids: Sequence[int], mode: Mode) -> dict[str, Any]:
        prompt: str | list[int] = list(ids)
        if mode in (Mode.echo_text, Mode.echo_added):
            prompt = self._text(ids[1:] if mode is Mode.echo_added else ids)
        echo = {} if mode is Mode.next_token else {"echo": True}
        return {
            "prompt": prompt,
            "max_tokens": 1,
            "temperature": 1.0,
            "logprobs": self.top if mode is Mode.next_token else 1,
            **echo,
        }

    def _log_prob(self, told: Place, target: int) -> float:
        value = self._listed(told, target)
        if value is None:
            raise OffscriptError(
                f"{self.name} does not list {self._piece(target)!r} among the {self.top} likeliest tokens",
                why="without echo it gives no other token's log-probability",
                next="raise top= in the model string, if the server allows, or use a server with echo",
            )
        return value

    def _listed(self, told: Place, target: int) -> float | None:
        """The log-probability of a token at a place, where the server gives it."""
        if self.mode is not Mode.next_token:
            return told.log_prob
        piece = self._piece(target)
        for option in told.options:
            if option.id == target or (option.id is None and option.token == piece):
                return option.log_prob
        return None

    def _aligned(self, places: list[Place], ids: Sequence[int]) -> list[Place]:
        tokenizer = self.vocabulary.name if isinstance(self.vocabulary, HubVocabulary) else ""
        return aligned(places, ids, [self._piece(index) for index in ids], tokenizer)

    # --- texts

    def continue_texts(
        self, prefixes: Sequence[Sequence[int]], most: int, drawing: Mapping[str, float], seeds: Sequence[int]
    ) -> list[list[int]]:
        path = _COMPLETIONS if self._chat is None else _CHAT
        tokens = most if isinstance(self.vocabulary, HubVocabulary) else _PER_WORD * most
        requests = [
            {**self._beginning(prefix), **self._drawing.request(tokens, drawing, seed, self.name)}
            for prefix, seed in zip(prefixes, seeds, strict=True)
        ]
        return [self._continuation(answer[0], most) for answer in self._ask_all(requests, path)]

    def next_tokens(self, prefixes: Sequence[Sequence[int]], n: int, seeds: Sequence[int]) -> list[list[int]]:
        """By requests for several choices at once; servers that give one at a time are asked n times."""
        if not isinstance(self.vocabulary, HubVocabulary):
            raise OffscriptError(f"what follows a history in {self.name} is not known", next="add ,tokenizer=ID")
        drawn: list[list[int]] = [[] for _ in prefixes]
        turn = 0
        while missing := [row for row, tokens in enumerate(drawn) if len(tokens) < n]:
            requests = [
                {
                    **self._beginning(prefixes[row]),
                    **self._drawing.request(1, {}, (seeds[row] + turn) % _SEEDS, self.name),
                    "n": min(_CHOICES, n - len(drawn[row])),
                }
                for row in missing
            ]
            for row, choices in zip(missing, self._ask_all(requests), strict=True):
                drawn[row] += [self._first_token(choice) for choice in choices]
            turn += 1
        return [tokens[:n] for tokens in drawn]

    def _first_token(self, choice: Mapping[str, Any]) -> int:
        ids = self.vocabulary.encode(_said(choice))
        if ids or self.vocabulary.end is None:
            return ids[0] if ids else self._opening
        return self.vocabulary.end

    def _continuation(self, choice: Mapping[str, Any], most: int) -> list[int]:
        ids = self.vocabulary.encode(_said(choice))[:most]
        ending = [] if self.vocabulary.end is None or choice.get("finish_reason") == "length" else [self.vocabulary.end]
        return [*ids, *ending][:most]

    def _beginning(self, prefix: Sequence[int]) -> dict[str, Any]:
        """What is sent before a text: a prompt, or messages."""
        if self._chat is None:
            if self.mode in (Mode.echo_ids, Mode.next_token) and self._start is None:
                return {"prompt": [self._opening, *prefix]}
            start = "" if self.mode is Mode.echo_added else self._start_text
            return {"prompt": start + self._text(prefix)}
        text = self._text(prefix)
        if text and _SLOT not in self._chat:
            raise OffscriptError(
                f"{self.name} is asked to continue a text, and its message has no place for one",
                next=f'write {_SLOT} where the text goes, as in chat="Continue this text: {_SLOT}"',
            )
        said = [("system", self._system), ("user", self._chat.replace(_SLOT, text))]
        return {"messages": [{"role": role, "content": each} for role, each in said if each is not None]}

    @cached_property
    def _drawing(self) -> Drawing:
        """What the server takes, by asking it a few times; the finding is kept."""
        end = self.vocabulary.end if isinstance(self.vocabulary, HubVocabulary) else None
        path = _COMPLETIONS if self._chat is None else _CHAT
        beginning = self._beginning(() if self._chat is not None else self.vocabulary.encode(_PROBE))

        def ask(settings: dict[str, Any]) -> str:
            [choices] = self._ask(path, [{**beginning, **settings}])
            return _said(choices[0])

        return Drawing(**self._decided("drawing", lambda: find_drawing(ask, chat=self._chat is not None, end=end)))

    # --- the server

    def _ask_all(
        self, requests: Sequence[dict[str, Any]], path: str = _COMPLETIONS, at_once: int = _AT_ONCE
    ) -> Iterator[Any]:
        for first in range(0, len(requests), at_once):
            yield from self._ask(path, requests[first : first + at_once])

    def _ask(self, path: str, requests: Sequence[dict[str, Any]], *, trying: bool = False) -> list[Any]:
        return self.client.ask(path, requests, most_tokens=[_most_tokens(each) for each in requests], trying=trying)

    @property
    def _opening(self) -> int:
        return self.vocabulary.start

    @cached_property
    def _start_text(self) -> str:
        if self._start is not None:
            return self._start
        return self._piece(self._opening) if isinstance(self.vocabulary, HubVocabulary) else ""

    def _piece(self, index: int) -> str:
        return self._text([index])

    def _text(self, ids: Sequence[int]) -> str:
        """The text of ids as a server reads it, special tokens included."""
        if not isinstance(self.vocabulary, HubVocabulary):
            return self.vocabulary.decode(ids)
        tokenizer = self.vocabulary.tokenizer
        text: str = tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def _no_distributions(self) -> OffscriptError:
        return OffscriptError(f"{self.limits}, not {Gives.distributions.words}", next="name the model's weights")


def _said(choice: Mapping[str, Any]) -> str:
    """The text of a choice, of either API; some servers write null where there is none."""
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    return text if isinstance(text, str) else ""


def _most_tokens(request: Mapping[str, Any]) -> int:
    """An upper bound: a token has at least one byte, and a server may add a start token or a chat template."""
    prompt, own = request.get("prompt"), int(request.get("max_tokens", request.get("max_completion_tokens", 0)))
    if prompt is None:
        said = sum(len(message["content"].encode()) for message in request["messages"])
        return said + _TEMPLATE * len(request["messages"]) + own
    read = len(prompt.encode()) if isinstance(prompt, str) else len(prompt)
    return read + 1 + own * int(request.get("n", 1))
