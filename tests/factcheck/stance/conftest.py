"""A data folder in the layout of the real one."""

import csv
from pathlib import Path

import pytest

CLAIMS = ["the president died", "cats eat fish"]
DOCUMENTS = {
    "agree": ["the president died in paris today", "cats eat fish today"],
    "disagree": ["report says the president died not true hoax", "police deny cats eat fish hoax"],
    "discuss": ["report says the president died", "report says cats eat fish"],
    "unrelated": ["police report in paris", "police report in paris"],
}


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FNC-1, FEVER and SST as files of a few lines."""
    folder = tmp_path_factory.mktemp("data")
    _write_fnc(folder / "fnc-1")
    rows = [
        [str(number), CLAIMS[number % 2], ("SUPPORTS", "REFUTES")[number % 2], DOCUMENTS["agree"][number % 2]]
        for number in range(16)
    ]
    sample = folder / "fever/train-sample/train_balanced_10000_samples.csv"
    _write_csv(sample, ["", "claim", "label", "sentence"], rows)
    sentiment = folder / "aux-sentiment/sst-2/train.tsv"
    sentiment.parent.mkdir(parents=True)
    sentiment.write_text("sentence\tlabel\n" + 'cats "eat fish\t1\npolice deny\t0\n' * 6)
    return folder


def _write_fnc(folder: Path) -> None:
    bodies, stances = [], []
    for number in range(24):
        label = list(DOCUMENTS)[number % 4]
        bodies.append([str(number), DOCUMENTS[label][number // 4 % 2]])
        stances.append([CLAIMS[number // 4 % 2], str(number), label])
    for name in ("train", "competition_test"):
        _write_csv(folder / f"{name}_bodies.csv", ["Body ID", "articleBody"], bodies)
        _write_csv(folder / f"{name}_stances.csv", ["Headline", "Body ID", "Stance"], stances)
    (folder / "training_ids.txt").write_text("\n".join(str(number) for number in range(16)))
    (folder / "hold_out_ids.txt").write_text("\n".join(str(number) for number in range(16, 24)))


def _write_csv(path: Path, header: list[str], rows: list[list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
