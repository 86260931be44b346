"""Gates, summaries and comparisons as a CI job meets them: exit codes, one clear line, files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript.cli._options import require_writable
from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save

ASKED = ("--only", "likelihood,exposure", "--length", "8", "--limit", "40", "--quiet")
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models of one vocabulary: `oracle`, `near` it and `far` from it."""
    where = tmp_path_factory.mktemp("models")
    vocabulary = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(20))])
    with torch.random.fork_rng():
        torch.manual_seed(1)
        oracle = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8))
        for name, noise in (("oracle", 0.0), ("near", 0.1), ("far", 1.0)):
            other = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
            with torch.no_grad():
                for weight, true in zip(other.parameters(), oracle.parameters(), strict=True):
                    weight.copy_(3 * true + noise * torch.randn_like(true))
            save(other, where / name)
    return where


@pytest.fixture
def offscript(offscript: Command, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Command:
    """Run a command in the folder of models."""
    monkeypatch.chdir(folder)
    return offscript


def test_a_gate_that_holds_changes_nothing(offscript: Command) -> None:
    done = offscript("audit", "near", "--oracle", "oracle", *ASKED, "--fail-on", "exposure.eb_c.js>100")
    assert (done.code, done.errors) == (0, "")


def test_a_gate_that_fails_ends_with_1_and_says_figure_interval_and_gate(offscript: Command, folder: Path) -> None:
    summary = folder / "summary.md"
    done = offscript(
        "audit", "near", "--oracle", "oracle", *ASKED, "--summary", str(summary),
        "--fail-on", "exposure.eb_c.js>0.001", "--fail-on", "likelihood.ppl.lower<0",
    )  # fmt: skip
    assert done.code == 1
    (line,) = done.errors.splitlines()
    assert line.startswith("offscript: exposure.eb_c.js is ")
    assert "(95%: " in line
    assert "(--fail-on 'exposure.eb_c.js>0.001')" in line
    assert "page " in done.output
    written = summary.read_text(encoding="utf-8")
    assert written.startswith("## offscript audit of near")
    assert "❌ exposure.eb\\_c.js&gt;0.001" in written
    assert "✅ likelihood.ppl.lower&lt;0" in written


def test_an_audit_of_texts_alone_is_an_audit(offscript: Command) -> None:
    done = offscript("audit", "near", "--only", "samples", "--length", "8", "--out", "texts", "--quiet")
    assert (done.code, done.errors) == (0, "")
    assert "page " in done.output


def test_gates_are_in_the_json(offscript: Command) -> None:
    done = offscript("audit", "near", "--oracle", "oracle", *ASKED, "--fail-on", "likelihood.ppl>0", "--json")
    assert done.code == 1
    (gate,) = done.json["gates"]
    assert (gate["gate"], gate["failed"]) == ("likelihood.ppl>0", True)


def test_a_stored_audit_can_be_gated(offscript: Command) -> None:
    assert offscript("audit", "near", "--oracle", "oracle", *ASKED, "--out", "kept").code == 0
    assert offscript("report", "kept", "--fail-on", "likelihood.ppl>1e9").code == 0
    assert offscript("report", "kept", "--fail-on", "likelihood.ppl>1").code == 1


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("nonsense", "is not QUESTION.NAME"),
        ("regret.q_per_token>1", "regret is not asked in this run"),
        ("exposure.eb_c.jss>1", "did you mean 'exposure.eb_c.js'"),
        ("exposure.mgd_gap.js>0", "will have no figure exposure.mgd_gap.js"),
    ],
)
def test_a_gate_on_nothing_is_bad_usage(offscript: Command, gate: str, said: str) -> None:
    done = offscript("audit", "near", "--oracle", "oracle", *ASKED, "--fail-on", gate)
    assert done.code == 2
    (line,) = done.errors.splitlines()
    assert said in line


@pytest.fixture
def runs(offscript: Command) -> tuple[str, str]:
    for name in ("near", "far"):
        assert offscript("audit", name, "--oracle", "oracle", *ASKED, "--out", f"runs-{name}").code == 0
    return "runs-near", "runs-far"


def test_runs_are_compared_in_pairs_on_one_page(offscript: Command, runs: tuple[str, str], folder: Path) -> None:
    done = offscript("compare", *runs, "--out", "page.html", "--json", "--summary", "compared.md")
    assert done.code == 0
    document = done.json
    found = {contrast["figure"]: contrast for contrast in document["contrasts"]}
    assert all(found[name]["paired"] for name in ("likelihood.nll", "likelihood.ppl", "exposure.eb_c.js"))
    assert found["exposure.cgd_model.js"]["verdict"] == "worse"
    assert found["exposure.cgd_model.js"]["ci"]["lower"] > 0
    assert "far against near" in (folder / "page.html").read_text(encoding="utf-8")
    assert "comparison with near" in (folder / "compared.md").read_text(encoding="utf-8")


def test_a_comparison_fails_on_what_is_worse(offscript: Command, runs: tuple[str, str]) -> None:
    near, far = runs
    worse = offscript("compare", near, far, "--fail-on", "worse")
    assert worse.code == 1
    assert "exposure.cgd_model.js" in worse.errors
    assert offscript("compare", far, near, "--fail-on", "exposure.cgd_model.js.lower>0").code == 0
    assert offscript("compare", near, far, "--fail-on", "exposure.cgd_model.js.lower>0").code == 1
    shown = offscript("compare", near, far)
    assert shown.code == 0
    assert "worse" in shown.output


def test_one_run_is_nothing_to_compare(offscript: Command, runs: tuple[str, str]) -> None:
    done = offscript("compare", runs[0])
    assert done.code == 2
    assert "name two or more" in done.errors


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OffscriptError, match="cannot write to --out .*file"):
        require_writable(tmp_path / "file" / "audit", f"--out {tmp_path / 'file' / 'audit'}")
    require_writable(tmp_path / "new" / "audit", "--out new/audit")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("check", "--file", "claims.jsonl", "--out"),
        ("check", "--text", "claims.jsonl", "--out"),
        ("index", ".", "--out"),
        ("train", "news-student", "--out"),
        ("sweep", "grid.yaml", "--out"),
        ("compare", "a", "b", "--out"),
        ("report", "a", "--out"),
        ("reproduce", "regret/table-1", "--out"),
        ("study", "export", "study", "--out"),
        ("audit", "offscript/news", "--out"),
        ("measure", "likelihood", "offscript/news", "--plot"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_else(
    offscript: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "folder" / "page.html"
    done = offscript(*command, str(place))
    assert done.code == 2
    assert done.errors.strip() == f"offscript: cannot write to {command[-1]} {place}; Not a directory"


def test_a_folder_that_is_not_there_is_made_for_results(offscript: Command, tmp_path: Path) -> None:
    claims, out = tmp_path / "claims.jsonl", tmp_path / "new" / "folder" / "results.jsonl"
    claims.write_text('{"claim": "Paris is the capital of France."}')
    done = offscript("check", "--file", str(claims), "--out", str(out))
    assert done.code == 0
    assert done.output.startswith(f"{out}: 1 claim, ")
    assert len(out.read_text().splitlines()) == 1
