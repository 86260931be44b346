"""Many claims over HTTP, and the search for documents."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.web.application import create_application
from offscript.web.checks import Limits
from offscript.web.jobs import MOST_CLAIMS, Job

CLAIMS = ["The capital of Australia is Sydney.", "The capital of Australia is Canberra."]


class Slow:
    """Takes its time, and refuses one claim."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def check(self, claim: str) -> Check:
        if claim == "refused":
            raise OffscriptError("this claim is refused")
        time.sleep(0.05)
        return self._checker.check(claim)


@pytest.fixture
def checker(tmp_path: Path) -> Checker:
    document = Document("a", "Australia", "The capital of Australia is Canberra.", date="2020")
    return Checker([LocalIndex(build_index([document], tmp_path / "index"))], stance=stance_model("lexical"))


@pytest.fixture
def client(checker: Checker) -> Iterator[TestClient]:
    with TestClient(create_application(checker)) as opened:
        yield opened


def events_of(text: str) -> list[tuple[str, dict[str, object]]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in blocks]


def test_a_job_is_followed_to_its_end(client: TestClient) -> None:
    begun = client.post("/api/checks", json={"claims": CLAIMS})
    assert (begun.status_code, begun.json()["total"]) == (202, 2)
    stream = client.get(f"/api/checks/{begun.json()['id']}/events")
    assert stream.headers["content-type"].startswith("text/event-stream")
    (first, second, end) = events_of(stream.text)
    assert [(first[0], first[1]["done"]), (second[0], second[1]["done"])] == [("result", 1), ("result", 2)]
    assert (end[0], end[1]["finished"], end[1]["error"]) == ("end", True, "")
    results = client.get(f"/api/checks/{begun.json()['id']}").json()
    assert [each["verdict"] for each in results["results"]] == ["REFUTED", "SUPPORTED"]
    assert results["results"][0]["evidence"][0]["date"] == "2020"


def test_a_job_can_be_stopped_and_tells_its_fault(checker: Checker) -> None:
    with TestClient(create_application(Slow(checker))) as client:
        job = client.post("/api/checks", json={"claims": [f"Claim number {n}." for n in range(50)]}).json()["id"]
        client.delete(f"/api/checks/{job}")
        end = events_of(client.get(f"/api/checks/{job}/events").text)[-1][1]
        assert (end["finished"], end["error"]) == (True, "stopped")
        assert int(str(end["done"])) < 50
        failed = client.post("/api/checks", json={"claims": ["refused"]}).json()["id"]
        end = events_of(client.get(f"/api/checks/{failed}/events").text)[-1][1]
        assert end["error"] == "this claim is refused"


@pytest.mark.parametrize(
    "body", [{"claims": []}, {"claims": ["a"] * (MOST_CLAIMS + 1)}, {"claims": [" "]}, {"claims": ["x" * 501]}, {}]
)
def test_jobs_that_cannot_be_done_are_refused_in_a_line(client: TestClient, body: dict[str, list[str]]) -> None:
    answer = client.post("/api/checks", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]
    assert client.get("/api/checks/nothing").status_code == 404


def test_documents_are_searched(client: TestClient, checker: Checker) -> None:
    (found,) = client.get("/api/search", params={"query": "capital Australia"}).json()
    assert (found["id"], found["title"], found["date"]) == ("a", "Australia", "2020")
    assert client.get("/api/search", params={"query": " "}).status_code == 422
    assert client.get("/api/search", params={"query": "a", "k": 0}).status_code == 422
    assert client.get("/api/search", params={"query": "zzzz"}).json() == []
    counted = TestClient(create_application(checker, limits=Limits(checks_a_minute=30)))
    assert "no documents to search" in counted.get("/api/search", params={"query": "a"}).json()["error"]
    assert "not served with --search" in counted.post("/api/checks", json={"claims": CLAIMS}).json()["error"]


def test_the_schema_lists_every_call(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {f"{method} {path}" for path, calls in paths.items() for method in calls} == {
        "get /api/check",
        "post /api/check",
        "get /api/status",
        "post /api/checks",
        "get /api/checks/{id}",
        "delete /api/checks/{id}",
        "get /api/checks/{id}/events",
        "get /api/search",
        "post /api/text",
    }
    assert "/api/checks/{id}/events" in client.get("/api").text


def test_a_result_that_comes_while_another_is_sent_is_not_lost() -> None:
    """The job ends between two events: its last result must be sent before the end."""

    async def followed() -> list[str]:
        job = Job(CLAIMS)
        job.results.append({"verdict": "REFUTED"})
        events = job.events()
        sent = [await anext(events)]
        job.results.append({"verdict": "SUPPORTED"})
        job.finished = True
        return [*sent, *[event async for event in events]]

    names = [name for name, _ in events_of("".join(asyncio.run(followed())))]
    assert names == ["result", "result", "end"]
