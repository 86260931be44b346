"""Colours that people with the three common colour deficiencies can tell apart, and read text on."""

import re
from pathlib import Path

import numpy as np
import pytest

from offscript._types import FloatArray

TEMPLATES = Path(__file__).resolve().parents[2] / "src" / "offscript" / "report" / "templates"
# Machado, Oliveira & Fernandes (2009), severity 1.0, for linear RGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip


def properties(dark: bool) -> dict[str, str]:
    """The colours of the page by name, with those of the dark scheme over them where it is asked for."""
    found: dict[str, str] = {}
    for name in ("page.css", "exhibits.css"):
        text = (TEMPLATES / name).read_text(encoding="utf-8")
        roots = re.findall(r"(prefers-color-scheme: dark\)\s*\{\s*)?:root \{([^}]*)\}", text.split("@media print")[0])
        for scheme, body in roots:
            if dark or not scheme:
                found |= dict(re.findall(r"(--[a-z]+): (#[0-9a-f]{6})", body))
    return found


def linear(colour: str) -> FloatArray:
    values = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def seen(colour: FloatArray, deficiency: str) -> FloatArray:
    return np.clip(DEFICIENCIES[deficiency] @ colour, 0, 1)


def luminance(colour: FloatArray) -> float:
    return float(colour @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(first: FloatArray, second: FloatArray) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def mixed(first: str, second: str, share: float) -> FloatArray:
    """`color-mix(in srgb, …)`: a mixture of the values as they are written."""
    parts = [[int(colour[place : place + 2], 16) for place in (1, 3, 5)] for colour in (first, second)]
    made = (1 - share) * np.array(parts[0]) + share * np.array(parts[1])
    return linear("#" + "".join(f"{round(value):02x}" for value in made))


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("dark", [False, True])
def test_heat_gets_steadily_darker_or_lighter_and_text_stays_readable_on_it(dark: bool, deficiency: str) -> None:
    colours = properties(dark)
    ink = seen(linear(colours["--ink"]), deficiency)
    ramp = [seen(mixed(colours["--card"], colours["--heat"], share), deficiency) for share in np.linspace(0, 1, 11)]
    steps = np.diff([luminance(colour) for colour in ramp])
    assert (steps < 0).all() or (steps > 0).all()
    assert min(contrast(ink, colour) for colour in ramp) >= 4.5
    map_ramp = [seen(mixed(colours["--card"], colours["--map"], share), deficiency) for share in (0, 1)]
    assert contrast(*map_ramp) >= 3


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("status", ["--good", "--bad", "--open", "--accent", "--soft"])
def test_the_colour_of_every_status_is_readable(dark: bool, deficiency: str, status: str) -> None:
    colours = properties(dark)
    card = seen(linear(colours["--card"]), deficiency)
    assert contrast(seen(linear(colours[status]), deficiency), card) >= 4


def test_no_status_is_told_by_colour_alone() -> None:
    style = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    signs = re.findall(r"\.(fine|found|cannot-tell|for-information) > \.mark::before \{ content: \"([^\"]+)\"", style)
    assert len({sign for _, sign in signs}) == len({status for status, _ in signs}) == 4
