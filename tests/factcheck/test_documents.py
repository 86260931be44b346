"""Documents and their readers: every layout, and what is wrong with a file said in one line."""

import bz2
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora.prose import sentence_starts
from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document, read_documents
from offscript.factcheck.documents.document import document_of_sentences
from offscript.factcheck.documents.markup import plain_text

PAGE = "<page><title>{title}</title><ns>{ns}</ns><id>{id}</id>{extra}<revision><id>9</id><timestamp>2019</timestamp>\
<text>{text}</text></revision></page>"
DUMP = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo><base>https://en.wikipedia.org/wiki/Main_Page\
</base></siteinfo>{pages}</mediawiki>'
)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('He said "No." Then (in 1990.) He left…  Gone', ['He said "No."', "Then (in 1990.)", "He left…", "Gone"]),
        (
            "Mr. J. Smith of the U.S. Army paid 3.5 to Acme Inc. in May.",
            ["Mr. J. Smith of the U.S. Army paid 3.5 to Acme Inc. in May."],
        ),
        ("A line\nthat wraps. Next", ["A line\nthat wraps.", "Next"]),
        ("Heading\n\nText follows", ["Heading", "Text follows"]),
        ("日本。中国！", ["日本。", "中国！"]),
    ],
)
def test_known_texts_fall_into_known_sentences(text: str, sentences: list[str]) -> None:
    assert Document("1", text=text).sentences() == sentences


@given(st.text(st.sampled_from("aB.!?\"') \n。…1"), max_size=60))
def test_sentences_hold_all_that_is_not_blank_in_order(text: str) -> None:
    starts = sentence_starts(text)
    assert list(starts) == sorted(set(starts))
    assert "".join("".join(Document("1", text=text).sentences()).split()) == "".join(text.split())


@given(st.lists(st.text(st.sampled_from("ab. "), max_size=5).map(str.strip), max_size=6))
def test_given_sentences_keep_their_numbers(sentences: list[str]) -> None:
    assert document_of_sentences("1", "", sentences).sentences() == sentences


def test_json_records_are_read(tmp_path: Path) -> None:
    records = [
        {"id": "1", "title": "T", "text": "One.", "url": "u", "date": "2020"},
        {"id": 2, "text": "", "title": None},
        {"_id": "3", "text": "BEIR's <script>alert(1)</script>"},
        {"id": "4", "text": "x" * 1_000_000},
    ]
    path = tmp_path / "documents.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, records)).encode()))
    assert list(read_documents(path)) == [
        Document("1", "T", "One.", "u", "2020"),
        Document("2"),
        Document("3", text="BEIR's <script>alert(1)</script>"),
        Document("4", text="x" * 1_000_000),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a JSON object but list"),
        ('{"text": "x"}', "no field 'id'"),
        ('{"id": "1", "txt": "x"}', "no field 'text'; did you mean 'txt'"),
        ('{"id": "", "text": "x"}', "field 'id' is empty"),
        ('{"id": true, "text": "x"}', "field 'id' is not text but bool"),
        ('{"id": "1", "text": 3}', "field 'text' is not text but int"),
        ('{"id": "1", "text": "x", "url": []}', "field 'url' is not text but list"),
    ],
)
def test_bad_records_are_refused_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "d.jsonl", f'{{"id": "0", "text": "fine"}}\n{line}\n')
    with pytest.raises(OffscriptError, match=rf"d\.jsonl, line 2: {message}"):
        list(read_documents(path))


def test_bytes_that_are_no_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b'{"id": "1", "text": "a"}\n{"id": "2", "text": "\xff"}\n')
    with pytest.raises(OffscriptError, match="line 2: byte 22 is not UTF-8"):
        list(read_documents(tmp_path / "d.jsonl"))


@given(st.binary(max_size=80))
def test_any_bytes_give_documents_or_one_clear_line(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    for name in ("a.jsonl", "a.txt", "a.xml", "a.csv"):
        path = tmp_path_factory.mktemp("bytes") / name
        path.write_bytes(content)
        try:
            outcome = "".join(document.id for document in read_documents(path))
        except OffscriptError as error:
            outcome = str(error)
        assert "\n" not in outcome


def test_folders_are_read_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    write(tmp_path / "b" / "note.txt", "A note.")
    write(tmp_path / "a.jsonl", '{"id": "1", "text": "record"}')
    write(tmp_path / ".hidden", "no")
    assert list(read_documents(tmp_path)) == [
        Document("1", text="record"),
        Document("b/note.txt", "note", "A note."),
    ]
    (tmp_path / "c").mkdir()
    with pytest.raises(OffscriptError, match="holds no file"):
        read_documents(tmp_path / "c")


def test_sources_that_are_not_there_and_formats_that_are_unknown_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no such file or folder"):
        read_documents(tmp_path / "nothing")
    with pytest.raises(OffscriptError, match="did you mean 'trec'"):
        read_documents(tmp_path, format="trek")  # type: ignore[arg-type]


def test_scifact_and_fever_records_keep_their_sentences(tmp_path: Path) -> None:
    scifact = write(tmp_path / "corpus.jsonl", json.dumps({"doc_id": 7, "title": "T", "abstract": ["One. A", "Two."]}))
    (document,) = read_documents(scifact)
    assert (document.id, document.title, document.sentences()) == ("7", "T", ["One. A", "Two."])
    pages = [
        {"id": "", "text": "", "lines": ""},
        {"id": "A_-LRB-film-RRB-", "text": "x", "lines": "0\tIt is -LRB- a -RRB- film .\tfilm\tFilm\n1\t\n2\tEnd ."},
    ]
    (document,) = read_documents(write(tmp_path / "wiki-001.jsonl", "\n".join(map(json.dumps, pages))))
    assert (document.id, document.title) == ("A_-LRB-film-RRB-", "A (film)")
    assert document.sentences() == ["It is ( a ) film .", "", "End ."]


def test_scifact_as_csv_is_the_known_collection(scifact: list[Document]) -> None:
    assert len(scifact) == 5183
    assert sum(len(document.sentences()) for document in scifact) == 45952


def test_cranfield_collections_are_read(tmp_path: Path, data_folder: Path) -> None:
    path = write(
        tmp_path / "x.all", ".I 1\n.T\nA\ntitle\n.A\nSomeone\n.W\nFirst.\nSecond.\n.X\n1\t5\t1\n.I 2\n.W\n.5 is half\n"
    )
    assert list(read_documents(path)) == [Document("1", "A title", "First.\nSecond."), Document("2", "", ".5 is half")]
    assert sum(1 for _ in read_documents(data_folder / "cisi" / "CISI.ALL.xz")) == 1460


def test_trec_collections_are_read(tmp_path: Path) -> None:
    record = "<DOC>\n<DOCNO> AP-1 </DOCNO>\n<DATE>1988</DATE>\n<HEADLINE>\nBig\n news</HEADLINE>\n"
    record += "<TEXT>\nOne &amp; <B>two</B>.\n</TEXT>\n</DOC>\n"
    path = write(tmp_path / "ap", record + "\n<DOC><DOCNO>AP-2</DOCNO><TEXT>x</TEXT></DOC>\n")
    assert list(read_documents(path)) == [
        Document("AP-1", "Big news", "One &  two .", date="1988"),
        Document("AP-2", text="x"),
    ]


def test_npl_collections_are_read(data_folder: Path) -> None:
    documents = list(read_documents(data_folder / "npl" / "doc-text.xz", format="npl"))
    assert (len(documents), documents[-1].id) == (11429, "11429")


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("cranfield", "words\n.I 1\n", "line 1: text before the first .I"),
        ("cranfield", ".I \n", "line 1: no id after .I"),
        ("npl", "1\ntext\n", "line 2: the last record has no end"),
        ("trec", "words\n", "line 1: text outside <DOC>"),
        ("trec", "<DOC>\n<DOC>\n", "line 2: <DOC> within <DOC>"),
        ("trec", "<DOC>\n</DOC>\n", "line 2: a record without <DOCNO>"),
        ("trec", "<DOC>\n", "line 1: the last record has no </DOC>"),
    ],
)
def test_broken_collections_are_refused_with_file_and_line(
    tmp_path: Path, format: str, text: str, message: str
) -> None:
    with pytest.raises(OffscriptError, match=message):
        list(read_documents(write(tmp_path / "collection", text), format=format))  # type: ignore[arg-type]


def test_wikipedia_dumps_are_read_without_redirects_and_talk(tmp_path: Path) -> None:
    pages = [
        PAGE.format(title="Big cat", ns=0, id=1, extra="", text="A '''cat''' {{x|y}}is [[Animal|an animal]]."),
        PAGE.format(title="Cat", ns=0, id=2, extra='<redirect title="Big cat"/>', text="#REDIRECT"),
        PAGE.format(title="Talk:Cat", ns=1, id=3, extra="", text="chat"),
        PAGE.format(title="Dog & co", ns=0, id=4, extra="", text="").replace("&", "&amp;"),
    ]
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(bz2.compress(DUMP.format(pages="".join(pages)).encode()))
    assert list(read_documents(path)) == [
        Document("1", "Big cat", "A cat is an animal.", "https://en.wikipedia.org/wiki/Big_cat", "2019"),
        Document("4", "Dog & co", "", "https://en.wikipedia.org/wiki/Dog_%26_co", "2019"),
    ]


def test_broken_wikipedia_dumps_are_refused_after_the_last_whole_page(tmp_path: Path) -> None:
    page = PAGE.format(title="Whole", ns=0, id=1, extra="", text="text")
    broken = DUMP.format(pages=page + "\n<page></title>")
    with pytest.raises(OffscriptError, match="line 2, column 8: not valid XML; .*after page 'Whole'"):
        list(read_documents(write(tmp_path / "a.xml", broken)))
    packed = bz2.compress(DUMP.format(pages=page * 50).encode())
    (tmp_path / "b.xml.bz2").write_bytes(packed[:-20])
    with pytest.raises(OffscriptError, match="cannot be read on"):
        list(read_documents(tmp_path / "b.xml.bz2"))


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("{{a|{{b}}|c}}x {| class=y\n| z {{q}}\n|} y", "x y"),
        ("One<ref name=a>{{cite}}</ref>, two<ref name=a/>.<!-- hidden --> <math>x^2</math>", "One, two."),
        (
            "[[File:A.jpg|thumb|A [[nested|caption]]]]See [[Paris|the city]] and [[Rome]] or [http://x.org here].",
            "See the city and Rome or here.",
        ),
        ("[[Category:Cats]][[de:Katze]]''it'' '''b'''", "it b"),
        ("Intro.\n== History ==\n* One\n# Two &amp; three", "Intro.\n\nHistory.\n\nOne\nTwo & three"),
        ("{{unclosed text", "{{unclosed text"),
        ("closed}} only ]]", "closed}} only"),
        ("He ({{IPA|x}}) <br/>left<script>alert(1)</script>", "He left" + "alert(1)"),
        ("[[2001: A Space Odyssey]] and [[Star Trek: Voyager]]", "2001: A Space Odyssey and Star Trek: Voyager"),
    ],
)
def test_markup_is_taken_away(markup: str, text: str) -> None:
    assert plain_text(markup) == text


@given(
    st.lists(
        st.sampled_from(
            ["{{", "}}", "[[", "]]", "{|", "|}", "|", "a", "File:", " ", "\n", "''", "<ref>", "</ref>", "="]
        ),
        max_size=30,
    )
)
def test_any_markup_gives_a_text(pieces: list[str]) -> None:
    assert plain_text("".join(pieces)).count("a") <= pieces.count("a")
