"""Fetching over HTTP: bounded in time and size, again after failures that pass, never to private addresses unasked."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import httpx

from offscript import __version__
from offscript.factcheck.sources.addresses import PublicTransport, RefusedError, Resolver, resolve

PASSING = frozenset({429, 500, 502, 503, 504})
"""Statuses after which another try may do."""
AGENT = f"offscript/{__version__}"


@dataclass(frozen=True)
class Patience:
    """Seconds for a connection, for silence and for the whole; bytes and redirects at most; tries and waits between."""

    connect: float = 5.0
    silence: float = 10.0
    whole: float = 20.0
    largest: int = 2_000_000
    redirects: int = 5
    tries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 8.0


class Fetched(NamedTuple):
    """What came back in the end, from where, and as what."""

    status: int
    url: str
    kind: str
    body: bytes


class FetchError(Exception):
    """Why nothing usable came back."""


class Fetcher:
    """Gets addresses. `allowed` hosts may be private: those that the user named, not those that a page named."""

    def __init__(
        self,
        *,
        allowed: frozenset[str] = frozenset(),
        patience: Patience | None = None,
        resolver: Resolver = resolve,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._patience, self._sleep = patience or Patience(), sleep
        self._client = httpx.Client(
            transport=PublicTransport(allowed, resolver),
            follow_redirects=True,
            max_redirects=self._patience.redirects,
            timeout=httpx.Timeout(self._patience.silence, connect=self._patience.connect),
            headers={"user-agent": AGENT, "accept-encoding": "identity"},
            trust_env=False,
        )

    def get(
        self, url: str, parameters: Mapping[str, str | int] | None = None, *, accept: tuple[str, ...] = ()
    ) -> Fetched:
        """The answer to a GET, whatever its status; content that is not of an accepted type is not read."""
        wait = self._patience.first_wait
        for attempt in range(1, self._patience.tries + 1):
            try:
                fetched, advised = self._once(url, parameters, accept)
            except RefusedError as refusal:
                raise FetchError(str(refusal)) from refusal
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if attempt == self._patience.tries or not isinstance(error, httpx.TransportError):
                    raise FetchError(f"{type(error).__name__}: {error}") from error
                advised = 0.0
            else:
                if fetched.status not in PASSING or attempt == self._patience.tries:
                    return fetched
            self._sleep(min(max(wait, advised), self._patience.longest_wait))
            wait *= 2
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _once(
        self, url: str, parameters: Mapping[str, str | int] | None, accept: tuple[str, ...]
    ) -> tuple[Fetched, float]:
        deadline = time.monotonic() + self._patience.whole
        with self._client.stream("GET", url, params=parameters) as answer:
            kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            if answer.is_success and accept and kind not in accept:
                raise FetchError(f"it is {kind or 'of no stated type'}")
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                raise FetchError("it is compressed, which was not asked for")
            body = self._body(answer, deadline)
            return Fetched(answer.status_code, str(answer.url), kind, body), _advised_wait(answer)

    def _body(self, answer: httpx.Response, deadline: float) -> bytes:
        body = bytearray()
        for part in answer.iter_raw():
            body += part
            if len(body) > self._patience.largest:
                raise FetchError(f"it is larger than {self._patience.largest:,} bytes")
            if time.monotonic() > deadline:
                raise FetchError(f"it takes longer than {self._patience.whole:g} seconds")
        return bytes(body)


def _advised_wait(answer: httpx.Response) -> float:
    """Retry-After in seconds; a date in its place is not worth the arithmetic."""
    advice = answer.headers.get("retry-after", "")
    return float(advice) if advice.isascii() and advice.isdigit() else 0.0
