"""What a person who follows an audit is told."""

import pytest

from offscript.cli._progress import AuditBar


def follow_until_stopped() -> None:
    with AuditBar(quiet=True) as bar:
        bar.question(1, 2, "How well does it predict gold text?", stored=False)
        bar.start(10)(3)
        raise KeyboardInterrupt


def test_who_stops_an_audit_is_told_that_nothing_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        follow_until_stopped()
    assert "answers so far are stored" in " ".join(capsys.readouterr().err.split())


def test_an_audit_that_ends_well_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with AuditBar(quiet=True) as bar:
        bar.question(1, 1, "Which?", stored=True)
    assert capsys.readouterr().err == ""
