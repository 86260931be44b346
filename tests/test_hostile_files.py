"""Every reader against damaged and hostile files: records, or one line that names the file, in linear time."""

import bz2
import contextlib
import functools
import gc
import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offscript.corpora import EncodedCorpus, WordVocabulary, encode_corpus, read_sentences, vocabulary_from
from offscript.corpora import lines as line_layer
from offscript.corpora.associations import read_association_tests, read_predictions
from offscript.corpora.lines import Lines
from offscript.corpora.prose import separate_punctuation, split_sentences
from offscript.corpora.records import read_json_value
from offscript.corpora.wordlists import read_frequencies, read_sentiment_words
from offscript.errors import OffscriptError
from offscript.factcheck.claims import read_claims, read_fever_passages
from offscript.factcheck.documents import Document, read_documents
from offscript.factcheck.documents.collections import printed_sentences
from offscript.factcheck.documents.markup import plain_text
from offscript.factcheck.evaluation import read_judgments, read_queries
from offscript.factcheck.language import read_cues
from offscript.factcheck.sources.ratings import read_ratings
from offscript.factcheck.stance.pairs import read_pairs
from offscript.factcheck.stance.teaching.tasks import read_task
from offscript.factcheck.tagging.tagger import read_treebank
from offscript.measures.stance.estimation import read_predictions as read_stances
from offscript.models.tabular import Tabular

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}


class Kind(NamedTuple):
    """A kind of file: its name below a folder, an example, and what reads it; `read` gets the folder or the file."""

    name: str
    example: str
    read: Callable[[Path], object]
    others: Mapping[str, str] = MappingProxyType({})
    whole_folder: bool = False


def _records(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


CAT = {
    "data": {
        "intrasentence": [
            {
                "id": "i",
                "target": "t",
                "bias_type": "race",
                "context": "He is BLANK.",
                "sentences": [
                    {"id": label, "sentence": f"He is {label}.", "gold_label": label}
                    for label in ("stereotype", "anti-stereotype", "unrelated")
                ],
            }
        ]
    }
}
DUMP = (
    "<mediawiki><siteinfo><base>https://x.org/wiki/A</base></siteinfo><page><title>T</title><ns>0</ns><id>1</id>"
    "<revision><timestamp>2019</timestamp><text>''A'' &amp; [[b|c]].</text></revision></page></mediawiki>"
)
FNC = {
    "competition_test_bodies.csv": "Body ID,articleBody\n1,One. Two.\n",
    "competition_test_stances.csv": "Headline,Body ID,Stance\nH,1,agree\n",
}
SCIFACT = {
    "corpus_train.csv": "doc_id,title,abstract,structured\n7,T,['One.' \"Two.\"],False\n",
    "claims_validation.csv": (
        "id,claim,evidence_doc_id,evidence_label,evidence_sentences,cited_doc_ids\n3,x,7,SUPPORT,[0 1],[7]\n"
    ),
}
TEXTS = {"gold-evidence-dev/dev.raw.input0.xz": "A text .\n", "gold-evidence-dev/dev.raw.input1.xz": "A claim.\n"}
FEVER = _records({"id": 1, "claim": "A claim.", "label": "SUPPORTS", "evidence": [[[1, 2, "Page_A", 0]]]})
PERSPECTRUM = {
    "perspectrum/perspective_pool_v1.0.json": '[{"pId": 1, "text": "w"}, {"pId": 2, "text": "v"}]',
    "perspectrum/dataset_split_v1.0.json": '{"5": "train"}',
    "perspectrum/perspectrum_with_answers_v1.0.json": json.dumps(
        [{"cId": 5, "text": "c", "perspectives": [{"stance_label_3": "SUPPORT", "pids": [1, 2]}]}]
    ),
}
MNLI = 'For the statement, "a", does the hypothesis "b" represent entailment, contradiction, or neutrality?'


def _all(read: Callable[[Any], Iterable[object]]) -> Callable[[Path], object]:
    return lambda path: list(read(path))


def _task(name: str) -> Callable[[Path], object]:
    return lambda folder: read_task(name, folder)


def _documents(format: str = "auto") -> Callable[[Path], object]:
    return lambda path: [document.sentences() for document in read_documents(path, format=format)]  # type: ignore[arg-type]


def _fills(path: Path) -> object:
    return [
        test.fill(each)
        for test in read_association_tests(path)
        for each in test.associations
        if "BLANK" in test.context
    ]


KINDS = {
    "sentences": Kind("a.txt", "One .\nTwo .\n", _all(read_sentences)),
    "sentences in JSON": Kind("a.jsonl", _records({"text": "one"}, {"text": "two"}), _all(read_sentences)),
    "sentences in CSV": Kind("a.csv", 'id,text\n1,"a, b"\n', _all(read_sentences)),
    "WikiText": Kind("a.tokens", " = T = \n A text . \n", _all(read_sentences)),
    "documents": Kind("d.jsonl", _records({"id": "1", "title": "T", "text": "One. Two.", "url": "u"}), _documents()),
    "SciFact documents": Kind("d.jsonl", _records({"doc_id": 1, "title": "T", "abstract": ["One."]}), _documents()),
    "FEVER documents": Kind("d.jsonl", _records({"id": "A_-LRB-b", "lines": "0\tOne .\tx\n1\t"}), _documents()),
    "SciFact table": Kind("d.csv", SCIFACT["corpus_train.csv"], _documents()),
    "Cranfield": Kind("d.all", ".I 1\n.T\nTitle\n.W\nOne. Two.\n", _documents("cranfield")),
    "TREC": Kind(
        "d.sgml", "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\nOne &amp; <B>two</B>.\n</TEXT>\n</DOC>\n", _documents("trec")
    ),
    "NPL": Kind("d.npl", "1\nOne two\n/\n", _documents("npl")),
    "Wikipedia": Kind("d.xml", DUMP, _documents()),
    "text": Kind("d.txt", "One. Two.\n", _documents()),
    "claims": Kind(
        "c.jsonl",
        _records(
            {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [["a", 3], "b", [["c", 1], ["d", None]]]},
            {"id": 2, "claim": "c", "label": "REFUTES", "evidence": [[[1, 2, "Page", 0]]]},
            {"id": 3, "claim": "c", "evidence": {"7": [{"sentences": [1], "label": "CONTRADICT"}]}},
        ),
        read_claims,
    ),
    "claims table": Kind("c.csv", SCIFACT["claims_validation.csv"], read_claims),
    "FEVER passages": Kind(
        "paper_dev.jsonl.xz",
        FEVER,
        lambda folder: read_fever_passages(folder, titled=True),
        {**TEXTS, "paper_test.jsonl.xz": FEVER},
        True,
    ),
    "queries": Kind("q.jsonl", _records({"id": 1, "text": "q"}), read_queries),
    "judgments": Kind("qrels", "1 0 a 1\n1 0 b 0\n", read_judgments),
    "pairs": Kind(
        "p.jsonl", _records({"claim": "c", "text": "One. Two.", "label": "agree"}), lambda p: read_pairs(str(p))
    ),
    "FNC bodies": Kind("competition_test_bodies.csv", "", lambda folder: read_pairs(str(folder)), FNC, True),
    "FNC stances": Kind("competition_test_stances.csv", "", lambda folder: read_pairs(str(folder)), FNC, True),
    "SciFact corpus": Kind("corpus_train.csv", "", lambda folder: read_pairs(str(folder)), SCIFACT, True),
    "SciFact claims": Kind("claims_validation.csv", "", lambda folder: read_pairs(str(folder)), SCIFACT, True),
    "stances": Kind(
        "s.csv",
        FNC["competition_test_stances.csv"],
        lambda folder: read_stances(folder / "s.csv", read_pairs(str(folder))),
        FNC,
        True,
    ),
    "StereoSet": Kind("t.json", json.dumps(CAT), _fills),
    "predictions": Kind("p.json", '{"intrasentence": [{"id": "a", "score": 0.5}]}', read_predictions),
    "ratings": Kind("r.tsv", "source_url\tfact\nhttps://a.org\thigh\n", read_ratings),
    "MPQA": Kind("m.tff", "type=strongsubj len=1 word1=abuse pos1=verb stemmed1=y priorpolarity=negative\n", read_cues),
    "lexicon": Kind("l.txt", "; x\ngood\nvery good\n", read_cues),
    "sentiment words": Kind(
        "positive-words.txt", "good\n", read_sentiment_words, {"negative-words.txt": "bad\n"}, True
    ),
    "frequencies": Kind("f.txt", "the 7\ncat\t1\n", read_frequencies),
    "treebank": Kind("t.conllu", "# x\n1\tA\ta\tDET\t_\t_\t0\tx\t_\t_\n\n", _all(read_treebank)),
    "tabular": Kind(
        "t.json",
        '{"kind": "tabular", "vocabulary": ["A", "B"], "length": 2, "end": "B", "next": {"": [0.5, 0.5], "A": [1, 0]}}',
        Tabular.load,
    ),
    "vocabulary": Kind(
        "v.json",
        '{"kind": "word", "lower": false, "end": "b", "unknown": null, "symbols": ["a", "b"]}',
        lambda path: vocabulary_from(read_json_value(path)),
    ),
    "SNLI": Kind("aux-nli/snli-train-sample/train.csv", "1\t0\ta\tb\n", _task("snli"), {}, True),
    "MNLI": Kind(
        "aux-nli/mnli-sample/mnli_train.csv",
        'Question,Answer\n"' + MNLI.replace('"', '""') + '",neutral\n',
        _task("mnli"),
        {},
        True,
    ),
    "FEVER sample": Kind(
        "fever/train-sample/train_balanced_10000_samples.csv",
        "claim,label,sentence\nc,SUPPORTS,s\n",
        _task("fever"),
        {},
        True,
    ),
    "RTE": Kind(
        "aux-nli/rte-glue/train.tsv", "sentence1\tsentence2\tlabel\na\tb\tentailment\n", _task("rte"), {}, True
    ),
    "SST": Kind("aux-sentiment/sst-2/train.tsv", "sentence\tlabel\na \t1\n", _task("sst"), {}, True),
    **{
        f"PERSPECTRUM {name.rpartition('/')[2]}": Kind(name, "", _task("paraphrases"), PERSPECTRUM, True)
        for name in PERSPECTRUM
    },
}


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PACK.get(path.suffix, bytes)(content))
    return path


def _folder(kind: Kind, root: Path) -> Path:
    """A fresh folder with the files beside the one that is damaged."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name, text in kind.others.items():
        _write(root / name, text.encode())
    return root


def _example(kind: Kind) -> bytes:
    return (kind.example or kind.others[kind.name]).encode()


def _outcome(kind: Kind, root: Path, path: Path) -> str:
    """What a reader says of a file: an error's line, or nothing."""
    try:
        kind.read(root if kind.whole_folder else path)
    except OffscriptError as error:
        return str(error)
    return ""


def _check(kind: Kind, root: Path, path: Path) -> None:
    line = _outcome(kind, root, path)
    assert "\n" not in line
    assert len(line) < 4000
    line.encode()


NUMBERS = st.integers() | st.just(10**400) | st.floats() | st.just(2**63)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just("\ud800") | st.just("a\0b")
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "a", ""]), inner, max_size=2)
    ),
    max_leaves=5,
)
PIECES = [
    b"",
    b"\0",
    b"\xff",
    b"\r",
    b"\n",
    b"\t",
    b",",
    b'"',
    b"'",
    b"[",
    b"{",
    b"<",
    b"</",
    b"&#99999999999;",
    b"\\u",
    b"1e999",
    b"9" * 5000,
]
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 8), st.binary(max_size=4) | st.sampled_from(PIECES)),
    min_size=1,
    max_size=4,
)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _edited(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for place, length, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + length :]
    return content


def _replaced(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """A JSON value with another one somewhere in it, or with a key gone."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(VALUES)
    if isinstance(value, list):
        place = draw(st.integers(0, len(value) - 1))
        return [_replaced(each, draw) if index == place else each for index, each in enumerate(value)]
    key = draw(st.sampled_from(sorted(value)))
    if draw(st.integers(0, 5)) == 0:
        return {name: each for name, each in value.items() if name != key}
    return {name: _replaced(each, draw) if name == key else each for name, each in value.items()}


@pytest.mark.parametrize("name", KINDS)
def test_examples_are_read(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    root = _folder(kind, tmp_path / "files")
    assert _outcome(kind, root, _write(root / kind.name, _example(kind))) == ""


@pytest.mark.parametrize("name", KINDS)
@given(content=st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")))
@QUICK
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    kind = KINDS[name]
    root = _folder(kind, tmp_path / "files")
    _check(kind, root, _write(root / kind.name, content))


@pytest.mark.parametrize("name", KINDS)
@given(edits=EDITS)
@QUICK
def test_damaged_examples_are_read_or_refused_in_one_line(
    tmp_path: Path, name: str, edits: list[tuple[float, int, bytes]]
) -> None:
    kind = KINDS[name]
    root = _folder(kind, tmp_path / "files")
    _check(kind, root, _write(root / kind.name, _edited(_example(kind), edits)))


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if _example(kind)[:1] in b"{["])
@given(data=st.data())
@QUICK
def test_json_of_wrong_types_is_read_or_refused_in_one_line(tmp_path: Path, name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    root = _folder(kind, tmp_path / "files")
    whole = Path(kind.name).suffix == ".json"
    documents = [json.loads(text) for text in ([_example(kind)] if whole else _example(kind).splitlines())]
    place = data.draw(st.integers(0, len(documents) - 1))
    documents[place] = _replaced(documents[place], data.draw)
    _check(kind, root, _write(root / kind.name, "\n".join(map(json.dumps, documents)).encode()))


@pytest.mark.parametrize("suffix", PACK)
@given(edits=EDITS)
@QUICK
def test_damaged_compressed_files_are_read_or_refused_in_one_line(
    tmp_path: Path, suffix: str, edits: list[tuple[float, int, bytes]]
) -> None:
    packed = PACK[suffix](b"One sentence .\n" * 50)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(_edited(packed, edits))
    _check(KINDS["sentences"], tmp_path, path)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_deep_nesting_is_refused(tmp_path: Path, kind: Kind) -> None:
    root = _folder(kind, tmp_path / "files")
    for content in (b"[" * 100_000, b'{"a":' * 100_000, b"<a>" * 100_000, b"[[" * 50_000 + b"]]" * 50_000):
        _check(kind, root, _write(root / kind.name, content))


def test_a_damaged_corpus_description_is_refused(tmp_path: Path) -> None:
    encode_corpus(["a b"], WordVocabulary(["<unk>", "<eos>", "a", "b"]), end=True, folder=tmp_path)
    path = tmp_path / "corpus.json"
    written = json.loads(path.read_text())
    for key in written:
        for value in (None, -1, 10**400, "x", [], {}):
            path.write_text(json.dumps({**written, key: value}))
            with contextlib.suppress(OffscriptError):
                EncodedCorpus.open(tmp_path)


# Pipes, devices and bombs


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.whole_folder])
def test_a_pipe_is_refused_at_once(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    path = tmp_path / kind.name
    os.mkfifo(path)
    with pytest.raises(OffscriptError, match="is a pipe; write it to a file first"):
        kind.read(path)


def test_a_device_is_refused_and_a_name_that_cannot_be_a_file(tmp_path: Path) -> None:
    for path, message in (
        ("/dev/zero", "is a device"),
        (tmp_path / ("a" * 300), "cannot be opened"),
        ("a\0b", "cannot be opened"),
    ):
        with pytest.raises(OffscriptError, match=message):
            list(Lines(path))


@pytest.mark.parametrize("suffix", PACK)
def test_a_bomb_is_refused_and_a_setting_lets_it_through(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_layer, "FREE_OF_RATIO", 1 << 20)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACK[suffix](b"a line of text\n" * (1 << 18)))
    with pytest.raises(OffscriptError, match=r"unpacks to more than 250 times its size; .*set OFFSCRIPT_MAX_UNPACKED"):
        list(Lines(path))
    monkeypatch.setenv("OFFSCRIPT_MAX_UNPACKED", "4M")
    assert sum(1 for _ in Lines(path)) == 1 << 18
    monkeypatch.setenv("OFFSCRIPT_MAX_UNPACKED", "2M")
    with pytest.raises(OffscriptError, match="unpacks to more than 2,097,152 bytes"):
        list(Lines(path))
    monkeypatch.setenv("OFFSCRIPT_MAX_UNPACKED", "much")
    with pytest.raises(OffscriptError, match="OFFSCRIPT_MAX_UNPACKED is 'much'; give a number of bytes"):
        list(Lines(path))


def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    """Ten gigabytes in ten megabytes are refused before the memory they would fill is asked for."""
    path = tmp_path / "a.jsonl.gz"
    block = gzip.compress(bytes(100 << 20))
    path.write_bytes(block * 100)
    code = (
        "from pathlib import Path; from offscript.factcheck.documents import read_documents\n"
        "from offscript.errors import OffscriptError\n"
        f"try: list(read_documents({str(path)!r}))\n"
        "except OffscriptError as error: print(error)\n"
        "status = Path('/proc/self/status').read_text()\n"  # getrusage's peak would count the process that started it
        "print(next(line.split()[1] for line in status.splitlines() if line.startswith('VmHWM')))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    line, peak = output.splitlines()
    assert "unpacks to more than 250 times its size" in line
    assert int(peak) < 600_000


def test_entities_of_a_dump_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><mediawiki>&b;</mediawiki>'
    with pytest.raises(OffscriptError, match="line 1: the entity 'a' is declared"):
        list(read_documents(_write(tmp_path / "a.xml", bomb.encode())))


# Time


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
    """How much longer an input of twice the size takes; sizes at which it takes long enough to tell."""
    size = 4000
    small = make(size)
    while _seconds(functools.partial(function, small)) < 0.01 and size < 1 << 19:
        size *= 2
        small = make(size)
    large = make(2 * size)
    ratios = []
    for _ in range(6):
        short, long = (_seconds(functools.partial(function, each)) for each in (small, large))
        ratios.append(long / short)
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
        return _write(tmp_path / f"{n}-{file}", (before + text * n + after).encode())

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
        return _write(tmp_path / f"{n}.json", json.dumps(content).encode())

    assert _growth(lambda path: _outcome(KINDS["StereoSet"], tmp_path, path), make) < 2.5
