"""Context Association Tests in StereoSet's layout, and the scores that a system gave to their sentences."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offscript._specification import nearest
from offscript.corpora.records import is_hub, read_hub, read_json_value
from offscript.errors import OffscriptError

TASKS = ("intrasentence", "intersentence")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"
_HINT = "check the name, or write hf:NAME for a Hub dataset"


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
        parts = self.context.split(BLANK)
        rest, blanks = len(association.sentence) - sum(map(len, parts)), len(parts) - 1
        before, after, *more = map(re.escape, parts)
        # Knowing the fill's length, `re` need not try every one.
        pattern = f"{before}(?P<fill>.{{{rest // blanks}}}){after}" + "".join("(?P=fill)" + part for part in more)
        whole = rest >= blanks and rest % blanks == 0
        match = re.fullmatch(pattern, association.sentence, re.IGNORECASE | re.DOTALL) if whole else None
        if match is None:
            raise OffscriptError(
                f"{association.id}: {association.sentence!r} does not fill the blank of {self.context!r}",
                next="repeat the context's words around what fills the blank",
            )
        return match["fill"]


def read_association_tests(source: str | Path) -> list[AssociationTest]:
    """Tests of a JSON file in StereoSet's layout, plain or compressed, or of `hf:NAME[:CONFIG[:SPLIT]]`, checked.

    The layout is `{"data": {"intrasentence": […], "intersentence": […]}}`; either task may be missing.
    """
    if is_hub(source):
        rows = read_hub(str(source), configs=TASKS, split="validation")
        records = ((task, {**row, "sentences": _sentences_of_hub(row.get("sentences"))}) for task, row in rows)
        return _checked_tests(records, str(source))
    document = read_json_value(source, hint=_HINT)
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict) or not data:
        raise OffscriptError(f"{source} is not in StereoSet's layout", why='it has no "data" with tests in it')
    for task in data:
        if task not in TASKS:
            raise OffscriptError(f"{source}: unknown task {task!r}", next=nearest(task, TASKS))
    return _checked_tests(
        ((task, record) for task in data for record in _listed(data[task], f"{source}: {task}")), str(source)
    )


def read_predictions(path: str | Path) -> dict[str, float]:
    """Scores by sentence id from a file in the authors' format: a list of `{"id", "score"}` a task."""
    document = read_json_value(path)
    if not isinstance(document, dict) or not document:
        raise OffscriptError(f"{path} holds no predictions", next='write {"intrasentence": [{"id": …, "score": …}]}')
    scores: dict[str, float] = {}
    for task, records in document.items():
        for record in _listed(records, f"{path}: {task}"):
            name = _text(record, "id", f"{path}: a prediction of {task}")
            if name in scores:
                raise OffscriptError(f"{path}: {name} is scored twice", next="give one score per sentence")
            scores[name] = _score(record.get("score"), f"{path}: {name}")
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


def _listed(records: Any, place: str) -> list[Any]:
    if not isinstance(records, list):
        raise OffscriptError(f"{place} is not a list but {type(records).__name__}", next="give a list of records")
    return records


def _score(value: Any, place: str) -> float:
    try:
        score = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        score = math.nan
    if math.isnan(score):
        raise OffscriptError(f"{place}: the score {value!r} is not a number", next="give one number per sentence")
    return score


def _checked_tests(records: Iterable[tuple[str, Any]], source: str) -> list[AssociationTest]:
    tests, seen = [], set()
    for number, (task, record) in enumerate(records, start=1):
        test = _test_of(task, record, source, number)
        for name in (test.id, *(association.id for association in test.associations)):
            if name in seen:
                raise OffscriptError(
                    f"{source}: {name}: the id stands twice", next="give every test and sentence its own"
                )
            seen.add(name)
        tests.append(test)
    if not tests:
        raise OffscriptError(f"{source} holds no test", next="check its name and layout")
    return tests


def _test_of(task: str, record: Any, source: str, number: int) -> AssociationTest:
    name = _text(record, "id", f"{source}, test {number}")
    place = f"{source}: {name}"
    target, domain, context = (_text(record, key, place) for key in ("target", "bias_type", "context"))
    if task == "intrasentence" and BLANK not in context:
        raise OffscriptError(
            f"{place}: the context has no {BLANK}", next=f"write {BLANK} where the associations differ"
        )
    labelled = _labelled(record.get("sentences"), place)
    return AssociationTest(name, task, domain, target, context, *(labelled[label] for label in LABELS))


def _labelled(sentences: Any, place: str) -> dict[str, Association]:
    if not isinstance(sentences, list):
        raise OffscriptError(f"{place}: no list of sentences", next=f"give one each of {', '.join(LABELS)}")
    labelled: dict[str, Association] = {}
    for sentence in sentences:
        label = _text(sentence, "gold_label", place)
        if label not in LABELS:
            raise OffscriptError(f"{place}: unknown label {label!r}", next=nearest(label, LABELS))
        if label in labelled:
            raise OffscriptError(
                f"{place}: two sentences are labelled {label!r}", next=f"give one each of {', '.join(LABELS)}"
            )
        labelled[label] = Association(_text(sentence, "id", place), _text(sentence, "sentence", place))
    if missing := [label for label in LABELS if label not in labelled]:
        raise OffscriptError(
            f"{place}: no sentence is labelled {missing[0]!r}", next=f"give one each of {', '.join(LABELS)}"
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
