"""Every parser takes time in proportion to its input: twice the size, at most two and a half times as long.

The sizes that are timed lie three doublings apart: work in proportion to the size then takes 8 times as long, work in
proportion to its square 64 times, and the bound of 2.5 per doubling, 15.6 times, is out of reach of a busy machine.
"""

import contextlib
import functools
import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing.kinds import check_line, write
from fuzzing.texts import CAT
from fuzzing.texts import TEXTS_READ as KINDS

from offscript.corpora.prose import separate_punctuation, split_sentences
from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document, read_documents
from offscript.factcheck.documents.collections import printed_sentences
from offscript.factcheck.documents.markup import plain_text
from offscript.factcheck.inference.corrections import corrected
from offscript.factcheck.inference.numbers import compared

_DOUBLINGS = 3


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def _growth(function: Callable[[Any], object], make: Callable[[int], Any]) -> float:
    """How much longer an input takes per doubling of its size; sizes at which it takes long enough to tell."""
    size = 4000
    small = make(size)
    while _seconds(functools.partial(function, small)) < 0.01 and size < 1 << 19:
        size *= 2
        small = make(size)
    large = make(size << _DOUBLINGS)
    ratios = []
    for _ in range(6):
        short, long = (_seconds(functools.partial(function, each)) for each in (small, large))
        ratios.append((long / short) ** (1 / _DOUBLINGS))
        if ratios[-1] < 2.5:
            break
    return min(ratios)


MARKUP: dict[str, Callable[[int], str]] = {
    "external links": lambda n: "[//" * n,
    "external links with spaces": lambda n: "[//a " * n,
    "closed external link": lambda n: "[//" * n + "]",
    "heading": lambda n: "=" + " " * n + "x",
    "equals signs": lambda n: "= " * n + "x",
    "references": lambda n: "<ref>" * n,
    "references without end of tag": lambda n: "<ref" * n + "</ref>",
    "references that end": lambda n: "<ref>" * n + "</ref>" * n,
    "formulas": lambda n: "<math>" * n,
    "objects": lambda n: "<code><pre>" * n,
    "tags": lambda n: "<a" * n,
    "comments": lambda n: "<!--" * n,
    "templates": lambda n: "{{" * n + "}}" * n,
    "mixed braces": lambda n: "{{{|" * n + "}}" * n,
    "links": lambda n: "[[a" * n + "]]" * n,
    "links without end": lambda n: "[[" * n,
    "brackets": lambda n: "(" + " " * n + "x",
    "many brackets": lambda n: "( ," * n,
    "emphasis": lambda n: "'" * n,
    "magic words": lambda n: "__A" * n,
    "entities": lambda n: "&#" + "1" * n + ";",
    "ampersands": lambda n: "&a" * n,
    "spaces": lambda n: " " * n + "x",
    "empty lines": lambda n: "\n " * n + "x",
    "list marks": lambda n: "*" * n,
}


@pytest.mark.parametrize("name", MARKUP)
def test_markup_takes_time_in_proportion_to_its_length(name: str) -> None:
    assert _growth(plain_text, MARKUP[name]) < 2.5


SENTENCES: dict[str, Callable[[int], str]] = {
    "stops": lambda n: "." * n,
    "stops and quotes": lambda n: ".'" * n,
    "spaced stops": lambda n: ". " * n,
    "sentences": lambda n: "A b. " * n,
    "a long word": lambda n: "a" * n + ". B",
    "spaces": lambda n: "." + " " * n + "x",
    "line breaks": lambda n: "\n" * n + "x",
    "full stops": lambda n: "。" * n,
    "initials": lambda n: "A. " * n,
}


CLAIMS = ("The king reigned for ten years", "Haydn was born before Mozart", "It is at most 5 km long")
LONG_SENTENCES: dict[str, Callable[[int], str]] = {
    "years": lambda n: "from 1900 " * n,
    "amounts": lambda n: "about 3 coins " * n,
    "names": lambda n: "Haydn 1700 " * n,
    "reports": lambda n: "reports that " * n,
}


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("name", LONG_SENTENCES)
def test_rules_on_a_sentence_take_time_in_proportion_to_its_length(name: str, claim: str) -> None:
    def judge(sentence: str) -> object:
        compared(claim, sentence)
        return corrected(claim, [sentence], np.array([[0.4, 0.3, 0.3]]), np.array([1.0]))

    assert _growth(judge, LONG_SENTENCES[name]) < 2.5


@pytest.mark.parametrize("split", [split_sentences, lambda text: Document("1", text=text).sentences()])
@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_take_time_in_proportion_to_their_length(name: str, split: Callable[[str], object]) -> None:
    assert _growth(split, SENTENCES[name]) < 2.5


@pytest.mark.parametrize("text", ["a\u0301\u0316", "\u0301\u0316", "--", "..", "“"])
def test_punctuation_takes_time_in_proportion_to_the_text(text: str) -> None:
    assert _growth(separate_punctuation, lambda n: text * n) < 2.5


@pytest.mark.parametrize("text", ["'", '"', "\\'", "'\\", "' \"", "'a' ", '"\\"'])
def test_printed_arrays_take_time_in_proportion_to_their_length(text: str) -> None:
    assert _growth(printed_sentences, lambda n: "[" + text * n) < 2.5
    assert _growth(printed_sentences, lambda n: "['" + text * n) < 2.5


FILES: dict[str, tuple[str, str, str, str]] = {
    # name: what repeats, what stands before and after it
    "TREC texts": ("d.trec", "<DOC>\n<DOCNO>1</DOCNO>\n", "<TEXT>", "\n</DOC>\n"),
    "TREC tags": ("d.trec", "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>", "<B", "</TEXT>\n</DOC>\n"),
    "TREC lines": ("d.trec", "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\n", "a\n", "</TEXT>\n</DOC>\n"),
    "Cranfield lines": ("d.cranfield", ".I 1\n.W\n", "a\n", ""),
    "Cranfield tags": ("d.cranfield", ".I 1\n.W\n.W", " ", "x\n"),
    "NPL lines": ("d.npl", "1\n", "a\n", "/\n"),
    "XML elements": ("d.xml", "<m>", "<a/>", "</m>"),
    "XML text": ("d.xml", "<m><page><ns>0</ns><id>1</id><revision><text>", "a ", "</text></revision></page></m>"),
    "XML attributes": ("d.xml", "<m ", "a ", "</m>"),
    "JSON fields": ("d.jsonl", '{"id": "1", "text": "', "a. A", '"}'),
    "SciFact rows": ("d.csv", "doc_id,title,abstract\n", "1,T,['\n", ""),
    "SciFact quotes": ("d.csv", "doc_id,title,abstract\n1,T,\"['", "\\'", '"\n'),
}


@pytest.mark.parametrize("name", FILES)
def test_documents_take_time_in_proportion_to_their_length(tmp_path: Path, name: str) -> None:
    file, before, text, after = FILES[name]
    formats = {".trec": "trec", ".cranfield": "cranfield", ".npl": "npl"}

    def make(n: int) -> Path:
        return write(tmp_path / f"{n}-{file}", (before + text * n + after).encode())

    def read(path: Path) -> None:
        with contextlib.suppress(OffscriptError):
            list(read_documents(path, format=formats.get(path.suffix, "auto")))  # type: ignore[arg-type]

    assert _growth(read, make) < 2.5


def test_the_blanks_of_an_association_are_found_in_time_in_proportion_to_its_length(tmp_path: Path) -> None:
    def make(n: int) -> Path:
        content = json.loads(json.dumps(CAT))
        [test] = content["data"]["intrasentence"]
        test["context"] = "BLANK" * 4
        for sentence in test["sentences"]:
            sentence["sentence"] = "a" * (4 * n - 4) + "b" * 4
        return write(tmp_path / f"{n}.json", json.dumps(content).encode())

    assert _growth(lambda path: check_line(lambda: KINDS["StereoSet"].read(path)), make) < 2.5
