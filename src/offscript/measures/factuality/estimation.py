"""Does a model say what is so? Its own statements go through the fact checker, sampler by sampler.

Two kinds of statement are checked. Prompted ones complete the beginning of a fact ("The capital of France is"), so that
the checker's documents are sure to bear on them; free ones are the sentences of text that the model makes up, of which
only those are checked that could be true or false.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from offscript.corpora.prose import split_sentences
from offscript.errors import OffscriptError
from offscript.factcheck.almanac import Prompt, almanac_facts, prompts
from offscript.factcheck.checked import Check, Verdict
from offscript.factcheck.checking import Checker
from offscript.measures._figures import recipe_of
from offscript.measures._scores import Progress
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated, generate_each
from offscript.sampling.transforms import parse_transform
from offscript.statistics import proportion_interval

QUESTION = "factuality"
PROMPTED, FREE = "prompted", "free"
COMPLETION = 12  # tokens at most that complete a prompt
FEWEST_WORDS = 4
NAMES = {Verdict.supported: "supported", Verdict.refuted: "refuted", Verdict.unknown: "not_enough_info"}
_WORD = re.compile(r"[^\W\d_]+|\d+")
_PERSONAL = frozenset(
    """i me my mine we us our you your he him his she her they them their it its this that these""".split()  # noqa: SIM905
)
_BLANKS = re.compile(r"\s+(?=[.,;:!?%')\]])")


@dataclass(frozen=True)
class Statement:
    """What a model said with a sampler, and what checking it brought to light."""

    sampler: str
    kind: str
    text: str
    check: Check


class Factuality(NamedTuple):
    """The figures, and the statements behind them."""

    measurements: list[Measurement]
    statements: list[Statement]


def measure_factuality(
    model: LanguageModel,
    checker: Checker,
    samplers: Sequence[str],
    *,
    samples: int,
    length: int,
    seed: int,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> Factuality:
    """Shares of statements that are supported, refuted and neither, as `<sampler>.<kind>.<verdict>`, with intervals.

    At most `samples` prompts are completed, and as many free texts of `length` tokens are drawn; all samplers have the
    same prompts and random numbers. `<sampler>.<kind>.checkable` is the share of statements that can be checked: none
    that holds the vocabulary's sign for unknown words, and of free sentences those that `is_checkable` takes. A kind
    without a single statement has no figures. `progress` is told of every statement, checked or not.
    """
    began = time.perf_counter()
    if samples < 1 or not samplers:
        raise OffscriptError(f"{samples} samples of {len(samplers)} samplers", next="ask for at least one of each")
    said = [
        *_completions(model, samplers, samples, seed=seed, batch_size=batch_size),
        *_free_sentences(model, samplers, samples, length, seed=seed, batch_size=batch_size),
    ]
    statements, unknown = [], _unknown_sign(model)
    for sampler, kind, text in said:
        if (kind == PROMPTED or is_checkable(text)) and not (unknown and unknown in text):
            statements.append(Statement(sampler, kind, text, checker.check(text)))
        if progress is not None:
            progress(1)
    settings = {"samples": samples, "length": length, "seed": seed, "stance": checker.stance.name}
    shared: dict[str, Any] = {
        "question": QUESTION,
        "seed": seed,
        "seconds": time.perf_counter() - began,
        "recipe": recipe_of(QUESTION, model, None, settings),
    }
    return Factuality(_figures(samplers, statements, said, shared), statements)


def is_checkable(sentence: str) -> bool:
    """Whether a sentence stands by itself and says something of a name or a number.

    Questions, sentences of few words, and those about somebody who is named elsewhere (he, it, we …) do not. Names are
    told by their capitals: of a model that writes none only sentences with numbers are taken.
    """
    words = _WORD.findall(sentence)
    telling = any(word[0].isupper() or word.isdigit() for word in words[1:])
    alone = not any(word.lower() in _PERSONAL for word in words)
    return len(words) >= FEWEST_WORDS and telling and alone and not sentence.rstrip().endswith("?")


def readable_prompts(model: LanguageModel, count: int, *, seed: int) -> list[tuple[Prompt, list[int]]]:
    """Prompts whose every word the model knows, and their ids."""
    unknown, found = model.vocabulary.unknown, []
    for prompt in prompts(almanac_facts(), seed=seed):
        ids = model.vocabulary.encode(prompt.text)
        if ids and (unknown is None or unknown not in ids):
            found.append((prompt, ids))
        if len(found) == count:
            break
    return found


Said = tuple[str, str, str]
"""Sampler, kind and text of a statement that is not checked yet."""


def _completions(
    model: LanguageModel, samplers: Sequence[str], samples: int, *, seed: int, batch_size: int
) -> list[Said]:
    """Each prompt with what follows up to the end of its sentence; prompts of one length are read together."""
    by_length: dict[int, list[list[int]]] = {}
    for _, ids in readable_prompts(model, samples, seed=seed):
        by_length.setdefault(len(ids), []).append(ids)
    said, first_row = [], 0
    for size, rows in sorted(by_length.items()):
        drawn = generate_each(
            model,
            [parse_transform(sampler) for sampler in samplers],
            len(rows),
            size + COMPLETION,
            seed=(seed, 1),
            prefixes=torch.tensor(rows),
            first_row=first_row,
            batch_size=batch_size,
        )
        first_row += len(rows)
        said += [
            (sampler, PROMPTED, sentences[0])
            for sampler, generated in zip(samplers, drawn, strict=True)
            for sentences in _sentences(model, generated)
            if sentences
        ]
    return said


def _free_sentences(
    model: LanguageModel, samplers: Sequence[str], samples: int, length: int, *, seed: int, batch_size: int
) -> list[Said]:
    transforms = [parse_transform(sampler) for sampler in samplers]
    drawn = generate_each(model, transforms, samples, length, seed=(seed, 2), batch_size=batch_size)
    return [
        (sampler, FREE, sentence)
        for sampler, generated in zip(samplers, drawn, strict=True)
        for sentences in _sentences(model, generated)
        for sentence in sentences
    ]


def _unknown_sign(model: LanguageModel) -> str | None:
    """What stands for words that the model does not know."""
    unknown = model.vocabulary.unknown
    return None if unknown is None else model.vocabulary.symbols()[unknown]


def _sentences(model: LanguageModel, generated: Generated) -> list[list[str]]:
    """The sentences of each sequence, punctuation close to the words."""
    rows = zip(generated.tokens.tolist(), generated.lengths.tolist(), strict=True)
    return [split_sentences(_BLANKS.sub("", model.vocabulary.decode(row[:size]))) for row, size in rows]


def _figures(
    samplers: Sequence[str], statements: Sequence[Statement], said: Sequence[Said], shared: dict[str, Any]
) -> list[Measurement]:
    found = []
    for sampler in samplers:
        label = sampler.replace(",", ";")
        for kind in (PROMPTED, FREE):
            verdicts = [each.check.verdict for each in statements if (each.sampler, each.kind) == (sampler, kind)]
            found += [
                _share(f"{label}.{kind}.{name}", verdicts.count(verdict), len(verdicts), verdict, shared)
                for verdict, name in NAMES.items()
                if verdicts
            ]
            if every := sum(each[:2] == (sampler, kind) for each in said):
                found.append(_share(f"{label}.{kind}.checkable", len(verdicts), every, None, shared))
    return found


def _share(name: str, part: int, whole: int, verdict: Verdict | None, shared: dict[str, Any]) -> Measurement:
    better = {Verdict.supported: True, Verdict.refuted: False}.get(verdict) if verdict else None
    return Measurement.of(proportion_interval(part, whole), name=name, n=whole, higher_is_better=better, **shared)
