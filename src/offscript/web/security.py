"""What every answer carries and every request must keep to: pages may hold text that nobody vouches for."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 * 1024
BODY_SECONDS = 10.0
EVERY_HOST = ("*",)
MINUTE = 60.0
MOST_ADDRESSES = 10_000  # that are remembered to count their requests
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
CACHE_CONTROL = "no-store"  # what visitors ask is theirs; files that never change say otherwise
SINGLE = ("/check", "/api/check")  # answered by any process; jobs live in one, where their clients should stay
CHECKING = ("/check", "/document", "/text", "/api/check", "/api/text")  # paths that may cost a search


class Guard:
    """Adds the headers, refuses foreign hosts, large and slow bodies and too many checks, and answers HEAD as GET.

    `hosts` are the names that the service answers to; `checks_a_minute` bounds the checks of one address. Where
    `sends_away` is true, the connection is closed after the answer, so that its client comes again to another process.
    """

    def __init__(
        self,
        application: ASGIApp,
        *,
        hosts: Sequence[str] = EVERY_HOST,
        checks_a_minute: int | None = None,
        body_seconds: float = BODY_SECONDS,
        sends_away: Callable[[], bool] = lambda: False,
    ) -> None:
        self._application, self._body_seconds, self._sends_away = application, body_seconds, sends_away
        self._hosts = None if tuple(hosts) == EVERY_HOST else frozenset(host.lower() for host in hosts)
        self._rate = None if checks_a_minute is None else Rate(checks_a_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(MutableHeaders(scope=message), scope["path"])
            elif message["type"] == "http.response.body" and scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        refusal = self._refused(scope)
        body = b""
        if refusal is None:
            try:
                body = await asyncio.wait_for(_body_within(scope, receive), self._body_seconds)
            except LargeBodyError:
                refusal = _closing(413, f"at most {LARGEST_BODY:,} bytes are taken\n")
            except asyncio.TimeoutError:
                refusal = _closing(408, f"the body did not come within {self._body_seconds:g} seconds\n")
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self._application({**scope, "method": method}, _replayed(body, receive), send_with_headers)

    def _add_headers(self, headers: MutableHeaders, path: str) -> None:
        for name, value in {**HEADERS, "cache-control": CACHE_CONTROL}.items():
            headers.setdefault(name, value)
        if path in SINGLE and self._sends_away():
            headers["connection"] = "close"

    def _refused(self, scope: Scope) -> Response | None:
        """The answer to a request for another host, or to one too many of an address."""
        if self._hosts is not None and host_of(Headers(scope=scope).get("host", "")) not in self._hosts:
            return PlainTextResponse("this service answers to other names\n", status_code=400)
        if self._rate is None or scope["path"] not in CHECKING:
            return None
        wait = self._rate.wait_of((scope.get("client") or ("",))[0])
        if not wait:
            return None
        line, headers = f"too many checks from one address; try again in {wait} seconds", {"retry-after": str(wait)}
        if scope["path"].startswith("/api/"):
            return JSONResponse({"error": line}, status_code=429, headers=headers)
        return PlainTextResponse(f"{line}\n", status_code=429, headers=headers)


class LargeBodyError(Exception):
    """A body is larger than allowed."""


class Rate:
    """Counts requests by address over the last minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_of(self, address: str, now: float | None = None) -> int:
        """0, and the request counts, or the seconds until another one is allowed."""
        now = time.monotonic() if now is None else now
        times = self._times.setdefault(_network_of(address), deque())
        self._times.move_to_end(_network_of(address))
        while len(self._times) > MOST_ADDRESSES:
            self._times.popitem(last=False)
        while times and times[0] <= now - MINUTE:
            times.popleft()
        if len(times) >= self._most:
            return max(1, round(times[0] + MINUTE - now))
        times.append(now)
        return 0


def host_of(header: str) -> str:
    """The name in a Host header, without its port and in lower case; IPv6 addresses stand in brackets there."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


def _network_of(address: str) -> str:
    """The address, or the network of an IPv6 address: whoever has one address there has 2^64."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(IPv6Address(int(parsed) >> 64 << 64)) if isinstance(parsed, IPv6Address) else address


def _closing(status: int, line: str) -> Response:
    """An answer after which nothing more is read from the connection."""
    return PlainTextResponse(line, status_code=status, headers={"connection": "close"})


async def _body_within(scope: Scope, receive: Receive) -> bytes:
    """The whole body; requests that have none are not waited for."""
    headers = dict(scope["headers"])
    declared = headers.get(b"content-length", b"0")
    if b"transfer-encoding" not in headers and declared == b"0":
        return b""
    if declared.isdigit() and int(declared) > LARGEST_BODY:
        raise LargeBodyError
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST_BODY:
            raise LargeBodyError
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give the application what was read already, then whatever comes after it."""
    pending = [body]

    async def receive_again() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return receive_again
