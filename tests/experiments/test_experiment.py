"""The papers' tables as data: every one reads at every scale, and statements are judged by intervals."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch

from offscript.audits.store import read_results
from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.experiments.experiment import Experiment, change, read_experiment, why_not
from offscript.experiments.reproduce import reproduce, store_reproduction
from offscript.experiments.statements import Bound, Ordering
from offscript.experiments.tables import experiments, scales_of
from offscript.measures.measurement import Measurement
from offscript.measures.question import Answer, Progress, Settings
from offscript.measures.registry import question
from offscript.measures.regret import Regret
from offscript.measures.retrieval import Retrieval
from offscript.measures.subject import Subject
from offscript.models.storage import build
from offscript.statistics import Interval
from offscript.training.recipe import kind_and_settings, recipe_from

EVERY = [(name, scale) for name in experiments() for scale in scales_of(name)[1]]


def figure(value: float, reach: float, name: str = "eb_c.js") -> Measurement:
    return Measurement(
        question="exposure",
        name=name,
        value=value,
        standard_error=reach / 2,
        interval=Interval(value - reach, value + reach, 0.95, "bootstrap"),
        n=10,
        seed=1,
        seconds=0.0,
        recipe={},
    )


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_every_experiment_reads_and_its_recipes_check(name: str, scale: str) -> None:
    experiment = read_experiment(name, scale)
    for variant in experiment.variants:
        for cell in experiment.cells_of(variant, 0, seed=1):
            known = question(cell.call.question)
            beside = ("corpus", "limit", "sources", "associations")  # of the subject, not the question
            known.settings({key: value for key, value in cell.call.settings.items() if key not in beside})
            for content in (*cell.trainings, *cell.oracle_trainings):
                recipe_from(content)
    variants = {variant.name for variant in experiment.variants} | set(experiment.correlations)
    for expected in experiment.expected:
        of_variants = isinstance(expected, Ordering) and "{}" not in expected.figure
        named = set(expected.along) if of_variants else {expected.figure.split("/")[0]}
        assert named <= variants


@pytest.mark.parametrize("name", [name for name, scale in EVERY if scale == "paper"])
def test_networks_of_the_papers_size_read_a_batch(name: str) -> None:
    """Without memory or time: on the device that knows shapes alone."""
    experiment = read_experiment(name, "paper")
    vocabulary = WordVocabulary(["<unk>", "</s>", *(f"w{number}" for number in range(4998))], end="</s>")
    cells = [experiment.cells_of(variant, 0, seed=1)[0] for variant in experiment.variants]
    for content in [each for cell in cells for each in (*cell.trainings, *cell.oracle_trainings)]:
        kind, settings = kind_and_settings(recipe_from(content).model)
        if kind not in ("lstm", "transformer", "encoder-decoder"):
            continue
        with torch.device("meta"):
            network = build(kind, settings, vocabulary)
            if kind != "encoder-decoder":  # that one needs sources
                assert network.logits(torch.zeros(48, 50, dtype=torch.long)).shape == (48, 50, vocabulary.size)
        assert sum(each.numel() for each in network.parameters()) > 100_000


@pytest.mark.parametrize(
    ("relation", "value", "verdict"),
    [
        ("below", 1.2, "agrees"),
        ("below", 0.8, "disagrees"),
        ("below", 1.0, "undecided"),
        ("above", 0.8, "agrees"),
        ("above", 1.2, "disagrees"),
        ("about", 1.0, "agrees"),
        ("about", 2.0, "disagrees"),
    ],
)
def test_an_interval_decides_a_bound(relation: str, value: float, verdict: str) -> None:
    bound = Bound(figure="A/exposure.eb_c.js", relation=relation, value=value, tolerance=0.15, source="here")
    assert bound.judged({"A/exposure.eb_c.js": figure(1.0, 0.1)})[1] == verdict
    assert bound.judged({})[1] == "not measured"


@pytest.mark.parametrize(
    ("values", "verdict"), [((3.0, 2.0, 1.0), "agrees"), ((3.0, 1.0, 2.0), "disagrees"), ((3.0, 2.9, 1.0), "undecided")]
)
def test_an_ordering_holds_where_neighbours_do_not_meet(values: tuple[float, ...], verdict: str) -> None:
    ordering = Ordering(figure="exposure.eb_c.js", order="falls", along={"a": 9.0, "b": None, "c": 7.0}, source="here")
    found = {f"{name}/exposure.eb_c.js": figure(value, 0.2) for name, value in zip("abc", values, strict=True)}
    assert ordering.judged(found)[1] == verdict
    within = ordering.model_copy(update={"figure": "A/exposure.eb_c.{}"})
    assert within.judged({f"A/exposure.eb_c.{name[0]}": entry for name, entry in found.items()})[1] == verdict


def test_changes_reach_into_lists() -> None:
    content = {"measures": [{"settings": {"samples": 1}}, {"settings": {}}]}
    change(content, "measures.*.settings.samples", 7)
    change(content, "measures.0.settings.length", 3)
    assert content == {"measures": [{"settings": {"samples": 7, "length": 3}}, {"settings": {"samples": 7}}]}


def test_unknown_names_are_named_with_what_is_near() -> None:
    with pytest.raises(OffscriptError, match="did you mean 'exposure-bias/figure-2'"):
        read_experiment("exposure-bias/figure-22", "quick")
    with pytest.raises(OffscriptError, match="known: quick, standard, paper"):
        read_experiment("exposure-bias/figure-2", "huge")


TABLE = (
    '{"kind": "tabular", "vocabulary": ["A", "B"], "length": 2,'
    ' "next": {"": [0.5, 0.5], "A": [0.9, 0.1], "B": [0.5, 0.5]}}'
)


def small_experiment(oracle: Path) -> Experiment:
    return Experiment(
        name="tests/small",
        paper="none",
        title="A table and its student",
        oracle=str(oracle),
        training={
            "model": {"kind": "lstm", "hidden": 4, "embedding": 4},
            "data": {"kind": "samples", "model": str(oracle), "length": 2, "size": 16, "epoch": 64, "validation": 32},
            "stop": {"epochs": 1},
        },
        variants=[{"name": "itself", "model": str(oracle)}, {"name": "student"}],
        measures=[{"question": "regret", "settings": {"samples": 50, "length": 2}}],
        expected=[
            {"figure": "itself/regret.q_per_token", "relation": "about", "value": 0.0, "source": "by definition"}
        ],
    )


def test_a_reproduction_trains_measures_judges_and_runs_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = tmp_path / "table.json"
    oracle.write_text(TABLE)
    experiment = small_experiment(oracle)
    found = reproduce(experiment, tmp_path / "out")
    assert [each.verdict for each in found.statements] == ["agrees"]
    assert found.figures["itself/regret.q_per_token"].value == 0.0
    assert found.figures["student/regret.q_per_token"].value > 0.0
    paths = store_reproduction(found, tmp_path / "stored", "quick")
    assert {entry.name for entry in read_results(paths[1])} >= {"q_per_token", "nll_oracle"}
    monkeypatch.setattr(Regret, "measure", None)
    again = reproduce(experiment, tmp_path / "out")
    assert again.figures == found.figures


def test_an_oracle_can_be_trained_too(tmp_path: Path) -> None:
    data = tmp_path / "table.json"
    data.write_text(TABLE)
    named = small_experiment(data)
    changes = {"model.hidden": 8}
    content = {**named.model_dump(), "oracle": None, "oracle_changes": changes, "expected": []}
    same = {"name": "the same", "changes": changes}
    experiment = Experiment(**{**content, "variants": [{"name": "student"}, same]})
    found = reproduce(experiment, tmp_path / "out")
    assert found.figures["the same/regret.q_per_token"].value == 0.0
    assert found.figures["student/regret.q_per_token"].value > 0.0
    assert len([each for each in (tmp_path / "out" / "models").iterdir() if each.is_dir()]) == 2
    with pytest.raises(ValueError, match="keep one of the two"):
        Experiment(**{**content, "oracle": str(data)})


def test_a_variant_changes_the_settings_of_one_question_and_gives_sources(tmp_path: Path) -> None:
    model, sources = tmp_path / "model.json", tmp_path / "sources.txt"
    model.write_text(
        '{"kind": "conditional-tabular", "vocabulary": ["A", "B"], "length": 1,'
        ' "sources": {"eins": {"": [1.0, 0.0]}, "zwei": {"": [0.5, 0.5]}}}'
    )
    sources.write_text("zwei\n")
    content = {
        "name": "tests/sources",
        "paper": "none",
        "title": "-",
        "oracle": str(model),
        "measures": [{"question": "regret", "settings": {"samples": 20, "length": 1}}],
    }
    variant = {"name": "given", "model": str(model), "settings_of": {"regret": {"sources": str(sources)}}}
    found = reproduce(Experiment(**content, variants=[variant]), tmp_path / "out")
    assert found.figures["given/regret.q_per_token"].value == 0.0
    assert found.figures["given/regret.nll_oracle"].value == pytest.approx(math.log(2))
    with pytest.raises(ValueError, match="settings of 'exposure', which is not measured"):
        Experiment(**content, variants=[{"name": "a", "settings_of": {"exposure": {}}}])


def test_a_variant_answers_only_the_questions_it_names(tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_text('{"kind": "tabular", "vocabulary": ["A", "B"], "length": 1, "next": {"": [0.5, 0.5]}}')
    content = {
        "name": "tests/questions",
        "paper": "none",
        "title": "-",
        "oracle": str(model),
        "measures": [
            {"question": "regret", "settings": {"samples": 20, "length": 1}},
            {"question": "likelihood", "settings": {"samples": 20, "length": 1}},
        ],
    }
    few = {"name": "few", "model": str(model), "questions": ["likelihood"]}
    found = reproduce(Experiment(**content, variants=[few, {"name": "all", "model": str(model)}]), tmp_path / "out")
    asked = {name.partition(".")[0] for name in found.figures}
    assert asked == {"few/likelihood", "all/likelihood", "all/regret"}
    with pytest.raises(ValueError, match="a is to answer 'exposure', which is not measured"):
        Experiment(**content, variants=[{"name": "a", "questions": ["exposure"]}])
    with pytest.raises(ValueError, match="at least 1 item"):
        Experiment(**content, variants=[{"name": "a", "questions": []}])


def test_a_system_without_a_model_is_told_by_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ranking(Settings):
        ranker: str
        documents: str

    def measure(self: Retrieval, subject: Subject, settings: Ranking, progress: Progress) -> Answer:
        entry = figure(len(settings.ranker), 0.5, "recall@1")
        return Answer([dataclasses.replace(entry, question="retrieval", recipe={"in": settings.documents})])

    monkeypatch.setattr(Retrieval, "Settings", Ranking)
    monkeypatch.setattr(Retrieval, "measure", measure)
    experiment = Experiment(
        name="tests/retrieval",
        paper="none",
        title="Two rankers",
        seeds=3,
        variants=[{"name": "short", "settings": {"ranker": "a"}}, {"name": "long", "settings": {"ranker": "abc"}}],
        measures=[{"question": "retrieval", "settings": {"documents": "$NOWHERE/documents"}}],
        expected=[
            {"figure": "retrieval.recall@1", "order": "rises", "along": {"short": 1, "long": 3}, "source": "here"}
        ],
    )
    monkeypatch.setenv("NOWHERE", "/data")
    found = reproduce(experiment, tmp_path)
    assert [each.verdict for each in found.statements] == ["agrees"]
    assert found.figures["long/retrieval.recall@1"].recipe == {"in": "/data/documents"}
    assert not (tmp_path / "models").exists()


def test_a_model_measure_without_a_model_is_refused(tmp_path: Path) -> None:
    experiment = Experiment(
        name="tests/none", paper="none", title="-", variants=[{"name": "nobody"}], measures=[{"question": "regret"}]
    )
    with pytest.raises(OffscriptError, match="nobody has no model"):
        reproduce(experiment, tmp_path)


def test_what_cannot_be_run_here_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OFFSCRIPT_DATA", raising=False)
    assert why_not("exposure-bias/figure-2", "quick") is None
    assert why_not("regret/table-3", "quick") == "OFFSCRIPT_DATA is not set"
    assert why_not("regret/table-3", "paper") == "it has no paper scale"
    monkeypatch.setenv("OFFSCRIPT_DATA", str(tmp_path))
    assert why_not("regret/table-3", "quick") == "$OFFSCRIPT_DATA/seqgan-oracle is missing"
    (tmp_path / "seqgan-oracle").mkdir()
    assert why_not("regret/table-3", "quick") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_not("exposure-bias/figure-2", "paper") == "made for a GPU, and there is none"


def test_a_file_is_an_experiment(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("{paper: P, title: T, variants: [{name: a, model: m}], measures: [{question: samples}]}")
    experiment = read_experiment(str(path), "quick")
    assert (experiment.name, experiment.variants[0].model) == ("mine", "m")
    assert why_not(str(path), "quick") is None
    with pytest.raises(OffscriptError, match="cannot be run at scale paper"):
        read_experiment(str(path), "paper")
    with pytest.raises(OffscriptError, match="no experiment at"):
        read_experiment(str(tmp_path / "absent.yaml"), "quick")
