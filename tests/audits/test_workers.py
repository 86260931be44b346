"""Where Ray is looked for."""

import socket
from pathlib import Path

import pytest

from offscript.audits.workers import ray_address


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Ray notes the address of the last cluster of this machine."""
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "ray").mkdir()
    return tmp_path / "ray" / "ray_current_cluster"


def test_a_named_cluster_and_one_that_lives_are_used(note: Path) -> None:
    assert ray_address("ray://head:10001") == "ray://head:10001"
    assert ray_address("ray") is None
    with socket.create_server(("127.0.0.1", 0)) as cluster:
        note.write_text(f"127.0.0.1:{cluster.getsockname()[1]}")
        assert ray_address("ray") is None


def test_a_cluster_that_was_killed_is_not_waited_for(note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as cluster:
        note.write_text(f"127.0.0.1:{cluster.getsockname()[1]}")
    assert ray_address("ray") == "local"
    note.write_text("no address")
    assert ray_address("ray") == "local"
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert ray_address("ray") is None
