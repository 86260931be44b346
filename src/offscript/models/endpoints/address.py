"""Where a model is served, and from which environment variable its key comes."""

import hashlib
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from offscript._specification import Setting
from offscript.errors import OffscriptError

KEY, OPENAI_KEY, OPENAI_HOST = "OFFSCRIPT_API_KEY", "OPENAI_API_KEY", "api.openai.com"
_FORM = "write openai/MODEL@http://host:port/v1"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")


@dataclass(frozen=True)
class Address:
    """A model's name on a server, the server's URL, and the variable that holds the key."""

    model: str
    url: str
    variable: str

    def key(self) -> str:
        """The key, from the environment alone; empty where there is none."""
        found = os.environ.get(self.variable, "").strip()
        if not found.isascii() or not found.isprintable():
            raise OffscriptError(f"{self.variable} does not hold a key", why="it has characters that no key has")
        return found

    @property
    def digest(self) -> str:
        """A short hash of server and model, for the names of files."""
        return hashlib.sha256(f"{self.url} {self.model}".encode()).hexdigest()[:24]

    def __str__(self) -> str:
        return f"openai/{self.model}@{self.url}"


def parse_address(text: str, key: Setting | None = None) -> Address:
    """`MODEL@URL`; nothing in it is secret, because it is stored with the results.

    Args:
        text: What stands after `openai/`.
        key: The name of an environment variable.
    """
    model, at, url = text.partition("@http")
    if not text.isprintable():
        raise OffscriptError("the name of a model has characters that no name has", next=_FORM)
    if not (model and at):
        raise OffscriptError(f"openai/{text} names no server", next=_FORM)
    url = "http" + url
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as fault:
        raise OffscriptError("the server's address cannot be read", why=str(fault), next=_FORM) from fault
    if parts.scheme not in ("http", "https") or not host:
        raise OffscriptError(f"{url!r} is not an address", next=_FORM)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        # Not repeated: it may hold a key.
        raise OffscriptError(
            f"the address of {host} holds more than host, port and path",
            why="it would be stored with the results",
            next=f"leave out user, password and what follows ?, and put the key into {KEY}",
        )
    usual = OPENAI_KEY if host == OPENAI_HOST else KEY
    return Address(model, url.rstrip("/"), usual if key is None else _variable(key))


def _variable(name: Setting) -> str:
    """The name of a variable that is set. A key that was given in its place is not repeated."""
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name) or name not in os.environ:
        raise OffscriptError(
            "key= does not name an environment variable that is set",
            why="a key itself must not stand in a model string, which is stored with the results",
            next="export a variable with the key and write key=VARIABLE",
        )
    return name
