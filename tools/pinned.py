"""What every question does on small models, written down: its plans, progress, figures, charts and findings.

    python tools/pinned.py [NAME…]      writes tests/measures/pinned/NAME.json anew

`tests/measures/test_pinned.py` compares. A difference is a change of behaviour: look at it (`git diff`) before it is
committed. Numbers, names and choices are kept; the wording of sentences is not, but for headlines and the numbers in
them; nor are looks. Long lists are kept as their length, their sum and their sum by place, so that files stay small.
"""

import argparse
import json
import math
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.measures import Question, questions
from offscript.measures.measurement import Measurement
from offscript.measures.subject import Budget, Subject
from offscript.models.encoder_decoder import EncoderDecoder, EncoderDecoderSettings
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save
from offscript.statistics import Interval

Network = TypeVar("Network", LSTMLanguageModel, EncoderDecoder)
PINNED = Path(__file__).resolve().parents[1] / "tests" / "measures" / "pinned"
WORDS = [f"w{number}" for number in range(30)]
TAGGED = "1\tDogs\tdog\tNOUN\t_\t_\t0\t_\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\t_\t_\t_\n\n"
LABELS = ("stereotype", "anti-stereotype", "unrelated")
LISTED = 4  # numbers of a list that are kept as they are
LONGEST = 40  # characters of a name that is kept
NOT_KEPT = {"versions", "machine", "weights", "seconds", "words_per_second", "about"}
LOOKS = {"axis", "legend", "scale", "title", "label", "unit", "meaning", "note", "width", "height", "tooltip", "params"}
DIGITS = 6
MOVES = [
    (step, p_value, low, high)
    for step, p_value in ((0.001, 0.04), (0.2, 0.001), (0.2, 0.05), (0.02, 0.5))
    for low, high in ((1, 3), (-3, -1), (0, 2), (-2, 0), (-1, 2), (-1, 1))
]
"""Where a figure's interval is put: steps from the reference to its ends; and the p-value."""

SMALL: dict[str, dict[str, Any]] = {
    "approximation": {"draws": 20, "step": 20, "highest": 40, "subset": 4, "length": 6, "samples": 4},
    "calibration": {"samples": 24, "length": 12, "prefix": 4},
    "degeneration": {"samples": 20, "length": 16, "prefix": 4},
    "divergence": {"samples": 20, "length": 8},
    "diversity": {"samples": 10, "length": 8},
    "exposure": {"samples": 20, "length": 6},
    "factuality": {"samples": 2, "length": 8, "samplers": ["tempered,temperature=1.0"]},
    "likelihood": {"samples": 20, "length": 8},
    "memorisation": {"training": "text.txt", "samples": 10, "length": 8, "prefix": 3, "suffix": 4},
    "quality": {"samples": 10, "length": 8},
    "ratings": {"source": "ratings.csv"},
    "recovery": {"samples": 10, "length": 12, "prefix": 4},
    "regret": {"samples": 10, "length": 6},
    "retrieval": {"index": "index", "queries": "queries.jsonl", "judgments": "judgments.txt"},
    "sampling": {"samples": 20, "length": 12, "prefix": 4, "samplers": ["top-k,k=5", "nucleus,p=0.9"]},
    "stance": {"data": "pairs.jsonl", "model": "lexical"},
    "tagging": {"treebank": "bank.conllu"},
    "text-distance": {"samples": 30, "length": 14, "prefix": 3, "encoder": "lexical", "clusterings": 2},
    "translation": {"pairs": "told.tsv", "length": 12},
    "verdicts": {"claims": "claims.jsonl", "stance": "lexical"},  # the network answers a little differently elsewhere
}
"""Settings that keep each question small; files are those of `write_files`."""


def write_files(folder: Path) -> None:
    """Two models and small files of every kind that a question reads."""
    vocabulary = WordVocabulary(["<unk>", "<eos>", *WORDS])
    save(_filled(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)), 1), folder / "model")
    save(_filled(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)), 2), folder / "oracle")
    sizes = EncoderDecoderSettings(width=8, encoder_layers=1, decoder_layers=1)
    save(_filled(EncoderDecoder(vocabulary, sizes), 3), folder / "coder")
    for name, steps in (("model", 0.1), ("oracle", 0.15)):
        _write_table(folder / f"{name}.json", steps)
    told = [" ".join(WORDS[place] for place in (0, 1, 2, 3 + row, 10 + row, 17 + row)) for row in range(7)]
    (folder / "told.tsv").write_text("".join(f"{text}\t{text}\n" for text in told))
    sentences = [" ".join(WORDS[(row * step) % 30] for step in range(1, 16)) for row in range(1, 61)]
    (folder / "text.txt").write_text("\n".join(sentences) + "\n")
    (folder / "other.txt").write_text("\n".join(" ".join(reversed(text.split())) for text in sentences) + "\n")
    tests = [
        {
            "id": f"t{row}",
            "target": WORDS[row % 3],
            "bias_type": ("race", "gender")[row % 2],
            "context": f"{WORDS[row % 5]} BLANK",
            "sentences": [
                {"id": f"t{row}{label}", "gold_label": label, "sentence": f"{WORDS[row % 5]} {WORDS[10 + place]}"}
                for place, label in enumerate(LABELS)
            ],
        }
        for row in range(12)
    ]
    (folder / "tests.json").write_text(json.dumps({"data": {"intrasentence": tests}}))
    (folder / "bank.conllu").write_text(TAGGED * 4)
    pairs = [("a b", "agree"), ("c d", "disagree")]
    _lines(folder / "pairs.jsonl", [{"claim": claim, "text": "a b c", "label": label} for claim, label in pairs])
    claims = [("The capital of France is Paris.", "SUPPORTS"), ("The capital of France is Rome.", "REFUTES")]
    _lines(
        folder / "claims.jsonl", [{"id": i, "claim": claim, "label": label} for i, (claim, label) in enumerate(claims)]
    )
    build_index([Document("d1", "one", "red apples"), Document("d2", "two", "green pears")], folder / "index")
    _lines(folder / "queries.jsonl", [{"id": "1", "text": "apples"}, {"id": "2", "text": "pears"}])
    rated = "".join(f"i{n},r{rater},s{n % 2},{(n + rater) % 4}\n" for n in range(4) for rater in range(3))
    (folder / "ratings.csv").write_text(f"item,rater,system,rating\n{rated}")
    _write_study(folder)
    (folder / "judgments.txt").write_text("1 0 d1 1\n2 0 d2 1\n")


def _write_study(folder: Path) -> None:
    """Ratings of three systems, one of them human, with times and checks of attention, and the texts."""
    items = [(f"{system}{row}", system, row) for system in ("gold", "a", "b") for row in range(18)]
    rows = [
        f"{item},r{rater},{system},{(row * (rater + 2) + len(item)) % 5},{3 + (row + rater) % 7},{int(rater != 3)}\n"
        for item, system, row in items
        for rater in range(5)
    ]
    (folder / "study.csv").write_text(f"item,rater,system,rating,seconds,passed\n{''.join(rows)}")
    texts = [
        {
            "item": item,
            "system": system,
            "text": " ".join(WORDS[(row * step + len(system)) % 30] for step in range(1, 5 + row % 4)),
            "log_prob": -1.0 - (row * 7 % 11) / 5 - (system == "gold") / 3,
        }
        for item, system, row in items
    ]
    _lines(folder / "rated.jsonl", texts)


def _write_table(path: Path, step: float) -> None:
    """A model of three tokens that is written down, the less even the longer the history."""
    histories = [history for length in range(3) for history in product("abc", repeat=length)]
    following = {
        " ".join(history): [0.2 + step * len(history), 0.3, 0.5 - step * len(history)] for history in histories
    }
    table = {"kind": "tabular", "vocabulary": ["a", "b", "c"], "length": 3, "next": following}
    path.write_text(json.dumps(table), encoding="utf-8")


def _filled(network: Network, seed: int) -> Network:
    """The network with weights drawn anew."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
    return network.eval()


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


WHOLE: dict[str, Any] = {
    "oracle": "oracle",
    "corpus": ["text.txt"],
    "associations": "tests.json",
    "against": "oracle",
    "length": 12,
    "limit": 30,
}
SUBJECTS: dict[str, dict[str, Any]] = {
    "whole": WHOLE,
    "tables": {"model": "model.json", "oracle": "oracle.json"},
    "oracle alone": {"oracle": "oracle"},
    "text alone": {"corpus": ["text.txt"], "length": 14},
    "domains": {"corpus": ["news=text.txt", "tales=other.txt"], "length": 40, "against": "oracle", "limit": 41},
    "slow": {**WHOLE, "limit": None, "length": 60, "pace": 700.0},
    "slow with text": {"corpus": ["text.txt"], "associations": "tests.json", "length": 60, "pace": 40.0},
    "for hours": {"oracle": "oracle", "corpus": ["text.txt"], "budget": Budget.standard, "length": 20},
}
"""What plans are made for."""

FURTHER: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "exposure": [
        ("text alone", {"samples": 40, "length": 10, "prefix": 3}),
        (
            "oracle alone",
            {"samples": 20, "length": 6, "histories": ["random", "corrupted,rate=0.3"], "marginal": 0},
        ),
        ("oracle alone", {"samples": 20, "length": 6, "histories": ["shuffled"]}),
        ("tables", {"exact": True}),
    ],
    "likelihood": [("oracle alone", {"samples": 12, "length": 8}), ("domains", {"samples": 12, "length": 20})],
    "divergence": [("domains", {"samples": 12, "length": 8})],
    "places": [("oracle alone", {"samples": 8, "length": 9}), ("text alone", {"samples": 100, "length": 9})],
    "recovery": [
        ("text alone", {"samples": 10, "length": 12, "prefix": 4}),
        ("oracle alone", {**SMALL["recovery"], "show": 3}),
    ],
    "regret": [
        ("oracle alone", {"samples": 10, "length": 5}),
        ("tables", {"exact": True}),
        ("whole", {"samples": 10, "length": 6, "show": 4}),
    ],
    "ratings": [
        ("whole", {"source": "study.csv", "texts": "rated.jsonl", "slowest": 3}),
        ("whole", {"source": "study.csv", "against": "gold", "failed": "keep", "fastest": 6.0, "difference": 0.5}),
    ],
    "degeneration": [
        ("oracle alone", {"samples": 12, "length": 20, "prefix": 3}),
        ("text alone", SMALL["degeneration"]),
    ],
    "text-distance": [("oracle alone", {**SMALL["text-distance"], "samples": 24})],
    "quality": [("text alone", {"samples": 12, "length": 9})],
    "memorisation": [("domains", {**SMALL["memorisation"], "samples": 16, "prefix": 2, "suffix": 3})],
    "stereotypes": [("slow", {"most": 5})],
    "calibration": [("oracle alone", {"samples": 24, "length": 10, "prefix": 1})],
    "sampling": [
        ("oracle alone", {**SMALL["sampling"]}),
        ("whole", {**SMALL["sampling"], "samplers": ["top-k,k=5", "top-k,k=25", "nucleus,p=0.5", "nucleus,p=0.95"]}),
    ],
    "diversity": [("text alone", {"samples": 12, "length": 9}), ("oracle alone", {"samples": 12, "length": 9})],
}
"""More ways to ask, each of a subject above."""


def state_of(question: Question[Any]) -> dict[str, Any]:
    """All that is pinned of a question, in the folder of `write_files`."""
    ways = [("whole", SMALL.get(question.name, {})), *FURTHER.get(question.name, [])]
    asked = {f"{number}. {name}": _asked(question, name, settings) for number, (name, settings) in enumerate(ways)}
    return {"declared": declared(question), "plans": {name: _plan(question, name) for name in SUBJECTS}, **asked}


def declared(question: Question[Any]) -> dict[str, Any]:
    """What its class says of it, and the numbers that its settings begin and end with."""
    names = ("asked_by_default", "hidden", "shares_rows", "share", "headlines", "rests_on", "of_tokens", "of_amount")
    return {
        **{name: getattr(question, name) for name in names},
        "needs": [need.name for need in (*question.needs, *question.takes)],
        "reads": question.reads.name,
        "compared": {each.name: each.reference for each in question.compared},
        "gauges": {each.figure: each.reference for each in question.gauges},
        "settings": {
            name: {key: value for key, value in schema.items() if isinstance(value, bool | int | float)}
            for name, schema in question.Settings.model_json_schema()["properties"].items()
        }
        if question.Settings.model_fields
        else {},
    }


def _subject(question: Question[Any], name: str) -> Subject:
    named = {"model": "coder" if question.name == "translation" else "model", **SUBJECTS[name]}
    subject = Subject(**named)
    if subject._pace is not None:
        subject.__dict__["is_large"] = True
        subject.part = question.share / 20
    return subject


def _plan(question: Question[Any], name: str) -> Any:
    subject = _subject(question, name)
    given = {key: value for key, value in SMALL.get(question.name, {}).items() if key in question.required}
    if lack := question.missing(subject, {**given, "training": "text.txt"}):
        return {"lacks": brief(lack._asdict())}
    try:
        settings = (
            question.settings({**question.plan(subject).model_dump(), **given}) if not question.required else None
        )
    except OffscriptError:
        return {"lacks": "refused"}
    if settings is None:
        return {}
    figures = question.figures(subject, settings)
    return {
        "settings": brief(settings.model_dump()),
        "tokens": question.tokens(subject, settings),
        "figures": None if figures is None else list(figures),
        "depends on": sorted(question.depends_on(subject, settings)),
    }


class Counted:
    """Progress that is written down: what was announced, and what was reached."""

    def __init__(self) -> None:
        self.announced: list[int] = []
        self.reached: list[int] = []

    def start(self, total: int) -> Any:
        """Begin to count."""
        place = len(self.announced)
        self.announced.append(total)
        self.reached.append(0)

        def count(rows: int) -> None:
            self.reached[place] += rows

        return count


def _asked(question: Question[Any], name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    progress, began = Counted(), time.monotonic()
    subject = _subject(question, name)
    answer = question.answer(subject, question.settings(settings), progress, constants=True)
    taken = time.monotonic() - began
    figures = {entry.name: entry for entry in answer.measurements}
    p_values = _tests(question, figures)
    return {
        "announced": progress.announced,
        "reached": progress.reached,
        "in time": all(0 <= entry.seconds <= taken for entry in answer.measurements),
        "figures": {entry.name: _figure(entry) for entry in answer.measurements},
        "exhibits": brief(answer.exhibits),
        "details": brief(answer.details),
        "tables": [brief({"rows": table.rows}) for table in answer.tables],
        "p-values": brief(p_values),
        "finding": _finding(question, figures, p_values or {}),
        "gauge": brief(asdict(gauge)) if (gauge := question.gauge(figures)) else None,
        "words": [question.in_words(figure) != figure for figure in figures],
        "charts": [brief(chart) for _, chart in question.charts(answer.measurements)],
        "moved": _moved(question, figures, p_values or {}),
        "moved p-values": brief(
            [list((_tests(question, moved) or {}).values()) for _, _, moved in _moves(question, figures)]
        ),
    }


def _figure(entry: Measurement) -> Any:
    told = entry.to_json()
    for known in ("per_item", "weights"):
        told[f"values of {known}"] = None if getattr(entry, known) is None else getattr(entry, known).ravel().tolist()
    del told["question"], told["name"]
    return brief(told)


def _tests(question: Question[Any], figures: Mapping[str, Measurement]) -> dict[str, float] | None:
    if not set(question.rests_on) <= set(figures):
        return None
    return question.tests(figures)


def _finding(question: Question[Any], figures: Mapping[str, Measurement], p_values: Mapping[str, float]) -> Any:
    if not set(question.rests_on) <= set(figures):
        return None
    found = question.conclude(figures, p_values)
    return None if found is None else [found.headline, found.status, brief(found.sentence)]


def _moves(
    question: Question[Any], figures: Mapping[str, Measurement]
) -> Iterator[tuple[str, int, dict[str, Measurement]]]:
    """The figures, with one that findings rest on moved about what it is read against as each of `MOVES` says."""
    references = {gauge.figure: gauge.reference or 0.0 for gauge in question.gauges}
    names = [name for name in (*references, *question.headlines, *question.rests_on) if name in figures]
    for name in dict.fromkeys(names):
        for number, (step, _, low, high) in enumerate(MOVES):
            ends = [references.get(name, 0.0) + turn * step for turn in (low, high)]
            interval = Interval(*ends, figures[name].interval.level, figures[name].interval.method)
            yield name, number, {**figures, name: replace(figures[name], value=sum(ends) / 2, interval=interval)}


def _moved(
    question: Question[Any], figures: Mapping[str, Measurement], p_values: Mapping[str, float]
) -> dict[str, dict[str, list[int]]]:
    """Which finding there is after which of `MOVES`, by the figure that is moved."""
    found: dict[str, dict[str, list[int]]] = {}
    for name, number, moved in _moves(question, figures):
        told = _finding(question, moved, dict.fromkeys(p_values, MOVES[number][1]))
        words = "nothing" if told is None else " | ".join(told[:2])
        found.setdefault(name, {}).setdefault(words, []).append(number)
    return found


def brief(value: Any) -> Any:
    """What is kept of a value: numbers, choices and names; long lists by their sums."""
    if isinstance(value, Mapping):
        return {str(key): brief(part) for key, part in value.items() if str(key) not in NOT_KEPT | LOOKS}
    if isinstance(value, str):
        return value if " " not in value and len(value) <= LONGEST else brief(_numbers_in(value))
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float | np.floating):
        return _rounded(float(value))
    if isinstance(value, np.ndarray):
        return brief(value.ravel().tolist())
    if isinstance(value, Sequence | set | frozenset):
        return _brief_list(list(value))
    return type(value).__name__


def _brief_list(values: list[Any]) -> Any:
    if len(values) <= LISTED:
        return [brief(value) for value in values]
    if all(isinstance(value, float | int | None) or value in ("inf", "-inf") for value in values):
        return _sums(values)
    if all(isinstance(value, Mapping) for value in values):
        columns = dict.fromkeys(key for value in values for key in value)
        return {"rows": len(values), **{str(key): brief([value.get(key) for value in values]) for key in columns}}
    if all(isinstance(value, list | tuple) for value in values):
        return {"lists": len(values), "joined": brief([part for value in values for part in value])}
    if all(isinstance(value, str) for value in values):
        return {"texts": len(values), "numbers": brief([each for value in values for each in _numbers_in(value)])}
    return {"parts": [brief(value) for value in values]}


def _sums(values: Sequence[Any]) -> dict[str, Any]:
    known = [
        (place, float(value))
        for place, value in enumerate(values, start=1)
        if isinstance(value, float | int) and math.isfinite(value)
    ]
    total, turned = sum(value for _, value in known), sum(place * value for place, value in known)
    return {"length": len(values), "known": len(known), "sum": _rounded(total), "by place": _rounded(turned)}


def _numbers_in(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)]


def _rounded(value: float) -> Any:
    if not math.isfinite(value):
        return str(value)
    return 0.0 if value == 0 else round(value, DIGITS - 1 - math.floor(math.log10(abs(value))))


def _written(state: Mapping[str, Mapping[str, Any]]) -> str:
    """As JSON, with a line for each entry of the entries."""
    parts = []
    for name, part in state.items():
        lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in part.items()]
        parts.append(f"{json.dumps(name)}: {{\n  " + ",\n  ".join(lines) + "\n }")
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def main() -> None:
    """Write the files anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="questions; all without any")
    asked = parser.parse_args()
    PINNED.mkdir(exist_ok=True)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        os.chdir(folder)
        for name, question in questions().items():
            if not asked.names or name in asked.names:
                (PINNED / f"{name}.json").write_text(_written(state_of(question)), encoding="utf-8")
        os.chdir(before)


if __name__ == "__main__":
    main()
