"""Search engines and pages over HTTP, against a server on this machine that the tests allow by name."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.sources import Kind
from offscript.factcheck.sources.engines import Google, Listed, SearXNG, WebSearch, read_pages, web_search
from offscript.factcheck.sources.extraction import ExtractionError, Extractor, page_of
from offscript.factcheck.sources.fetching import Fetcher, FetchError, Patience, PublicTransport, RefusedError, is_public
from offscript.factcheck.sources.ratings import Ratings

HERE = frozenset({"127.0.0.1"})
ARTICLE = """<html><head><title>Canberra</title></head><body><nav>Home About Contact</nav><article><h1>Canberra</h1>
<p>Canberra is the capital city of Australia. It was founded following the federation of the colonies.</p>
<p>It is the largest inland city of the country, and lies between Sydney and Melbourne, some way from the coast.</p>
<script>document.title = 'owned'</script></article><footer>Copyright</footer></body></html>"""


class World:
    """What the server says at each path, how often it was asked, and with which parameters."""

    def __init__(self, address: str) -> None:
        self.address, self.asked, self.parameters = address, Counter[str](), dict[str, dict[str, list[str]]]()
        self.answers: dict[str, list[tuple[int, dict[str, str], bytes]]] = {}

    def at(self, path: str, body: bytes | str, *, status: int = 200, kind: str = "text/html", **headers: str) -> str:
        data = body.encode() if isinstance(body, str) else body
        named = {"content-type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
        self.answers.setdefault(path, []).append((status, named, data))
        return self.address + path


@pytest.fixture
def world() -> Iterator[World]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            place = min(known.asked[path], len(known.answers.get(path, [])) - 1)
            known.asked[path] += 1
            known.parameters[path] = parse_qs(urlsplit(self.path).query)
            status, headers, body = known.answers[path][place] if place >= 0 else (404, {}, b"")
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = World(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield known
    server.shutdown()
    server.server_close()


def fetcher(slept: list[float] | None = None, **patience: Any) -> Fetcher:
    naps = slept if slept is not None else []
    return Fetcher(allowed=HERE, patience=Patience(**patience), sleep=naps.append)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "not an address", "",
    ],
)  # fmt: skip
def test_private_addresses_are_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_known(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses())
def test_an_ipv4_address_is_as_public_inside_ipv6(address: Any) -> None:
    if address.version == 4:
        assert is_public(f"::ffff:{address}") == is_public(str(address))


def test_a_private_host_is_refused_unless_allowed_by_name(world: World) -> None:
    url = world.at("/page", ARTICLE)
    assert fetcher().get(url).status == 200
    with pytest.raises(FetchError, match="127.0.0.1 leads to a private address"):
        Fetcher().get(url)
    assert world.asked["/page"] == 1


def test_a_redirect_to_a_private_host_is_refused(world: World) -> None:
    port = urlsplit(world.address).port
    world.at("/secret", "secret")
    url = world.at("/moved", "", status=302, location=f"http://localhost:{port}/secret")
    with pytest.raises(FetchError, match="localhost leads to a private address"):
        fetcher().get(url)
    assert world.asked["/secret"] == 0


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.org/", "gopher://127.0.0.1/"])
def test_a_redirect_to_another_scheme_is_refused(world: World, location: str) -> None:
    with pytest.raises(FetchError):
        fetcher().get(world.at("/moved", "", status=302, location=location))


def test_a_name_is_resolved_once_so_that_it_cannot_change_its_address(world: World) -> None:
    port = urlsplit(world.address).port
    world.at("/page", "secret")
    asked = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) > 1 else ["93.184.216.34", "10.0.0.1"]

    for _ in range(2):
        with pytest.raises(FetchError, match="rebind.example leads to a private address"):
            Fetcher(resolver=rebinding, patience=Patience(tries=1)).get(f"http://rebind.example:{port}/page")
    assert asked == ["rebind.example", "rebind.example"]
    assert world.asked["/page"] == 0


def test_the_connection_goes_to_the_address_that_was_looked_at(world: World) -> None:
    world.at("/page", "by name")
    transport = PublicTransport(frozenset({"named.example"}), resolver=lambda host, port: ["127.0.0.1"])
    port = urlsplit(world.address).port
    with httpx.Client(transport=transport) as client:
        assert client.get(f"http://named.example:{port}/page").text == "by name"


def test_the_next_address_of_a_host_is_tried(world: World) -> None:
    world.at("/page", "second")
    port = urlsplit(world.address).port
    transport = PublicTransport(frozenset({"two.example"}), resolver=lambda host, port: ["127.0.0.2", "127.0.0.1"])
    with httpx.Client(transport=transport) as client:
        assert client.get(f"http://two.example:{port}/page").text == "second"


def test_a_host_without_an_address_is_an_error() -> None:
    with httpx.Client(transport=PublicTransport(resolver=lambda host, port: [])) as client:
        with pytest.raises(httpx.ConnectError):
            client.get("http://nowhere.example/")
        with pytest.raises((RefusedError, httpx.UnsupportedProtocol)):
            client.get("ftp://nowhere.example/")


def test_failures_that_pass_are_tried_again_with_growing_waits(world: World) -> None:
    url = world.at("/busy", "", status=503)
    world.at("/busy", "", status=429, retry_after="3")
    world.at("/busy", "at last")
    slept: list[float] = []
    assert fetcher(slept, first_wait=0.5).get(url).body == b"at last"
    assert slept == [0.5, 3.0]


def test_waits_are_bounded_and_tries_end(world: World) -> None:
    url = world.at("/busy", "", status=503, retry_after="86400")
    slept: list[float] = []
    assert fetcher(slept, tries=3, longest_wait=4.0).get(url).status == 503
    assert slept == [4.0, 4.0]
    assert world.asked["/busy"] == 3


def test_other_statuses_are_not_tried_again(world: World) -> None:
    assert fetcher().get(world.at("/gone", "", status=404)).status == 404
    assert world.asked["/gone"] == 1


def test_a_refused_connection_is_an_error_after_all_tries(world: World) -> None:
    slept: list[float] = []
    with pytest.raises(FetchError, match="ConnectError"):
        fetcher(slept, tries=2).get("http://127.0.0.1:9/")
    assert len(slept) == 1


@pytest.mark.parametrize(
    ("body", "headers", "why"),
    [
        (b"x" * 5000, {}, "larger than 1,000 bytes"),
        (b"\x1f\x8b", {"content_encoding": "gzip"}, "compressed"),
        (b"%PDF", {"kind": "application/pdf"}, "application/pdf"),
    ],
)
def test_what_is_large_compressed_or_no_text_is_left(world: World, body: bytes, headers: Any, why: str) -> None:
    with pytest.raises(FetchError, match=why):
        fetcher(largest=1000).get(world.at("/page", body, **headers), accept=("text/html",))


def test_a_body_that_drips_ends_at_the_deadline(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, *[100.0] * 1000])
    url = world.at("/slow", b"x" * 100_000)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with pytest.raises(FetchError, match="longer than 20 seconds"):
        fetcher(whole=20.0)._once(url, None, ())


def test_a_redirect_loop_ends(world: World) -> None:
    url = world.at("/loop", "", status=302, location="/loop")
    with pytest.raises(FetchError, match="TooManyRedirects"):
        fetcher(redirects=3).get(url)


def test_the_main_text_of_a_page_is_taken_out() -> None:
    page = page_of(ARTICLE.encode(), "text/html", "http://example.org/")
    assert page.title == "Canberra"
    assert "Canberra is the capital city of Australia." in page.text
    assert "Home About" not in page.text
    assert "owned" not in page.text


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "application/xhtml+xml"]))
def test_no_bytes_of_a_page_are_a_fault(content: bytes, kind: str) -> None:
    assert isinstance(page_of(content, kind, "http://example.org/").text, str)


SLOW = b"<p>" * 600_000  # takes minutes


def extracted(extractor: Extractor, content: bytes) -> str:
    return extractor.page_of(content, "text/html", "http://example.org/").text


def test_a_page_that_takes_too_long_is_given_up_and_the_next_is_read() -> None:
    extractor = Extractor(seconds=10.0, workers=1)
    assert "Canberra is the capital" in extracted(extractor, ARTICLE.encode())
    extractor._seconds = 0.5
    begun = time.monotonic()
    with pytest.raises(ExtractionError, match=r"not found within 0\.5 seconds"):
        extracted(extractor, SLOW)
    assert time.monotonic() - begun < 20
    extractor._seconds = 30.0
    assert "Canberra is the capital" in extracted(extractor, ARTICLE.encode())
    extractor.close()


def test_a_page_that_takes_too_much_memory_is_given_up_and_the_next_is_read() -> None:
    extractor = Extractor(seconds=60.0, memory=250 << 20, workers=1)
    with pytest.raises(ExtractionError, match="for want of memory"):
        extracted(extractor, b"<p>a</p>" * 20_000_000)
    assert "Canberra is the capital" in extracted(extractor, ARTICLE.encode())
    extractor.close()


def test_a_slow_page_is_named_and_known_by_its_snippet(world: World, caplog: pytest.LogCaptureFixture) -> None:
    listed = [Listed(world.at("/slow", SLOW), "Slow", "its snippet"), Listed(world.at("/a", ARTICLE), "", "snippet")]
    extractor = Extractor(seconds=10.0)
    extracted(extractor, ARTICLE.encode())  # one process is up
    found = read_pages(listed, fetcher(), Ratings(), extractor=extractor)
    assert [each.document.title for each in found] == ["Slow", "Canberra"]
    assert found[0].document.text == "its snippet"
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        f"{listed[0].url} is not read: its text is not found within 10 seconds"
    ]
    extractor.close()


MALFORMED = [
    "http://xn--a.example/",
    "http://xn--/",
    f"http://xn--{'0' * 58}.com/",
    "http://example.org/\ud800",
    "http://\ud800.example/",
    "http://[::1",
    "http://example.org:port/",
    "http://exa\0mple.org/",
    "http://\u202e.example/",
    f"http://{'ü' * 70}.example/",
]


def test_a_malformed_address_loses_its_own_result_alone(world: World) -> None:
    listed = [*(Listed(url, "Malformed", "snippet") for url in MALFORMED), Listed(world.at("/a", ARTICLE), "", "")]
    private = Fetcher(allowed=HERE, patience=Patience(tries=1), resolver=lambda host, port: [host])
    found = read_pages(listed, private, Ratings())
    assert [each.document.title for each in found] == ["Malformed"] * len(MALFORMED) + ["Canberra"]


@pytest.mark.parametrize("location", MALFORMED)
def test_a_redirect_to_a_malformed_address_is_an_error(world: World, location: str) -> None:
    named = location.encode("utf-8", "replace").decode("latin-1").replace("\0", "")
    private = Fetcher(allowed=HERE, patience=Patience(tries=1), resolver=lambda host, port: ["127.0.0.1"])
    with pytest.raises(FetchError):
        private.get(world.at("/moved", "", status=302, location=named))


def test_pages_become_documents_in_the_engines_order(world: World) -> None:
    listed = [
        Listed(world.at("/a", ARTICLE), "", "snippet a"),
        Listed(world.address + "/missing", "Missing", "snippet b"),
        Listed(world.at("/c", "plain words", kind="text/plain"), "Plain", "snippet c", "2020-01-01"),
        Listed(world.address + "/nothing", "", ""),
        Listed("https://en.wikipedia.org:1/x", "Wiki", "kept by its snippet"),
    ]
    private = Fetcher(allowed=HERE, patience=Patience(tries=1), resolver=lambda host, port: [host])
    found = read_pages(listed, private, Ratings())
    assert [each.document.title for each in found] == ["Canberra", "Missing", "Plain", "Wiki"]
    assert [each.document.text for each in found][1:] == ["snippet b", "plain words", "kept by its snippet"]
    assert [each.score for each in found] == [1, 1 / 2, 1 / 3, 1 / 5]
    assert [each.kind for each in found] == [Kind.unrated] * 3 + [Kind.wikipedia]
    assert found[2].document.date == "2020-01-01"
    assert len({each.document.id for each in found}) == 4


def searxng(world: World) -> SearXNG:
    return SearXNG(world.address, fetcher=fetcher())


def test_searxng_is_asked_for_json_page_by_page(world: World) -> None:
    def page(first: int, last: int) -> str:
        results = [
            {"url": f"http://h{n}.example/", "title": f"t{n}", "content": f"c{n}", "publishedDate": "2021-02-03T00:00"}
            for n in range(first, last)
        ]
        return json.dumps({"query": "q", "results": [*results, {"url": None}, "junk", {"url": "ftp://x.example/"}]})

    world.at("/search", page(0, 3), kind="application/json")
    world.at("/search", page(2, 5), kind="application/json")
    listed = searxng(world).look_up("capital AND australia", 5)
    assert [entry.url for entry in listed] == [f"http://h{n}.example/" for n in range(5)][:5]
    assert listed[0] == Listed("http://h0.example/", "t0", "c0", "2021-02-03")
    assert world.parameters["/search"] == {"q": ["capital AND australia"], "format": ["json"], "pageno": ["2"]}


def test_searxng_without_new_results_is_not_asked_on(world: World) -> None:
    world.at("/search", json.dumps({"results": []}), kind="application/json")
    assert searxng(world).look_up("nothing", 5) == []
    assert world.asked["/search"] == 1


def test_google_is_asked_in_pages_of_ten(world: World) -> None:
    def page(first: int, last: int) -> str:
        return json.dumps({"items": [{"link": f"https://h{n}.example/", "title": "t"} for n in range(first, last)]})

    url = world.at("/v1", page(0, 10), kind="application/json")
    world.at("/v1", page(10, 15), kind="application/json")
    listed = Google("KEY", "CX", address=url, fetcher=fetcher()).look_up("q", 15)
    assert [entry.url for entry in listed] == [f"https://h{n}.example/" for n in range(15)]
    assert world.parameters["/v1"] == {"key": ["KEY"], "cx": ["CX"], "q": ["q"], "num": ["5"], "start": ["11"]}


def test_google_without_results_leaves_the_field_out(world: World) -> None:
    url = world.at("/v1", json.dumps({"searchInformation": {"totalResults": "0"}}), kind="application/json")
    assert Google("KEY", "CX", address=url, fetcher=fetcher()).look_up("q", 5) == []


@pytest.mark.parametrize(
    ("status", "body", "line"),
    [
        (429, {"error": {"code": 429, "message": "Quota exceeded"}}, "Google answered 429; Quota exceeded; try again"),
        (403, {"error": {"message": "API key not valid"}}, "Google answered 403; API key not valid; check the key"),
        (200, [1], "Google answered 200; its answer is no JSON object"),
    ],
)
def test_an_engines_fault_is_one_line(world: World, status: int, body: Any, line: str) -> None:
    url = world.at("/v1", json.dumps(body), status=status, kind="application/json")
    with pytest.raises(OffscriptError, match=line) as fault:
        Google("SECRET", "CX", address=url, fetcher=fetcher()).look_up("q", 5)
    assert "SECRET" not in str(fault.value)


def test_searxng_says_which_setting_is_missing(world: World) -> None:
    world.at("/search", "forbidden", status=403)
    with pytest.raises(OffscriptError, match="SearXNG answered 403.*allow json under search.formats"):
        searxng(world).look_up("q", 5)


def test_an_engine_that_is_not_there_is_one_line() -> None:
    with pytest.raises(OffscriptError, match="SearXNG cannot be asked"):
        SearXNG("http://127.0.0.1:9", fetcher=fetcher(tries=1)).look_up("q", 5)


def test_the_whole_way_from_a_query_to_documents(world: World) -> None:
    world.at("/a", ARTICLE)
    results = [{"url": world.address + "/a", "title": "Capital", "content": "short"}]
    world.at("/search", json.dumps({"results": results}), kind="application/json")
    provider = WebSearch(searxng(world), fetcher=fetcher())
    [found] = provider.find("capital australia", 1)
    assert found.document.title == "Capital"
    assert "Canberra is the capital city" in found.document.text
    assert provider.find("  ", 3) == []


def test_a_private_page_that_an_engine_lists_is_known_by_its_snippet_alone(world: World) -> None:
    world.at("/secret", "the password is 1234", kind="text/plain")
    results = [{"url": world.address + "/secret", "title": "Trap", "content": "come in"}]
    world.at("/search", json.dumps({"results": results}), kind="application/json")
    [found] = WebSearch(searxng(world)).find("q", 1)
    assert found.document.text == "come in"
    assert world.asked["/secret"] == 0


def test_keys_and_addresses_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GOOGLE_CSE_ID", "SEARXNG_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(OffscriptError, match="GOOGLE_API_KEY is not set"):
        web_search("google")
    with pytest.raises(OffscriptError, match="SEARXNG_URL is not set"):
        web_search("searxng")
    with pytest.raises(OffscriptError, match="did you mean 'google'"):
        web_search("gogle")
    monkeypatch.setenv("SEARXNG_URL", "localhost:8080")
    with pytest.raises(OffscriptError, match="write https://HOST"):
        web_search("searxng")
    monkeypatch.setenv("SEARXNG_URL", "http://localhost:8080/")
    assert isinstance(web_search("searxng"), WebSearch)


SITES = {f"site{number}.org": Kind.high for number in range(25)} | {"bad.org": Kind.low}


class Lister:
    """Lists one page of each site, whatever the query; remembers what was asked."""

    def __init__(self, *sites: str) -> None:
        self._sites, self.asked = sites, list[str]()

    def look_up(self, query: str, k: int) -> list[Listed]:
        self.asked.append(query)
        return [Listed(f"https://{site}/page", site, f"{site} says so.") for site in self._sites][:k]


def nobody() -> Fetcher:
    return Fetcher(resolver=lambda host, port: [], patience=Patience(tries=1))


def test_a_kind_of_source_is_searched_by_its_sites() -> None:
    engine = Lister("site3.org", "elsewhere.org", "bad.org", "site9.org")
    found = WebSearch(engine, fetcher=nobody(), ratings=Ratings(SITES)).find_kind("canberra", 10, Kind.high)
    assert [each.document.title for each in found] == ["site3.org", "site9.org"]
    assert [each.score for each in found] == [1.0, 0.5]
    assert [query.count("site:") for query in engine.asked] == [10, 10, 5]
    assert engine.asked[0].startswith("canberra (site:site0.org OR site:site1.org OR ")


def test_the_number_of_site_queries_is_bounded() -> None:
    engine = Lister()
    WebSearch(engine, fetcher=nobody(), ratings=Ratings(SITES), site_queries=1).find_kind("x", 10, Kind.high)
    assert len(engine.asked) == 1


def test_wikipedia_is_searched_without_ratings_and_unrated_sites_are_not() -> None:
    engine = Lister("en.wikipedia.org")
    search = WebSearch(engine, fetcher=nobody())
    assert [each.kind for each in search.find_kind("canberra", 5, Kind.wikipedia)] == [Kind.wikipedia]
    assert search.find_kind("canberra", 5, Kind.unrated) == search.find_kind("canberra", 5, Kind.high) == []
    assert search.find_kind(" ", 5, Kind.wikipedia) == []
    assert engine.asked == ["canberra (site:wikipedia.org)"]


def test_google_may_have_an_engine_for_each_kind(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CSE_ID_LOW", "low-sites")
    items = [{"link": "https://bad.org/a", "title": "Bad", "snippet": "It is so."}]
    address = world.at("/search", json.dumps({"items": items}), kind="application/json")
    google = Google("key", "general", address=address, fetcher=fetcher())
    search = WebSearch(google, fetcher=nobody(), ratings=Ratings(SITES))
    assert [each.document.title for each in search.find_kind("canberra", 5, Kind.low)] == ["Bad"]
    assert world.parameters["/search"]["cx"] == ["low-sites"]
    assert world.parameters["/search"]["q"] == ["canberra"]
    search.find_kind("canberra", 5, Kind.wikipedia)
    assert world.parameters["/search"]["cx"] == ["general"]
    assert world.parameters["/search"]["q"] == ["canberra (site:wikipedia.org)"]
