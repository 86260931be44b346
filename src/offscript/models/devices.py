"""Where tensors live: the device a user names, found usable before any work is done."""

import torch

from offscript.errors import OffscriptError


def usable_device(name: str) -> torch.device:
    """The device of a name such as `cpu`, `cuda:1` or `mps`, after a tensor was put there."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as fault:
        raise OffscriptError(
            f"the device {name!r} cannot be used", why=str(fault).splitlines()[0], next="name cpu, or one that is here"
        ) from fault
