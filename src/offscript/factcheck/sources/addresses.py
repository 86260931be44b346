"""Which addresses of the network may be asked for a page that a search engine named: public ones alone.

A result may lead, at once, after a redirect or by a name that resolves differently the second time, to a service that
only this machine can reach. So a name is resolved once, every address it has is looked at, and the connection goes to
the address that was looked at.
"""

import ipaddress
import socket
from typing import Protocol

import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
SCHEMES = {"http": 80, "https": 443}
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


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
