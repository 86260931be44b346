"""Sites and their kinds, and the local index as a provider."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.sources.ratings import Ratings, read_ratings, site_of


def written(folder: Path, text: str, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("folder", "sites"), [("acl2020", 859), ("emnlp18", 1063)])
def test_media_bias_fact_checks_lists_are_read(data_folder: Path, folder: str, sites: int) -> None:
    ratings = read_ratings(data_folder / "mbfc-news-media" / folder / "corpus.tsv.xz")
    assert len(ratings) == sites
    assert ratings.kind_of("https://edition.cnn.com/2020/01/01/story.html") == Kind.mixed
    assert ratings.kind_of("https://en.wikipedia.org/wiki/CNN") == Kind.wikipedia
    assert ratings.kind_of("https://nobody-rates-this.example") == Kind.unrated


def test_any_table_of_sites_and_factuality_is_read(tmp_path: Path) -> None:
    table = 'domain,name,factuality\nWWW.Example.org,"A, B",Very High\nbad.example,C,low-questionable\n\n'
    ratings = read_ratings(written(tmp_path, table))
    assert ratings.kind_of("http://news.example.org:8080/x?y") == Kind.high
    assert ratings.kind_of("bad.example/page") == Kind.low
    assert ratings.kind_of("notexample.org") == Kind.unrated


def test_a_page_rates_its_site_only_where_nothing_else_does(tmp_path: Path) -> None:
    rows = "url,fact\nhttps://a.org/satire,low\nhttps://a.org,high\nhttps://b.org/news/,mixed\n"
    ratings = read_ratings(written(tmp_path, rows))
    assert (ratings.kind_of("a.org"), ratings.kind_of("b.org/other")) == (Kind.high, Kind.mixed)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "line 0: no column 'source_url'"),
        ("url,bias\na.org,left\n", "line 1: no column 'fact'"),
        ("url,fact\na.org,hihg\n", "line 2: unknown factuality 'hihg'; did you mean 'high'?"),
        ("url,fact\nnowhere,high\n", "line 2: 'nowhere' names no web site"),
        ("url,fact\na.org,high,x\n", "line 2: 3 values under 2 columns"),
        ("url,fact\na.org,high\nwww.a.org,low\n", "line 3: a.org is both high and low"),
        ("url,fact\n", "rates no site"),
    ],
)
def test_bad_tables_are_refused_with_their_line(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(OffscriptError) as caught:
        read_ratings(written(tmp_path, table))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(url=st.text(max_size=60))
def test_any_address_has_a_kind(url: str) -> None:
    assert Ratings({"a.org": Kind.high}).kind_of(url, Kind.mixed) in (Kind.mixed, Kind.high, Kind.wikipedia)
    assert site_of(url) == site_of(url).lower()


@given(table=st.text(alphabet="url,fact\thigh low.org\n\"'/:a", max_size=80))
def test_any_table_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, table: str) -> None:
    path = written(tmp_path_factory.mktemp("ratings"), "url,fact\n" + table)
    try:
        told = f"{path} rates {len(read_ratings(path))} sites"
    except OffscriptError as fault:
        told = str(fault)
    assert str(path) in told
    assert "\n" not in told


def test_the_local_index_finds_documents_with_their_kinds(tmp_path: Path) -> None:
    documents = [
        Document("a", "Canberra", "Canberra is the capital of Australia.", "https://en.wikipedia.org/wiki/Canberra"),
        Document("b", "Sydney", "Sydney is a city in Australia.", "https://www.rated.org/sydney"),
        Document("c", "Perth", "Perth is in Australia."),
    ]
    build_index(documents, tmp_path / "index")
    source = LocalIndex(tmp_path / "index", ratings=Ratings({"rated.org": Kind.low}), kind=Kind.high)
    found = source.find("capital Australia", 5)
    assert [(each.document.id, each.kind) for each in found] == [
        ("a", Kind.wikipedia),
        ("c", Kind.high),
        ("b", Kind.low),
    ]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert source.find("Zanzibar", 5) == []
    assert source.find_all(["capital Australia", "Zanzibar"], 5) == [found, []]


def test_a_wrong_model_or_folder_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="holds no index"):
        LocalIndex(tmp_path)
    build_index([], tmp_path / "index")
    with pytest.raises(OffscriptError, match="unknown retrieval model"):
        LocalIndex(tmp_path / "index", model="bm52")
