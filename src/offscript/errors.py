"""The one error a user meets: a single line that says what is wrong, why, and what to do next."""

import importlib.util
import re

LONGEST_PART = 1000
DAMAGE: tuple[type[Exception], ...] = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    EOFError,
)
"""What code that expects whole data raises for damaged ones."""


class OffscriptError(Exception):
    """Bad usage or bad input. The command line prints its message alone and exits with 2."""

    def __init__(self, what: str, *, why: str = "", next: str = "") -> None:
        self.what, self.why, self.next = what, why, next
        parts = [re.sub(r"(?<=\w)\.$", "", _one_line(part)) for part in (what, why, next) if part]
        super().__init__("; ".join(parts))


def _one_line(text: str) -> str:
    """A part of a message on one line; shortened once more after escapes have made it longer."""
    return _shortened(_printable(" ".join(_shortened(text).splitlines())))


def _shortened(text: str) -> str:
    """At most `LONGEST_PART` characters: what stands in a damaged file may be long."""
    half = LONGEST_PART // 2
    return text if len(text) <= LONGEST_PART else f"{text[:half]} … {text[-half:]}"


def _printable(text: str) -> str:
    """Control characters and halves of characters as escapes, so that a terminal shows them and nothing else."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


class explaining:  # noqa: N801 (used as a function is)
    """Convert what damaged data raise inside the block into one line.

    Args:
        what: What is wrong, such as the name of the file and what it is not.
        next: What to do about it.
        also: Exceptions that count besides `DAMAGE`; libraries written in Rust raise `Exception` itself, which does.
    """

    def __init__(self, what: str, *, next: str = "", also: tuple[type[Exception], ...] = ()) -> None:
        self._what, self._next, self._known = what, next, (*DAMAGE, *also)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: object) -> None:
        if kind is Exception or isinstance(fault, self._known):
            told = " ".join(str(fault).split())[:300]
            why = f"{told} is missing" if isinstance(fault, KeyError) else told or type(fault).__name__
            raise OffscriptError(self._what, why=why, next=self._next) from fault


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
