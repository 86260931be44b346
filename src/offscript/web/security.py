"""What every answer carries and every request must keep to: pages may hold text that nobody vouches for."""

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 * 1024
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


class Guard:
    """Adds the security headers where a page does not bring its own, and refuses large bodies before reading them."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        body = await _body_within(scope, receive)
        if body is None:
            refusal = PlainTextResponse(f"at most {LARGEST_BODY:,} bytes are taken\n", status_code=413)
            await refusal(scope, receive, send_with_headers)
            return
        await self._application(scope, _replayed(body, receive), send_with_headers)


async def _body_within(scope: Scope, receive: Receive) -> bytes | None:
    """The whole body, None if it is larger than allowed; requests that have none are not waited for."""
    headers = dict(scope["headers"])
    declared = headers.get(b"content-length", b"0")
    if b"transfer-encoding" not in headers and declared == b"0":
        return b""
    if declared.isdigit() and int(declared) > LARGEST_BODY:
        return None
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST_BODY:
            return None
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give the application what was read already, then whatever comes after it."""
    pending = [body]

    async def receive_again() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return receive_again
