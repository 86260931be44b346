"""Passages: the page, the bookmarklet and the API give the verdicts of every claim, and show text as text."""

import html
import json
import re
from pathlib import Path

import jsonschema
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from offscript.factcheck.checking import Checker
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.web.application import create_application
from offscript.web.checks import Limits
from offscript.web.texts import LONGEST, MOST_CLAIMS

PASSAGE = "Canberra is the capital of Australia. Perth is the capital of Australia. What a country!"


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Checker:
    documents = [
        Document("a", "Australia", "The capital of Australia is Canberra. Perth is not the capital of Australia.")
    ]
    index = build_index(documents, Path(tmp_path_factory.mktemp("index")) / "index")
    return Checker([LocalIndex(index)], stance=stance_model("lexical"))


@pytest.fixture(scope="module")
def client(checker: Checker) -> TestClient:
    return TestClient(create_application(checker))


def test_the_api_checks_every_claim_and_answers_what_its_schema_says(client: TestClient, checker: Checker) -> None:
    answer = client.post("/api/text", json={"text": PASSAGE})
    assert answer.status_code == 200
    schema = client.get("/openapi.json").json()
    described = schema["paths"]["/api/text"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**described, "components": schema["components"]}).validate(answer.json())
    first, second, third = answer.json()["sentences"]
    verdicts = [checker.check(f"{text}.").verdict.value for text in PASSAGE.split(". ")[:2]]
    assert [first["verdict"], second["verdict"]] == verdicts
    assert third["not_checked"] == "no claim"


def test_the_page_shows_verdicts_and_a_bookmarklet(client: TestClient) -> None:
    page = client.get("/text", params={"text": PASSAGE}).text
    assert "supported" in page
    [link] = re.findall(r'class="bookmarklet" href="([^"]+)"', page)
    assert html.unescape(link).startswith("javascript:void(open('http://testserver/text'+'?text='+encodeURIComponent(")
    assert "Check the selection" in client.get("/text").text


def test_a_host_that_would_end_the_string_is_left_out(client: TestClient) -> None:
    page = client.get("/text", headers={"host": "a');alert(1);('"}).text
    assert "alert" not in page
    assert "localhost" in page


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x" * (LONGEST + 1), "4,001 characters"),
        ("Canberra is the capital of Australia. " * (MOST_CLAIMS + 1), "has 26 claims"),
        ("  ", "the passage is empty"),
    ],
)
def test_too_much_or_nothing_is_one_line(client: TestClient, text: str, line: str) -> None:
    answer = client.post("/api/text", json={"text": text})
    assert answer.status_code == 422
    assert line in answer.json()["error"]


def test_other_languages_are_named(client: TestClient) -> None:
    text = "Die Hauptstadt von Australien ist Canberra, und sie liegt im Landesinneren."
    assert client.post("/api/text", json={"text": text}).json()["not_checked"] == "not English: not checked"
    assert "not English: not checked" in client.get("/text", params={"text": text}).text
    short = client.get("/check", params={"claim": "Die Hauptstadt von Frankreich ist Paris."}).text
    assert "Not English: not checked" in short


def test_with_a_search_engine_passages_are_refused(checker: Checker) -> None:
    counted = TestClient(create_application(checker, limits=Limits(checks_a_minute=30)))
    assert "not checked here" in counted.post("/api/text", json={"text": PASSAGE}).json()["error"]


@given(st.text(max_size=300))
@settings(max_examples=40, deadline=None)
def test_any_passage_is_shown_as_text(client: TestClient, text: str) -> None:
    page = client.get("/text", params={"text": (text + "<script>x</script>").encode("utf-8", "replace")})
    assert page.status_code in (200, 422)
    assert "<script>x" not in page.text
    posted = client.post("/api/text", content=json.dumps({"text": text}).encode())
    assert posted.status_code in (200, 422)
