"""Does a model say what is so? Its own statements go through the fact checker, sampler by sampler.

Two kinds of statement are checked. Prompted ones complete the beginning of a fact ("The capital of France is"), so that
the checker's documents are sure to bear on them; free ones are the sentences of text that the model makes up, of which
only those are checked that could be true or false. On request long texts are checked claim by claim too (`long.py`).
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from offscript._types import Count
from offscript.corpora.prose import split_sentences
from offscript.errors import OffscriptError
from offscript.factcheck.almanac import Prompt, almanac_facts, prompts
from offscript.factcheck.checked import Check, Verdict
from offscript.factcheck.checking import Checker
from offscript.factcheck.texts.checking import Decompose
from offscript.measures._figures import recipe_of
from offscript.measures.factuality.long import TEXTS, LongText, check_texts, draw_texts, text_figures
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated, generate_each
from offscript.sampling.transforms import parse_transform
from offscript.statistics import clustered_proportion_interval, share_difference

QUESTION = "factuality"
PROMPTED, FREE = "prompted", "free"
CHANGE = "change"
IntArray = NDArray[np.int64]
COMPLETION = 12  # tokens at most that complete a prompt
FEWEST_WORDS = 4
NAMES = {Verdict.supported: "supported", Verdict.refuted: "refuted", Verdict.unknown: "not_enough_info"}
_WORD = re.compile(r"[^\W\d_]+|\d+")
_PERSONAL = frozenset(
    """i me my mine we us our you your he him his she her they them their it its this that these""".split()  # noqa: SIM905
)
_NEXT_CLAUSE = re.compile(
    r"(?:,\s+(?:and|but|which|who|where|while|with|as|it|so|an?|the|in|has|including|because)\b|;|\s+-+\s|\s+which\b).*$",
    re.DOTALL,
)
_BLANKS = re.compile(r"\s+(?=[.,;:!?%')\]])")


@dataclass(frozen=True)
class Statement:
    """What a model said with a sampler, and what checking it brought to light."""

    sampler: str
    kind: str
    row: int
    text: str
    check: Check


class Factuality(NamedTuple):
    """The figures, and the statements behind them."""

    measurements: list[Measurement]
    statements: list[Statement]
    texts: list[LongText]


def measure_factuality(
    model: LanguageModel,
    checker: Checker,
    samplers: Sequence[str],
    *,
    samples: int,
    length: int,
    seed: int,
    texts: int = 0,
    text_length: int = 100,
    decompose: Decompose | None = None,
    batch_size: int = 64,
    progress: Count | None = None,
) -> Factuality:
    """Shares of statements that are supported, refuted and neither, as `<sampler>.<kind>.<verdict>`, with intervals.

    At most `samples` prompts are completed, and as many free texts of `length` tokens are drawn; all samplers have
    the same prompts and random numbers. `<sampler>.<kind>.supported_of_decided` is the share of supported
    statements among those that are supported or refuted. `change.<kind>.supported_of_decided` and
    `change.<kind>.not_enough_info` are what the last sampler's shares are above the first's, prompt by prompt (or
    text by text). `<sampler>.<kind>.checkable` is the share of statements that can be checked: none that holds the
    vocabulary's sign for unknown words, no prompt to which no word was added, and of free sentences those that
    `is_checkable` takes. A kind without a single statement has no figures. `progress` is told of every statement,
    checked or not, and of every long text.

    Where `texts` are asked for, `<sampler>.texts.<verdict>` are shares of the claims of long texts, and
    `<sampler>.texts.claims`, `.precision` and `.f1_at_k` means over texts; see `long.py`.

    Args:
        model: Completes the prompts.
        checker: Decides whether a statement is supported, refuted or neither.
        samplers: Decoding settings, from the coolest to the hottest.
        samples: The most prompts, and the number of free texts.
        length: Tokens per free text.
        seed: Decides all draws.
        texts: Long texts about countries for each sampler.
        text_length: Tokens per long text.
        decompose: Splits the sentences of long texts into claims; rules by default.
        batch_size: Sequences drawn at a time; figures do not depend on it.
        progress: Counts statements.

    Returns:
        The figures named above and the statements with their verdicts.
    """
    began = time.perf_counter()
    if samples < 1 or not samplers:
        raise OffscriptError(
            f"cannot check {samples} samples of {len(samplers)} samplers", next="ask for at least one of each"
        )
    said = [
        *_completions(model, samplers, samples, seed=seed, batch_size=batch_size),
        *_free_sentences(model, samplers, samples, length, seed=seed, batch_size=batch_size),
    ]
    statements = _checked(checker, said, unknown=_unknown_sign(model), progress=progress)
    if progress is not None:
        progress(2 * samples * len(samplers) - len(said))  # what holds no sentence is not checked
    written = draw_texts(model, samplers, texts, text_length, seed=seed, batch_size=batch_size) if texts else []
    long = check_texts(checker, written, decompose=decompose, progress=progress)
    statements += [
        Statement(each.sampler, TEXTS, each.row, claim.claim, claim) for each in long for claim in each.claims
    ]
    settings = {"samples": samples, "length": length, "seed": seed, "stance": checker.stance.name}
    if texts:
        settings |= {"texts": texts, "text_length": text_length}
    shared: dict[str, Any] = {
        "question": QUESTION,
        "seed": seed,
        "seconds": time.perf_counter() - began,
        "recipe": recipe_of(QUESTION, model, None, settings),
    }
    figures = [*_figures(samplers, statements, said, shared), *text_figures(samplers, long, shared)]
    return Factuality(figures, statements, long)


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


Said = tuple[str, str, int, str]
"""Sampler, kind, number of the prompt or free text, and text of a statement that is not checked yet."""


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
        said += [
            (
                sampler,
                PROMPTED,
                first_row + number,
                completed_statement(model.vocabulary.decode(rows[number]), sentences[0]),
            )
            for sampler, generated in zip(samplers, drawn, strict=True)
            for number, sentences in enumerate(_sentences(model, generated))
            if sentences
        ]
        first_row += len(rows)
    return said


def completed_statement(prompt: str, sentence: str) -> str:
    """The statement that completes a prompt, or nothing where no word is added: "Portugal borders." states nothing.

    Only the first clause counts: "The capital of Malta is Valletta, which is a historic port city and" breaks off where
    its tokens end, and what comes after the value is another statement.
    """
    clause = sentence[: len(prompt)] + _NEXT_CLAUSE.sub("", sentence[len(prompt) :])
    if not clause.endswith((".", "!", "?")):
        clause = f"{sentence[: len(prompt)]}{clause[len(prompt) :].partition(', ')[0].rstrip(' ,;:-')}."
    return clause if len(_WORD.findall(clause)) > len(_WORD.findall(prompt)) else ""


def _free_sentences(
    model: LanguageModel, samplers: Sequence[str], samples: int, length: int, *, seed: int, batch_size: int
) -> list[Said]:
    transforms = [parse_transform(sampler) for sampler in samplers]
    drawn = generate_each(model, transforms, samples, length, seed=(seed, 2), batch_size=batch_size)
    return [
        (sampler, FREE, row, sentence)
        for sampler, generated in zip(samplers, drawn, strict=True)
        for row, sentences in enumerate(_sentences(model, generated))
        for sentence in sentences
    ]


def _checked(
    checker: Checker, said: "Sequence[Said]", *, unknown: str | None, progress: Count | None
) -> list[Statement]:
    """The statements that can be checked, with their checks."""
    statements = []
    for sampler, kind, row, text in said:
        if text and (kind == PROMPTED or is_checkable(text)) and not (unknown and unknown in text):
            statements.append(Statement(sampler, kind, row, text, checker.check(text)))
        if progress is not None:
            progress(1)
    return statements


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
    figures = []
    for sampler in samplers:
        for kind in (PROMPTED, FREE, TEXTS):
            own = [each for each in statements if (each.sampler, each.kind) == (sampler, kind)]
            figures += _shares(f"{sampler}.{kind}", own, shared)
            if every := sum(each[:2] == (sampler, kind) for each in said):
                name = f"{sampler}.{kind}.checkable"
                figures.append(_share(name, np.array([len(own)]), np.array([every]), None, shared))
    if len(samplers) > 1:
        figures += [
            entry
            for kind in (PROMPTED, FREE, TEXTS)
            for entry in _changes(kind, samplers[0], samplers[-1], statements, shared)
        ]
    return figures


DECIDED = "supported_of_decided"
_PARTS = {
    **{name: ((verdict,), tuple(Verdict)) for verdict, name in NAMES.items()},
    DECIDED: ((Verdict.supported,), (Verdict.supported, Verdict.refuted)),
}
"""Each share: which verdicts are its part, and which its whole."""
_BETTER = {"supported": True, "refuted": False, DECIDED: True}


def _shares(label: str, statements: Sequence[Statement], shared: dict[str, Any]) -> list[Measurement]:
    """Every share that has a whole."""
    counts = {name: _counts(statements, name, _rows(statements)) for name in _PARTS}
    return [
        _share(f"{label}.{name}", part, whole, _BETTER.get(name), shared)
        for name, (part, whole) in counts.items()
        if whole.sum()
    ]


def _changes(
    kind: str, coolest: str, hottest: str, statements: Sequence[Statement], shared: dict[str, Any]
) -> list[Measurement]:
    """What two shares of the hottest sampler are above those of the coolest, on the same prompts or texts."""
    sides = [
        [each for each in statements if (each.sampler, each.kind) == (sampler, kind)] for sampler in (hottest, coolest)
    ]
    rows, figures = _rows([each for side in sides for each in side]), []
    for name in (DECIDED, NAMES[Verdict.unknown]):
        counts = [_counts(side, name, rows) for side in sides]
        sizes = [int(whole.sum()) for _, whole in counts]
        if not all(sizes):
            continue
        recipe = {**shared["recipe"], "from": coolest, "to": hottest}
        figures.append(
            Measurement.of(
                share_difference(*counts),
                name=f"{CHANGE}.{kind}.{name}",
                n=min(sizes),
                higher_is_better=_BETTER.get(name),
                **{**shared, "recipe": recipe},
            )
        )
    return figures


def _rows(statements: Sequence[Statement]) -> list[int]:
    return sorted({each.row for each in statements})


def _counts(statements: Sequence[Statement], name: str, rows: Sequence[int]) -> tuple[IntArray, IntArray]:
    """How many statements of each prompt or text are part of a share, and how many its whole: [rows] each."""
    part, whole = _PARTS[name]
    place, counts = {row: number for number, row in enumerate(rows)}, np.zeros((2, len(rows)), dtype=np.int64)
    for each in statements:
        counts[:, place[each.row]] += each.check.verdict in part, each.check.verdict in whole
    return counts[0], counts[1]


def _share(name: str, part: IntArray, whole: IntArray, better: bool | None, shared: dict[str, Any]) -> Measurement:
    estimate = clustered_proportion_interval(part, whole)
    return Measurement.of(estimate, name=name, n=int(whole.sum()), higher_is_better=better, **shared)
