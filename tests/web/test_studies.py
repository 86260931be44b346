"""A study's pages without a browser: what they show, what they refuse, and that text stays text."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from offscript.corpora.associations import read_association_tests
from offscript.studies.associations import VALIDATE, WRITE, AssociationStore, create_association_study
from offscript.studies.design import StudyDesign, StudyItem, write_study
from offscript.studies.drawing import attention_checks
from offscript.web.studies.application import create_study_application

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\"'><b>"


def rating_client(
    folder: Path, *, text: str = "the bank said it would", is_open: bool = False, checks: int = 1
) -> TestClient:
    items = [StudyItem(item=f"i{n}", system="s", prompt="the bank", text=f"{text} {n}") for n in range(4)]
    design = StudyDesign(kind="rating", title="A study", owner="o", per_participant=3, checks=checks, open=is_open)
    write_study(folder, design, [*items, *attention_checks(1, seed=1)])
    return TestClient(create_study_application(folder), raise_server_exceptions=False, follow_redirects=False)


def begun(client: TestClient) -> str:
    [code] = client.app.state.store.invite(1)
    assert client.post(f"/s/{code}/consent").headers["location"] == f"/s/{code}"
    return code


def item_of(page: str) -> str:
    return page.partition('name="item" value="')[2].partition('"')[0]


def test_consent_says_what_is_stored_and_comes_first(tmp_path: Path) -> None:
    client = rating_client(tmp_path / "s")
    [code] = client.app.state.store.invite(1)
    page = client.get(f"/s/{code}").text
    for told in ("What is stored", "no IP address", "delete everything", "Very expected", "about three minutes"):
        assert told in page
    assert 'name="item"' not in page
    assert client.post(f"/s/{code}/rate", data={"item": "i0", "rating": "3"}).status_code == 422


def test_a_participant_rates_everything_and_is_thanked(tmp_path: Path) -> None:
    client = rating_client(tmp_path / "s")
    code = begun(client)
    for number in range(1, 5):
        page = client.get(f"/s/{code}").text
        assert f"Text {number} of 4" in page
        form = {"item": item_of(page), "rating": "4", "seconds": "0.01"}
        assert client.post(f"/s/{code}/rate", data=form).status_code == 303
        assert client.post(f"/s/{code}/rate", data={**form, "rating": "0"}).status_code == 303  # sent twice
    assert "All your answers are saved" in client.get(f"/s/{code}").text
    assert client.app.state.store.rows("SELECT value, COUNT(*) FROM ratings GROUP BY value") == [("4", 4)]


def test_what_is_no_rating_is_refused(tmp_path: Path) -> None:
    client = rating_client(tmp_path / "s")
    code = begun(client)
    item = item_of(client.get(f"/s/{code}").text)
    for form in ({"item": item}, {"item": item, "rating": "6"}, {"item": "i99", "rating": "3"}, {"rating": "3"}):
        assert client.post(f"/s/{code}/rate", data=form).status_code == 422
    assert client.post(f"/s/{code}/rate", content=b"\xff\xfe=%zz").status_code == 422
    assert client.app.state.store.rows("SELECT COUNT(*) FROM ratings") == [(0,)]
    for path in ("/s/nobody", "/s/import:x", "/overview/x", "/docs", "/openapi.json", "/join"):
        assert client.get(path).status_code in (404, 405)


def test_text_of_a_sample_is_shown_as_text(tmp_path: Path) -> None:
    client = rating_client(tmp_path / "s", text=SCRIPT, checks=0)
    page = client.get(f"/s/{begun(client)}")
    assert "<script>document" not in page.text
    assert "<img" not in page.text
    assert "&lt;script&gt;document" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "set-cookie" not in page.headers


def test_deletion_asks_first(tmp_path: Path) -> None:
    client = rating_client(tmp_path / "s")
    code = begun(client)
    client.post(f"/s/{code}/rate", data={"item": item_of(client.get(f"/s/{code}").text), "rating": "4"})
    assert "Delete my data?" in client.get(f"/s/{code}/delete").text
    assert "Deleted" in client.post(f"/s/{code}/delete").text
    assert client.get(f"/s/{code}").status_code == 404
    assert client.app.state.store.rows("SELECT COUNT(*) FROM ratings") == [(0,)]


def test_an_open_study_gives_everybody_a_link(tmp_path: Path) -> None:
    assert "Take part" not in rating_client(tmp_path / "closed").get("/").text
    client = rating_client(tmp_path / "open", is_open=True)
    assert "Take part" in client.get("/").text
    first, second = (client.post("/join").headers["location"] for _ in range(2))
    assert first != second
    assert client.get(first).status_code == 200
    assert "2 participants" in client.get("/overview/o").text
    assert "<td>4</td><td>0</td><td>0</td>" in client.get("/overview/o").text


def test_other_hosts_and_large_bodies_are_refused(tmp_path: Path) -> None:
    rating_client(tmp_path / "s")
    client = TestClient(create_study_application(tmp_path / "s", hosts=["127.0.0.1"]), base_url="http://evil.example")
    assert client.get("/").status_code == 400
    local = TestClient(create_study_application(tmp_path / "s", hosts=["127.0.0.1"]), base_url="http://127.0.0.1")
    assert local.post("/s/x/rate", content=b"x" * 100_000).status_code == 413


@pytest.fixture
def associations(tmp_path: Path) -> tuple[TestClient, AssociationStore]:
    store = create_association_study(
        tmp_path / "a", [("chess player", "profession")], per_participant=2, validators=5, agreeing=3
    )
    client = TestClient(create_study_application(tmp_path / "a"), raise_server_exceptions=False, follow_redirects=False)
    return client, store


GAP = {
    "context": "The chess player was very BLANK.",
    "stereotype": "shy",
    "anti-stereotype": "loud",
    "unrelated": "wooden",
}
NEXT = {
    "context": "My brother is a chess player.",
    "stereotype": "He hardly ever leaves his room.",
    "anti-stereotype": "He throws the wildest parties.",
    "unrelated": "The bridge has three lanes.",
}


def write_both(client: TestClient, store: AssociationStore) -> None:
    [writer] = store.invite(1, WRITE)
    client.post(f"/s/{writer}/consent")
    for _ in range(2):
        page = client.get(f"/s/{writer}").text
        target = page.partition('name="target" value="')[2].partition('"')[0]
        form = GAP if "BLANK where" in page else NEXT
        assert client.post(f"/s/{writer}/write", data={**form, "target": target}).status_code == 303
    assert "Thank you" in client.get(f"/s/{writer}").text


def validate_all(client: TestClient, store: AssociationStore, *, right: int, of: int = 5) -> None:
    for place, code in enumerate(store.invite(of, VALIDATE)):
        client.post(f"/s/{code}/consent")
        while 'name="test"' in (page := client.get(f"/s/{code}").text):
            test = page.partition('name="test" value="')[2].partition('"')[0]
            order = store.order(code, test)
            answers = order if place < right else order[1:] + order[:1]
            form = {"test": test, **{f"label-{number}": label for number, label in enumerate(answers)}}
            assert client.post(f"/s/{code}/validate", data=form).status_code == 303


def test_tests_are_written_validated_and_kept(
    associations: tuple[TestClient, AssociationStore], tmp_path: Path
) -> None:
    import json

    client, store = associations
    write_both(client, store)
    validate_all(client, store, right=3)
    document = tmp_path / "tests.json"
    document.write_text(json.dumps(store.document()), encoding="utf-8")
    tests = read_association_tests(document)
    assert [test.task for test in tests] == ["intrasentence", "intersentence"] or len(tests) == 2
    gap = next(test for test in tests if test.task == "intrasentence")
    assert gap.fill(gap.stereotype) == "shy"
    assert gap.unrelated.sentence == "The chess player was very wooden."
    page = client.get(f"/overview/{store.design.owner}").text
    assert page.count("100 %") == 2


def test_too_few_agreeing_validators_drop_a_test(associations: tuple[TestClient, AssociationStore]) -> None:
    client, store = associations
    write_both(client, store)
    validate_all(client, store, right=2)
    assert list(store.accepted().values()) == [False, False]
    assert [row["kept"] for row in store.acceptance()] == [0, 0]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"context": "The chess player was very shy."}, "Write BLANK once"),
        ({"context": "The BLANK chess player was very BLANK."}, "Write BLANK once"),
        ({"context": "The neighbour was very BLANK."}, "Use the term"),
        ({"context": "chess player BLANK"}, ""),
        ({"stereotype": ""}, "needs at least 1 word"),
        ({"anti-stereotype": "Shy!"}, "three different words"),
        ({"unrelated": "a b c d"}, "one word, three at most"),
        ({"context": "The chess player was BLANK " + "x " * 60}, "too long"),
    ],
)
def test_a_writer_is_told_what_to_change(
    associations: tuple[TestClient, AssociationStore], change: dict[str, str], fault: str
) -> None:
    client, store = associations
    [writer] = store.invite(1, WRITE)
    client.post(f"/s/{writer}/consent")
    number = next(n for n, task in store.rows("SELECT number, task FROM targets") if task == "intrasentence")
    answer = client.post(f"/s/{writer}/write", data={**GAP, **change, "target": str(number)})
    if not fault:
        assert answer.status_code == 303
        return
    assert answer.status_code == 422
    assert fault in answer.text
    assert store.tests() == []


def test_what_a_writer_writes_is_shown_as_text(associations: tuple[TestClient, AssociationStore]) -> None:
    client, store = associations
    [writer] = store.invite(1, WRITE)
    client.post(f"/s/{writer}/consent")
    number = next(n for n, task in store.rows("SELECT number, task FROM targets") if task == "intersentence")
    hostile = {**NEXT, "context": f"A chess player {SCRIPT}", "stereotype": f"{SCRIPT} one two"}
    refused = client.post(f"/s/{writer}/write", data={**hostile, "unrelated": "", "target": str(number)})
    assert refused.status_code == 422
    assert client.post(f"/s/{writer}/write", data={**hostile, "target": str(number)}).status_code == 303
    [validator] = store.invite(1, VALIDATE)
    client.post(f"/s/{validator}/consent")
    for page in (refused.text, client.get(f"/s/{validator}").text):
        assert "<script>document" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page


def test_nobody_validates_their_own_or_twice(associations: tuple[TestClient, AssociationStore]) -> None:
    client, store = associations
    write_both(client, store)
    test = store.tests()[0].id
    writer = store.codes()[0][0]
    judged = {"test": test, **{f"label-{n}": "stereotype" for n in range(3)}}
    assert client.post(f"/s/{writer}/validate", data=judged).status_code == 422
    [code] = store.invite(1, VALIDATE)
    client.post(f"/s/{code}/consent")
    assert client.post(f"/s/{code}/validate", data={"test": test, "label-0": "stereotype"}).status_code == 422
    for _ in range(2):
        assert client.post(f"/s/{code}/validate", data=judged).status_code == 303
    assert store.rows("SELECT COUNT(*) FROM validations") == [(3,)]
    assert store.forget(writer)
    assert store.rows("SELECT COUNT(*) FROM validations") == [(0,)]
