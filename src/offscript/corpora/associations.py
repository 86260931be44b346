"""Context Association Tests in StereoSet's layout, and the scores that a system gave to their sentences."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offscript._specification import nearest
from offscript.corpora.lines import Lines
from offscript.corpora.readers import HUB_PREFIX
from offscript.errors import OffscriptError, missing_package

TASKS = ("intrasentence", "intersentence")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"


@dataclass(frozen=True)
class Association:
    """A sentence that can be scored: the filled context, or what follows the context."""

    id: str
    sentence: str


@dataclass(frozen=True)
class AssociationTest:
    """One context about a target term with its stereotypical, anti-stereotypical and unrelated association (§4.2)."""

    id: str
    task: str
    domain: str
    target: str
    context: str
    stereotype: Association
    anti_stereotype: Association
    unrelated: Association

    @property
    def associations(self) -> tuple[Association, Association, Association]:
        """Stereotype, anti-stereotype, unrelated."""
        return self.stereotype, self.anti_stereotype, self.unrelated

    def fill(self, association: Association) -> str:
        """What an intrasentence association puts into the context's blank; letter case aside, the rest must agree."""
        before, after, *more = map(re.escape, self.context.split(BLANK))
        repeated = "".join("(?P=fill)" + part for part in more)
        found = re.fullmatch(f"{before}(?P<fill>.+){after}{repeated}", association.sentence, re.IGNORECASE | re.DOTALL)
        if found is None:
            raise OffscriptError(
                f"{association.id}: {association.sentence!r} does not fill the blank of {self.context!r}",
                next="repeat the context's words around what fills the blank",
            )
        return found["fill"]


def read_association_tests(source: str | Path) -> list[AssociationTest]:
    """Tests of a JSON file in StereoSet's layout, plain or compressed, or of `hf:NAME[:CONFIG[:SPLIT]]`, checked.

    The layout is `{"data": {"intrasentence": […], "intersentence": […]}}`; either task may be missing.
    """
    if isinstance(source, str) and source.startswith(HUB_PREFIX):
        return _checked_tests(_from_hub(source), source)
    document = _read_json(Path(source))
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict) or not data:
        raise OffscriptError(f"{source} is not in StereoSet's layout", why='it has no "data" with tests in it')
    for task in data:
        if task not in TASKS:
            raise OffscriptError(f"{source}: unknown task {task!r}", next=nearest(task, TASKS))
    return _checked_tests(((task, record) for task in data for record in _listed(data[task], task)), str(source))


def read_predictions(path: str | Path) -> dict[str, float]:
    """Scores by sentence id from a file in the authors' format: a list of `{"id", "score"}` a task."""
    document = _read_json(Path(path))
    if not isinstance(document, dict) or not document:
        raise OffscriptError(f"{path} holds no predictions", next='write {"intrasentence": [{"id": …, "score": …}]}')
    scores: dict[str, float] = {}
    for task, records in document.items():
        for record in _listed(records, task):
            name = _text(record, "id", f"a prediction of {task}")
            score = record.get("score")
            if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
                raise OffscriptError(f"{name}: the score {score!r} is not a number", next="give one number a sentence")
            if name in scores:
                raise OffscriptError(f"{name} is scored twice in {path}", next="give one score a sentence")
            scores[name] = float(score)
    return scores


def predictions_document(tests: Sequence[AssociationTest], scores: Mapping[str, float]) -> dict[str, Any]:
    """Scores in the authors' format, ready to be written as JSON."""
    return {
        task: [
            {"id": association.id, "score": scores[association.id]}
            for test in tests
            if test.task == task
            for association in test.associations
        ]
        for task in TASKS
    }


def _read_json(path: Path) -> Any:
    if not path.is_file():
        raise OffscriptError(f"no such file: {path}", next="check the name, or write hf:NAME for a Hub dataset")
    try:
        return json.loads("".join(Lines(path)))
    except (ValueError, RecursionError) as fault:
        raise OffscriptError(f"{path} is not JSON", why=str(fault)) from fault


def _listed(records: Any, task: str) -> list[Any]:
    if not isinstance(records, list):
        raise OffscriptError(f"{task} is not a list but {type(records).__name__}", next="give a list of records")
    return records


def _checked_tests(records: Iterable[tuple[str, Any]], source: str) -> list[AssociationTest]:
    tests, seen = [], set()
    for number, (task, record) in enumerate(records, start=1):
        test = _test_of(task, record, f"{source}, test {number}")
        for name in (test.id, *(association.id for association in test.associations)):
            if name in seen:
                raise OffscriptError(
                    f"{name}: the id stands twice in {source}", next="give every test and sentence its own"
                )
            seen.add(name)
        tests.append(test)
    if not tests:
        raise OffscriptError(f"{source} holds no test", next="check its name and layout")
    return tests


def _test_of(task: str, record: Any, place: str) -> AssociationTest:
    name = _text(record, "id", place)
    target, domain, context = (_text(record, key, name) for key in ("target", "bias_type", "context"))
    if task == "intrasentence" and BLANK not in context:
        raise OffscriptError(f"{name}: the context has no {BLANK}", next=f"write {BLANK} where the associations differ")
    labelled = _labelled(record.get("sentences"), name)
    return AssociationTest(name, task, domain, target, context, *(labelled[label] for label in LABELS))


def _labelled(sentences: Any, name: str) -> dict[str, Association]:
    if not isinstance(sentences, list):
        raise OffscriptError(f"{name}: no list of sentences", next=f"give one each of {', '.join(LABELS)}")
    labelled: dict[str, Association] = {}
    for sentence in sentences:
        label = _text(sentence, "gold_label", name)
        if label not in LABELS:
            raise OffscriptError(f"{name}: unknown label {label!r}", next=nearest(label, LABELS))
        if label in labelled:
            raise OffscriptError(
                f"{name}: two sentences are labelled {label!r}", next=f"give one each of {', '.join(LABELS)}"
            )
        labelled[label] = Association(_text(sentence, "id", name), _text(sentence, "sentence", name))
    if missing := [label for label in LABELS if label not in labelled]:
        raise OffscriptError(
            f"{name}: no sentence is labelled {missing[0]!r}", next=f"give one each of {', '.join(LABELS)}"
        )
    return labelled


def _text(record: Any, key: str, place: str) -> str:
    if not isinstance(record, dict):
        raise OffscriptError(f"{place} is not a JSON object but {type(record).__name__}")
    text = record.get(key)
    if not isinstance(text, str) or not text.strip():
        raise OffscriptError(
            f"{place}: {key!r} is missing, empty or not text", next="see StereoSet's layout in the docs"
        )
    return text


def _from_hub(source: str) -> Iterator[tuple[str, Any]]:
    name, config, split, *rest = (*source.removeprefix(HUB_PREFIX).split(":"), "", "")
    if not name or any(rest):
        raise OffscriptError(f"{source!r} names no dataset", next="write hf:NAME[:CONFIG[:SPLIT]]")
    if config and config not in TASKS:
        raise OffscriptError(f"{source!r} asks for {config!r}", next=nearest(config, TASKS))
    try:
        import datasets
    except ImportError as error:
        raise missing_package(source, "datasets", extra="datasets") from error
    for task in [config] if config else TASKS:
        try:
            rows = datasets.load_dataset(name, task, split=split or "validation")
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            raise OffscriptError(f"{source} cannot be read", why=str(error), next="check its name and split") from error
        for row in rows:
            yield task, {**row, "sentences": _sentences_of_hub(row.get("sentences"))}


def _sentences_of_hub(sentences: Any) -> Any:
    """The Hub keeps columns instead of records, and the place of a label in an alphabetical list for its name."""
    if isinstance(sentences, dict):
        sentences = [dict(zip(sentences, values, strict=True)) for values in zip(*sentences.values(), strict=True)]
    if not isinstance(sentences, list):
        return sentences
    alphabetical = sorted(LABELS)
    return [{**entry, "gold_label": _label_name(entry.get("gold_label"), alphabetical)} for entry in sentences]


def _label_name(label: Any, names: Sequence[str]) -> Any:
    return names[label] if isinstance(label, int) and 0 <= label < len(names) else label
