"""The learnt sampler: a temperature per step from a file, as any other sampler and as a Hugging Face processor."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from offscript.errors import OffscriptError
from offscript.sampling.transforms import as_logits_processor, check_properties, parse_transform
from offscript.sampling.transforms.learned import COLDEST, HOTTEST, Policy, read_policy


def written(folder: Path, policy: Policy) -> str:
    path = folder / "policy.json"
    path.write_text(json.dumps({"policy": asdict(policy)}), encoding="utf-8")
    return f"learned,path={path}"


def test_a_level_alone_is_a_temperature(tmp_path: Path) -> None:
    log_probs = torch.randn(4, 30).log_softmax(-1)
    learned = parse_transform(written(tmp_path, Policy(level=math.log(0.7))))
    assert torch.allclose(learned(log_probs), parse_transform("tempered,temperature=0.7")(log_probs), atol=1e-5)
    assert check_properties(learned).satisfies("order preservation")


def test_unsure_steps_are_cooled_and_later_ones_warmed(tmp_path: Path) -> None:
    policy = Policy(level=0.0, by_entropy=-0.5, by_position=0.4, entropy_mean=1.5, prefix=10, length=50)
    flat, sharp = torch.zeros(1, 40).log_softmax(-1), torch.tensor([[5.0] + [0.0] * 39]).log_softmax(-1)
    entropies = torch.tensor([3.7, 0.8])
    unsure, sure = policy.log_temperatures(entropies, 30).tolist()
    assert unsure < 0 < sure
    assert policy.log_temperatures(entropies, 50)[0] > policy.log_temperatures(entropies, 10)[0]
    learned = parse_transform(written(tmp_path, policy))
    assert torch.allclose(learned(flat, step=30), flat, atol=1e-6)  # uniform at every temperature
    assert learned(sharp, step=10).max() > learned(sharp, step=50).max()


def test_temperatures_stay_in_range() -> None:
    policy = Policy(level=9.0, by_entropy=-50.0)
    temperatures = policy.log_temperatures(torch.tensor([0.0, 3.0, 99.0]), 0).exp()
    assert temperatures.min() == pytest.approx(COLDEST)
    assert temperatures.max() == pytest.approx(HOTTEST)


def test_it_is_a_hugging_face_processor(tmp_path: Path) -> None:
    name = written(tmp_path, Policy(level=math.log(0.5), by_position=1.0, length=8))
    scores, ids = torch.randn(2, 12), torch.zeros(2, 4, dtype=torch.long)
    expected = parse_transform(name)(scores, step=4)
    assert torch.allclose(as_logits_processor(name)(ids, scores).log_softmax(-1), expected, atol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"policy": {}}',
        '{"policy": null}',
        json.dumps({"policy": {**asdict(Policy(0.0)), "level": "x"}}),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "policy.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OffscriptError, match="offscript study fit"):
        read_policy(path)


def test_a_missing_file_and_a_missing_path_are_named(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="no such policy"):
        parse_transform(f"learned,path={tmp_path / 'nowhere.json'}")
    with pytest.raises(OffscriptError, match="lacks path; add path=…: it takes path=FILE"):
        parse_transform("learned")
    with pytest.raises(OffscriptError, match="learned with path=3"):
        parse_transform("learned,path=3")
