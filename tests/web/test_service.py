"""The service without a browser: what it answers, what it refuses, and what nobody can make it do."""

import asyncio
import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import jsonschema
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check, CheckedDocument, CheckedSentence, Evidence, Verdict
from offscript.factcheck.documents.document import Document
from offscript.factcheck.inference.verdict import inference_verdicts
from offscript.factcheck.sources import Kind
from offscript.factcheck.stance.stance import Stance
from offscript.web.application import create_application
from offscript.web.checks import LONGEST_CLAIM, Limits, OverloadedError, read_claim
from offscript.web.security import HEADERS, LARGEST_BODY, MOST_ADDRESSES, Guard, Rate

Ask = Callable[[Sequence[Document]], TestClient]
CLAIM = "The capital of Australia is Sydney."
TAGS = (
    "<script",
    "<style",
    "<img",
    "<iframe",
    "<svg",
    "<a ",
    "<li",
    "<mark",
    "<!--",
    "<form",
    "<input",
    "<path",
    "<text",
)
HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "\" onmouseover=\"document.title='owned'\" 'quoted'",
    "</mark></p></section><img src=x onerror=alert(1)>",
    "\u202eright to left\u202c, \x00 null, \ud800 half a pair, \x1b[31m red",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
]


def hostile_documents(texts: Sequence[str]) -> list[Document]:
    return [Document(text or "none", text, text, f"javascript:{text}", text) for text in texts]


class Broken:
    def check(self, claim: str) -> Check:
        raise ZeroDivisionError("a secret of the program")


class Refusing:
    def check(self, claim: str) -> Check:
        raise OffscriptError("Google answered 429", why="Quota exceeded", next="try again later")


class Overloaded:
    def check(self, claim: str) -> Check:
        raise OverloadedError("too many claims are being checked")


@pytest.fixture(scope="module")
def client(ask: Ask) -> TestClient:
    texts = ["Canberra is the capital. Sydney is large.", "Sydney is not it."]
    return ask([Document(f"d{place}", f"Title {place}", text) for place, text in enumerate(texts)])


def test_the_api_answers_what_its_schema_says(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    answer = client.post("/api/check", json={"claim": CLAIM})
    assert answer.status_code == 200
    assert answer.json() == client.get("/api/check", params={"claim": CLAIM}).json()
    described = schema["paths"]["/api/check"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**described, "components": schema["components"]}).validate(answer.json())
    assert answer.json()["verdict"] == "REFUTED"
    assert answer.json()["documents"][0]["sentences"][1]["text"] == "Sydney is large."


def test_the_manual_names_every_call_and_fetches_nothing(client: TestClient) -> None:
    page = client.get("/api").text
    for call in ("/api/check", "/api/status"):
        assert call in page
    assert re.findall(r'(?:src|href)="((?:https?:)?//[^"]*)', page) == []
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404


@given(st.text(max_size=700))
def test_any_claim_gets_an_answer_or_one_clear_line(client: TestClient, claim: str) -> None:
    posted = client.post("/api/check", content=json.dumps({"claim": claim}).encode())
    assert posted.status_code in (200, 422)
    if posted.status_code == 422:
        assert set(posted.json()) == {"error"}
        assert len(posted.json()["error"].splitlines()) == 1
    else:
        assert posted.json()["claim"] == read_claim(claim)


@given(st.binary(max_size=400))
@settings(max_examples=30)
def test_any_body_gets_one_clear_line(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/check", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert len(answer.json()["error"].splitlines()) == 1


@given(st.text(max_size=120))
@settings(max_examples=30)
def test_any_claim_gets_a_page_that_shows_it_as_text(client: TestClient, claim: str) -> None:
    page = client.get("/check", params={"claim": claim.encode("utf-8", "replace")})
    plain = client.get("/check", params={"claim": "plain"})
    assert page.status_code in (200, 422)
    if page.status_code == 200:
        assert [page.text.count(tag) for tag in TAGS] == [plain.text.count(tag) for tag in TAGS]


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("", "the claim is empty"),
        (" \n\t\u200b\x00", "the claim is empty"),
        ("x" * (LONGEST_CLAIM + 1), "the claim has 501 characters"),
        ("x" * 40_000, "the claim has 40,000 characters"),
    ],
)
def test_claims_that_are_blank_or_too_long_are_refused(client: TestClient, claim: str, line: str) -> None:
    page = client.get("/check", params={"claim": claim})
    assert page.status_code == 422
    assert line in page.text
    assert line in client.post("/api/check", json={"claim": claim}).json()["error"]


def test_a_claim_is_one_visible_line() -> None:
    assert read_claim("  The\tcapital\r\nis \u202eSydney\u0000. ") == "The capital is Sydney ."


@pytest.mark.parametrize("text", HOSTILE)
def test_documents_are_shown_as_text(ask: Ask, text: str) -> None:
    hostile, plain = ask(hostile_documents([text])), ask(hostile_documents(["plain words"]))
    for path in ("/check", "/document"):
        asked = {"claim": CLAIM, "document": 0}
        shown, expected = hostile.get(path, params=asked), plain.get(path, params=asked)
        assert shown.status_code == 200
        for tag in ("<script", "<style", "<img", "<iframe", "<a ", "<form", 'onmouseover="'):
            assert shown.text.count(tag) == expected.text.count(tag)
        assert 'href="javascript:' not in shown.text
        assert ("{{ 7 * 7 }}" in shown.text) == ("7 * 7" in text)


@given(st.lists(st.text(max_size=80), min_size=1, max_size=3))
@settings(max_examples=25)
def test_no_document_becomes_markup(ask: Ask, texts: list[str]) -> None:
    tags = ("<script", "<style", "<img", "<iframe", "<form", "<input", "<!--")
    shown = ask(hostile_documents(texts)).get("/check", params={"claim": CLAIM})
    expected = ask(hostile_documents(["plain"])).get("/check", params={"claim": CLAIM})
    assert shown.status_code == 200
    assert [shown.text.count(tag) for tag in tags] == [expected.text.count(tag) for tag in tags]


def test_long_and_many_sentences_are_cut_and_counted(ask: Ask) -> None:
    client = ask([Document("long", "Long", "x" * 1_000_000), Document("many", "Many", "It is so. " * 5000)])
    long = client.get("/document", params={"claim": CLAIM, "document": 0})
    assert "998,000 more characters" in long.text
    assert len(long.content) < 30_000
    many = client.get("/document", params={"claim": CLAIM, "document": 1})
    assert "4,600 more sentences are not shown" in many.text
    assert len(client.get("/check", params={"claim": CLAIM}).content) < 20_000


def test_rationales_are_ordered_by_the_stance_asked_for(ask: Ask) -> None:
    client = ask([Document("d", "D", "First one. Second one. Third one. Fourth one.")])

    def first(order: str) -> str:
        page = client.get("/document", params={"claim": CLAIM, "document": 0, "order": order}).text
        return re.findall(r'class="jump"[^>]*><mark[^>]*>([^<]*)', page)[0]

    assert [first(order) for order in ("agree", "disagree", "discuss", "unrelated", "telling")] == [
        "Third one.",
        "First one.",
        "Fourth one.",
        "Second one.",
        "Third one.",
    ]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/document?claim=a&document=7", 422),
        ("/document?claim=a&document=-1", 422),
        ("/document?claim=a&document=x", 422),
        ("/document?claim=a&document=0&order=best", 422),
        ("/document", 422),
        ("/nowhere", 404),
        ("/static/../application.py", 404),
        ("/static/%2e%2e%2fapplication.py", 404),
        ("/static/audit.html.j2", 404),
        ("//example.org/", 404),
        ("/check/", 404),
    ],
)
def test_what_is_not_there_is_one_line_on_a_page(client: TestClient, path: str, status: int) -> None:
    answer = client.get(f"http://testserver{path}", follow_redirects=False)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert "location" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/check?claim=a", "/api", "/api/status", "/static/web.js", "/nowhere", "/check"])
def test_every_answer_carries_the_security_headers(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] == ("max-age=3600" if path.startswith("/static") else "no-store")
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_pages_need_no_inline_script_or_style(client: TestClient) -> None:
    for path in ("/", f"/check?claim={CLAIM}", f"/document?claim={CLAIM}&document=0", "/api", "/check"):
        page = client.get(path).text
        assert re.findall(r"<script(?! src=\"/static/)", page) == []
        assert re.findall(r"\sstyle=|<style|\son\w+=", page) == []


def test_large_bodies_are_refused_whether_they_say_so_or_not(client: TestClient) -> None:
    assert client.post("/api/check", content=b"x" * (LARGEST_BODY + 1)).status_code == 413
    chunks = (b"x" * 10_000 for _ in range(10))
    assert client.post("/api/check", content=chunks).status_code == 413


def test_a_fault_of_the_program_is_one_line_without_its_secrets() -> None:
    client = TestClient(create_application(Broken()), raise_server_exceptions=False)
    page, answer = client.get("/check?claim=a"), client.get("/api/check?claim=a")
    assert (page.status_code, answer.status_code) == (500, 500)
    assert answer.json() == {"error": "this did not work: ZeroDivisionError; the log of the service says more"}
    assert "secret" not in page.text
    assert page.headers["content-security-policy"] == HEADERS["content-security-policy"]


def test_a_refusal_of_a_provider_is_handed_on() -> None:
    answer = TestClient(create_application(Refusing())).get("/api/check?claim=a")
    assert answer.status_code == 422
    assert answer.json() == {"error": "Google answered 429; Quota exceeded; try again later"}


def test_too_much_to_do_asks_to_come_again() -> None:
    answer = TestClient(create_application(Overloaded())).get("/api/check?claim=a")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "2"
    assert answer.json() == {"error": "too many claims are being checked"}


def test_a_service_for_this_machine_answers_to_its_own_names_alone(ask: Ask) -> None:
    application: Any = create_application(Refusing(), hosts=["127.0.0.1", "localhost"])
    assert TestClient(application, base_url="http://localhost:8000").get("/").status_code == 200
    assert TestClient(application, base_url="http://rebound.example").get("/").status_code == 400


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("[::1]:8000", 200),
        ("[::1]", 200),
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("rebound.example", 400),
        ("[::2]:8000", 400),
        ("[", 400),
        ("", 400),
        ("localhost.rebound.example", 400),
    ],
)
def test_a_host_is_known_by_name_and_address_whatever_the_port(host: str, status: int) -> None:
    client = TestClient(create_application(Refusing(), hosts=["127.0.0.1", "::1", "localhost"]))
    assert client.get("/", headers={"host": host}).status_code == status


@pytest.mark.parametrize("path", ["/", "/check?claim=a", "/api/status", "/static/web.js", "/nowhere"])
def test_head_is_answered_as_get_without_a_body(client: TestClient, path: str) -> None:
    asked, shown = client.head(path), client.get(path)
    assert (asked.status_code, asked.content) == (shown.status_code, b"")
    assert asked.headers["content-length"] == shown.headers["content-length"]


def test_checks_of_one_address_are_bounded_where_they_cost_a_search() -> None:
    application = create_application(Refusing(), limits=Limits(checks_a_minute=3))
    client = TestClient(application)
    assert [client.get("/api/check?claim=a").status_code for _ in range(4)] == [422, 422, 422, 429]
    refused = client.get("/api/check?claim=a")
    assert refused.json()["error"].startswith("too many checks from one address; try again in ")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert client.get("/check?claim=a").status_code == 429
    assert client.get("/api/status").status_code == 200
    other = TestClient(application, client=("192.0.2.7", 1))
    assert other.get("/api/check?claim=a").status_code == 422


def test_a_rate_is_of_the_last_minute_and_of_an_ipv6_network() -> None:
    rate = Rate(2)
    assert [rate.wait_of("2001:db8::1", 0.0), rate.wait_of("2001:db8::2", 30.0)] == [0, 0]
    assert rate.wait_of("2001:db8::3", 40.0) == 20
    assert rate.wait_of("2001:db8:0:1::1", 40.0) == 0
    assert rate.wait_of("2001:db8::3", 60.0) == 0
    for number in range(MOST_ADDRESSES + 10):
        rate.wait_of(f"host {number}", 61.0)
    assert len(rate._times) == MOST_ADDRESSES


def test_a_body_that_does_not_come_is_told_so(client: TestClient) -> None:
    async def wait_for_ever(*_: object) -> dict[str, object]:
        await asyncio.sleep(60)
        raise AssertionError

    told: list[dict[str, Any]] = []

    async def collect(message: Any) -> None:
        told.append(message)

    scope = {"type": "http", "method": "POST", "path": "/api/check", "headers": [(b"content-length", b"9")]}
    asyncio.run(Guard(client.app, body_seconds=0.05)(scope, wait_for_ever, collect))
    assert told[0]["status"] == 408
    assert (b"connection", b"close") in told[0]["headers"]
    assert told[1]["body"] == b"the body did not come within 0.05 seconds\n"


def test_nothing_found_is_said(ask: Ask) -> None:
    page = ask([]).get("/check", params={"claim": CLAIM})
    assert page.status_code == 200
    assert "No documents" in page.text


class Deciding:
    """Gives the staged check with what an inference model adds to it."""

    def __init__(self, **changes: Any) -> None:
        self._changes, self.verdicts = changes, inference_verdicts()

    def check(self, claim: str) -> Check:
        sentence = CheckedSentence(0, 0, 13, "It is closed.", Stance(0.1, 0.8, 0.1, 0.0))
        document = Document("1", "Velden", sentence.text)
        found = Check(
            claim=claim,
            query=("open",),
            verdict=Verdict.refuted,
            confidence=0.9,
            probabilities=dict(zip(Verdict, (0.05, 0.9, 0.05), strict=True)),
            documents=(CheckedDocument(document, Kind.high, 1.0, sentence.stance, (sentence,), {}),),
            evidence=(Evidence(0, 0),),
            by_kind={},
            seconds=0.01,
            calibrated_on=("fever", "scifact"),
        )
        return dataclasses.replace(found, **self._changes)


def _page(checker: Deciding, path: str) -> str:
    return TestClient(create_application(checker)).get(path).text


def test_the_page_marks_what_decides_and_shows_no_average_beside_it() -> None:
    page = _page(Deciding(deciding=Evidence(0, 0)), "/check?claim=It+is+open")
    assert page.count(">decides<") == 1
    assert "What decides" in page
    assert "Averaged stance" not in page
    assert "1 against it" in page
    assert "calibrated on FEVER, SciFact" in page


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"verdict": Verdict.unknown}, "Undecided: the evidence does not settle it."),
        ({"verdict": Verdict.unknown, "not_judged": "question"}, "Not judged: this is a question"),
        ({"verdict": Verdict.unknown, "documents": (), "evidence": ()}, "Nothing was found about it."),
    ],
)
def test_the_page_says_why_there_is_no_verdict(changes: dict[str, Any], line: str) -> None:
    page = _page(Deciding(**changes), "/check?claim=It+is+open")
    assert line in page
    assert ">decides<" not in page


def test_the_reliability_curve_is_one_click_away(client: TestClient) -> None:
    checker = Deciding()
    assert 'href="/calibration"' in _page(checker, "/check?claim=It+is+open")
    page = _page(checker, "/calibration")
    assert page.count("<circle") == len(checker.verdicts.reliability()) > 0
    assert "Nothing was recorded" in client.get("/calibration").text
