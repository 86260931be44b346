"""spaCy's tags and names, where a spaCy model for English is installed."""

import importlib.util
from collections.abc import Sequence
from typing import Any

from offscript.factcheck.tagging.token import Token

PIPELINES = ("en_core_web_trf", "en_core_web_lg", "en_core_web_md", "en_core_web_sm")
"""Model packages, the best first."""
# Dates, amounts and the like are no names; they are found as numbers.
NAMES = frozenset({"PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"})


def installed_pipeline() -> Any | None:
    """The best spaCy pipeline that is installed, or None."""
    if importlib.util.find_spec("spacy") is None:
        return None
    name = next((name for name in PIPELINES if importlib.util.find_spec(name) is not None), None)
    if name is None:
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


def _token(word: Any) -> Token:
    return Token(word.text, word.pos_ or "X", word.idx, word.idx + len(word.text))
