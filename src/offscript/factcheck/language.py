"""How a text speaks: which share of its words are cues of subjectivity, sentiment and bias (eq. 2.2)."""

import functools
import importlib.util
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree

from offscript.corpora.lines import Lines
from offscript.corpora.wordlists import WORD, words_of
from offscript.errors import OffscriptError, missing_package
from offscript.factcheck.analysis.analyzer import stem_function

SUBJECTIVITY, SENTIMENT, BIAS = "subjectivity", "sentiment", "bias"
FILES = {
    SUBJECTIVITY: ("*subjectivity-clues*.tff*", "subjclues*.tff*", "strong_subjectives*.txt"),
    SENTIMENT: ("positive-words.txt", "negative-words.txt"),
    BIAS: ("npov_lexicon*.txt", "bias-lexicon*.txt", "words-to-watch.txt"),
}
"""Names under which the lexicons of the paper are handed out: MPQA's, Hu and Liu's, and Recasens et al.'s."""
SUBJECTIVE_FROM = 0.5  # TextBlob's words have a subjectivity from 0 to 1
_MPQA_KEYS = {"type", "word1", "stemmed1"}
LEMMAS = "npov"  # a list of lemmas, which stand for all their forms
WORDS_TO_WATCH = Path(__file__).parent / "words-to-watch.txt"


@dataclass(frozen=True)
class Cues:
    """Words that tell of one thing: in the forms given, by their stems whatever the form, and as phrases."""

    words: frozenset[str] = frozenset()
    stems: frozenset[str] = frozenset()
    phrases: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, entries: Iterable[str], *, stemmed: Iterable[str] = ()) -> "Cues":
        """From entries of one or more words; `stemmed` ones stand for all forms of their word.

        Entries that hold more than words, such as `a+`, are left out: no word of a text would be theirs alone.
        """
        cut = [tuple(words_of(entry)) for entry in entries if _is_words(entry)]
        phrases: dict[str, tuple[tuple[str, ...], ...]] = {}
        for phrase in dict.fromkeys(cut):
            if len(phrase) > 1:
                phrases[phrase[0]] = (*phrases.get(phrase[0], ()), phrase)
        stems = frozenset(_stem(words[0]) for entry in stemmed if len(words := words_of(entry)) == 1)
        return cls(frozenset(phrase[0] for phrase in cut if len(phrase) == 1), stems, phrases)

    def __or__(self, other: "Cues") -> "Cues":
        joined = {
            first: (*self.phrases.get(first, ()), *other.phrases.get(first, ()))
            for first in (*self.phrases, *other.phrases)
        }
        return Cues(self.words | other.words, self.stems | other.stems, joined)

    def found_in(self, words: list[str]) -> Iterator[str]:
        """The cues of a text in order, each as it stands there."""
        for place, word in enumerate(words):
            if word in self.words or (self.stems and _stem(word) in self.stems):
                yield word
            for phrase in self.phrases.get(word, ()):
                if tuple(words[place : place + len(phrase)]) == phrase:
                    yield " ".join(phrase)


Lexicons = Mapping[str, Cues]
"""Cues by what they tell of: `subjectivity`, `sentiment`, `bias`, or what a user names."""


def language_scores(text: str, lexicons: Lexicons | None = None) -> dict[str, float]:
    """For every lexicon L(D) = Σ count(cue, D) / Σ count(word, D) (eq. 2.2); 0 where there are no words."""
    total = max(len(words_of(text)), 1)
    return {name: found.total() / total for name, found in cue_counts(text, lexicons).items()}


def cue_counts(text: str, lexicons: Lexicons | None = None) -> dict[str, Counter[str]]:
    """For every lexicon its cues in the text and how often each occurs."""
    words = words_of(text)
    return {name: Counter(cues.found_in(words)) for name, cues in (lexicons or default_lexicons()).items()}


@functools.cache
def default_lexicons() -> Lexicons:
    """Subjective words of TextBlob (PDDL), sentiment of VADER (MIT), and words that Wikipedia's editors watch for."""
    return MappingProxyType(
        {
            SUBJECTIVITY: _subjective_words(_packaged("textblob", "en/en-sentiment.xml")),
            SENTIMENT: _sentiment_words(_packaged("vaderSentiment", "vader_lexicon.txt")),
            BIAS: read_cues(WORDS_TO_WATCH),
        }
    )


def read_lexicons(folder: Path | str) -> Lexicons:
    """Lexicons from a folder, and folders in it, that holds the paper's under the names they are handed out by.

    Subjectivity is MPQA's `subjectivity-clues.tff` (strong cues alone count) or a list `strong_subjectives….txt`;
    sentiment `positive-words.txt` and `negative-words.txt`; bias `npov_lexicon.txt`. What is missing comes from
    `default_lexicons`; a folder with none of them is refused.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise OffscriptError(f"no such folder: {folder}", next="name a folder with lexicons")
    found = {
        name: cues for name, patterns in FILES.items() if (cues := _first_found(folder, patterns, name)) is not None
    }
    if not found:
        known = ", ".join(pattern for patterns in FILES.values() for pattern in patterns)
        raise OffscriptError(f"{folder} holds no lexicon", next=f"put in some of {known}")
    return MappingProxyType({**default_lexicons(), **found})


def read_cues(path: Path | str) -> Cues:
    """Cues of one file: MPQA's `key=value` lines, or one entry per line; `;` and `#` begin comments."""
    lines = Lines(path)
    if ".tff" in lines.path.suffixes:
        return _mpqa_cues(lines)
    entries = [line.strip() for line in lines if line.strip() and not line.startswith((";", "#"))]
    cues = Cues.of(entries, stemmed=entries if LEMMAS in lines.path.name else ())
    if not (cues.words or cues.phrases):
        raise OffscriptError(f"{path} lists no word", next="put one word on a line")
    return cues


def _first_found(folder: Path, patterns: tuple[str, ...], name: str) -> Cues | None:
    """Sentiment is two lists together; of the others the first there is counts."""
    paths = [path for pattern in patterns for path in sorted(folder.rglob(pattern))]
    if not paths:
        return None
    chosen = [read_cues(path) for path in (paths if name == SENTIMENT else paths[:1])]
    return functools.reduce(Cues.__or__, chosen)


def _mpqa_cues(lines: Lines) -> Cues:
    plain: list[str] = []
    stemmed: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        clue = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if not clue.keys() >= _MPQA_KEYS:
            raise lines.fault("not a subjectivity clue", next="write type=strongsubj len=1 word1=… pos1=… stemmed1=n …")
        if clue["type"] == "strongsubj":
            (stemmed if clue["stemmed1"] == "y" else plain).append(clue["word1"])
    if not plain and not stemmed:
        raise OffscriptError(f"{lines.path} has no strong clue", next="give MPQA's subjectivity clues")
    return Cues.of([*plain, *stemmed], stemmed=stemmed)


def _subjective_words(path: Path) -> Cues:
    senses: dict[str, list[float]] = {}
    for word in ElementTree.parse(path).getroot().iter("word"):
        senses.setdefault(word.get("form", ""), []).append(float(word.get("subjectivity", "0")))
    return Cues.of(form for form, values in senses.items() if sum(values) / len(values) >= SUBJECTIVE_FROM)


def _sentiment_words(path: Path) -> Cues:
    entries = (line.split("\t")[0] for line in Lines(path))
    return Cues.of(entry for entry in entries if WORD.fullmatch(entry))


def _packaged(package: str, name: str) -> Path:
    """A file of an installed package, found without importing it."""
    specification = importlib.util.find_spec(package)
    places = specification.submodule_search_locations if specification else None
    if not places:
        raise missing_package("the default lexicon", package)
    return Path(next(iter(places))) / name


def _is_words(entry: str) -> bool:
    return " ".join(words_of(entry)) == " ".join(entry.lower().split())


@functools.lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return stem_function("porter")(word)
