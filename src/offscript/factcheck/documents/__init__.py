"""Documents come in: one reader a layout, all of them streams of `Document`."""

from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.readers import read_documents

__all__ = ["Document", "read_documents"]
