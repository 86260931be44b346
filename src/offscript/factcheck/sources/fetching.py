"""Fetching over HTTP: bounded in time and size, again after failures that pass, never to private addresses unasked.

A search result may lead, at once, after a redirect or by a name that resolves differently the second time, to a service
that only this machine can reach. So a name is resolved once, every address it has is looked at, and the connection goes
to the address that was looked at.
"""

import ipaddress
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import httpx

from offscript import __version__

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
SCHEMES = {"http": 80, "https": 443}
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
PASSING = frozenset({429, 500, 502, 503, 504})
"""Statuses after which another try may do."""
AGENT = f"offscript/{__version__}"


class RefusedError(httpx.TransportError):
    """An address that is not asked; the request did not leave this machine."""


class Resolver(Protocol):
    """Turns a host's name into addresses."""

    def __call__(self, host: str, port: int) -> list[str]:
        """All addresses of the host."""


def resolve(host: str, port: int) -> list[str]:
    """As the system does."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Whether an address is one of the open network, also where IPv6 wraps one of IPv4."""
    try:
        parsed: Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo or (None, None))[1]
        if parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast


class PublicTransport(httpx.BaseTransport):
    """Connects to public addresses, and to hosts that are `allowed` by name whatever their address.

    Connections are not kept: one that was opened for a name must not carry a request for another.
    """

    def __init__(self, allowed: frozenset[str] = frozenset(), resolver: Resolver = resolve) -> None:
        self._allowed, self._resolver = allowed, resolver
        self._inner = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0), trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.scheme not in SCHEMES:
            raise RefusedError(f"{request.url.scheme!r} is neither http nor https", request=request)
        *others, last = self._checked(request)
        for address in others:
            try:
                return self._inner.handle_request(_pinned(request, address))
            except httpx.ConnectError:
                continue
        return self._inner.handle_request(_pinned(request, last))

    def close(self) -> None:
        self._inner.close()

    def _checked(self, request: httpx.Request) -> list[str]:
        """The addresses of the request's host, at least one; none of them may be private."""
        host = request.url.host
        try:
            addresses = self._resolver(host, request.url.port or SCHEMES[request.url.scheme])
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(f"{host} has no address", request=request) from error
        if not addresses:
            raise httpx.ConnectError(f"{host} has no address", request=request)
        if host not in self._allowed and not all(map(is_public, addresses)):
            raise RefusedError(f"{host} leads to a private address", request=request)
        return addresses


def _pinned(request: httpx.Request, address: str) -> httpx.Request:
    """The request to one address; the name stays in the Host header and in the certificate that is asked for."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


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
            except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # UnicodeError: names that IDNA refuses
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
