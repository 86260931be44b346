"""Requests to an OpenAI-compatible server: many at once, tried again with back-off, each paid for once."""

import hashlib
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from offscript.errors import OffscriptError, missing_package
from offscript.models.endpoints.address import Address
from offscript.models.endpoints.answers import without_repetition
from offscript.models.endpoints.ledger import Ledger

try:
    import httpx
except ImportError as _missing:
    raise missing_package("a model behind an API", "httpx", extra="endpoints") from _missing

_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
"""Statuses after which the same request may succeed."""

FIRST_WAIT, LONGEST_WAIT, LONGEST_ASKED = 0.5, 30.0, 120.0
"""Seconds before the second try, the most before a later one, and the most that a server may ask for."""

LARGEST = 1 << 26
"""Bytes of an answer; those with the whole vocabulary of a large model have some ten million."""

_TRIES = 1
"""How often a request is sent again that a server may not know."""

_LAYOUT = 1
"""Of what is kept; another number does not find what an earlier version kept."""


class RefusedError(OffscriptError):
    """The server understood the request and does not serve it, for instance log-probabilities of a prompt."""


class FailingError(RefusedError):
    """The server fails at a request that was a try: it may be one that it cannot serve."""


@dataclass(frozen=True)
class Manners:
    """How a server is asked.

    Args:
        concurrency: Requests under way at once.
        retries: How often a request that failed is sent again.
        timeout: Seconds to wait for an answer.
    """

    concurrency: int = 8
    retries: int = 8
    timeout: float = 120.0


class Client:
    """Asks one model of one server; what was answered before comes from the ledger."""

    def __init__(self, address: Address, ledger: Ledger, manners: Manners) -> None:
        self.address, self.ledger, self.manners = address, ledger, manners
        self._key = address.key()
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        # A redirect would carry the prompt, and might carry the key, to somebody the user did not name.
        self._http = httpx.Client(headers=headers, timeout=manners.timeout, follow_redirects=False)

    def ask(
        self, path: str, payloads: Sequence[Mapping[str, Any]], *, most_tokens: Sequence[int], trying: bool = False
    ) -> list[Any]:
        """The answers to requests, in their order; equal requests are sent once.

        Args:
            path: `completions` or `chat/completions`.
            payloads: The bodies, without the model's name. What begins with `_` tells requests apart and is not sent.
            most_tokens: The most tokens that each can take.
            trying: Whether a server that answers 500 is soon given up, because it may not know what is asked.

        Returns:
            One answer per payload: its `choices`, as the server gave them.
        """
        full = [{"model": self.address.model, **payload} for payload in payloads]
        keys = [self._key_of(path, payload) for payload in full]
        answers = {key: self.ledger.find(key) for key in dict.fromkeys(keys)}
        wanted = {
            key: (payload, most)
            for key, payload, most in zip(keys, full, most_tokens, strict=True)
            if answers[key] is None
        }
        if wanted:
            answers |= self._fetched(path, wanted, trying)
        return [answers[key] for key in keys]

    def _fetched(self, path: str, wanted: Mapping[str, tuple[dict[str, Any], int]], trying: bool) -> dict[str, Any]:
        """Send all; at the first failure, or Ctrl-C, nothing more is sent, and what is under way is kept."""
        stopping = threading.Event()
        with ThreadPoolExecutor(min(self.manners.concurrency, len(wanted))) as pool:
            jobs = {key: pool.submit(self._answer, path, key, *each, stopping, trying) for key, each in wanted.items()}
            try:
                done, _ = wait(jobs.values(), return_when=FIRST_EXCEPTION)
            finally:
                stopping.set()
                for job in jobs.values():
                    job.cancel()
            for job in done:
                job.result()
            return {key: job.result() for key, job in jobs.items()}

    def _answer(
        self,
        path: str,
        key: str,
        payload: Mapping[str, Any],
        most_tokens: int,
        stopping: threading.Event,
        trying: bool,
    ) -> Any:
        """One answer, tried several times, until the others are stopped; each try counts as a request."""
        failures = 0
        for attempt in range(self.manners.retries + 1):
            self.ledger.reserve(most_tokens)
            began = time.monotonic()
            try:
                response = self._posted(path, payload)
            except httpx.TransportError as fault:
                # Nobody knows whether it was served: its tokens stay counted.
                problem, pause = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__, 0.0
            else:
                if response.status_code == httpx.codes.OK:
                    return self._kept(key, response, most_tokens, time.monotonic() - began)
                self.ledger.give_back(most_tokens)
                problem = self._problem(response)
                if response.status_code not in _AGAIN:
                    raise self._refusal(response, problem)
                failures += response.status_code == httpx.codes.INTERNAL_SERVER_ERROR
                if trying and failures > _TRIES:
                    raise FailingError(f"{self.address.url} fails at a request", why=problem)
                pause = _asked_pause(response)
            wanted = max(pause, min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * random.uniform(0.5, 1))
            if attempt < self.manners.retries and stopping.wait(wanted):
                break
        raise OffscriptError(
            f"{self.address.url} does not answer after {_counted(self.manners.retries + 1)}",
            why=problem,
            next="run the same command again later: answers so far are kept, and none is asked for twice",
        )

    def _posted(self, path: str, payload: Mapping[str, Any]) -> httpx.Response:
        """The response, read up to a limit: nobody knows what a server sends."""
        sent = {name: value for name, value in payload.items() if not name.startswith("_")}
        with self._http.stream("POST", f"{self.address.url}/{path}", json=sent) as response:
            content = bytearray()
            for piece in response.iter_bytes():
                content += piece
                if len(content) > LARGEST:
                    raise OffscriptError(f"{self.address.url} sends more than {LARGEST >> 20} MB", next="lower top=")
        return httpx.Response(response.status_code, headers=_plain(response.headers), content=bytes(content))

    def _kept(self, key: str, response: httpx.Response, most_tokens: int, seconds: float) -> Any:
        try:
            body = response.json()
        except (ValueError, RecursionError):
            body = None
        choices = body.get("choices") if isinstance(body, dict) else None
        if not isinstance(choices, list) or not choices or not all(isinstance(each, dict) for each in choices):
            raise OffscriptError(
                f"{self.address.url} answers with {_kind(response)}, not with completions",
                why=self._told(response.text[:80]),
                next="check the address: it usually ends in /v1",
            )
        choices, usage = [without_repetition(choice) for choice in choices], body.get("usage")
        used = usage.get("total_tokens") if isinstance(usage, dict) else None
        used = used if isinstance(used, int) and not isinstance(used, bool) and used >= 0 else most_tokens
        self.ledger.keep(key, choices, unused=most_tokens - used, seconds=seconds, drawn=used)
        return choices

    def _refusal(self, response: httpx.Response, problem: str) -> OffscriptError:
        where, status = self.address.url, response.status_code
        if status in (401, 403):
            given = f"it was read from {self.address.variable}" if self._key else f"{self.address.variable} is not set"
            why = f"it answers {status}; {given}"
            next = f"put the key into {self.address.variable}, or name another variable with key=VARIABLE"
            return OffscriptError(f"{where} refuses the key", why=why, next=next)
        if status == 404:
            return OffscriptError(
                f"{where} has no model {self.address.model!r}, or is not the right address",
                why=problem,
                next="check both: the address usually ends in /v1; a server of chats alone needs chat=MESSAGE",
            )
        if 300 <= status < 400:
            return OffscriptError(f"{where} sends requests elsewhere", why=problem, next="name the final address")
        return RefusedError(f"{where} refuses a request", why=problem)

    def _problem(self, response: httpx.Response) -> str:
        """What the server says of its failure, in a few words and without the key."""
        try:
            body = response.json()
            error = body.get("error", body.get("detail", body)) if isinstance(body, dict) else body
            said = error.get("message", error) if isinstance(error, dict) else error
        except (ValueError, UnicodeDecodeError):
            kind = _kind(response)
            said = response.text.strip() or kind if kind.startswith("text/") else kind
        return f"it answers {response.status_code}: {self._told(str(said))}"

    def _told(self, text: str) -> str:
        """A server's words, which may repeat what it was sent."""
        shown = " ".join(text.split())
        if self._key:
            shown = shown.replace(self._key, "…")
        return shown[:200]

    def _key_of(self, path: str, payload: Mapping[str, Any]) -> str:
        asked = json.dumps([_LAYOUT, self.address.url, path, payload], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(asked.encode()).hexdigest()


def _counted(tries: int) -> str:
    return "1 try" if tries == 1 else f"{tries} tries"


def _plain(headers: httpx.Headers) -> dict[str, str]:
    """What is read of the headers; the content is no longer packed as they say."""
    return {name: headers[name] for name in ("content-type", "retry-after") if name in headers}


def _kind(response: httpx.Response) -> str:
    """What an answer is, where it is not what was asked for."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return {"text/html": "HTML", "application/json": "other JSON"}.get(kind, kind or "something without a type")


def _asked_pause(response: httpx.Response) -> float:
    """The seconds that a server asks to wait; a date, or anything else, is left to the back-off."""
    try:
        return max(0.0, min(LONGEST_ASKED, float(response.headers.get("retry-after", 0))))
    except ValueError:
        return 0.0
