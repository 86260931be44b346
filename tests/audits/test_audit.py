"""An audit's shape: plan, run, store, page; what is missing is said, what is stored is not run again."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript.audits.audit import newest_audit, plan_audit, read_record, remember_pace, remembered_pace, run_audit
from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.likelihood import Likelihood
from offscript.measures.question import Answer, Progress, Question, Silent
from offscript.measures.registry import question
from offscript.measures.samples import Samples
from offscript.measures.subject import Subject
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.report.page import render_page


def small_model(name: str, seed: int, words: int = 20) -> LSTMLanguageModel:
    vocabulary = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(words))])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
    model.name = name
    return model


@pytest.fixture
def subject() -> Subject:
    return Subject(small_model("student", 1), small_model("oracle", 2), length=8, limit=30)


def test_without_oracle_and_corpus_the_plan_says_what_is_left_out_and_why() -> None:
    plan = plan_audit(Subject(small_model("student", 1), length=8, limit=30))
    assert "likelihood" not in [planned.question.name for planned in plan.asked]
    reasons = {question.name: reason for question, reason in plan.left_out}
    assert "--corpus" in reasons["likelihood"]


def corpus_of(path: Path, texts: int, words: int) -> tuple[str]:
    path.write_text((" ".join(["w1"] * words) + "\n") * texts, encoding="utf-8")
    return (str(path),)


def test_a_corpus_of_too_few_texts_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    subject = Subject(small_model("student", 1), corpus=corpus_of(tmp_path / "few.txt", 3, 12), length=8)
    with pytest.raises(OffscriptError, match="corpus of 3 texts; an interval needs at least 4; add text to --corpus"):
        plan_audit(subject)


@pytest.mark.parametrize("kind", ["corpus", "associations", "domain"])
def test_a_file_that_is_not_there_is_refused_before_the_model_is_loaded(kind: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.json")
    (there,) = corpus_of(tmp_path / "there.txt", 40, 12)
    given: dict[str, Any] = {
        "corpus": {"corpus": (missing,)},
        "associations": {"associations": missing},
        "domain": {"corpus": (f"news={there}", f"web={missing}")},
    }[kind]
    subject = Subject(str(tmp_path / "no model"), **given)
    with pytest.raises(OffscriptError, match=r"no such file: .*missing\.json"):
        plan_audit(subject)


@pytest.mark.parametrize(("words", "asked"), [(3, False), (12, True)])
def test_recovery_is_left_out_where_texts_are_too_short_for_it(tmp_path: Path, words: int, asked: bool) -> None:
    subject = Subject(small_model("student", 1), corpus=corpus_of(tmp_path / "short.txt", 40, words), length=8)
    plan = plan_audit(subject, ["recovery", "likelihood"])
    assert ("recovery" in [planned.question.name for planned in plan.asked]) is asked
    reasons = {question.name: reason for question, reason in plan.left_out}
    assert ("longer texts" in reasons.get("recovery", "")) is not asked


def test_an_unknown_question_is_named_with_what_is_near(subject: Subject) -> None:
    with pytest.raises(OffscriptError, match="'liklihood'.*did you mean 'likelihood'"):
        plan_audit(subject, ["liklihood"])


def test_a_misspelt_setting_is_refused_even_where_its_question_is_left_out() -> None:
    with pytest.raises(OffscriptError, match="exposure has no setting 'sampels'; did you mean 'samples'"):
        plan_audit(Subject(small_model("student", 1), length=8, limit=30), changes={"exposure": {"sampels": 3}})


def test_an_oracle_with_another_vocabulary_is_refused() -> None:
    with pytest.raises(OffscriptError, match="different vocabularies"):
        Subject(small_model("student", 1), small_model("oracle", 2, words=21))


def test_the_record_reads_back_as_it_was_written(subject: Subject, tmp_path: Path) -> None:
    record = run_audit(subject, plan_audit(subject, ["likelihood", "samples"]), tmp_path)
    again = read_record(newest_audit(tmp_path))
    assert again == record


@pytest.mark.parametrize("seed", [1, 6])
def test_the_page_from_disk_is_the_page_of_the_run(seed: int, tmp_path: Path) -> None:
    subject = Subject(
        small_model("student", seed, words=2), small_model("oracle", seed + 1, words=2), length=6, limit=30
    )
    record = run_audit(subject, plan_audit(subject), tmp_path)
    assert render_page(read_record(newest_audit(tmp_path))) == render_page(record)


def _count(kind: type[Question[Any]], asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    measure = kind.measure

    def counted(self: Question[Any], subject: Subject, settings: Any, progress: Progress) -> Answer:
        asked.append(self.name)
        return measure(self, subject, settings, progress)

    monkeypatch.setattr(kind, "measure", counted)


def test_what_an_interrupted_audit_finished_is_not_run_again(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    plan = plan_audit(subject, ["likelihood", "samples"])

    def interrupted(self: Question[Any], subject: Subject, settings: Any, progress: Progress) -> Answer:
        raise KeyboardInterrupt

    _count(Likelihood, asked, monkeypatch)
    with monkeypatch.context() as broken:
        broken.setattr(Samples, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_audit(subject, plan, tmp_path)
    _count(Samples, asked, monkeypatch)
    resumed = run_audit(subject, plan, tmp_path)
    assert asked == ["likelihood", "samples"]
    fresh = run_audit(subject, plan, tmp_path / "fresh")
    figures = [
        [(entry.name, entry.value, entry.interval) for entry in each.answers[0].measurements]
        for each in (resumed, fresh)
    ]
    assert figures[0] == figures[1]


@pytest.mark.parametrize("oracle", [True, False])
def test_every_figure_was_announced(oracle: bool, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(
        "".join(f"{' '.join(f'w{(line * place) % 20}' for place in range(1, 13))}\n" for line in range(60))
    )
    given = {"oracle": small_model("oracle", 2)} if oracle else {"corpus": (str(corpus),)}
    subject = Subject(small_model("student", 1), length=10, limit=30, **given)
    names = [*(each.question.name for each in plan_audit(subject).asked), "quality", "diversity"]
    plan = plan_audit(subject, [name for name in names if name != "quality" or not oracle])
    announced = plan.figures(subject)
    for answer in run_audit(subject, plan, tmp_path / "out").answers:
        patterns = announced[answer.name]
        assert patterns is not None
        for entry in answer.measurements:
            assert any(fnmatchcase(entry.name, pattern) for pattern in patterns), (answer.name, entry.name)


def test_a_stopped_run_resumes_at_the_pace_it_was_planned_with(tmp_path: Path) -> None:
    assert remembered_pace(tmp_path, "model", None, "cpu") is None
    remember_pace(tmp_path, 120.0, "model", None, "cpu")
    assert remembered_pace(tmp_path, "model", None, "cpu") == 120.0
    assert remembered_pace(tmp_path, "other", None, "cpu") is None
    for damaged in ("[", "[]", '{"of": ["model", null, "cpu"], "pace": "x"}', "3"):
        (tmp_path / "pace.json").write_text(damaged)
        assert remembered_pace(tmp_path, "model", None, "cpu") is None


def test_figures_do_not_depend_on_the_batch_size() -> None:
    def ppl(batch_size: int) -> float:
        subject = Subject(small_model("s", 1), small_model("o", 2), length=8, limit=30, batch_size=batch_size)
        asked = question("likelihood")
        return asked.measure(subject, asked.plan(subject), Silent()).measurements[0].value

    assert ppl(1) == pytest.approx(ppl(64), rel=1e-6)


def test_a_folder_without_an_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no audit"):
        newest_audit(tmp_path)


def test_an_audit_far_below_a_folder_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offscript.audits.audit._is_audit", lambda path: True)
    model = tmp_path / "out" / "model"
    model.mkdir(parents=True)
    for stamp in ("2026-01-01", "2026-01-02"):
        (model / f"results_{stamp}.json").write_text("{}")
    assert newest_audit(model) == newest_audit(tmp_path / "out") == model / "results_2026-01-02.json"
    with pytest.raises(OffscriptError, match="the --out folder of an audit"):
        newest_audit(tmp_path)
