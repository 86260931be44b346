"""Which kind the publisher of a document is of: a table from web sites to factuality."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from urllib.parse import SplitResult, urlsplit

from offscript._specification import nearest
from offscript.corpora.lines import Lines
from offscript.corpora.records import table_rows
from offscript.errors import OffscriptError
from offscript.factcheck.sources import Kind

SITE_COLUMNS = ("source_url", "url", "domain", "site", "source_url_normalized")
FACT_COLUMNS = ("fact", "factuality", "factual_reporting", "kind")
KINDS = {
    "very high": Kind.high,
    "high": Kind.high,
    "mostly factual": Kind.high,
    "mixed": Kind.mixed,
    "low": Kind.low,
    "very low": Kind.low,
    "low-questionable": Kind.low,
    "questionable": Kind.low,
    "wikipedia": Kind.wikipedia,
}
"""Media Bias/Fact Check's grades, and how the thesis maps them (section 2.2.2)."""
WIKIPEDIA = "wikipedia.org"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(?=/)")  # of most pages; what is written otherwise is parsed whole


class Ratings:
    """Kinds of web sites. A page is of the kind of its own site, else of the site above: `news.bbc.co.uk`, `bbc.co.uk`.

    Wikipedia is of its own kind whatever the table says.
    """

    def __init__(self, kinds: Mapping[str, Kind] = MappingProxyType({})) -> None:
        self._kinds = {**kinds, WIKIPEDIA: Kind.wikipedia}

    def __len__(self) -> int:
        return len(self._kinds)

    def sites_of(self, kind: Kind) -> list[str]:
        """The sites of one kind, in the order of the table."""
        return [site for site, own in self._kinds.items() if own is kind]

    def kind_of(self, url: str, default: Kind = Kind.unrated) -> Kind:
        """The kind of a page by its address; `default` where neither it nor a site above it is rated."""
        origin = _ORIGIN.match(url)
        site = _known_site(origin[0]) if origin else site_of(url)
        parts = site.split(".")
        above = (".".join(parts[place:]) for place in range(len(parts)))
        return next((self._kinds[site] for site in above if site in self._kinds), default)


def site_of(url: str) -> str:
    """The host that an address names, in lower case without `www.`; empty where there is none."""
    try:
        host = _split(url).hostname or ""
    except ValueError:
        return ""
    return host.lower().rstrip(".").removeprefix("www.")


@lru_cache(maxsize=4096)
def _known_site(origin: str) -> str:
    """As `site_of`; the pages of an index are of few sites."""
    return site_of(origin)


def read_ratings(path: Path | str) -> Ratings:
    """A table with a header, its columns divided by tabs or commas: one of sites, and one of factuality.

    So does Media Bias/Fact Check's list come: source_url, source_url_normalized, ref, fact, bias. An address with a
    path (`yahoo.com/news`) rates its site only where no other row does.
    """
    lines = Lines(path)
    kinds: dict[str, Kind] = {}
    by_page: dict[str, Kind] = {}
    for url, grade in _rows(lines):
        kind = KINDS.get(" ".join(grade.lower().split()))
        if kind is None:
            raise lines.fault(f"unknown factuality {grade!r}", next=nearest(grade.lower(), KINDS))
        site = site_of(url)
        if "." not in site:
            raise lines.fault(f"{url!r} names no web site", next="write an address such as https://example.org")
        if _path_of(url):
            by_page.setdefault(site, kind)
        elif kinds.setdefault(site, kind) != kind:
            raise lines.fault(f"{site} is both {kinds[site].value} and {kind.value}", next="rate every site once")
    if not kinds and not by_page:
        raise OffscriptError(f"{path} rates no site", next="give a table of sites and their factuality")
    return Ratings({**by_page, **kinds})


def _rows(lines: Lines) -> Iterator[tuple[str, str]]:
    """Address and grade of every row."""
    delimiter = "\t" if "\t" in next(iter(lines), "") else ","
    rows = table_rows(lines, delimiter=delimiter)
    header = [name.strip().lower() for name in next(rows, [])]
    site, fact = (_column(lines, header, known) for known in (SITE_COLUMNS, FACT_COLUMNS))
    for row in rows:
        yield row[site].strip(), row[fact]


def _column(lines: Lines, header: list[str], known: tuple[str, ...]) -> int:
    name = next((name for name in known if name in header), None)
    if name is None:
        raise lines.fault(f"no column {known[0]!r}", next=f"name one of the columns {', '.join(known)}")
    return header.index(name)


def _path_of(url: str) -> str:
    return _split(url).path.strip("/")


def _split(url: str) -> SplitResult:
    return urlsplit(url if _SCHEME.match(url) else f"//{url}")
