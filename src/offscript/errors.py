"""The one error a user meets: a single line that says what is wrong, why, and what to do next."""


class OffscriptError(Exception):
    """Bad usage or bad input. The command line prints its message alone and exits with 2."""

    def __init__(self, what: str, *, why: str = "", next: str = "") -> None:
        self.what, self.why, self.next = what, why, next
        parts = [part.rstrip(".") for part in (what, why, next) if part]
        super().__init__(" ".join("; ".join(parts).splitlines()))
