"""A model against versions of itself, a trained LoRA and four bits: the differences that transformers and peft give."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript.audits.against import Against, run_against
from offscript.audits.audit import plan_audit
from offscript.measures.subject import Subject
from offscript.report.against import render_against
from offscript.report.differences import difference_finding

WORDS = ["<s>", "</s>", "<unk>", *(f"w{index}" for index in range(29))]
SENTENCES = [
    " ".join(f"w{(start + step * place) % 29}" for place in range(9)) for start in range(12) for step in (1, 2)
]
START, END, LENGTH = 0, 1, 10


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama with random weights and a tokenizer of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("versions") / "base"
    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder)
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS), **sizes, initializer_range=0.2)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def adapted(base: Path) -> tuple[str, Callable[[], Any]]:
    """A LoRA that is trained on the sentences for a few steps; its string, and peft's own network."""
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import AutoModelForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(2)
        config = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear")
        network = get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
        batch = torch.tensor([[START, *row] for row in rows()])
        for _ in range(40):
            loss = network(batch, labels=batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    folder = base.with_name("lora")
    network.save_pretrained(folder)
    return f"{base},adapter={folder}", lambda: PeftModel.from_pretrained(whole(base), folder).eval()


@pytest.fixture(scope="module")
def smaller(base: Path) -> tuple[str, Callable[[], Any]]:
    """The base in four bits, and transformers' own network."""
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32)
    return f"{base},load=int4", lambda: AutoModelForCausalLM.from_pretrained(
        base, quantization_config=config, dtype=torch.float32, device_map="cpu"
    ).eval()


def whole(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder).eval()


def rows() -> list[list[int]]:
    return [[*(WORDS.index(word) for word in text.split()), END] for text in SENTENCES]


def tables(network: Any) -> torch.Tensor:
    """Log-probabilities along the sentences by the network alone, [sentences, positions, words]."""
    with torch.inference_mode():
        logits: torch.Tensor = network(torch.tensor([[START, *row[:-1]] for row in rows()])).logits
    return logits.double().log_softmax(dim=-1)


def audited(version: str, base: Path, out: Path) -> Against:
    (out / "text.txt").write_text("\n".join(SENTENCES))
    given: dict[str, Any] = {"length": LENGTH, "limit": len(SENTENCES), "against": str(base)}
    subject = Subject(version, corpus=(str(out / "text.txt"),), **given)
    return run_against(subject, plan_audit(subject, ["likelihood", "divergence"]), out)


@pytest.mark.parametrize("kind", ["adapted", "smaller"])
def test_differences_are_those_of_a_script_that_scores_both(
    kind: str, base: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    version, network = request.getfixturevalue(kind)
    against = audited(version, base, tmp_path)
    own, other = tables(network()), tables(whole(base))
    gold = torch.tensor(rows()).unsqueeze(-1)
    costs = [-float(table.gather(2, gold).mean()) for table in (own, other)]
    contrasts = {contrast.figure: contrast for contrast in against.comparison.contrasts}
    assert contrasts["likelihood.nll"].paired
    assert contrasts["likelihood.nll"].value == pytest.approx(costs[0] - costs[1], abs=1e-4)
    ratio = math.exp(costs[0]) - math.exp(costs[1])
    assert contrasts["likelihood.ppl"].value == pytest.approx(ratio, rel=1e-3)
    [answer] = [answer for answer in against.record.answers if answer.name == "divergence"]
    figures = {entry.name: entry.value for entry in answer.measurements}
    assert figures["kl"] == pytest.approx(float((other.exp() * (other - own)).sum(dim=-1).mean()), abs=1e-4)
    assert figures["same_top"] == pytest.approx(float((own.argmax(-1) == other.argmax(-1)).double().mean()))
    finding = difference_finding(against.comparison, against.comparison.runs[1].label)
    assert f"{finding.headline}." in render_against(against).replace("&#39;", "'")
    if kind == "adapted":
        assert costs[0] < costs[1] - 1
        assert "lower" in finding.headline
