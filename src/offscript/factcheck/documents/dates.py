"""Dates of documents, which are written in many ways: ISO 8601 from the year on, or as mail writes them."""

import email.utils
import re
from datetime import date

from offscript.errors import OffscriptError

_ISO = re.compile(r"\s*(\d{4})(?:-?(\d\d)(?:-?(\d\d))?)?(?!\d)")


def day_of(written: str) -> date | None:
    """The day of a date, the first one where it gives a year or a month alone; None for what is no date."""
    try:
        if found := _ISO.match(written):
            return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
        return email.utils.parsedate_to_datetime(written).date()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def is_after(written: str, day: date) -> bool:
    """Whether a document is dated after a day; one without a date is not."""
    own = day_of(written)
    return own is not None and own > day


def read_day(written: str) -> date:
    """A day as a user gives it."""
    if (day := day_of(written)) is None:
        raise OffscriptError(f"{written!r} is no date", next="write it as 2020-12-31")
    return day
