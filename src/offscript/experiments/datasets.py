"""The public data sets that experiments and recipes read, and where each can be had."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from offscript._config import shipped_recipes
from offscript.experiments.tables import experiments

VARIABLE = "OFFSCRIPT_DATA"
"""The environment variable that names the folder with the data sets."""

_NAMED = re.compile(rf"\$\{{?{VARIABLE}\}}?/([\w.-]+)((?:/[\w.-]+)*)")


@dataclass(frozen=True)
class Source:
    """What a data set holds and where it comes from."""

    about: str
    place: str
    licence: str


SOURCES = {
    "emnlp2017-wmt-news": Source(
        "news sentences of 20 to 50 tokens",
        "GitHub: geek-ai/Texygen (data/testdata/test_emnlp.txt), mahossam/OptiGAN, pclucas14/GansFallingShort",
        "WMT news, for research",
    ),
    "fever": Source("claims with evidence from Wikipedia", "fever.ai, the shared task's data", "CC BY-SA 3.0"),
    "fever-train": Source("FEVER's training part", "fever.ai, the shared task's data", "CC BY-SA 3.0"),
    "fnc-1": Source("headlines and articles with stances", "GitHub: FakeNewsChallenge/fnc-1", "not stated"),
    "multi30k-en-de": Source(
        "image captions in English and German", "GitHub: multi30k/dataset (data/task1/raw)", "not stated; for research"
    ),
    "minp-user-study": Source("ratings of three samplers at three temperatures", "GitHub: menhguin/minp_paper", "MIT"),
    "recipe-ratings": Source(
        "ratings of generated recipes", "GitHub: interactive-cookbook/recipe-generation", "Apache-2.0, CC BY 4.0"
    ),
    "seqgan-oracle": Source(
        "weights of the random LSTM oracle",
        "GitHub: pclucas14/GansFallingShort (synthetic_data_experiments/oracle_params)",
        "not stated",
    ),
    "stereoset": Source(
        "tests of stereotypes, and the authors' scores", "GitHub: moinnadeem/StereoSet", "CC BY-SA 4.0"
    ),
    "text8": Source("100 MB of lower-case Wikipedia", "mattmahoney.net/dc/textdata", "CC BY-SA"),
    "wikitext-2": Source("Wikipedia articles, word level", "Hugging Face: Salesforce/wikitext", "CC BY-SA"),
    "wikitext-103": Source("Wikipedia articles, word level", "Hugging Face: Salesforce/wikitext", "CC BY-SA"),
    "multi30k": Source("German-English image captions", "GitHub: multi30k/dataset", "not stated"),
}
"""Known data sets by the name of their folder."""


@dataclass(frozen=True)
class DataSet:
    """A folder that experiments or recipes name, who names it, and which of its files are missing."""

    name: str
    needed_by: tuple[str, ...]
    missing: tuple[str, ...]


def data_sets() -> list[DataSet]:
    """Every data set that an experiment or a shipped recipe names.

    Returns:
        One entry per folder, by name; files are looked for below the folder that `OFFSCRIPT_DATA` names.
    """
    files: dict[str, set[str]] = {}
    users: dict[str, set[str]] = {}
    for user, path in {**shipped_recipes(), **experiments()}.items():
        for name, rest in _NAMED.findall(path.read_text(encoding="utf-8")):
            files.setdefault(name, set()).add(name + rest)
            users.setdefault(name, set()).add(user)
    folder = os.environ.get(VARIABLE)
    return [
        DataSet(
            name,
            tuple(sorted(users[name])),
            tuple(file for file in sorted(files[name]) if folder is None or not Path(folder, file).exists()),
        )
        for name in sorted(files)
    ]
