"""Stored audits behind the service: listed by model, shown cut off from it."""

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from offscript.factcheck.checked import Check
from offscript.models import load_model
from offscript.web.application import create_application, create_audit_application


class Unasked:
    def check(self, claim: str) -> Check:
        raise AssertionError(claim)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from offscript.audits.audit import plan_audit, run_audit
    from offscript.measures.subject import Budget, Subject

    path = tmp_path_factory.mktemp("audits")
    table = path / "table.json"
    table.write_text(
        '{"kind": "tabular", "vocabulary": ["A", "B"], "length": 2, "next": {"": [0.5, 0.5], "A": [1, 0], "B": [0, 1]}}'
    )
    model = load_model(str(table))
    subject = Subject(
        model=model, oracle=model, corpus=(), budget=Budget("quick"), seed=1, length=2, batch_size=64, limit=64
    )
    run_audit(subject, plan_audit(subject, ["likelihood"]), path / "out")
    return path


def test_audits_are_listed_and_shown_cut_off(folder: Path) -> None:
    client = TestClient(create_application(Unasked(), audits=folder))
    assert 'href="/audits"' in client.get("/").text
    listed = client.get("/audits")
    [key] = {part.split('"')[0] for part in listed.text.split('href="/audits/')[1:]}
    assert str(folder) not in key
    page = client.get(f"/audits/{key}")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith("sandbox allow-scripts;")
    assert page.headers["x-content-type-options"] == "nosniff"
    for wrong in ("0" * 16, "%2e%2e%2ftable.json"):
        assert client.get(f"/audits/{wrong}").status_code == 404


def test_a_viewer_lists_audits_with_their_places_and_checks_nothing(folder: Path) -> None:
    client = TestClient(create_audit_application(folder, hosts=("testserver",)))
    listed = client.get("/")
    assert str(listed.url).endswith("/audits")
    assert "out/" in listed.text
    assert "Check a claim" not in listed.text
    key = listed.text.split('href="/audits/')[1].split('"')[0]
    assert client.get(f"/audits/{key}").headers["content-security-policy"].startswith("sandbox allow-scripts;")
    assert client.get("/check?claim=x").status_code == 404
    assert client.get("/static/page.css").status_code == 200
    assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400


def test_results_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    for name in ("audit_1.json", "results_1.json"):
        (tmp_path / name).write_text("{")
    client = TestClient(create_application(Unasked(), audits=tmp_path))
    assert "There are none here yet" in client.get("/audits").text


@pytest.mark.parametrize("date", ["1e300", "-1e300", "NaN", "1e17", '"yesterday"', "[" * 100_000])
def test_one_audit_of_an_impossible_date_does_not_hide_the_others(folder: Path, date: str) -> None:
    whole = next((folder / "out").glob("**/results_*.json")).read_text()
    forged = re.sub(r'"date": [\d.]+', f'"date": {date}', whole)
    assert forged != whole
    (folder / "results_9.json").write_text(forged.replace("table", "forged"))
    listed = TestClient(create_application(Unasked(), audits=folder)).get("/audits")
    assert listed.status_code == 200
    assert listed.text.count('href="/audits/') == 1
    assert "forged" not in listed.text


def test_a_service_without_audits_has_no_such_page() -> None:
    client: Any = TestClient(create_application(Unasked()))
    assert client.get("/audits").status_code == 404
    assert 'href="/audits"' not in client.get("/").text
