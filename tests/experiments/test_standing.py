"""What reproductions say of the papers' claims, and the page that is made of it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from offscript.errors import OffscriptError
from offscript.experiments.experiment import read_experiment
from offscript.experiments.standing import (
    WORDS,
    Claim,
    Standing,
    needed,
    papers,
    read_standing,
    standings,
    write_standing,
)
from offscript.experiments.tables import experiments

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    described = importlib.util.spec_from_file_location("write_papers", ROOT / "tools" / "write_papers.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    sys.modules[described.name] = module
    described.loader.exec_module(module)
    return module


def standing(seconds: float = 60.0, verdict: str = "agrees") -> Standing:
    claims = [
        Claim(statement="a below | b (Table 1)", source="Table 1", found="0.5 [0.4, 0.6]", verdict=verdict),
        Claim(statement="c rises (Table 2)", source="Table 2", found="missing", verdict="not measured"),
    ]
    names = {"experiment": "paper/table", "paper": "A paper", "title": "A table", "scale": "quick", "version": "1"}
    return Standing(**names, runs=3, seconds=seconds, claims=claims)


def test_the_page_is_what_the_result_files_say(writer: ModuleType) -> None:
    expected = writer.page(standings(), writer.missing_results())
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == expected, "run make papers"


@pytest.mark.parametrize("name", standings())
def test_shipped_results_are_of_the_experiments_as_they_are(name: str) -> None:
    stored = standings()[name]
    assert name in experiments()
    assert [claim.statement for claim in stored.claims] == [
        str(each) for each in read_experiment(name, stored.scale).expected
    ], "the experiment changed: reproduce it again, and run make papers"


def test_a_row_has_the_claim_what_was_found_and_the_verdict(writer: ModuleType) -> None:
    text = writer.page({"paper/table": standing()}, writer.missing_results())
    assert "**2 claims of 1 experiments: 1 hold, 1 not decided.**" in text
    assert "`paper/table`, scale quick, 3 runs, 1 min." in text
    assert "| a below \\| b (Table 1) | 0.5 [0.4, 0.6] | holds |" in text
    assert "| Evaluating Text GANs as Language Models | Table 1 | `text-gans/table-1` |" in text


def test_a_row_of_the_package_says_the_claim_in_a_sentence_and_what_would_decide_it(writer: ModuleType) -> None:
    [name, *_] = [name for name in standings() if len(read_experiment(name, "quick").expected) == 1]
    [expected] = read_experiment(name, "quick").expected
    claim = Claim(statement="q below 1", source="s", found="1 [0, 2]", verdict="undecided", needs="about 4 runs")
    text = writer.page(
        {name: standing().model_copy(update={"experiment": name, "claims": [claim]})}, writer.missing_results()
    )
    row = f"| {expected.claim}<br>*q below 1* | 1 [0, 2] | not decided; about 4 runs would decide it |"
    assert row in text


def test_every_claim_of_the_package_is_a_sentence() -> None:
    for name in experiments():
        for expected in read_experiment(name, "quick").expected:
            assert expected.claim.endswith("."), (name, str(expected))
            assert expected.claim[0].isupper(), (name, str(expected))


def test_what_would_decide_a_claim_is_a_number_of_runs_or_of_samples() -> None:
    assert needed("agrees", 0.5, 4) == ""
    assert needed("not measured", None, 1) == "a figure that was not measured"
    # Student's quantiles: 4.3027 / 3 ** .5 = 2.484 with 3 runs, 3.1824 / 2 = 1.591 with 4
    assert needed("undecided", 2.484 / 1.592, 3) == "about 4 runs"
    assert needed("undecided", 2.484 / 1.590, 3) == "about 5 runs"
    assert needed("undecided", 1e6, 3) == "more than 100 runs"
    assert needed("undecided", 2.0, 1) == "about 4 times the samples"
    assert needed("undecided", 1.001, 1) == "about 1.1 times the samples"
    assert needed("undecided", float("inf"), 1) == "more than 100 times the samples"


def test_stored_claims_say_what_would_decide_them() -> None:
    claims = [claim for stored in standings().values() for claim in stored.claims]
    assert all(bool(claim.needs) == (WORDS[claim.verdict] == "not decided") for claim in claims)


def test_every_table_has_an_experiment_or_a_reason(writer: ModuleType) -> None:
    reasons = {(each["paper"], each["what"]) for each in writer.missing_results()}
    listed = {
        (name, what): by for name, paper in papers().items() for what, by in {**paper.tables, **paper.figures}.items()
    }
    assert {what for what, by in listed.items() if not by} == reasons
    assert sum(len(paper.tables) for paper in papers().values()) == 36
    assert sum(len(paper.figures) for paper in papers().values()) == 30


def test_the_longest_time_is_kept_while_the_claims_are_the_same(tmp_path: Path) -> None:
    write_standing(standing(600.0), tmp_path)
    assert read_standing(write_standing(standing(2.0), tmp_path)).seconds == 600.0
    assert read_standing(write_standing(standing(2.0, "disagrees"), tmp_path)).seconds == 2.0


def test_a_summary_counts_by_verdict() -> None:
    assert standing().summary == "1 hold, 1 not decided (quick)"
    assert set(WORDS.values()) == {"holds", "does not hold", "not decided"}


@pytest.mark.parametrize("text", ["{}", "[]", '{"experiment": 3}'])
def test_a_damaged_file_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "standing.json"
    path.write_text(text)
    with pytest.raises(OffscriptError, match="is not a standing"):
        read_standing(path)


def test_taking_prefers_the_largest_scale(writer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "RESULTS", tmp_path / "results")
    [name, *_] = experiments()
    for scale in ("quick", "standard"):
        kept = standing().model_copy(update={"experiment": name, "scale": scale})
        write_standing(kept, tmp_path / "runs" / name / scale)
    writer.take(tmp_path / "runs")
    assert read_standing(tmp_path / "results" / f"{name}.json").scale == "standard"
