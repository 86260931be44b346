"""In which precision a loss is computed: bfloat16 is three times as fast or three times as slow, by the processor."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import torch

Bfloat16: TypeAlias = bool | Literal["auto"]
"""Whether to compute in bfloat16; `auto`: where the device has instructions for it."""

_INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
"""What processors of both architectures call theirs."""


def in_bfloat16(wanted: Bfloat16, device: torch.device) -> bool:
    """Whether a loss is computed in bfloat16 here.

    Args:
        wanted: What the recipe says.
        device: Where it is computed. A processor without the instructions emulates them, slower than float32.

    Returns:
        `wanted` itself, or for `auto` whether the device has the instructions.
    """
    if wanted != "auto":
        return wanted
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Not every release of torch that is allowed can tell.
    capabilities: Mapping[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and any(capabilities.get(each) for each in _INSTRUCTIONS)
