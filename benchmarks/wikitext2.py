"""WikiText-2 by the shipped recipe, beside a plain PyTorch loop with the same settings on the same batches."""

import argparse
import math
import os
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from offscript._config import find_recipe
from offscript.models.storage import build, load, save
from offscript.training import Recipe, read_recipe, train
from offscript.training.data import TrainingData, open_data


class PlainLanguageModel(nn.Module):
    """Embedding, LSTM, tied output: nothing of offscript."""

    def __init__(self, words: int, width: int, dropout: float) -> None:
        super().__init__()
        self.embedding, self.bias = nn.Embedding(words + 1, width), nn.Parameter(torch.zeros(words))
        self.recurrence, self.dropout = nn.LSTM(width, width, batch_first=True), nn.Dropout(dropout)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        start = torch.full_like(tokens[:, :1], len(self.bias))
        read = self.embedding(torch.cat([start, tokens[:, :-1]], dim=1))
        features = self.dropout(self.recurrence(self.dropout(read))[0])
        return functional.linear(features, self.embedding.weight[: len(self.bias)], self.bias)


def plain_perplexity(recipe: Recipe, data: TrainingData, steps: int) -> float:
    """Train and validate, from the weights offscript begins with, by a loop that could stand in any tutorial."""
    torch.manual_seed(recipe.seed)
    model = PlainLanguageModel(data.vocabulary.size, recipe.model["hidden"], recipe.model["dropout"])
    model.load_state_dict(load(Path(str(recipe.warm_start))).state_dict())
    optimiser = torch.optim.Adam(model.parameters(), lr=recipe.optimiser.learning_rate, fused=True)
    for step in range(steps):
        tokens = torch.from_numpy(data.batch(step).tokens)
        loss = functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.optimiser.clip or math.inf)
        optimiser.step()
    model.eval()
    total, count = 0.0, 0
    with torch.inference_mode():
        for batch in data.validation():
            tokens = torch.from_numpy(batch.tokens)
            total += float(functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten(), reduction="sum"))
            count += tokens.numel()
    return math.exp(total / count)


def main() -> None:
    """Print both validation perplexities and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=None, help="fewer than the recipe's, for a quick look")
    asked = parser.parse_args()
    os.environ.setdefault("OFFSCRIPT_DATA", "../shared/data")
    changes = [] if asked.steps is None else [f"stop.steps={asked.steps}"]
    recipe = read_recipe(find_recipe("wikitext-2"), changes)
    with tempfile.TemporaryDirectory() as folder:
        data = open_data(recipe.data, recipe.seed, device="cpu", folder=Path(folder) / "corpus")
        settings = {key: value for key, value in recipe.model.items() if key != "kind"}
        save(build(recipe.model["kind"], settings, data.vocabulary), Path(folder) / "begin")
        recipe = recipe.model_copy(update={"warm_start": str(Path(folder) / "begin")})
        trained = train(recipe, Path(folder) / "run")
        plain = plain_perplexity(recipe, data, trained.steps)
    ours = math.exp(trained.validation_nll)
    print(f"offscript, {trained.steps} steps: validation perplexity {ours:.2f}")
    print(f"plain loop, {trained.steps} steps: validation perplexity {plain:.2f}")
    print(f"  ratio {ours / plain:.4f} (goal: within 1 %)")


if __name__ == "__main__":
    main()
