"""Several corpora by name, `news=news.txt`: which files each has, and all of them in turn."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from offscript._files import is_there
from offscript.errors import OffscriptError

_NAMED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_-]*)=(?P<source>.+)")


def domains_of(sources: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The sources of each domain, in the order of their names; none where no source has a name.

    Args:
        sources: Files or Hub datasets, each as `SOURCE` or, all of them, as `NAME=SOURCE`. A name that comes again adds
            to its domain. A file whose own name has an equals sign is no domain.

    Returns:
        Sources by the names of their domains.
    """
    named = [None if is_there(Path(source)) else _NAMED.fullmatch(source) for source in sources]
    if not any(named):
        return {}
    domains: dict[str, tuple[str, ...]] = {}
    for source, match in zip(sources, named, strict=True):
        if match is None:
            raise OffscriptError(
                f"the corpus {source} has no name, but others have", next="write NAME=FILE for each corpus, or for none"
            )
        domains[match["name"]] = (*domains.get(match["name"], ()), match["source"])
    return domains


def in_turn(streams: Iterable[Iterator[str]]) -> Iterator[str]:
    """The first text of each stream, then the second of each, …, until all have ended.

    Args:
        streams: Texts of several corpora.

    Returns:
        Their texts, so that any number from the first on holds as many of each as there are.
    """
    left = list(streams)
    while left:
        going = []
        for stream in left:
            text = next(stream, None)
            if text is not None:
                going.append(stream)
                yield text
        left = going
