"""Many claims: a file of them goes in, a line of JSON for each comes out, and a run that was stopped resumes."""

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from offscript.corpora.lines import Lines, check_file, kind_of
from offscript.corpora.records import read_objects, text_field
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check
from offscript.factcheck.documents.decoding import TextLines, decode, read_bytes
from offscript.factcheck.documents.tables import record_rows
from offscript.factcheck.pipelines import ClaimPipeline

AHEAD = 8  # claims per worker that are begun before the first of them is written
KEPT = 2000  # checks that are kept for a text that comes again
TURN = 0.0005  # seconds
_CLAIM_FIELDS = ("claim", "statement", "sentence", "text")


class GivenClaim(NamedTuple):
    """A claim of a file; `id` is its own, else its number."""

    id: str
    claim: str


def read_batch(path: Path) -> list[GivenClaim]:
    """The claims of a file.

    Args:
        path: CSV or TSV with a column `claim` (or `statement`, `sentence`, `text`) and maybe `id`, JSON lines with such
            fields, or a text with a claim on every line.

    Returns:
        The claims in order; an id that is given twice is refused.
    """
    check_file(path)
    rows: Iterable[tuple[int, dict[str, Any]]]
    if (kind := kind_of(path)) in (".csv", ".tsv", ".tab"):
        rows = enumerate(record_rows(path), start=1)
    elif kind in (".jsonl", ".ndjson"):
        rows = enumerate(read_objects(Lines(path)), start=1)
    else:
        lines = TextLines(path, decode(read_bytes(path), path))
        rows = enumerate(({"claim": line.strip()} for line in lines if line.strip()), start=1)
    claims = [_given(row, number, path) for number, row in rows]
    if not claims:
        raise OffscriptError(f"{path} has no claim", next="give one on every line, or a table with a column claim")
    if len({each.id for each in claims}) < len(claims):
        raise OffscriptError(f"{path}: an id is given twice", next="give every claim an id of its own, or none")
    return claims


def _given(row: dict[str, Any], number: int, path: Path) -> GivenClaim:
    def fault(what: str, **rest: str) -> OffscriptError:
        return OffscriptError(f"{path}, record {number}: {what}", **rest)

    name = next((each for each in _CLAIM_FIELDS if each in row), _CLAIM_FIELDS[0])
    return GivenClaim(str(row.get("id") or number), text_field(row, name, fault))


def check_batch(
    checker: ClaimPipeline,
    claims: Sequence[GivenClaim],
    out: Path,
    *,
    settings: str = "",
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Check claims and write a line of JSON for each, in order; a claim that `out` has already is not checked again.

    Args:
        checker: What checks a claim; several threads use it at once.
        claims: What to check. The same text is checked once.
        out: Where lines are added; a line that a killed run left unfinished is removed.
        settings: How the checker was made. Results of other settings are not added to.
        workers: Threads; the inference model leaves the interpreter free while it reads.
        progress: Told how many more claims are done.

    Returns:
        How many claims were there already.
    """
    known = _known_results(out, settings)
    waiting = [each for each in claims if known.get(each.id) != each.claim]
    if len(claims) > len(waiting) and progress:
        progress(len(claims) - len(waiting))
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as stream, _sharing_the_interpreter(workers), _pool(workers) as pool:
        for given, check in _checked(checker, waiting, pool, workers * AHEAD):
            _write(stream, {**summary(given, check), "settings": settings})
            if progress:
                progress(1)
    return len(claims) - len(waiting)


@contextmanager
def _pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads; claims that nobody has begun are given up when the run breaks off."""
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _sharing_the_interpreter(workers: int) -> Iterator[None]:
    """Let threads take turns ten times as often as usual.

    A thread that comes back from reading a pair, which takes 2 ms without the interpreter, would otherwise wait for up
    to 5 ms until another one lets go of it, and two threads would be no faster than one.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(TURN if workers > 1 else interval)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def _checked(
    checker: ClaimPipeline, claims: Sequence[GivenClaim], pool: ThreadPoolExecutor, ahead: int
) -> Iterator[tuple[GivenClaim, Check]]:
    """Claims with their checks, in order, a few always begun ahead; of the same text the last check is used again."""
    lately: dict[str, Future[Check]] = {}
    begun: deque[tuple[GivenClaim, Future[Check]]] = deque()
    for each in claims:
        if each.claim not in lately:
            lately[each.claim] = pool.submit(checker.check, each.claim)
        begun.append((each, lately[each.claim]))
        if len(begun) >= ahead:
            given, check = begun.popleft()
            yield given, check.result()
        if len(lately) > KEPT:
            lately = {text: lately[text] for text in list(lately)[-KEPT // 2 :]}
    for given, check in begun:
        yield given, check.result()


def summary(given: GivenClaim, check: Check) -> dict[str, Any]:
    """A check as a line of results: verdict, probabilities, and the sentences that tell most, with their sources."""
    return {
        "id": given.id,
        "claim": given.claim,
        "verdict": check.verdict.value,
        "confidence": round(check.confidence, 4),
        "probabilities": {verdict.value: round(value, 4) for verdict, value in check.probabilities.items()},
        "not_judged": check.not_judged,
        "evidence": evidence_of(check),
    }


def evidence_of(check: Check) -> list[dict[str, Any]]:
    """The telling sentences of a check, each with its place and its document."""
    quoted = []
    for evidence in check.evidence:
        read = check.documents[evidence.document]
        sentence, document = read.sentences[evidence.sentence], read.document
        quoted.append(
            {
                "text": sentence.text,
                "stance": sentence.stance.label,
                "deciding": evidence == check.deciding,
                "document": document.id,
                "title": document.title,
                "url": document.url,
                "date": document.date,
                "start": sentence.start,
                "end": sentence.end,
            }
        )
    return quoted


def _known_results(out: Path, settings: str) -> dict[str, str]:
    """The claims that a file of results has, by id; an unfinished last line is cut off."""
    if not out.exists():
        return {}
    check_file(out)
    content = out.read_bytes()
    whole = content.rfind(b"\n") + 1
    known = {}
    for record in read_objects(TextLines(out, content[:whole].decode("utf-8", "replace"))):
        if not {"id", "claim", "settings"} <= record.keys():
            raise OffscriptError(f"{out} holds no results of offscript check", next="name another --out")
        if record["settings"] != settings:
            raise OffscriptError(
                f"{out} has results of other settings", why=str(record["settings"]), next="name another --out"
            )
        known[record["id"]] = record["claim"]
    if whole < len(content):
        os.truncate(out, whole)
    return known


def _write(stream: IO[str], record: dict[str, Any]) -> None:
    stream.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n")
    stream.flush()
