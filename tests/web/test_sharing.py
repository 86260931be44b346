"""Workers that tell each other what they have to do."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from offscript.web import sharing
from offscript.web.security import Guard
from offscript.web.sharing import Loads, loads_of_environment, shared_table


@pytest.fixture
def table() -> Iterator[Path]:
    with shared_table():
        yield Path(os.environ[sharing.TABLE])


def test_a_worker_with_two_checks_more_than_another_sends_clients_away(table: Path) -> None:
    first, second = Loads(table), Loads(table)
    for own, other, away in ((0, 0, False), (1, 0, False), (2, 0, True), (5, 4, False), (6, 4, True), (1, 9, False)):
        first.tell(own)
        second.tell(other)
        assert first.is_overloaded is away
    assert second.is_overloaded is True


def test_a_worker_alone_keeps_its_clients(table: Path) -> None:
    alone = Loads(table)
    alone.tell(50)
    assert alone.is_overloaded is False


def test_a_worker_that_died_takes_no_clients_and_its_row_is_free(table: Path) -> None:
    own = Loads(table)
    own.tell(50)
    child = os.fork()
    if child == 0:
        Loads(table)
        os._exit(0)
    os.waitpid(child, 0)
    assert own.is_overloaded is False
    assert Loads(table)._row == 1


def test_the_table_is_gone_with_the_service(table: Path) -> None:
    assert loads_of_environment() is not None
    with shared_table():
        other = Path(os.environ[sharing.TABLE])
        assert other != table
    assert not other.exists()
    assert loads_of_environment() is None


@pytest.mark.parametrize(("path", "away"), [("/api/check", True), ("/api/check", False), ("/api/jobs/1", True)])
def test_an_answer_closes_the_connection_of_a_client_that_is_sent_away(path: str, away: bool) -> None:
    async def page(_: object) -> PlainTextResponse:
        return PlainTextResponse("here")

    guarded = Guard(Starlette(routes=[Route(path, page)]), sends_away=lambda: away)
    answer = TestClient(guarded).get(path)
    closed = away and path == "/api/check"
    assert (answer.text, answer.headers.get("connection") == "close") == ("here", closed)
