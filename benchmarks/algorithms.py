"""What a training step of each algorithm costs beside teacher forcing, and what shared prefixes save in roll-outs.

Times are CPU seconds, so that what else the machine does at the time does not count; each is the least of several.

    python benchmarks/algorithms.py [--repeats 5] [--rows 16]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from offscript.corpora import WordVocabulary
from offscript.learning import Fleet, OptimiserSettings, build_optimiser
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.storage import save
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings
from offscript.sampling import generate
from offscript.sampling.randomness import Draws
from offscript.training import ALGORITHMS
from offscript.training.algorithm import Step, TokenBatch
from offscript.training.rollouts import Branches, branch_log_likelihoods, roll_out

SIZE, LENGTH, TRIED = 5000, 20, 25
VOCABULARY = WordVocabulary([f"word{index}" for index in range(SIZE)], end=None, unknown=None)
ORACLE = "the oracle's folder"
STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "teacher forcing": ("teacher-forcing", {}),
    "scheduled sampling": ("scheduled-sampling", {"rate": 0.1, "curriculum": "uniform"}),
    "… drawn one by one": ("scheduled-sampling", {"rate": 0.1, "curriculum": "uniform", "drawing": "sequential"}),
    "SEARNN, next token": ("searnn", {"oracle": ORACLE}),
    "SEARNN, copied": ("searnn", {"oracle": ORACLE, "roll_out": "reference"}),
    "minimum risk": ("minimum-risk", {"oracle": ORACLE}),
    "REINFORCE": ("reinforce", {"oracle": ORACLE}),
    "cooperative": ("cooperative", {}),
}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=16, help="sequences in a batch")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        save(lstm(32, seed=0), Path(folder))
        for kind, build in {"lstm": lambda: lstm(128, seed=1), "transformer": lambda: transformer(seed=1)}.items():
            show_steps(kind, build, Path(folder), arguments.rows, arguments.repeats)
    show_roll_outs(arguments.rows, arguments.repeats)


def show_steps(kind: str, build: Callable[[], NeuralLanguageModel], oracle: Path, rows: int, repeats: int) -> None:
    """A step of every algorithm, in milliseconds and as a multiple of teacher forcing."""
    print(f"{kind}, {rows} sequences of {LENGTH} tokens, {SIZE} symbols: a step")
    least_of: dict[str, float] = {}
    for name, told in STEPS.items():
        seconds = least_of[name] = step_seconds(build(), *told, oracle, rows, repeats)
        print(f"  {name:<24}{1000 * seconds:>10.1f} ms{seconds / least_of['teacher forcing']:>10.2f} x", flush=True)


def step_seconds(
    model: NeuralLanguageModel, name: str, settings: dict[str, Any], oracle: Path, rows: int, repeats: int
) -> float:
    """Loss, gradient and update, as the training loop does them."""
    kind = ALGORITHMS[name]
    algorithm = kind(kind.Settings(**json.loads(json.dumps(settings).replace(ORACLE, str(oracle)))))
    algorithm.prepare(model, OptimiserSettings(), Fleet("cpu"))
    optimiser = build_optimiser(model, OptimiserSettings())
    tokens = tokens_for(rows)
    batch = TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))
    numbers = iter(range(1 << 20))

    def take() -> None:
        number = next(numbers)
        model.train()
        optimiser.zero_grad(set_to_none=True)
        (algorithm.loss(model, batch, Step(number, 1 << 20, (1, number))).total / tokens.numel()).backward()
        optimiser.step()

    return least(take, repeats)


def show_roll_outs(rows: int, repeats: int) -> None:
    """Roll-outs in one batch with shared prefixes, beside loops that read every prefix again."""
    model, oracle, tokens = lstm(128, seed=1), lstm(32, seed=0), tokens_for(rows)
    contexts = Branches(torch.arange(rows).repeat(3), torch.tensor([0, 9, 19]).repeat_interleave(rows))
    tried = (Draws(1).uniform(0, 0, len(contexts), TRIED) * SIZE).long()
    branches = Branches(contexts.rows.repeat_interleave(TRIED), contexts.positions.repeat_interleave(TRIED))
    print(f"roll-outs of {rows} sequences: {TRIED} tokens at 3 contexts each (SEARNN), and every context once")
    together = least(lambda: searnn_batched(model, oracle, tokens, branches, tried), repeats)
    show_ratio("SEARNN, one by one", together, least(lambda: searnn_looped(model, oracle, tokens, contexts, tried)))
    show_ratio(
        "SEARNN, rows together", together, least(lambda: searnn_by_token(model, oracle, tokens, contexts, tried))
    )
    candidates = Branches(torch.arange(rows).repeat(LENGTH), torch.arange(LENGTH).repeat_interleave(rows))
    together = least(lambda: roll_out(model, tokens, candidates, Draws(1)), repeats)
    show_ratio("minimum risk, by context", together, least(lambda: reread(model, tokens), repeats))


def reread(model: NeuralLanguageModel, tokens: Tensor) -> None:
    """One roll-out of every sequence at each context, every prefix read anew."""
    for place in range(LENGTH):
        generate(model, len(tokens), LENGTH, seed=1, prefixes=tokens[:, :place])


def searnn_batched(
    model: NeuralLanguageModel, oracle: NeuralLanguageModel, tokens: Tensor, branches: Branches, tried: Tensor
) -> Tensor:
    """Every roll-out at once, drawn by the model and scored by the oracle."""
    rolled = roll_out(model, tokens, branches, Draws(1), forced=tried.flatten())
    return branch_log_likelihoods(oracle, tokens, branches, rolled, torch.ones_like(rolled, dtype=torch.bool))


def searnn_looped(
    model: NeuralLanguageModel, oracle: NeuralLanguageModel, tokens: Tensor, contexts: Branches, tried: Tensor
) -> None:
    """One roll-out after another, for each context and tried token."""
    for context, (row, place) in enumerate(zip(contexts.rows.tolist(), contexts.positions.tolist(), strict=True)):
        for token in tried[context].tolist():
            prefix = torch.cat([tokens[row, :place], torch.tensor([token])]).unsqueeze(0)
            rolled = generate(model, 1, LENGTH, seed=1, prefixes=prefix).tokens
            oracle.log_likelihoods(rolled)


def searnn_by_token(
    model: NeuralLanguageModel, oracle: NeuralLanguageModel, tokens: Tensor, contexts: Branches, tried: Tensor
) -> None:
    """A roll-out for each position and each place among the tried tokens, all sequences together."""
    for position in contexts.positions.unique().tolist():
        here = contexts.positions == position
        for column in tried[here].unbind(dim=1):
            prefixes = torch.cat([tokens[contexts.rows[here], :position], column.unsqueeze(1)], dim=1)
            oracle.log_likelihoods(generate(model, len(prefixes), LENGTH, seed=1, prefixes=prefixes).tokens)


def show_ratio(name: str, together: float, looped: float) -> None:
    """One line: both times and what is gained."""
    print(f"  {name:<28}{1000 * looped:>10.1f} ms, at once {1000 * together:>10.1f} ms{looped / together:>10.2f} x")


def least(work: Callable[[], Any], repeats: int = 1) -> float:
    """CPU seconds of the fastest of several calls."""
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def tokens_for(rows: int) -> Tensor:
    """Any tokens: the cost does not depend on them."""
    return (Draws(0).uniform(0, 0, rows, LENGTH) * SIZE).long()


def lstm(hidden: int, seed: int) -> NeuralLanguageModel:
    """A student, or the oracle."""
    return _reset(LSTMLanguageModel(VOCABULARY, LSTMSettings(hidden=hidden, embedding=hidden)), seed)


def transformer(seed: int) -> NeuralLanguageModel:
    """A student."""
    return _reset(TransformerLanguageModel(VOCABULARY, TransformerSettings(width=128, layers=2, heads=4)), seed)


def _reset(model: NeuralLanguageModel, seed: int) -> NeuralLanguageModel:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model


if __name__ == "__main__":
    main()
