"""An audit of a model behind an API: the local model's figures, and a line for every question that it cannot answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from offscript.cli.app import app

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(f"w{(a * b) % 29}" for b in range(1, 9)) for a in range(1, 29)))
    return path


def _audit(model: str, corpus: Path, out: Path, *options: str) -> dict[str, Any]:
    asked = ["audit", model, "--corpus", str(corpus), "--length", "8", "--limit", "20", "--out", str(out), "--json"]
    result = CliRunner().invoke(app, [*asked, *options])
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
    document: dict[str, Any] = json.loads(next(out.rglob("results_*.json")).read_text())
    return document


def test_a_server_with_log_probabilities_gives_the_local_figures(
    served: Any, folder: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.key = SECRET
    monkeypatch.setenv("OFFSCRIPT_API_KEY", SECRET)
    name = f"openai/tiny@{served.url},tokenizer={folder}"
    only = ["--only", "likelihood,calibration,places,samples"]
    far = _audit(name, corpus, tmp_path / "far", *only)
    near = _audit(str(folder), corpus, tmp_path / "near", *only)
    for asked, names in {"likelihood": ("nll", "ppl", "bpc"), "calibration": ("right", "confidence")}.items():
        own, other = far["results"][asked], near["results"][asked]
        values = [own[f"{name}{end}"] for name in names for end in ("", "_stderr")]
        assert values == pytest.approx([other[f"{name}{end}"] for name in names for end in ("", "_stderr")], rel=1e-5)
    [(_, reason)] = far["audit"]["left_out"]
    assert reason.startswith("needs whole next-token distributions (openai/tiny@")
    assert near["audit"]["left_out"] == []
    before = len(served.asked)
    _audit(name, corpus, tmp_path / "again", *only)  # another folder, the same answers of the server
    assert len(served.asked) == before
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert SECRET.encode() not in path.read_bytes(), path
    page = next((tmp_path / "far").rglob("audit.html")).read_text()
    assert "The model is behind an API" in page


def test_a_server_of_texts_is_asked_for_texts_alone(served: Any, corpus: Path, tmp_path: Path) -> None:
    served.echo = served.ids = served.log_probs = False
    name = f"openai/tiny@{served.url},start=w1"
    document = _audit(name, corpus, tmp_path / "out", "--only", "likelihood,exposure,diversity,quality,samples")
    assert set(document["results"]) == {"diversity", "quality"}
    reasons = dict(document["audit"]["left_out"])
    assert len(reasons) == 2
    assert all("gives texts" in reason for reason in reasons.values())
