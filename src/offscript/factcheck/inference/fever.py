"""FEVER's training claims with evidence as a checker meets it: titled sentences, distractors in all three classes."""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.factcheck.inference.examples import LABELS, NAMES, Example, plain_text, read_records
from offscript.factcheck.retrieval import Searcher

RETRIEVED = 6
SIZES, CHANCES = (1, 2, 3), (0.6, 0.28, 0.12)
"""How many sentences an example has and how often; the same for every label."""

NEITHER = LABELS.index("neither")
_SUBJECT = re.compile(r"(?:The |A |An )?(?:[A-Z0-9][\w.'’&-]*)(?: (?:of|the|and|in|de|&|[A-Z0-9(][\w.'’&():-]*))*")
_PRONOUN = re.compile(
    r"(?:He|She|It|They|His|Her|Its|Their|This|These|The (?:film|series|album|show|song|band|city))\b"
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class FeverTraining:
    """Claims, their gold sentences by number, and the sentences with the subject that their claims speak of."""

    claims: list[tuple[str, tuple[int, ...], int]]
    sentences: list[str]
    titles: list[str]


def read_fever_training(folder: Path) -> FeverTraining:
    """From `fever-train/train.jsonl.xz` under a data folder. A claim that occurs with two labels is left out.

    Sentences come without the title of their page. The subject that most of a sentence's claims begin with takes its
    place: it is found in the same way for sentences that settle a claim and for those that do not.
    """
    numbers: dict[str, int] = {}
    subjects: dict[int, Counter[str]] = defaultdict(Counter)
    claims: list[tuple[str, tuple[int, ...], int]] = []
    labels: dict[str, set[int]] = defaultdict(set)
    for record in read_records(folder / "fever-train" / "train.jsonl.xz"):
        claim, label = plain_text(str(record["claim"])), NAMES[str(record["label"])]
        gold = record["evidence"]
        if not isinstance(gold, list):
            raise TypeError("evidence is a list")
        own = tuple(numbers.setdefault(plain_text(text), len(numbers)) for text in gold)
        subject = _SUBJECT.match(claim)
        for number in own:
            subjects[number][subject[0] if subject else ""] += 1
        claims.append((claim, own, label))
        labels[claim].add(label)
    titles = [subjects[number].most_common(1)[0][0] for number in range(len(numbers))]
    return FeverTraining([each for each in claims if len(labels[each[0]]) == 1], list(numbers), titles)


def true_titles(folder: Path) -> dict[str, str]:
    """Page titles of the evidence sentences whose page is known, by sentence."""
    sample = folder / "fever" / "train-sample"
    texts = _rows(sample / "train_balanced_10000_samples.csv.xz")
    pointers = _rows(sample / "train_balanced_10000_samples_pointers.csv.xz")
    titles = {}
    for text, pointer in zip(texts, pointers, strict=True):
        page = pointer["evidence"].strip("[]").rsplit(",", 1)[0].strip("'\"")
        titles[plain_text(text["sentence"])] = plain_text(page.replace("_", " "))
    return titles


def _rows(path: Path) -> list[dict[str, str]]:
    import lzma

    with lzma.open(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(io.StringIO(lines.read())))


def fever_examples(
    training: FeverTraining, folder: Path, *, count: int, seed: int, titles: dict[str, str] | None = None
) -> Iterator[Example]:
    """`count` examples, a third of each label, their claims in random order; `folder` holds the index of sentences.

    NOT ENOUGH INFO claims get what the retriever finds for them, by the titles of sentences too, as a checker does:
    what else is known about their subject is what misleads most. One in six examples of that label is a claim of the
    other two with retrieved sentences about other subjects, so that the wording of a claim says less about its label.
    """
    random = np.random.default_rng(seed)
    chosen = _balanced(training, count, random)
    queries = [" ".join(_WORD.findall(claim)) for claim, _, _ in chosen]
    titled_texts = enumerate(zip(training.titles, training.sentences, strict=True))
    index = build_index((Document(str(n), title, text) for n, (title, text) in titled_texts), folder)
    ranking = Searcher(index, threads=1).rank(queries, RETRIEVED).documents
    ids = [int(hit) for hit in (index.segments[0].id_of(n) for n in range(index.segments[0].size))]
    for (claim, gold, label), row in zip(chosen, ranking.tolist(), strict=True):
        found = [ids[number] for number in row if number >= 0]
        example = _mixed(training, claim, gold, label, found, random, titles or {})
        if example is not None:
            yield example


def _balanced(
    training: FeverTraining, count: int, random: np.random.Generator
) -> list[tuple[str, tuple[int, ...], int]]:
    """A third of each label; a sixth of the last third are verifiable claims that lose their evidence."""
    by_label = [[each for each in training.claims if each[2] == label] for label in range(len(LABELS))]
    sizes = [count // 3, count // 3, count // 3 - count // 18]
    chosen = []
    for own, size in zip(by_label, sizes, strict=True):
        places = random.permutation(len(own))
        chosen += [own[places[place % len(own)]] for place in range(size)]
    verifiable = [each for label in (0, 1) for each in by_label[label]]
    for place in random.choice(len(verifiable), count // 18, replace=False):
        claim, gold, _ = verifiable[place]
        chosen.append((claim, gold, NEITHER))
    return [chosen[place] for place in random.permutation(len(chosen))]


def _mixed(
    training: FeverTraining,
    claim: str,
    gold: Sequence[int],
    label: int,
    found: Sequence[int],
    random: np.random.Generator,
    titles: dict[str, str],
) -> Example | None:
    """The claim with one to three sentences in random order: what settles it (if any) among what was found for it."""
    words = {word.lower() for word in _WORD.findall(claim)}
    size = int(random.choice(SIZES, p=CHANCES))
    subjects = {training.titles[number] for number in gold}
    distractors = [number for number in found if number not in gold]
    if gold and label == NEITHER:
        distractors = [number for number in distractors if training.titles[number] not in subjects]
    best = sorted(gold, key=lambda number: -_shared(words, training.sentences[number], training.titles[number]))
    kept = list(best[: 1 if size == 1 else min(size, 2)]) if label != NEITHER else []
    if label == NEITHER and size == 1:
        distractors = [distractors[int(random.integers(min(3, len(distractors))))]] if distractors else []
    kept += distractors[: size - len(kept)]
    if not kept:
        return None
    order = random.permutation(len(kept))
    texts = []
    for place in order:
        sentence = training.sentences[kept[place]]
        title = titles.get(sentence, training.titles[kept[place]])
        texts.append(titled(title, sentence, always=bool(random.random() < 0.25)))
    return Example(claim, tuple(texts), label, "fever")


def _shared(words: set[str], sentence: str, title: str) -> int:
    return len(words & {word.lower() for word in _WORD.findall(f"{title} {sentence}")})


def titled(title: str, sentence: str, *, always: bool = False) -> str:
    """The sentence after the title of its page where it names nothing of that, or begins with a pronoun."""
    lower = sentence.lower()
    named = any(len(word) > 2 and word in lower for word in _WORD.findall(title.lower()))
    return f"{title}: {sentence}" if title and (always or not named or _PRONOUN.match(sentence)) else sentence
