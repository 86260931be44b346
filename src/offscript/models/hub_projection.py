"""Log-probabilities of given tokens by one pass of a network, projecting to the vocabulary only what counts."""

from typing import Any

import torch
from torch import Tensor

LARGEST_PASS = 4096
"""Tokens of one pass: what its layers hold stays within some hundred MB."""


def chosen_log_probs(network: Any, inputs: Tensor, places: Tensor, targets: Tensor, *, at_once: int) -> Tensor | None:
    """Log-probabilities of tokens after histories that are read in one pass, without a cache.

    Logits of a whole batch are most of its memory, so all but the last place are kept from the network's projection,
    and projected later, a few at a time and without those that merely fill up rows. Some networks change their logits
    after the projection: then the last place's differ from a projection alone, and nothing is answered.

    Args:
        network: A causal language model of transformers.
        inputs: Rows of tokens.
        places: Which of them are histories' last tokens, as truth values of the same shape.
        targets: What follows at those places, row by row.
        at_once: How many places to project at a time.

    Returns:
        One value per target; None for a network that projects by other means.
    """
    output, caught = network.get_output_embeddings(), list[Tensor]()
    if output is None or hasattr(network, "hf_device_map"):
        return None

    def keep_last(_: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        caught.append(given[0])
        return (given[0][:, -1:],)

    with torch.inference_mode():
        hook = output.register_forward_pre_hook(keep_last)
        try:
            last = network(inputs, use_cache=False).logits
        finally:
            hook.remove()
        if len(caught) != 1 or caught[0].shape[:2] != inputs.shape:
            return None
        if not torch.equal(last.float(), output(caught[0][:, -1:]).float()):
            return None
        values = []
        for hidden, chosen in zip(caught[0][places].split(at_once), targets.split(at_once), strict=True):
            log_probs = output(hidden).float().log_softmax(dim=-1)  # its kernel is faster than that of logsumexp
            values.append(log_probs.gather(-1, chosen.unsqueeze(-1)).squeeze(-1))
        return torch.cat(values)
