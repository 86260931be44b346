"""A claim's way: query, retrieval, reranking, stance, evidence, language, verdict.

Nothing enters here that knows a language model: of the packages before it, factcheck imports statistics, corpora and
learning. The names below load on first use.
"""

from typing import TYPE_CHECKING

from offscript._lazy import loader, public_names

if TYPE_CHECKING:
    from offscript.factcheck.checked import Check as Check
    from offscript.factcheck.checked import Verdict as Verdict
    from offscript.factcheck.checking import Checker as Checker
    from offscript.factcheck.checking import build_checker as build_checker
    from offscript.factcheck.checking import check as check
    from offscript.factcheck.documents import Document as Document
    from offscript.factcheck.documents import read_documents as read_documents
    from offscript.factcheck.fakta import Fakta as Fakta
    from offscript.factcheck.index import Index as Index
    from offscript.factcheck.index import add_documents as add_documents
    from offscript.factcheck.index import build_index as build_index
    from offscript.factcheck.index import check_index as check_index
    from offscript.factcheck.index import open_index as open_index
    from offscript.factcheck.pipelines import build_pipeline as build_pipeline
    from offscript.factcheck.retrieval import Searcher as Searcher
    from offscript.factcheck.sources.local import LocalIndex as LocalIndex

_PLACES = {
    "checked": "Check Verdict",
    "checking": "Checker build_checker check",
    "documents": "Document read_documents",
    "fakta": "Fakta",
    "index": "Index add_documents build_index check_index open_index",
    "pipelines": "build_pipeline",
    "retrieval": "Searcher",
    "sources.local": "LocalIndex",
}
__getattr__ = loader(__name__, _PLACES)
__all__ = public_names(_PLACES)
