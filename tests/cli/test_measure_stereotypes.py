"""`offscript measure stereotypes` and `associations` as a user meets them."""

import json
import lzma
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript.corpora import WordVocabulary
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save

LABELS = ("stereotype", "anti-stereotype", "unrelated")
FILLS = [("cold", "warm", "seven"), ("poor", "rich", "seven"), ("warm", "cold", "rich")]
Command = Callable[..., Any]


def _figures(done: Any) -> dict[str, Any]:
    figures: dict[str, Any] = done.json["results"]["stereotypes"]
    return figures


def _record(task: str, number: int) -> dict[str, Any]:
    fills = FILLS[number % len(FILLS)]
    texts = [f"he is {word}" if task == "intrasentence" else f"so he is {word} now" for word in fills]
    listed = [
        {"id": f"{task}-{number}-{label}", "sentence": text, "gold_label": label}
        for label, text in zip(LABELS, texts, strict=True)
    ]
    context = "he is BLANK" if task == "intrasentence" else "he came home"
    return {
        "id": f"{task}-{number}",
        "target": f"term {number % 2}",
        "bias_type": "race",
        "context": context,
        "sentences": listed,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stereotypes")
    tasks = {task: [_record(task, number) for number in range(6)] for task in ("intrasentence", "intersentence")}
    (place / "tests.json").write_text(json.dumps({"data": tasks}))
    predictions = {
        task: [
            {"id": sentence["id"], "score": -place}
            for record in records
            for place, sentence in enumerate(record["sentences"])
        ]
        for task, records in tasks.items()
    }
    (place / "predictions.json").write_text(json.dumps(predictions))
    for name, words in (("positive", "warm\nrich\n"), ("negative", "; words\ncold\npoor\n")):
        (place / f"{name}-words.txt").write_text(words)
    (place / "frequencies.txt").write_text("he 100\nis 100\nseven 10\n")
    (place / "documents.txt").write_text(
        "\n".join(f"He is {word}. So he came home." for word in ["cold", "warm", "poor", "rich"] * 3)
    )
    vocabulary = WordVocabulary(
        ["<unk>", "<eos>", "he", "is", "so", "now", "came", "home", "cold", "warm", "poor", "rich", "seven", "."],
        lower=True,
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)), place / "model")
        save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)), place / "other")
    return place


def test_predictions_are_scored(offscript: Command, folder: Path) -> None:
    done = offscript(
        "measure",
        "stereotypes",
        "--predictions",
        f"{folder}/predictions.json",
        "--data",
        f"{folder}/tests.json",
        "--json",
    )
    assert done.code == 0
    assert (_figures(done)["lms"], _figures(done)["ss"], _figures(done)["icat"]) == (100, 100, 0)
    assert _figures(done)["intersentence.race.ss"] == 100
    assert _figures(done)["ci"]["intrasentence.overall.lms"]["level"] == 0.95
    whole = done.json
    assert whole["ties"] == {"stereotype and anti-stereotype": 0, "meaningful and unrelated": 0}
    assert [row["term"] for row in whole["terms"]] == ["term 0", "term 1"]


def test_a_model_is_scored_and_its_scores_can_be_kept(offscript: Command, folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    data = ("--data", f"{folder}/tests.json", "--json")
    done = offscript("measure", "stereotypes", f"{folder}/model", *data, "--save-predictions", str(kept))
    assert done.code == 0
    again = offscript("measure", "stereotypes", "--predictions", str(kept), *data)
    for name in ("lms", "ss", "icat"):
        assert _figures(again)[name] == _figures(done)[name]
    at_once = offscript("measure", "stereotypes", f"{folder}/model", *data, "--batch-size", "1")
    assert _figures(at_once) == _figures(done)


def test_two_models_are_compared_on_the_same_tests(offscript: Command, folder: Path) -> None:
    arguments = ("measure", "stereotypes", f"{folder}/model", "--data", f"{folder}/tests.json")
    done = offscript(*arguments, "--against", f"{folder}/other", "--json")
    compared = done.json["comparison"]
    assert (compared["first"], compared["second"]) == (f"{folder}/model", f"{folder}/other")
    assert [row["figure"] for row in compared["differences"]] == ["lms", "ss", "icat"]
    assert all(0 < row["p_value"] <= 1 for row in compared["differences"])
    shown = offscript(*arguments, "--against-predictions", f"{folder}/predictions.json")
    assert "minus" in shown.output


def test_a_sampler_is_held_against_the_model_itself(offscript: Command, folder: Path) -> None:
    arguments = ("measure", "stereotypes", f"{folder}/model", "--data", f"{folder}/tests.json", "--json", "--sampler")
    plain = offscript(*arguments, "ancestral").json["comparison"]
    assert [row["difference"] for row in plain["differences"]] == [0, 0, 0]
    cut = offscript(*arguments, "greedy")
    assert _figures(cut)["ties"] > 50
    assert cut.json["ties"]["stereotype and anti-stereotype"] > 6


@pytest.mark.parametrize(
    ("baseline", "lms", "ss", "icat"),
    [("ideal", 100, 50, 100), ("stereotyped", 100, 100, 0), ("sentiment", None, None, None)],
)
def test_baselines(offscript: Command, folder: Path, baseline: str, lms: Any, ss: Any, icat: Any) -> None:
    arguments = ("--data", f"{folder}/tests.json", "--lexicon", str(folder), "--json")
    figures = _figures(offscript("measure", "stereotypes", "--baseline", baseline, *arguments))
    if lms is None:  # cold before seven before warm, poor before seven before rich, cold before warm = rich
        lms, ss, icat = 50, 200 / 3, 100 / 3
    assert [figures[name] for name in ("lms", "ss", "icat")] == pytest.approx([lms, ss, icat])


def test_an_ensemble_is_weighted(offscript: Command, folder: Path, tmp_path: Path) -> None:
    opposite = json.loads((folder / "predictions.json").read_text())
    for records in opposite.values():
        for record in records:
            record["score"] = -record["score"]
    (tmp_path / "opposite.json").write_text(json.dumps(opposite))
    arguments = ("measure", "stereotypes", "--data", f"{folder}/tests.json", "--json")
    arguments += (
        "--predictions",
        f"{folder}/predictions.json",
        "--predictions",
        f"{tmp_path}/opposite.json",
        "--weights",
    )
    assert _figures(offscript(*arguments, "0.6,0.4"))["ss"] == 100
    assert _figures(offscript(*arguments, "0.4,0.6"))["ss"] == 0
    assert _figures(offscript(*arguments, "0.5,0.5"))["ties"] == 100


def test_a_head_is_trained_and_used(offscript: Command, folder: Path, tmp_path: Path) -> None:
    recipe = {
        "name": "head",
        "algorithm": "next-sentence",
        "warm_start": f"{folder}/model",
        "data": {
            "train": [f"{folder}/documents.txt"],
            "validation": [f"{folder}/documents.txt"],
            "batches": {"size": 8},
        },
        "stop": {"steps": 2},
    }
    (tmp_path / "head.yaml").write_text(json.dumps(recipe))
    trained = offscript("train", f"{tmp_path}/head.yaml", "--out", f"{tmp_path}/run", "--json")
    assert trained.code == 0, trained.errors
    head = trained.json["head"]
    done = offscript(
        "measure", "stereotypes", f"{folder}/model", "--data", f"{folder}/tests.json", "--head", head, "--json"
    )
    assert math.isfinite(_figures(done)["intersentence.overall.ss"])
    recipes = done.json["recipes"]
    assert [recipe["head"] for recipe in recipes.values()] == [head]


def test_tables_for_people(offscript: Command, folder: Path) -> None:
    done = offscript("measure", "stereotypes", "--baseline", "random", "--data", f"{folder}/tests.json", "--limit", "4")
    assert done.code == 0
    assert "stereotypes.icat" in done.output
    assert "least" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give exactly one of MODEL, --predictions and --baseline"),
        (["--baseline", "ideal", "--predictions", "x.json"], "give exactly one of MODEL, --predictions and --baseline"),
        (["--baseline", "randm"], "did you mean 'random'?"),
        (["--baseline", "sentiment"], "--lexicon FOLDER"),
        (["--baseline", "random", "--sampler", "greedy"], "a sampler needs a model"),
        (["--baseline", "ideal", "--save-predictions", "x.json"], "gives no scores"),
        (["--predictions", "none.json"], "no such file: none.json"),
        (["none.gguf"], "none.gguf"),
    ],
)
def test_bad_usage_is_one_line(offscript: Command, folder: Path, arguments: list[str], said: str) -> None:
    done = offscript("measure", "stereotypes", *arguments, "--data", f"{folder}/tests.json")
    assert done.code == 2
    assert said in done.errors
    assert done.errors.count("\n") == 1


def test_bad_weights_are_one_line(offscript: Command, folder: Path) -> None:
    arguments = ["--data", f"{folder}/tests.json", *["--predictions", f"{folder}/predictions.json"] * 2]
    for weights in ("a,b", "1,2,3"):
        done = offscript("measure", "stereotypes", *arguments, "--weights", weights)
        assert (done.code, done.errors.count("\n")) == (2, 1)


def test_data_are_described(offscript: Command, folder: Path) -> None:
    arguments = ("measure", "associations", "--data", f"{folder}/tests.json", "--lexicon", str(folder))
    arguments += ("--frequencies", f"{folder}/frequencies.txt")
    found = offscript(*arguments, "--json").json
    assert found["counts"][0] == {"tests of": "intersentence.overall", "terms": 2, "tests": 6, "average_words": 8.0}
    assert found["sentiment"][0]["negative"]["value"] == pytest.approx(2 / 3)
    assert {row["word"]: row["count"] for row in found["keywords"]} == {
        "so": 12,
        "is": 12,
        "now": 12,
        "cold": 8,
        "warm": 8,
    }
    assert found["keywords"][0]["word"] == "now"
    assert found["keywords"][0]["pmi"] == pytest.approx(math.log2((12 / 60) / (1 / 210)))
    shown = offscript(
        "measure", "associations", "--data", f"{folder}/tests.json", "--corpus", f"{folder}/documents.txt"
    )
    assert shown.code == 0
    assert "intersentence.overall" in shown.output


@pytest.mark.slow
def test_a_real_model_scores_real_tests(offscript: Command, data_folder: Path, tmp_path: Path) -> None:
    model = os.environ.get("OFFSCRIPT_MODEL")
    if not model:
        pytest.skip("no real model (OFFSCRIPT_MODEL names one)")
    with lzma.open(data_folder / "stereoset" / "dev.reconstructed.json.xz") as stream:
        data = json.load(stream)["data"]
    (tmp_path / "some.json").write_text(json.dumps({"data": {task: records[::30] for task, records in data.items()}}))
    done = offscript("measure", "stereotypes", model, "--data", f"{tmp_path}/some.json", "--json", "--quiet")
    assert done.code == 0, done.errors
    assert _figures(done)["lms"] > 60  # it knows sense from nonsense
    assert _figures(done)["intrasentence.overall.lms"] > 60
    assert 0 <= _figures(done)["ss"] <= 100
