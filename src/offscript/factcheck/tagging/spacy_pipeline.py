"""spaCy's tags and names, where a spaCy model for English is installed."""

from collections.abc import Sequence
from importlib import metadata
from typing import Any

from offscript.factcheck.tagging.token import Token

PIPELINES = ("en_core_web_trf", "en_core_web_lg", "en_core_web_md", "en_core_web_sm")
"""Model packages, the best first."""
# Dates, amounts and the like are no names; they are found as numbers.
NAMES = frozenset({"PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"})


def installed_pipeline() -> Any | None:
    """The best spaCy pipeline that is installed, or None."""
    name = next(filter(_is_installed, PIPELINES), None)
    if name is None or not _is_installed("spacy"):
        return None
    import spacy

    return spacy.load(name)


class SpacyTagger:
    """A spaCy pipeline as a tagger."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def tag(self, texts: Sequence[str]) -> list[list[Token]]:
        parsed = self._pipeline.pipe(texts)
        return [[_token(word) for word in document if not word.is_space] for document in parsed]

    def entities(self, text: str) -> list[str]:
        return [entity.text for entity in self._pipeline(text).ents if entity.label_ in NAMES]


def _is_installed(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _token(word: Any) -> Token:
    return Token(word.text, word.pos_ or "X", word.idx, word.idx + len(word.text))
