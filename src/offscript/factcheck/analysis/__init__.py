"""Text becomes terms: word boundaries, lower case, stop words, stems. An index keeps the analysis it was made with."""

from offscript.factcheck.analysis.analyzer import Analyzer

__all__ = ["Analyzer"]
