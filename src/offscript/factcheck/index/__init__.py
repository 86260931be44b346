"""The index on disk: immutable segments that are mapped into memory, and a manifest that is replaced as a whole."""

from offscript.factcheck.index.following import Update, index_files, update_index
from offscript.factcheck.index.reading import Index, check_index, open_index
from offscript.factcheck.index.writing import add_documents, build_index, delete_documents, merge_index

__all__ = [
    "Index",
    "Update",
    "add_documents",
    "build_index",
    "check_index",
    "delete_documents",
    "index_files",
    "merge_index",
    "open_index",
    "update_index",
]
