"""The one error a user meets: a single line that says what is wrong, why, and what to do next."""

import re


class OffscriptError(Exception):
    """Bad usage or bad input. The command line prints its message alone and exits with 2."""

    def __init__(self, what: str, *, why: str = "", next: str = "") -> None:
        self.what, self.why, self.next = what, why, next
        parts = [re.sub(r"(?<=\w)\.$", "", part) for part in (what, why, next) if part]
        super().__init__(" ".join("; ".join(parts).splitlines()))


def missing_package(what: str, package: str, *, extra: str = "") -> OffscriptError:
    """The error for something that needs a package which is not installed: one of an extra, else one of the base."""
    return OffscriptError(
        f"{what} needs {package}",
        why="it is not installed",
        next=f'pip install -e ".[{extra}]"' if extra else f"pip install {package}",
    )
