"""Long texts checked claim by claim: what share of what a model says of a country is supported, refuted, undecided.

A text is split into its claims as `offscript check --text` does it. Its precision is S / n, where S of its n claims are
supported (FActScore, Min et al. 2023, without keys); since a text can be precise by saying little, the length-corrected
figure is F1@K of Wei et al. (2024): with recall R = min(S / K, 1), F1@K = 2 P R / (P + R), and 0 where S = 0. K is how
many claims the median text has, over all samplers.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch

from offscript._types import Count, FloatArray
from offscript.factcheck.almanac import almanac_facts
from offscript.factcheck.almanac.facts import opened, with_article
from offscript.factcheck.checked import Check, Verdict
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents.document import Document
from offscript.factcheck.texts.checking import Decompose, find_claims
from offscript.factcheck.texts.english import is_english
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate_each
from offscript.sampling.transforms import parse_transform
from offscript.statistics import mean_interval, within

TEXTS = "texts"
SUBJECTS = "country"
REQUEST, BEGINNING = (
    "Facts about {subject}: capital, currency, languages, neighbours and history.\n\n",
    "{subject} is a country",
)
"""What a model is asked for, which is no part of its text, and how the text begins. Without the request a small model
writes of other things, and nothing can be decided."""
LEAST = 4  # texts for an interval
_BLANKS = re.compile(r"\s+(?=[.,;:!?%')\]])")
_ENDS = (".", "!", "?", "”", '"')


@dataclass(frozen=True)
class LongText:
    """What a model wrote about a subject with a sampler, and the claims in it with their checks."""

    sampler: str
    row: int
    subject: str
    text: str
    claims: tuple[Check, ...]
    sentences: int

    def count(self, verdict: Verdict) -> int:
        """How many of the claims have a verdict."""
        return sum(claim.verdict is verdict for claim in self.claims)


def draw_texts(
    model: LanguageModel, samplers: Sequence[str], count: int, length: int, *, seed: int, batch_size: int
) -> list[tuple[str, int, str, str]]:
    """Texts about countries, begun by `… is a country`: sampler, number of the subject, subject and whole sentences.

    Args:
        model: What writes.
        samplers: Decoding settings; all write on the same subjects with the same random numbers.
        count: Subjects, drawn from the almanac's; those with words that the model does not know are left out.
        length: Tokens that follow the beginning.
        seed: Decides subjects and texts.
        batch_size: Sequences drawn at a time.

    Returns:
        A text for every sampler and subject, without a last sentence that breaks off.
    """
    by_length: dict[int, list[tuple[str, list[int]]]] = {}
    for subject, ids in _readable_subjects(model, count, seed=seed):
        by_length.setdefault(len(ids), []).append((subject, ids))
    texts, first = [], 0
    for size, rows in sorted(by_length.items()):
        drawn = generate_each(
            model,
            [parse_transform(sampler) for sampler in samplers],
            len(rows),
            size + length,
            seed=(seed, 3),
            prefixes=torch.tensor([ids for _, ids in rows]),
            first_row=first,
            batch_size=batch_size,
        )
        for sampler, generated in zip(samplers, drawn, strict=True):
            for row, ((subject, _), tokens) in enumerate(zip(rows, generated.rows(), strict=True), start=first):
                begun = opened(BEGINNING.format(subject=with_article(subject)))
                said = model.vocabulary.decode(tokens[size:])
                texts.append((sampler, row, subject, _whole(_BLANKS.sub("", f"{begun} {said}"))))
        first += len(rows)
    return texts


def _readable_subjects(model: LanguageModel, count: int, *, seed: int) -> list[tuple[str, list[int]]]:
    """Subjects whose beginning the model can read, and its ids."""
    subjects = list(dict.fromkeys(fact.subject for fact in almanac_facts() if fact.relation.subject_type == SUBJECTS))
    found, unknown = [], model.vocabulary.unknown
    for place in np.random.default_rng(seed).permutation(len(subjects)):
        named = with_article(subjects[place])
        ids = model.vocabulary.encode(REQUEST.format(subject=named) + opened(BEGINNING.format(subject=named)))
        if ids and (unknown is None or unknown not in ids):
            found.append((subjects[place], ids))
        if len(found) == count:
            break
    return found


def _whole(text: str) -> str:
    """The text up to the end of its last whole sentence."""
    text = " ".join(text.split())
    return text if text.endswith(_ENDS) else text[: max(text.rfind(f"{mark} ") for mark in _ENDS) + 1]


def check_texts(
    checker: Checker,
    texts: Sequence[tuple[str, int, str, str]],
    *,
    decompose: Decompose | None = None,
    progress: Count | None = None,
) -> list[LongText]:
    """Split every text into its claims and check each; the same claim is checked once.

    Args:
        checker: Decides whether a claim is supported, refuted or neither.
        texts: As `draw_texts` gives them.
        decompose: Splits sentences into claims; rules by default.
        progress: Told of every text.

    Returns:
        The texts with their claims. One that is not English has none.
    """
    known: dict[str, Check] = {}
    checked = []
    for sampler, row, subject, text in texts:
        found = find_claims(Document(str(row), subject, text), decompose=decompose) if is_english(text) else []
        claims = [claim for each in found for claim in each.claims]
        for claim in claims:
            if claim not in known:
                known[claim] = checker.check(claim)
        checked.append(LongText(sampler, row, subject, text, tuple(known[claim] for claim in claims), len(found)))
        if progress is not None:
            progress(1)
    return checked


def text_figures(samplers: Sequence[str], texts: Sequence[LongText], shared: dict[str, Any]) -> list[Measurement]:
    """Claims per text, precision and F1@K of every sampler, and what the last one's F1@K is above the first's."""
    counts = [len(each.claims) for each in texts if each.claims]
    if not counts:
        return []
    k = max(round(median(counts)), 1)
    shared = {**shared, "recipe": {**shared["recipe"], "k": k}}
    figures: list[Measurement] = []

    def add(name: str, values: FloatArray, *, better: bool | None, lower: float = 0.0, upper: float = 1.0) -> None:
        if len(values) >= LEAST:
            estimate = within(mean_interval(values), lower, upper)
            figures.append(Measurement.of(estimate, name=name, n=len(values), higher_is_better=better, **shared))

    def scores(sampler: str, score: Callable[[LongText], float]) -> dict[int, float]:
        return {each.row: score(each) for each in texts if each.sampler == sampler}

    for sampler in samplers:
        add(
            f"{sampler}.{TEXTS}.claims",
            _values(scores(sampler, lambda each: float(len(each.claims)))),
            better=None,
            upper=math.inf,
        )
        told = {each.row: precision(each) for each in texts if each.sampler == sampler and each.claims}
        add(f"{sampler}.{TEXTS}.precision", _values(told), better=True)
        add(f"{sampler}.{TEXTS}.f1_at_k", _values(scores(sampler, lambda each: f1_at(each, k))), better=True)
    if len(samplers) > 1:
        cool, hot = (scores(sampler, lambda each: f1_at(each, k)) for sampler in (samplers[0], samplers[-1]))
        rows = sorted(cool.keys() & hot.keys())
        add(f"change.{TEXTS}.f1_at_k", np.array([hot[row] - cool[row] for row in rows]), better=True, lower=-1.0)
    return figures


def precision(text: LongText) -> float:
    """The share of a text's claims that are supported; 0 of none."""
    return text.count(Verdict.supported) / len(text.claims) if text.claims else 0.0


def f1_at(text: LongText, k: int) -> float:
    """The harmonic mean of precision and of recall against k claims."""
    recall = min(text.count(Verdict.supported) / k, 1.0)
    total = precision(text) + recall
    return 2 * precision(text) * recall / total if total else 0.0


def _values(scores: dict[int, float]) -> FloatArray:
    return np.array(list(scores.values()), dtype=np.float64)
