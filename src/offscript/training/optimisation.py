"""Adam, and the learning rate as a function of the step."""

import math

import torch
from torch import nn

from offscript.training.recipe import OptimiserSettings


def build_optimiser(network: nn.Module, settings: OptimiserSettings) -> torch.optim.Optimizer:
    """Fused Adam; decoupled weight decay where it is asked for."""
    kind = torch.optim.AdamW if settings.weight_decay else torch.optim.Adam
    return kind(network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)


def learning_rate(settings: OptimiserSettings, step: int, total: int, reductions: int) -> float:
    """The rate at a step (from 0) of `total`; `reductions` counts the plateaus met so far."""
    rate = settings.learning_rate
    if step < settings.warmup:
        return rate * (step + 1) / (settings.warmup + 1)
    done = (step - settings.warmup) / max(1, total - settings.warmup)
    match settings.schedule:
        case "linear":
            return rate * (1 - done)
        case "cosine":
            return rate * 0.5 * (1 + math.cos(math.pi * done))
        case "plateau":
            return rate * settings.plateau_factor**reductions
        case "constant":
            return rate
