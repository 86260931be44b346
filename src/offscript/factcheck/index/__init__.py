"""The index on disk: immutable segments that are mapped into memory, and a manifest that is replaced as a whole."""

from offscript.factcheck.index.reading import Index, check_index, open_index
from offscript.factcheck.index.writing import add_documents, build_index, delete_documents, merge_index

__all__ = ["Index", "add_documents", "build_index", "check_index", "delete_documents", "merge_index", "open_index"]
