"""The questions of one audit shared out: each is a cell of its own, and the audit finds their answers stored.

A question's answer is a function of its recipe, so whoever computes it stores what the audit itself would have stored.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from offscript.audits.audit import Plan, recipe_of_answer
from offscript.audits.cells import CELLS, CellObserver
from offscript.audits.store import Store
from offscript.audits.workers import Place, run_groups
from offscript.measures.question import Answer, Silent
from offscript.measures.registry import question
from offscript.measures.subject import Budget, Subject


class AskedCell(BaseModel):
    """One question of an audit: what names its subject anywhere, its settings, and the recipe that names its file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    question: str
    settings: dict[str, Any]
    subject: dict[str, Any]
    folder: str
    recipe: dict[str, Any]

    @staticmethod
    def run_together(
        cells: "Sequence[AskedCell]", out: Path, *, device: str, observer: CellObserver | None = None
    ) -> list[Answer]:
        """Answer questions about one subject, whose models are loaded once, and only if some answer is missing."""
        store, answers = Store(out / CELLS), []
        if Path(cells[0].folder).is_dir():
            os.chdir(cells[0].folder)  # files are named as where the audit was begun
        subject: Subject | None = None
        for cell in cells:
            stored = store.has(cell.recipe)
            if observer is not None:
                observer.measuring(cell.name, cell.question, stored=stored)
            if not stored:
                subject = subject or _subject(cell.subject, device)
                asked = question(cell.question)
                store.save(asked.answer(subject, asked.settings(cell.settings), Silent()), cell.recipe)
            answers.append(store.load(cell.recipe))
        return answers


def share_out(
    subject: Subject, plan: Plan, out: Path, place: Place, shares: int, say: Callable[[str], None] | None = None
) -> None:
    """Answer the questions of a plan on several workers; those that share out their own work are left to the audit.

    Args:
        subject: What is audited; its models are given by name.
        plan: Which questions are asked, with their settings.
        out: The folder of the audit, where answers are stored.
        place: Where the workers run.
        shares: How many groups of questions there are at most.
        say: Told in a line whenever a group is done.
    """
    common = {"subject": subject.named(), "folder": str(Path.cwd())}
    cells, costs = [], []
    store = Store(out / CELLS)
    for each in plan.asked:
        if each.question.shares_rows and subject.shared_deviations is not None:
            continue
        recipe = recipe_of_answer(each, subject)
        if store.has(recipe):
            continue
        settings = each.settings.model_dump(mode="json", exclude_unset=True)
        name = f"{subject.model.name}, {each.question.name}"
        cells.append(AskedCell(name=name, question=each.question.name, settings=settings, recipe=recipe, **common))
        costs.append(each.question.tokens(subject, each.settings))
    groups = balanced(cells, costs, shares)
    total, done = len(groups), 0

    def finished(number: int) -> None:
        nonlocal done
        done += 1
        if say is not None:
            say(f"share {done} of {total}: {', '.join(cell.question for cell in groups[number])}")

    run_groups(groups, out, place, finished)


def balanced(cells: Sequence[AskedCell], costs: Sequence[float], shares: int) -> list[list[AskedCell]]:
    """Groups of about the same cost: the dearest first, each to the group that has least so far.

    Args:
        cells: What is divided.
        costs: About how many tokens each takes.
        shares: How many groups at most.

    Returns:
        Groups that are not empty.
    """
    groups: list[list[AskedCell]] = [[] for _ in range(max(1, shares))]
    sums = [0.0] * len(groups)
    for place in sorted(range(len(cells)), key=lambda place: -costs[place]):
        least = sums.index(min(sums))
        groups[least].append(cells[place])
        sums[least] += max(1.0, costs[place])
    return [group for group in groups if group]


def _subject(named: dict[str, Any], device: str) -> Subject:
    return Subject(**{**named, "budget": Budget(named["budget"])}, device=device)
