"""Pretrained models that are taught further: the same figures as before the first step, and whole folders after."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.experiments.experiment import Experiment
from offscript.experiments.reproduce import reproduce
from offscript.learning import loop
from offscript.models import load_model
from offscript.models.fine_tuned import PretrainedLanguageModel, PretrainedSettings
from offscript.training import recipe_from, train

WORDS = ["<s>", "</s>", "<unk>", *(f"w{index}" for index in range(27))]
TIED = {"gpt2": True, "llama": False}


@pytest.fixture
def base(tmp_path: Path) -> Callable[[str], str]:
    """A folder with a tiny GPT-2 (its output shares the embedding's weights) or Llama and a tokenizer."""

    def write(kind: str) -> str:
        from tokenizers import Tokenizer, models, pre_tokenizers
        from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

        words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
        words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(tmp_path / kind)
        common = {"vocab_size": 32, "bos_token_id": 0, "eos_token_id": 1, "initializer_range": 0.5}
        with torch.random.fork_rng():
            torch.manual_seed(1)
            if kind == "gpt2":
                sizes = {"n_positions": 24, "n_embd": 16, "n_layer": 1, "n_head": 2}
                network: Any = GPT2LMHeadModel(GPT2Config(**sizes, **common))
            else:
                sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
                network = LlamaForCausalLM(LlamaConfig(max_position_embeddings=24, **sizes, **common))
        network.save_pretrained(tmp_path / kind)
        return str(tmp_path / kind)

    return write


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Sentences that count upwards: easy to learn."""
    generator = random.Random(1)
    begins = [generator.randrange(20) for _ in range(120)]
    path = tmp_path / "corpus.txt"
    path.write_text("".join(" ".join(f"w{first + step}" for step in range(7)) + "\n" for first in begins))
    return path


def recipe(base: str, corpus: Path, lora: dict[str, Any] | None, **more: Any) -> Any:
    content = {
        "model": {"kind": "pretrained", "base": base, "lora": lora},
        "data": {"train": str(corpus), "batches": {"size": 8, "length": 12}},
        "optimiser": {"learning_rate": 0.02},
        "stop": {"epochs": 2},
    }
    return recipe_from({**content, **more})


@pytest.mark.parametrize("kind", TIED)
@pytest.mark.parametrize("lora", [None, {"rank": 2}])
def test_before_the_first_step_it_is_the_base(base: Callable[[str], str], kind: str, lora: Any) -> None:
    folder = base(kind)
    untouched = load_model(folder)
    begun = PretrainedLanguageModel(untouched.vocabulary, PretrainedSettings(base=folder, lora=lora))
    tokens = torch.randint(3, 30, (3, 9), generator=torch.Generator().manual_seed(3))
    expected = untouched.log_likelihoods(tokens)
    torch.testing.assert_close(begun.log_likelihoods(tokens), expected, atol=1e-5, rtol=1e-5)
    log_probs, state = begun.start(3)
    stepped, _ = begun.advance(state, tokens[:, 0])
    torch.testing.assert_close(_chosen(log_probs, tokens[:, 0]), expected[:, 0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(_chosen(stepped, tokens[:, 1]), expected[:, 1], atol=1e-5, rtol=1e-5)
    assert all("lora" in name for name in begun.state_dict()) == (lora is not None)


def _chosen(log_probs: Tensor, tokens: Tensor) -> Tensor:
    return log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1)


@pytest.mark.parametrize("kind", TIED)
@pytest.mark.parametrize("lora", [None, {"rank": 4}])
def test_it_learns_and_its_folder_is_a_hugging_face_model(
    base: Callable[[str], str], corpus: Path, tmp_path: Path, kind: str, lora: Any
) -> None:
    folder = base(kind)
    faster = {"learning_rate": 0.02 if lora is None else 0.05}
    trained = train(recipe(folder, corpus, lora, optimiser=faster), tmp_path / "run")
    before, after = load_model(folder), load_model(str(trained.folder))
    tokens = torch.tensor([before.vocabulary.encode("w3 w4 w5 w6 w7 w8 w9")])
    assert after.log_likelihoods(tokens).mean() > before.log_likelihoods(tokens).mean() + (0.5 if lora is None else 0.1)
    assert json.loads((trained.folder / "training.json").read_text())["settings"]["base"] == folder
    assert (tmp_path / "run" / "adapter" / "adapter_config.json").is_file() == (lora is not None)


def test_the_adapter_gives_the_same_model_as_the_merged_folder(
    base: Callable[[str], str], corpus: Path, tmp_path: Path
) -> None:
    folder = base("llama")
    trained = train(recipe(folder, corpus, {"rank": 4}), tmp_path / "run")
    tokens = torch.randint(3, 30, (2, 8), generator=torch.Generator().manual_seed(3))
    merged = load_model(str(trained.folder)).log_likelihoods(tokens)
    adapted = load_model(f"{folder},adapter={tmp_path / 'run' / 'adapter'}").log_likelihoods(tokens)
    torch.testing.assert_close(adapted, merged, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("algorithm", ["teacher-forcing", "scheduled-sampling"])
def test_a_run_that_stopped_ends_with_the_same_weights(
    base: Callable[[str], str], corpus: Path, tmp_path: Path, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = recipe(base("gpt2"), corpus, {"rank": 2, "dropout": 0.2}, algorithm=algorithm, stop={"steps": 12})
    whole = train(asked, tmp_path / "whole")

    class KilledError(BaseException):
        """Nobody catches it, like a signal."""

    def until_seven(*arguments: Any, **named: Any) -> Any:
        if until_seven.steps == 7:  # type: ignore[attr-defined]
            raise KilledError
        until_seven.steps += 1  # type: ignore[attr-defined]
        return real(*arguments, **named)

    real, until_seven.steps = loop.update, 0  # type: ignore[attr-defined]
    with monkeypatch.context() as patched:
        patched.setattr(loop, "update", until_seven)
        with pytest.raises(KilledError):
            train(asked, tmp_path / "killed", checkpoint_seconds=0)
    again = train(asked, tmp_path / "killed", checkpoint_seconds=0)
    first, second = (load_file(each.folder / "model.safetensors") for each in (whole, again))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_does_not_fit_is_one_line(base: Callable[[str], str], corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="LoRA does not fit"):
        train(recipe(base("gpt2"), corpus, {"targets": ["nowhere"]}), tmp_path / "run")
    with pytest.raises(OffscriptError, match="unknown|rnak"):
        recipe("x", corpus, {"rnak": 2})
    words = {"train": str(corpus), "vocabulary": {"kind": "word", "size": 20}}
    with pytest.raises(OffscriptError, match="another vocabulary than the data"):
        train(recipe(base("gpt2"), corpus, None, data=words), tmp_path / "other")


def test_an_experiment_loads_what_it_trained_in_another_precision(
    base: Callable[[str], str], corpus: Path, tmp_path: Path
) -> None:
    content: dict[str, Any] = {
        "name": "tests/precision",
        "paper": "none",
        "title": "-",
        "training": {
            "model": {"kind": "pretrained", "base": base("gpt2"), "lora": {"rank": 2}},
            "data": {"train": str(corpus), "batches": {"size": 8, "length": 12}},
            "stop": {"steps": 2},
        },
        "measures": [{"question": "likelihood", "settings": {"corpus": [str(corpus)], "samples": 20}}],
    }
    half = {"name": "half", "model_settings": {"dtype": "bfloat16"}}
    experiment = Experiment(**content, variants=[{"name": "whole"}, half])
    cells = [experiment.cells_of(variant, 0, seed=1)[0] for variant in experiment.variants]
    assert "model_settings" not in cells[0].recipe  # cells of earlier versions keep their names
    assert cells[1].recipe["model_settings"] == {"dtype": "bfloat16"}
    assert cells[0].trainings == cells[1].trainings
    found = reproduce(experiment, tmp_path / "out").figures
    whole, halved = (found[f"{name}/likelihood.nll"].value for name in ("whole", "half"))
    assert halved == pytest.approx(whole, rel=0.02)
    assert halved != whole
    named = {"name": "a", "model": "offscript/news", "model_settings": {"dtype": "bfloat16"}}
    with pytest.raises(ValueError, match="a trains no model that its model_settings could load"):
        Experiment(**content, variants=[named])
