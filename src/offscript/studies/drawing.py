"""What a rating study shows: the same prompts continued under every sampler, human text, and checks of attention."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from offscript._types import Count
from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated, generate
from offscript.sampling.transforms import parse_transform
from offscript.studies.design import ANCHORS, CHECK, GOLD, StudyDesign, StudyItem, new_secret, write_study

_ROUNDS = 8
_SCORED_AT_ONCE = 32


def draw_rating_study(
    model: LanguageModel,
    sentences: Iterable[str],
    samplers: Sequence[str],
    folder: Path,
    *,
    samples: int = 200,
    prefix: int = 10,
    shortest: int = 40,
    longest: int = 50,
    gold: bool = True,
    per_participant: int = 10,
    ratings_per_item: int = 25,
    checks: int = 1,
    title: str = "How expected are these texts?",
    contact: str = "",
    open_to_all: bool = False,
    seed: int = 1,
    batch_size: int = 64,
    progress: Count | None = None,
) -> StudyDesign:
    """Draw a study with the thesis's settings (5.4, A.3) and write it.

    Args:
        model: Continues the prompts.
        sentences: Human text of the kind that is to be continued; its first tokens are the prompts.
        samplers: Each is a system of the study, such as `nucleus,p=0.9`.
        folder: Where to write.
        samples: Items of each system.
        prefix: Tokens of a prompt.
        shortest: Tokens that an item has at least, its prompt included.
        longest: Tokens at most.
        gold: Whether human text is rated, too.
        per_participant: Items that one person rates, checks not counted.
        ratings_per_item: Ratings that an item gets at most.
        checks: Checks of attention that everybody gets.
        title: Shown to participants.
        contact: Whom they can ask.
        open_to_all: Whether everybody who knows the address may take part.
        seed: Decides prompts and samples.
        batch_size: Sequences that go through the model at once.
        progress: Called with the number of items as they are drawn.

    Returns:
        The design that was written.
    """
    if not 0 < prefix < shortest <= longest:
        raise OffscriptError(
            f"cannot draw prompts of {prefix} tokens and texts of {shortest} to {longest}",
            next="make --prefix smaller than --shortest, and --shortest at most --longest",
        )
    rows = _usable(model, sentences, shortest, longest, seed)
    if len(rows) < 2:
        raise OffscriptError(
            f"cannot draw prompts: {len(rows)} sentences of the corpus have {shortest} to {longest} tokens",
            why="two or more are needed",
            next="change --shortest or --longest, or give more text",
        )
    shown = rows[:samples] if gold else []
    items = [_item(model, f"{GOLD}-{place}", GOLD, row, prefix) for place, row in enumerate(shown)]
    for number, sampler in enumerate(samplers):
        drawn = _continued(model, sampler, rows, samples, prefix, shortest, longest, (seed, number), batch_size)
        items += [_item(model, f"s{number}-{place}", sampler, row, prefix) for place, row in enumerate(drawn)]
        if progress is not None:
            progress(len(drawn))
    items = _scored(model, items)
    items += attention_checks(max(checks, 1) * 3 if checks else 0, seed)
    random.Random(seed).shuffle(items)
    design = StudyDesign(
        kind="rating",
        title=title,
        owner=new_secret(),
        contact=contact,
        open=open_to_all,
        per_participant=per_participant,
        ratings_per_item=ratings_per_item,
        checks=checks,
        seed=seed,
        recipe={
            "model": model.name,
            "weights": model.weight_hash,
            "samplers": list(samplers),
            "samples": samples,
            "prefix": prefix,
            "length": [shortest, longest],
        },
    )
    write_study(folder, design, items)
    return design


def attention_checks(count: int, seed: int) -> list[StudyItem]:
    """Items whose text says which rating to choose."""
    source = random.Random(f"checks {seed}")
    chosen = [source.choice(ANCHORS) for _ in range(count)]
    return [
        StudyItem(
            item=f"{CHECK}-{place}",
            system=CHECK,
            text=f"This text only finds out whether the texts are read. Please choose “{anchor.name}” for it.",
            answer=anchor.value,
        )
        for place, anchor in enumerate(chosen)
    ]


def _usable(model: LanguageModel, sentences: Iterable[str], shortest: int, longest: int, seed: int) -> list[list[int]]:
    """Sentences of the wished length as tokens, in random order, none twice."""
    rows = (tuple(model.vocabulary.encode(sentence)) for sentence in sentences)
    kept = list(dict.fromkeys(row for row in rows if shortest <= len(row) <= longest))
    random.Random(seed).shuffle(kept)
    return [list(row) for row in kept]


def _continued(
    model: LanguageModel,
    sampler: str,
    rows: Sequence[Sequence[int]],
    samples: int,
    prefix: int,
    shortest: int,
    longest: int,
    seed: tuple[int, ...],
    batch_size: int,
) -> list[list[int]]:
    """As many continuations of the wished length as asked for; prompts come round again where some stay too short."""
    transform, kept = parse_transform(sampler), list[list[int]]()
    prompts = torch.tensor([row[:prefix] for row in rows[:samples]])
    for attempt in range(_ROUNDS):
        drawn = generate(
            model, len(prompts), longest + 1, seed=(*seed, attempt), transform=transform, prefixes=prompts,
            batch_size=batch_size,
        )  # fmt: skip
        kept += [row for row in _plain_rows(drawn, model.vocabulary.end) if shortest <= len(row) <= longest]
        if len(kept) >= samples:
            return kept[:samples]
    if len(kept) < 2:
        raise OffscriptError(
            f"{sampler} gives {len(kept)} texts of {shortest} to {longest} tokens",
            next="give other --shortest and --longest",
        )
    return kept


def _plain_rows(drawn: Generated, end: int | None) -> list[list[int]]:
    """Without the end token; a sequence that did not end within the length is cut before its last token."""
    rows = drawn.rows()
    if end is None:
        return [row[:-1] for row in rows]
    return [row[:-1] if row[-1] == end else row for row in rows]


def _item(model: LanguageModel, name: str, system: str, row: Sequence[int], prefix: int) -> StudyItem:
    decode = model.vocabulary.decode
    return StudyItem(
        item=name,
        system=system,
        prompt=decode(list(row[:prefix])),
        text=decode(list(row)),
        tokens=list(row),
        prefix=prefix,
    )


def _scored(model: LanguageModel, items: Sequence[StudyItem]) -> list[StudyItem]:
    """Items with what the model says of every token after the prompt: log-probability, entropy, rank."""
    scored: dict[str, StudyItem] = {}
    by_length: dict[int, list[StudyItem]] = {}
    for item in items:
        by_length.setdefault(len(item.tokens), []).append(item)
    for group in by_length.values():
        for first in range(0, len(group), _SCORED_AT_ONCE):
            part = group[first : first + _SCORED_AT_ONCE]
            features = token_features(model, torch.tensor([item.tokens for item in part]))
            for item, (log_probs, entropies, ranks) in zip(part, zip(*features, strict=True), strict=True):
                known: dict[str, Any] = {
                    "log_prob": float(log_probs[item.prefix :].mean()),
                    "log_probs": [round(value, 4) for value in log_probs[item.prefix :].tolist()],
                    "entropies": [round(value, 4) for value in entropies[item.prefix :].tolist()],
                    "ranks": [int(value) for value in ranks[item.prefix :].tolist()],
                }
                scored[item.item] = item.model_copy(update=known)
    return [scored[item.item] for item in items]


def token_features(model: LanguageModel, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probability of every token, entropy of its distribution, and its rank from 1; each [rows, time]."""
    columns: list[tuple[Tensor, Tensor, Tensor]] = []
    for scored in model.score(tokens):
        log_probs = scored.log_probs.cpu()
        gold = tokens[:, scored.positions.start : scored.positions.stop].unsqueeze(-1)
        chosen = log_probs.gather(-1, gold)
        entropy = -(log_probs.exp() * log_probs.clamp(min=-1e4)).sum(dim=-1)
        columns.append((chosen.squeeze(-1), entropy, (log_probs > chosen).sum(dim=-1) + 1))
    first, second, third = zip(*columns, strict=True)
    return torch.cat(first, dim=1), torch.cat(second, dim=1), torch.cat(third, dim=1)
