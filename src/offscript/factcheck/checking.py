"""The checker: a claim in, a verdict with its evidence out (Figure 2-1 of the thesis)."""

import functools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from offscript.errors import missing_package
from offscript.factcheck.almanac import almanac_index, almanac_is_written
from offscript.factcheck.analysis.words import whole_characters
from offscript.factcheck.checked import Check, CheckedDocument, CheckedSentence, Reading, Verdict, unread
from offscript.factcheck.documents.dates import is_after
from offscript.factcheck.documents.document import Document
from offscript.factcheck.index import Index
from offscript.factcheck.inference.reading import InferenceReader
from offscript.factcheck.inference.stance import NAME, InferenceStance
from offscript.factcheck.inference.verdict import inference_verdicts
from offscript.factcheck.language import language_scores, read_lexicons
from offscript.factcheck.queries import query_of, search
from offscript.factcheck.retrieval.models import DEFAULT_MODEL
from offscript.factcheck.retrieval.reranking import prefer_titles, rerank_by_title, with_named
from offscript.factcheck.sources import Found, Kind, Provider
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.sources.ratings import Ratings, read_ratings
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import UNRELATED, Stance, StanceModel
from offscript.factcheck.stance.tokens import STOP_WORDS
from offscript.factcheck.texts.english import NOT_ENGLISH, is_english
from offscript.factcheck.verdict import VerdictModel, evidence_of_verdict, verdict_model

if TYPE_CHECKING:
    from offscript.factcheck.sources.engines import WebSearch

CLAIM_CHARACTERS = 2_000  # characters that are checked: a claim is a sentence, not a book
LONGEST_QUERY = 64  # words
FETCHED = 100  # documents a provider is asked for, before re-ranking
BEGINNING = 256  # sentences that a document's stance as a whole goes by
SENTENCES, READ = 16, 8  # sentences that a stance model judges, and that the inference model reads
TINY = 1e-300
PREFIX = 6  # letters by which words are looked for when sentences are chosen
UNJUDGED = {Verdict.supported: 0.0, Verdict.refuted: 0.0, Verdict.unknown: 1.0}
_WORD = re.compile(r"\w+")

Language = Callable[[str], Mapping[str, float]]
Rerank = Callable[[str, Sequence[Found]], list[Found]]
Query = Callable[[str], Sequence[str]]
ALMANAC = "almanac"


def query_words(claim: str) -> list[str]:
    """The words of a claim, each once, function words left out unless there are no others."""
    words = list(dict.fromkeys(_WORD.findall(claim)))
    telling = [word for word in words if word.lower() not in STOP_WORDS]
    return (telling or words)[:LONGEST_QUERY]


class Checker:
    """Checks claims against the documents of its providers. Several threads may use one checker.

    Args:
        providers: What finds documents: a `LocalIndex`, a search engine, or anything with `find(query, k)`.
        stance: How a text stands to a claim; the default model without it.
        verdicts: Makes a verdict of stances; by default the model that was fitted to the stance model.
        query: Makes search words of a claim: by default all that tell something, since an index finds more by them than
            by the few that search engines want (`queries.query_of`; Table 2.1, lines 5 and 12).
        rerank: Orders what was found; by default as the stance model needs it (`prefer_titles`, `rerank_by_title`).
        language: Scores a document's words.
        documents: Of all documents found, how many are read.
        as_of: Leave out documents that are dated after this day; those without a date stay.
        sentences: Of their sentences, how many go through the stance model, by words shared with the claim; the others
            count as unrelated. 16 by default, and 8 for the inference model: 12 are no better on FEVER's dev part.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        stance: StanceModel | None = None,
        verdicts: VerdictModel | None = None,
        query: Query = query_words,
        rerank: Rerank | None = None,
        language: Language = language_scores,
        documents: int = 10,
        sentences: int | None = None,
        as_of: date | None = None,
    ) -> None:
        self.providers, self._as_of = tuple(providers), as_of
        self.stance: StanceModel = stance or default_stance()
        self.verdicts = verdicts or default_verdicts(self.stance)
        self._query, self._language = query, language
        self._documents, self._sentences = documents, sentences or SENTENCES
        self._rerank: Rerank = rerank or rerank_by_title
        self._reader: InferenceReader | None = None
        if isinstance(self.stance, InferenceStance):
            self._rerank = rerank or prefer_titles
            self._reader = InferenceReader(self.stance, language=language, sentences=sentences or READ)

    def check(self, claim: str) -> Check:
        """The claim's whole way; whatever the text, there is an answer."""
        begun = time.perf_counter()
        text = whole_characters(claim).replace("\0", " ").strip()[:CLAIM_CHARACTERS]
        if not is_english(text):
            return unread(text, NOT_ENGLISH)
        query, not_judged = tuple(self._query(text)), self.verdicts.not_judged(text)
        reading = self._read(text, self._found(text, query))
        documents = reading.documents
        probabilities = UNJUDGED if not_judged else self.verdicts.probabilities(text, reading)
        verdict = self.verdicts.decide(probabilities)
        evidence, deciding = evidence_of_verdict(
            documents, self.verdicts.document_weights(text, documents), verdict, leaning=_leaning(probabilities)
        )
        return Check(
            claim=text,
            query=query,
            verdict=verdict,
            confidence=probabilities[verdict],
            probabilities=probabilities,
            documents=documents,
            evidence=evidence,
            by_kind=self.verdicts.stances_by_kind(documents),
            seconds=time.perf_counter() - begun,
            not_judged=not_judged,
            deciding=deciding,
            calibrated_on=self.verdicts.calibrated_on,
        )

    def _found(self, claim: str, query: Sequence[str]) -> list[Found]:
        found = [each for provider in self.providers for each in search(provider, tuple(query), FETCHED).found]
        once = {(each.document.id, each.document.url): each for each in reversed(found)}
        kept = [each for each in found if once[each.document.id, each.document.url] is each]
        if self._as_of is not None:
            kept = [each for each in kept if not is_after(each.document.date, self._as_of)]
        return with_named(claim, self._rerank(claim, kept), self._documents)

    def read(self, claim: str) -> Reading:
        """What is found for a claim, judged sentence by sentence, without a verdict."""
        return self._read(claim, self._found(claim, tuple(self._query(claim))))

    def _read(self, claim: str, found: Sequence[Found]) -> Reading:
        if self._reader is not None:
            return self._reader.read(claim, found)
        sentences = [each.document.sentences() for each in found]
        by_sentence = self._sentence_stances(claim, [each.document for each in found], sentences)
        beginnings = [own[:BEGINNING] for own in sentences]
        by_document = self.stance.of_documents(claim, beginnings) if found else np.zeros((0, 4))
        documents = (
            CheckedDocument(
                document=each.document,
                kind=each.kind,
                score=each.score,
                stance=Stance(*whole.tolist()),
                sentences=checked_sentences(each.document, own, stances),
                language=self._language(each.document.text),
            )
            for each, own, stances, whole in zip(found, sentences, by_sentence, by_document, strict=True)
        )
        return Reading(tuple(documents))

    def _sentence_stances(
        self, claim: str, documents: Sequence[Document], sentences: Sequence[Sequence[str]]
    ) -> list[list[Stance]]:
        """Of every sentence of every document; those that share too few words with the claim are not read."""
        places = [(number, place) for number, own in enumerate(sentences) for place in range(len(own))]
        shared = _shared_words(claim, [sentences[number][place] for number, place in places])
        order = np.argsort(-shared, kind="stable")[: self._sentences]
        chosen = [places[each] for each in order if shared[each] > 0]
        texts = [in_context(documents[number].title, sentences[number][place]) for number, place in chosen]
        stances = [[UNRELATED] * len(own) for own in sentences]
        if texts:
            rows = self.stance.of_sentences(claim, texts)
            for (number, place), row in zip(chosen, rows.tolist(), strict=True):
                stances[number][place] = Stance(*row)
        return stances


def check(claim: str, *, indexes: Sequence[Path | str] = (), stance: str | None = None) -> Check:
    """Check one claim; for many, make a checker once with `build_checker`.

    Args:
        claim: A sentence that can be true or false.
        indexes: Folders that `offscript index` wrote, or `almanac`; the almanac without any.
        stance: The stance model's name; the default without it.

    Returns:
        The verdict with its confidence, the evidence, and the documents that were read.
    """
    return build_checker(indexes, stance).check(claim)


def build_checker(
    indexes: Sequence[Path | str] = (),
    stance: str | None = None,
    ratings: Path | None = None,
    *,
    engines: Sequence[str] = (),
    lexicons: Path | None = None,
    risk: float | None = None,
    as_of: date | None = None,
    retrieval: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> Checker:
    """A checker on these indexes, or on the almanac, and on search engines.

    Args:
        indexes: folders that `offscript index` wrote, or `almanac`; the almanac without any.
        stance: `offscript/inference`, `offscript/stance`, `lexical` or a trained model's folder; else the default.
        ratings: a table of web sites and how factual they are.
        engines: search engines to ask too: `google` or `searxng`.
        lexicons: a folder of lexicons for the language of documents.
        risk: decide only where at most this share of decisions is wrong, if the stance model knows where that is.
        as_of: leave out documents that are dated after this day.
        retrieval: the model that finds documents in indexes, as in `offscript ls retrieval`; the default one without.
        announce: told when the almanac has to be written first, which takes a while.

    Returns:
        A checker; `check(claim)` gives the verdict, the evidence and the documents.
    """
    cues = read_lexicons(lexicons) if lexicons else None
    stances = stance_model(stance) if stance else default_stance()
    return Checker(
        open_providers(indexes, ratings, engines=engines, retrieval=retrieval, announce=announce),
        stance=stances,
        verdicts=None if risk is None else default_verdicts(stances).at_risk(risk),
        query=query_of if engines else query_words,  # search engines want few words
        language=lambda text: language_scores(text, cues),
        as_of=as_of,
    )


def open_providers(
    indexes: Sequence[Path | str] = (),
    ratings: Path | None = None,
    *,
    engines: Sequence[str] = (),
    retrieval: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> "list[LocalIndex | WebSearch]":
    """What finds documents: these indexes, or the almanac without any, and search engines.

    Args:
        indexes: Folders that `offscript index` wrote, or `almanac`.
        ratings: A table of web sites and how factual they are.
        engines: Search engines to ask too: `google` or `searxng`.
        retrieval: The model that finds documents in indexes; the default one without.
        announce: Told when the almanac has to be written first, which takes a while.

    Returns:
        The providers, indexes first.
    """
    rated, model = read_ratings(ratings) if ratings else Ratings(), retrieval or DEFAULT_MODEL
    local = [
        LocalIndex(_almanac(announce), kind=Kind.high, model=model)
        if str(folder) == ALMANAC and not Path(folder).is_dir()
        else LocalIndex(Path(folder), ratings=rated, model=model)
        for folder in indexes or [ALMANAC]
    ]
    return [*local, *(_web_search(name, rated) for name in engines)]


def default_stance() -> StanceModel:
    """The stance model that a checker uses unless it is given another."""
    return stance_model(NAME)


def default_verdicts(stance: StanceModel) -> VerdictModel:
    """The verdict model that was fitted to a stance model."""
    return inference_verdicts() if isinstance(stance, InferenceStance) else verdict_model(stance.name)


def _shared_words(claim: str, sentences: Sequence[str]) -> NDArray[np.int64]:
    """How many of the claim's words each sentence holds, by their first letters; [sentences]."""
    beginnings = {word.lower()[:PREFIX] for word in query_words(claim)}
    return np.array([sum(word in lower for word in beginnings) for lower in map(str.lower, sentences)], dtype=np.int64)


def in_context(title: str, sentence: str) -> str:
    """The sentence, after its document's title where it names nothing of that: `It is …` is said of something."""
    lower = sentence.lower()
    return sentence if not title or any(word in lower for word in _title_words(title)) else f"{title}: {sentence}"


@functools.lru_cache(maxsize=1 << 12)
def _title_words(title: str) -> tuple[str, ...]:
    return tuple(word for word in _WORD.findall(title.lower()) if word not in STOP_WORDS)


def checked_sentences(
    document: Document, sentences: Sequence[str], stances: Sequence[Stance]
) -> tuple[CheckedSentence, ...]:
    """The sentences of a document with their places in its text."""
    starts = document.sentence_starts()
    return tuple(
        CheckedSentence(number, start, start + len(text), text, stance)
        for number, (start, text, stance) in enumerate(zip(starts, sentences, stances, strict=True))
    )


def _leaning(probabilities: Mapping[Verdict, float]) -> float:
    supported, refuted = probabilities[Verdict.supported], probabilities[Verdict.refuted]
    return (supported - refuted) / max(supported + refuted, TINY)


def _web_search(name: str, ratings: Ratings) -> "WebSearch":
    """The search engine of this name; its modules need the extra `web`, which other checks do without."""
    try:
        from offscript.factcheck.sources.engines import web_search
    except ModuleNotFoundError as error:
        raise missing_package(f"--search {name}", str(error.name), extra="web") from error
    return web_search(name, ratings=ratings)


def _almanac(announce: Callable[[str], None] | None) -> Index:
    if announce is not None and not almanac_is_written():
        announce("writing the almanac into the cache (once) …")
    return almanac_index()
