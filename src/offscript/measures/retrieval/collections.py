"""Collections that retrieval experiments search: an index, queries and which documents answer them."""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock

from offscript._files import cache_folder, sha256_of
from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.checked import Verdict
from offscript.factcheck.claims import PARTS, FeverPassages, JudgedClaim, Place, read_claims, read_fever_passages
from offscript.factcheck.documents import Document, read_documents
from offscript.factcheck.evaluation import Query
from offscript.factcheck.index import Index, build_index, open_index
from offscript.factcheck.index.files import MANIFEST

PAGES = "wiki-pages"  # FEVER's Wikipedia dump, as it is handed out


@dataclass(frozen=True)
class Collection:
    """What is searched, what is asked, and the grades of the documents that answer."""

    index: Index
    queries: list[Query]
    judgments: dict[str, dict[str, int]]


def open_collection(
    *,
    fever: str,
    dump: bool = False,
    part: str = "test",
    claims: int | None = None,
    stop_words: str = "english",
    stemmer: str = "none",
    seed: int = 1,
) -> Collection:
    """FEVER's verifiable claims and the pages where their evidence stands; stop words are dropped as Lucene 7 did.

    The documents are the pages that claims have evidence on, as far as it is known, or, if `dump`, all Wikipedia from
    the folder `wiki-pages`. `part` is the half of the claims that is asked, of which `claims` are drawn.
    """
    if part not in PARTS:
        raise OffscriptError(f"FEVER has no part {part!r}", next=f"known: {', '.join(PARTS)}")
    folder, analyzer = Path(fever), Analyzer(stop_words, stemmer)
    judged = read_claims(folder / f"paper_{part}.jsonl.xz") if dump else _known_pages(folder).claims[part]
    verifiable = [claim for claim in judged if claim.label is not Verdict.unknown]
    chosen = np.random.default_rng(seed).permutation(len(verifiable))[:claims]
    asked = [verifiable[place] for place in np.sort(chosen)]
    index = _index_of_dump(folder, analyzer) if dump else _index_of_known_pages(folder, analyzer)
    return Collection(index, [Query(claim.id, claim.claim) for claim in asked], _judgments(asked))


@functools.lru_cache(maxsize=1)
def _known_pages(folder: Path) -> FeverPassages:
    """The evidence texts of a page put together to one document under its title; claims point to these."""
    passages = read_fever_passages(folder, titled=True)
    texts: dict[str, list[str]] = {}
    for passage in passages.documents:
        texts.setdefault(passage.title or passage.id, []).append(passage.text)
    page_of = {passage.id: passage.title or passage.id for passage in passages.documents}
    documents = [Document(title, title, "\n\n".join(listed)) for title, listed in texts.items()]
    claims = {
        part: [dataclasses.replace(claim, evidence=_renamed(claim.evidence, page_of)) for claim in listed]
        for part, listed in passages.claims.items()
    }
    return FeverPassages(documents, claims)


def _renamed(evidence: tuple[frozenset[Place], ...], names: dict[str, str]) -> tuple[frozenset[Place], ...]:
    return tuple(frozenset((names[document], sentence) for document, sentence in found) for found in evidence)


def _judgments(claims: Iterable[JudgedClaim]) -> dict[str, dict[str, int]]:
    """A document that some set of a claim's evidence names is relevant to it."""
    return {claim.id: {document: 1 for found in claim.evidence for document, _ in found} for claim in claims}


def _index_of_known_pages(folder: Path, analyzer: Analyzer) -> Index:
    sources = [folder / "gold-evidence-dev" / "dev.raw.input0.xz", *sorted(folder.glob("paper_*.jsonl.xz"))]
    named = ["known pages", *(sha256_of(path) for path in sources)]
    return _kept_index(_known_pages(folder).documents, named, analyzer)


def _index_of_dump(folder: Path, analyzer: Analyzer) -> Index:
    dump = folder / PAGES
    if not dump.is_dir():
        raise OffscriptError(f"{dump} is missing", next="put FEVER's wiki-pages there, as they are handed out")
    named = [f"{path.name} {path.stat().st_size}" for path in sorted(dump.iterdir())]
    return _kept_index(read_documents(dump, format="fever"), named, analyzer)


def _kept_index(documents: Iterable[Document], sources: list[str], analyzer: Analyzer) -> Index:
    """The index of these sources, kept with what offscript can make again; who finds it being made waits."""
    named = json.dumps([sources, analyzer.settings()]).encode()
    folder = cache_folder() / "collections" / hashlib.sha256(named).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / MANIFEST).exists():
            build_index(documents, folder, analyzer=analyzer)
    return open_index(folder)
