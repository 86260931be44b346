"""Which precision a loss is computed in."""

import pytest
import torch

from offscript.learning import in_bfloat16

CPU = torch.device("cpu")


@pytest.mark.parametrize("wanted", [True, False])
def test_a_recipe_that_says_so_is_obeyed(wanted: bool) -> None:
    assert in_bfloat16(wanted, CPU) is wanted


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, False),
        ({"avx512_f": True, "avx512_bf16": True, "amx_bf16": False}, True),
        ({"amx_bf16": True}, True),
        ({"architecture": "aarch64", "bf16": True}, True),
        ({}, False),
    ],
)
def test_auto_asks_the_processor(
    capabilities: dict[str, object], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert in_bfloat16("auto", CPU) is expected


def test_auto_is_float32_where_a_release_of_torch_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert in_bfloat16("auto", CPU) is False
