"""The one loop: how far it goes, what it keeps, what it writes down, and what it refuses."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from offscript.cli.ls import _algorithms
from offscript.errors import OffscriptError
from offscript.learning import Loss
from offscript.models import load_model
from offscript.models.storage import read_card
from offscript.training import ALGORITHMS, Algorithm, Recipe, Trained, recipe_from, train
from offscript.training import loop as training_loop

LSTM = {"kind": "lstm", "hidden": 8, "embedding": 4}
TRANSFORMER = {"kind": "transformer", "width": 8, "layers": 1, "heads": 2, "context": 8}


class Watching:
    """Remembers what a run tells."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def begin(self, step: int, total: int) -> None:
        self.told.append(("begin", step, total))

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        assert math.isfinite(loss)
        assert tokens_per_second > 0
        self.told.append(("step", step))

    def note(self, step: int, text: str) -> None: ...

    def validated(self, step: int, nll: float, best: float) -> None:
        self.told.append(("validated", step, nll, best))

    def end(self) -> None:
        self.told.append(("end",))


@pytest.fixture
def recipe(oracle_file: Path) -> Callable[..., Recipe]:
    """A recipe on samples of the tabular oracle: ten steps an epoch."""

    def build(**changes: Any) -> Recipe:
        data = {"kind": "samples", "model": str(oracle_file), "length": 4, "size": 16, "epoch": 160, "validation": 64}
        return recipe_from({"name": "test", "model": LSTM, "data": data, "stop": {"epochs": 2}, **changes})

    return build


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let validation find the given values in turn."""

    def script(*values: float) -> None:
        found: Iterator[float] = iter(values)
        monkeypatch.setattr(training_loop, "validation_nll", lambda *_: next(found))

    return script


def _logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", [LSTM, {**TRANSFORMER, "width": 16}])
def test_a_model_learns_its_oracle(recipe: Callable[..., Recipe], tmp_path: Path, oracle_file: Path, kind: Any) -> None:
    rates = {"learning_rate": 0.03, "schedule": "cosine", "warmup": 5}
    trained = train(recipe(model=kind, optimiser=rates, stop={"epochs": 20, "validate_every": 200}), tmp_path / "run")
    oracle, model = load_model(str(oracle_file)), load_model(str(trained.folder))
    tokens = torch.cartesian_prod(*[torch.arange(3)] * 4)
    truth, learned = (each.log_likelihoods(tokens).double().sum(dim=1) for each in (oracle, model))
    assert float(learned.exp().sum()) == pytest.approx(1, abs=1e-4)
    divergence = float((truth.exp() * (truth - learned)).sum())
    assert 0 <= divergence < 0.03
    entropy_rate = -float((truth.exp() * truth).sum()) / 4
    assert trained.validation_nll == pytest.approx(entropy_rate, abs=0.05)


@pytest.mark.parametrize(
    ("stop", "steps", "validated"),
    [
        ({"epochs": 2}, 20, [10, 20]),
        ({"epochs": 2, "steps": 7}, 7, [7]),
        ({"epochs": 1, "steps": 70}, 10, [10]),
        ({"epochs": 2, "steps": 14}, 14, [10, 14]),
        ({"epochs": 1, "validate_every": 4}, 10, [4, 8, 10]),
    ],
)
def test_a_run_ends_and_validates_where_the_recipe_says(
    recipe: Callable[..., Recipe], tmp_path: Path, stop: dict[str, int], steps: int, validated: list[int]
) -> None:
    watching = Watching()
    trained = train(recipe(stop=stop), tmp_path / "run", observer=watching)
    assert trained.steps == steps
    assert watching.told[0] == ("begin", 0, steps)
    assert watching.told[-1] == ("end",)
    assert [told[1] for told in watching.told if told[0] == "step"] == list(range(1, steps + 1))
    assert [told[1] for told in watching.told if told[0] == "validated"] == validated


def test_patience_ends_a_run_and_the_best_model_stays(
    recipe: Callable[..., Recipe], tmp_path: Path, scripted: Callable[..., None]
) -> None:
    scripted(3.0, 2.0, 2.5, 2.0)
    watching = Watching()
    trained = train(
        recipe(stop={"epochs": 50, "patience": 2, "validate_every": 3}), tmp_path / "run", observer=watching
    )
    assert (trained.steps, trained.validation_nll) == (12, 2.0)
    found = [told[1:] for told in watching.told if told[0] == "validated"]
    assert found == [(3, 3.0, 3.0), (6, 2.0, 2.0), (9, 2.5, 2.0), (12, 2.0, 2.0)]
    scripted(3.0, 2.0)
    short = train(recipe(stop={"epochs": 50, "steps": 6, "validate_every": 3}), tmp_path / "short")
    assert (trained.folder / "weights.safetensors").read_bytes() == (short.folder / "weights.safetensors").read_bytes()
    assert read_card(trained.folder)["best_step"] == 6


def test_a_gain_that_is_too_small_is_no_progress_but_its_weights_stay(
    recipe: Callable[..., Recipe], tmp_path: Path, scripted: Callable[..., None]
) -> None:
    scripted(3.0, 2.75, 2.25, 2.0, 1.9, 1.0)
    stop = {"epochs": 50, "patience": 2, "gain": 0.5, "validate_every": 1}
    trained = train(recipe(stop=stop), tmp_path / "run")
    assert (trained.steps, trained.validation_nll) == (5, 1.9)


def test_a_plateau_lowers_the_rate(
    recipe: Callable[..., Recipe], tmp_path: Path, scripted: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    step = torch.optim.Adam.step
    monkeypatch.setattr(
        torch.optim.Adam, "step", lambda self, *given: (rates.append(self.param_groups[0]["lr"]), step(self, *given))[1]
    )
    scripted(3.0, 3.5, 2.0, 2.5)
    optimiser = {"learning_rate": 0.8, "schedule": "plateau", "plateau_factor": 0.5}
    train(recipe(optimiser=optimiser, stop={"epochs": 1, "steps": 4, "validate_every": 1}), tmp_path / "run")
    assert rates == pytest.approx([0.8, 0.8, 0.4, 0.4])


def test_gradients_are_clipped(recipe: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    norms: list[float] = []

    def remember(self: torch.optim.Adam, *given: Any) -> None:
        gradients = [parameter.grad for parameter in self.param_groups[0]["params"]]
        norms.append(float(torch.cat([gradient.flatten() for gradient in gradients]).norm()))

    monkeypatch.setattr(torch.optim.Adam, "step", remember)
    for clip, folder in ((1e-3, "clipped"), (None, "free")):
        train(recipe(optimiser={"clip": clip}, stop={"epochs": 1, "steps": 1}), tmp_path / folder)
    assert norms[0] == pytest.approx(1e-3, rel=1e-3)
    assert norms[1] > 1e-2


def test_what_a_run_leaves_behind(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    chosen = recipe(about="for a test")
    trained = train(chosen, tmp_path / "run", log_every=5)
    assert isinstance(trained, Trained)
    names = {path.name for path in (tmp_path / "run").iterdir()} - {"tensorboard"}
    assert names == {"recipe.json", "log.jsonl", "last.safetensors", "best.safetensors", "model"}
    assert Recipe.model_validate_json((tmp_path / "run" / "recipe.json").read_text()) == chosen
    logged = _logged(tmp_path / "run")
    assert [line["step"] for line in logged if "loss" in line] == [5, 10, 15, 20]
    assert [line["step"] for line in logged if "validation_nll" in line] == [10, 20]
    card = read_card(trained.folder)
    assert (card["name"], card["about"], card["steps"]) == ("test", "for a test", 20)
    assert card["validation"]["ppl"] == pytest.approx(math.exp(trained.validation_nll))
    assert card["recipe"] == json.loads(chosen.model_dump_json())
    assert not load_model(str(trained.folder)).training


def test_a_corpus_run_leaves_no_encoded_corpus(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("a b c\nc b a\nb b\n" * 20)
    data = {"train": f"{tmp_path}/corpus.txt", "validation": f"{tmp_path}/corpus.txt", "batches": {"size": 8}}
    train(recipe_from({"model": LSTM, "data": data, "stop": {"epochs": 1}}), tmp_path / "run")
    assert not list((tmp_path / "run").glob(".corpus*"))


def test_weights_can_be_written_in_half_precision(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    trained = train(recipe(stop={"epochs": 1, "steps": 2}), tmp_path / "run", half=True)
    weights = load_file(trained.folder / "weights.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float16}


def test_the_same_recipe_gives_the_same_weights(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    dropping = {**LSTM, "dropout": 0.3}
    folders = [train(recipe(model=dropping), tmp_path / name).folder for name in ("one", "two")]
    other = train(recipe(model=dropping, seed=2), tmp_path / "three").folder
    weights = [(folder / "weights.safetensors").read_bytes() for folder in (*folders, other)]
    assert weights[0] == weights[1] != weights[2]


def test_randomness_outside_is_left_alone(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    before = torch.random.get_rng_state()
    train(recipe(model={**LSTM, "dropout": 0.3}, stop={"epochs": 1}), tmp_path / "run")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_finished_run_is_not_run_again(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    first = train(recipe(), tmp_path / "run")
    before = (first.folder / "weights.safetensors").read_bytes()
    watching = Watching()
    again = train(recipe(), tmp_path / "run", observer=watching)
    assert watching.told == [("begin", 20, 20), ("end",)]
    assert (again.steps, again.validation_nll) == (first.steps, first.validation_nll)
    assert (again.folder / "weights.safetensors").read_bytes() == before


@pytest.mark.parametrize("change", [{"seed": 2}, {"model": {**LSTM, "hidden": 9}}, {"model": TRANSFORMER}])
def test_a_folder_of_another_recipe_is_refused(
    recipe: Callable[..., Recipe], tmp_path: Path, change: dict[str, Any]
) -> None:
    train(recipe(), tmp_path / "run")
    before = (tmp_path / "run" / "last.safetensors").read_bytes()
    with pytest.raises(OffscriptError, match="holds a run of another recipe; name another folder"):
        train(recipe(**change), tmp_path / "run")
    assert (tmp_path / "run" / "last.safetensors").read_bytes() == before


def test_a_folder_of_other_data_is_refused(recipe: Callable[..., Recipe], tmp_path: Path, oracle_file: Path) -> None:
    train(recipe(), tmp_path / "run")
    oracle_file.write_text(oracle_file.read_text().replace("[0.5, 0.3, 0.2]", "[0.2, 0.3, 0.5]"))
    with pytest.raises(OffscriptError, match="the data are not those that"):
        train(recipe(), tmp_path / "run")


def test_a_warm_start_begins_with_anothers_weights(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    first = train(recipe(), tmp_path / "first")
    still = {"learning_rate": 1e-12}
    warm = train(
        recipe(warm_start=str(first.folder), optimiser=still, stop={"epochs": 1, "steps": 1}), tmp_path / "warm"
    )
    cold = train(recipe(optimiser=still, stop={"epochs": 1, "steps": 1}), tmp_path / "cold")
    begun = load_file(first.folder / "weights.safetensors")
    for name, weight in load_file(warm.folder / "weights.safetensors").items():
        torch.testing.assert_close(weight, begun[name])
    assert warm.validation_nll < cold.validation_nll


def test_a_warm_start_of_another_shape_is_refused(
    recipe: Callable[..., Recipe], tmp_path: Path, oracle_file: Path
) -> None:
    first = train(recipe(stop={"epochs": 1, "steps": 1}), tmp_path / "first")
    for start, model in ((str(first.folder), {**LSTM, "hidden": 9}), (str(oracle_file), LSTM)):
        with pytest.raises(OffscriptError, match="has another shape than the recipe's model"):
            train(recipe(warm_start=start, model=model), tmp_path / "warm")


@pytest.mark.parametrize("clip", [None, 1.0])
def test_a_run_that_diverges_is_ended(recipe: Callable[..., Recipe], tmp_path: Path, clip: float | None) -> None:
    watching = Watching()
    with pytest.raises(OffscriptError, match=r"loss is \S+ at step \d+; lower the learning rate"):
        train(recipe(optimiser={"learning_rate": 1e30, "clip": clip}), tmp_path / "run", observer=watching)
    assert watching.told[-1] == ("end",)


def test_a_loss_that_is_no_number_ends_the_run(
    recipe: Callable[..., Recipe], tmp_path: Path, scripted: Callable[..., None]
) -> None:
    scripted(2.0, math.nan)
    with pytest.raises(OffscriptError, match="the validation loss is nan at step 2"):
        train(recipe(stop={"epochs": 1, "validate_every": 1}), tmp_path / "run")
    with pytest.raises(OffscriptError, match="the loss is nan at step 1"):
        train(recipe(optimiser={"learning_rate": 1e38, "clip": None}), tmp_path / "other")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "teacher-forcin"}, "unknown algorithm 'teacher-forcin'; did you mean 'teacher-forcing'?"),
        ({"algorithm_settings": {"rate": 1}}, "the settings of teacher-forcing do not fit; unknown key 'rate'"),
    ],
)
def test_an_algorithm_is_checked_before_data_are_read(
    recipe: Callable[..., Recipe],
    tmp_path: Path,
    change: dict[str, Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training_loop, "open_data", None)
    with pytest.raises(OffscriptError) as caught:
        train(recipe(**change), tmp_path / "run")
    assert message in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_device_that_is_not_here_is_refused(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="the device 'nonsense' cannot be used"):
        train(recipe(), tmp_path / "run", device="nonsense")


def test_a_plug_in_adds_an_algorithm(
    recipe: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ALGORITHMS, "_things", dict(ALGORITHMS._things))

    @ALGORITHMS.add("still")
    class Still(Algorithm):
        """Teaches nothing."""

        name = "still"

        def loss(self, model: Any, batch: Any, step: Any) -> Loss:
            return Loss(model.logits(batch.tokens).sum() * 0.0, logged={"rows": float(len(batch.tokens))})

    assert _algorithms()[-1] == {"algorithm": "still", "about": "Teaches nothing.", "settings": ""}
    trained = train(recipe(algorithm="still", stop={"epochs": 1, "steps": 2}), tmp_path / "run", log_every=1)
    assert trained.steps == 2
    assert [(line["loss"], line["rows"]) for line in _logged(tmp_path / "run") if "loss" in line] == [(0.0, 16.0)] * 2
