"""The one error a user meets: a single line that says what is wrong, why, and what to do next."""

import importlib.util
import re

LONGEST_PART = 1000


class OffscriptError(Exception):
    """Bad usage or bad input. The command line prints its message alone and exits with 2."""

    def __init__(self, what: str, *, why: str = "", next: str = "") -> None:
        self.what, self.why, self.next = what, why, next
        parts = [re.sub(r"(?<=\w)\.$", "", _shortened(part)) for part in (what, why, next) if part]
        super().__init__(_printable(" ".join("; ".join(parts).splitlines())))


def _shortened(text: str) -> str:
    """At most `LONGEST_PART` characters: what stands in a damaged file may be long."""
    half = LONGEST_PART // 2
    return text if len(text) <= LONGEST_PART else f"{text[:half]} … {text[-half:]}"


def _printable(text: str) -> str:
    """Control characters and halves of characters as escapes, so that a terminal shows them and nothing else."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def missing_package(what: str, package: str, *, extra: str = "") -> OffscriptError:
    """The error for something that needs a package which is not installed: one of an extra, else one of the base."""
    return OffscriptError(
        f"{what} needs {package}",
        why="it is not installed",
        next=f'pip install -e ".[{extra}]"' if extra else f"pip install {package}",
    )


def require_package(what: str, package: str, *, extra: str = "") -> None:
    """Refuse now what would need a package that is not installed, before hours of work end in the same error."""
    if importlib.util.find_spec(package) is None:
        raise missing_package(what, package, extra=extra)
