"""Readers: every format and compression gives the same sentences; every fault names its file and line."""

import bz2
import csv
import gzip
import json
import lzma
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora import read_corpus, read_sentences
from offscript.errors import OffscriptError

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0"))
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def message(source: str | Path, **options: object) -> str:
    with pytest.raises(OffscriptError) as caught:
        list(read_sentences(source, **options))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def stripped(texts: list[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_text_is_a_sentence_a_line_stripped_and_without_blank_lines(tmp_path: Path, suffix: str) -> None:
    source = written(tmp_path / f"news.txt{suffix}", COMPRESS[suffix](b"One sentence .      \r\n\n  \nAnother one ."))
    assert list(read_sentences(source)) == ["One sentence .", "Another one ."]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_json_lines_are_known_by_name_before_the_compression(tmp_path: Path, name: str, suffix: str) -> None:
    lines = b'{"text": "one"}\n\n{"text": "two", "id": 7}\n'
    source = written(tmp_path / f"{name}{suffix}", COMPRESS[suffix](lines))
    assert list(read_sentences(source)) == ["one", "two"]


def test_another_json_field(tmp_path: Path) -> None:
    source = written(tmp_path / "a.jsonl", '{"body": "one\\ntwo", "text": "no"}\n')
    assert list(read_sentences(source, field="body")) == ["one\ntwo"]


def test_csv_rows_may_span_lines(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", 'id,body\n1,"first, ""quoted""\n\nsecond"\n\n2,plain\n')
    assert list(read_sentences(source, field="body")) == ['first, "quoted"\n\nsecond', "plain"]


def test_wikitext_drops_headings_on_request_and_blank_lines_always(tmp_path: Path) -> None:
    text = " \n = Title = \n \n A paragraph . \n = = Section = = \n x = y = z \n = unequal = = \n = = \n"
    source = written(tmp_path / "wiki.train.tokens", text)
    assert list(read_sentences(source)) == ["A paragraph .", "x = y = z", "= unequal = =", "= ="]
    kept = list(read_sentences(source, headings=True))
    assert kept == ["= Title =", "A paragraph .", "= = Section = =", "x = y = z", "= unequal = =", "= ="]
    assert list(read_sentences(source, format="text")) == kept


def test_a_format_given_beats_the_name(tmp_path: Path) -> None:
    source = written(tmp_path / "a.txt", '{"text": "one"}\n')
    assert list(read_sentences(source)) == ['{"text": "one"}']
    assert list(read_sentences(source, format="jsonl")) == ["one"]


def test_a_byte_order_mark_is_not_text(tmp_path: Path) -> None:
    assert list(read_sentences(written(tmp_path / "a.txt", b"\xef\xbb\xbfone\n\xef\xbb\xbftwo"))) == [
        "one",
        "\ufefftwo",
    ]


def test_several_sources_follow_one_another(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a.txt", "one\n"), written(tmp_path / "b.jsonl", '{"text": "two"}\n')
    assert list(read_corpus([first, str(second)])) == ["one", "two"]
    assert list(read_corpus(first)) == list(read_corpus(str(first))) == ["one"]


def test_a_missing_second_source_is_told_before_the_first_is_read(tmp_path: Path) -> None:
    first = written(tmp_path / "a.txt", "one\n")
    with pytest.raises(OffscriptError, match=r"no such file: .*b\.txt"):
        read_corpus([first, tmp_path / "b.txt"])
    with pytest.raises(OffscriptError, match="no source"):
        read_corpus([])


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", b"", "a.txt holds no sentence"),
        ("a.txt", b" \n\t\n", "a.txt holds no sentence"),
        ("a.txt", b"fine\ncaf\xe9\n", "a.txt, line 2: byte 4 is not UTF-8"),
        ("a.txt", "fine\n".encode("utf-16"), "a.txt, line 1: byte 1 is not UTF-8"),
        ("a.jsonl", b'{"text": "one"}\n\n{"text": \n', "a.jsonl, line 3: not valid JSON"),
        ("a.jsonl", b'{"text": "one"}\n["two"]\n', "a.jsonl, line 2: not a JSON object but list"),
        ("a.jsonl", b'{"texts": "one"}\n', "a.jsonl, line 1: no field 'text'; did you mean 'texts'?"),
        ("a.jsonl", b"{}\n", "a.jsonl, line 1: no field 'text'"),
        ("a.jsonl", b'{"text": 3}\n', "a.jsonl, line 1: field 'text' is not text but int"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', "a.jsonl, line 1: field 'text' holds half a character"),
        ("a.jsonl", b"[" * 100_000, "a.jsonl, line 1: not valid JSON"),
        ("a.jsonl", b"9" * 5000, "a.jsonl, line 1: not valid JSON"),
        ("a.csv", b"id,text\n1,one\n2,two,three\n", "a.csv, line 3: 3 values under 2 columns"),
        ("a.csv", b"id,body\n1,one\n", "a.csv, line 1: no column 'text'"),
        ("a.csv", b'text\n"never\nclosed\n', "a.csv, line 3: not valid CSV in the row from line 2"),
        ("a.csv", b"text\n" + b"a" * 200_000, "a.csv, line 2: not valid CSV in the row from line 2"),
        ("a.csv", b"text\n", "a.csv holds no sentence"),
        ("a.txt", b"fine\nnu\0l\n", "a.txt, line 2: byte 3 is 0"),
        ("a.txt", "fine\n".encode("utf-16-le"), "a.txt, line 1: byte 2 is 0"),
        ("a.jsonl", b'{"text": "one", "text": "two"}\n', "a.jsonl, line 1: field 'text' is given twice"),
        ("a.bz2", b"not bzip2", "a.bz2, after line 0: cannot be read on"),
        ("a.gz", b"not gzip", "a.gz, after line 0: cannot be read on"),
        ("a.xz", b"not xz", "a.xz, after line 0: cannot be read on"),
        ("a.zst", b"not zstd", "a.zst, after line 0: cannot be read on"),
    ],
)
def test_bad_input_is_one_line_that_names_file_and_line(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    assert expected in message(written(tmp_path / name, content))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_truncated_compressed_file_is_noticed(tmp_path: Path, suffix: str, kept: float) -> None:
    whole = COMPRESS[suffix]("".join(f"sentence {index**3}\n" for index in range(5000)).encode())
    assert "cannot be read on" in message(written(tmp_path / f"a.txt{suffix}", whole[: int(kept * len(whole))]))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_concatenated_compressed_files_are_read_through(tmp_path: Path, suffix: str) -> None:
    parts = [COMPRESS[suffix](text) for text in (b"one\ntw", b"", b"o\nthree\n")]
    assert list(read_sentences(written(tmp_path / f"a.txt{suffix}", b"".join(parts)))) == ["one", "two", "three"]


def test_missing_files_folders_and_unknown_formats(tmp_path: Path) -> None:
    assert "no such file" in message(tmp_path / "none.txt")
    assert "is a folder" in message(tmp_path)
    source = written(tmp_path / "a.txt", "one")
    assert "did you mean 'jsonl'?" in message(source, format="json")
    assert "max_line_bytes is 0" in message(source, max_line_bytes=0)


def test_the_longest_line_allowed_is_read_and_the_next_longer_one_is_not(tmp_path: Path) -> None:
    source = written(tmp_path / "a.txt", "12345678\n1234567\n123456789\n")
    sentences = read_sentences(source, max_line_bytes=8)
    assert [next(sentences), next(sentences)] == ["12345678", "1234567"]
    with pytest.raises(OffscriptError, match=r"a\.txt, line 3: longer than 8 bytes"):
        next(sentences)


def test_a_csv_row_of_many_lines_is_bounded_too(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", 'text\n"' + "short\n" * 100 + '"\n')
    assert "line 18: a row longer than 100 characters" in message(source, max_line_bytes=100)


def test_a_line_of_five_gigabytes_is_refused_without_reading_it(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    with source.open("wb") as stream:
        stream.truncate(5 * 10**9)
    tracemalloc.start()
    try:
        assert "line 1: longer than 134,217,728 bytes" in message(source)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 300 * 2**20


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_a_compressed_line_that_unpacks_to_much_is_refused_in_little_memory(tmp_path: Path, suffix: str) -> None:
    source = written(tmp_path / f"a.txt{suffix}", COMPRESS[suffix](bytes(32 * 2**20)))
    tracemalloc.start()
    try:
        assert "line 1: longer than 1,000,000 bytes" in message(source, max_line_bytes=10**6)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 2**20


@given(lines=st.lists(LINE), suffix=st.sampled_from(list(COMPRESS)))
def test_any_lines_come_back_as_text(folder: Path, lines: list[str], suffix: str) -> None:
    source = written(folder / f"lines.txt{suffix}", COMPRESS[suffix]("\n".join(["first", *lines]).encode()))
    assert list(read_sentences(source)) == ["first", *stripped(lines)]


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]))), escaped=st.booleans())
def test_any_texts_come_back_from_json_lines(folder: Path, texts: list[str], escaped: bool) -> None:
    records = [json.dumps({"text": text}, ensure_ascii=escaped) for text in ["first", *texts]]
    source = written(folder / "texts.jsonl", "\n".join(records))
    assert list(read_sentences(source)) == ["first", *stripped(texts)]


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_any_texts_come_back_from_csv(folder: Path, texts: list[str]) -> None:
    source = folder / "texts.csv"
    with source.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerows([["n", "text"], ["0", "first"], *([str(n), text] for n, text in enumerate(texts, 1))])
    assert list(read_sentences(source)) == ["first", *stripped(texts)]


@given(
    content=st.binary() | st.text().map(lambda text: text.encode("utf-8", "replace")),
    name=st.sampled_from(["a.txt", "a.jsonl", "a.csv", "a.tokens"]),
    suffix=st.sampled_from(list(COMPRESS)),
    packed=st.booleans(),
)
def test_any_bytes_give_sentences_or_one_clear_error(
    folder: Path, content: bytes, name: str, suffix: str, packed: bool
) -> None:
    source = written(folder / f"{name}{suffix}", COMPRESS[suffix](content) if packed else content)
    sentences: list[str] = []
    fault = ""
    try:
        sentences.extend(read_sentences(source))
    except OffscriptError as error:
        fault = str(error)
    assert str(source) in fault if fault else sentences
    assert all(sentence == sentence.strip() != "" for sentence in sentences)


@pytest.mark.parametrize(
    ("module", "source", "extra"), [("zstandard", "a.txt.zst", "zstd"), ("datasets", "hf:name", "datasets")]
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, source: str, extra: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.txt.zst", zstandard.compress(b"one\n"))
    monkeypatch.setitem(sys.modules, module, None)
    assert f'pip install -e ".[{extra}]"' in message(source)


def test_a_dataset_is_streamed_by_name_config_and_split(tmp_path: Path) -> None:
    written(tmp_path / "train.jsonl", '{"text": "one", "other": "two"}\n{"text": "three", "other": "four"}\n')
    written(tmp_path / "test.jsonl", '{"text": "five", "other": "six"}\n')
    assert list(read_sentences(f"hf:{tmp_path}")) == ["one", "three"]
    assert list(read_sentences(f"hf:{tmp_path}:default:test", field="other")) == ["six"]
    assert "record 1: no field 'none'" in message(f"hf:{tmp_path}", field="none")
    assert "cannot be read" in message(f"hf:{tmp_path}:default:validation")


@pytest.mark.parametrize("source", ["hf:", "hf:a:b:c:d"])
def test_a_dataset_needs_a_name(source: str) -> None:
    assert "names no dataset" in message(source)


def test_an_unknown_dataset_is_an_error_of_one_line(tmp_path: Path) -> None:
    assert "cannot be read" in message(f"hf:{tmp_path / 'nothing'}")


@pytest.mark.parametrize(("part", "lines", "tokens"), [("valid", 3760, 217_646), ("test", 4358, 245_569)])
def test_wikitext_2_has_its_published_token_counts(data_folder: Path, part: str, lines: int, tokens: int) -> None:
    source = data_folder / "wikitext-2" / f"{part}.txt.xz"
    kept = list(read_sentences(source, format="wikitext", headings=True))
    assert sum(len(line.split()) for line in kept) + lines == tokens


def test_article_bodies_of_the_fake_news_challenge_are_read_whole(data_folder: Path) -> None:
    for name, count in (("train_bodies", 1683), ("competition_test_bodies", 904)):
        assert len(list(read_sentences(data_folder / "fnc-1" / f"{name}.csv.xz", field="articleBody"))) == count
