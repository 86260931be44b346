"""How text is cut into tokens before it is compared: by name, so that a score can say which."""

from collections.abc import Callable, Iterable

from offscript._specification import nearest
from offscript.corpora.vocabularies import HubVocabulary
from offscript.errors import OffscriptError

Tokenize = Callable[[str], list[str] | list[int]]

HUB = "hub:"


def tokenizer(name: str) -> Tokenize:
    """The tokenizer of that name.

    `whitespace` splits at white space; `nltk` is NLTK's Treebank tokenizer, whose rules `word_tokenize` followed when
    the published scores of text generators were made (today's also parts runs of dots and rewrites quotes); it needs
    no downloaded models. `characters` takes every character, `hub:NAME` the token ids of a Hugging Face tokenizer.
    """
    if name.startswith(HUB):
        return HubVocabulary.load(name.removeprefix(HUB)).encode
    known: dict[str, Callable[[], Tokenize]] = {
        "whitespace": lambda: str.split,
        "characters": lambda: list,
        "nltk": _nltk,
    }
    if name not in known:
        raise OffscriptError(f"no tokenizer {name!r}", next=nearest(name, [*known, f"{HUB}NAME"]))
    return known[name]()


def tokenize(texts: Iterable[str], name: str) -> list[list[str] | list[int]]:
    """Every text as tokens."""
    split = tokenizer(name)
    return [split(text) for text in texts]


def _nltk() -> Tokenize:
    try:
        from nltk.tokenize import TreebankWordTokenizer  # type: ignore[import-untyped]
    except ImportError as error:
        raise OffscriptError("nltk is not installed", next="pip install nltk, or choose whitespace") from error
    split: Tokenize = TreebankWordTokenizer().tokenize
    return split
