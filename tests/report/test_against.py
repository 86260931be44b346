"""The page of two models in a real browser: drawn offline, in any width and scheme, and hostile text shown as text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from offscript.audits.against import Against, run_against
from offscript.audits.audit import plan_audit
from offscript.corpora import WordVocabulary
from offscript.measures.subject import Subject
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.report.against import write_against

Opener = Callable[[Path], list[str]]
ASKED = ("places", "divergence", "likelihood", "exposure", "regret")


def model(words: list[str], seed: int, name: str) -> LSTMLanguageModel:
    """Any distributions, with some tokens far more likely than others."""
    vocabulary = WordVocabulary(["<unk>", "<eos>", *words])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=16, embedding=16)).eval()
        with torch.no_grad():
            for weight in made.parameters():
                weight.mul_(3)
    made.name = name
    return made


def compared(words: list[str], out: Path, name: str = "student") -> Against:
    made = {"oracle": model(words, 3, "oracle"), "against": model(words, 2, f"base of {name}")}
    subject = Subject(model(words, 1, name), **made, length=16, limit=60)
    return run_against(subject, plan_audit(subject, ASKED), out)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Against:
    return compared([f"w{number}" for number in range(12)], tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="module")
def written(pair: Against, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "against.html"
    write_against(pair, path)
    return path


def test_it_is_drawn_without_any_request(page: Any, open_page: Opener, written: Path) -> None:
    assert written.stat().st_size < 3_000_000
    assert open_page(written) == [written.as_uri()]
    assert page.locator(".summary .finding").count() == 1
    assert "beyond chance" in page.locator(".summary .finding").inner_text()


def test_every_row_has_two_dots_and_their_difference(page: Any, open_page: Opener, written: Path) -> None:
    open_page(written)
    for question in ("likelihood", "exposure", "regret"):
        row = page.locator(f".scorecard > li:has(a[href='#{question}'])")
        assert row.locator(".gauge").nth(0).locator("circle").count() == 2
        assert row.locator(".gauge").nth(1).locator("circle").count() == 1
        assert "no difference: 0" in row.locator(".gauge").nth(1).locator("svg").get_attribute("aria-label")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong(
    scheme: str, page: Any, open_page: Opener, written: Path, violations: Callable[[], list[str]]
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_page(written)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert violations() == []


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_it_fits_and_the_keyboard_reaches_everything(width: int, page: Any, open_page: Opener, written: Path) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_page(written)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    unreached = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, input, select, summary')]
        .filter(each => each.checkVisibility({ checkVisibilityCSS: true }) && each.tabIndex < 0).length"""
    )
    assert unreached == 0


def test_a_hundred_payloads_as_tokens_and_names_are_nothing_but_text(
    page: Any, open_page: Opener, payloads: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "against.html"
    write_against(compared(payloads, tmp_path / "runs", payloads[0]), path)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    assert open_page(path) == [path.as_uri()]
    page.locator("#divergence .t").first.hover()
    assert page.title() == f"offscript comparison with base of {payloads[0]}"
    assert page.locator("#divergence img, #divergence iframe, #divergence svg[onload]").count() == 0
    assert dialogs == []


def test_the_colours_come_from_score(pair: Against) -> None:
    """KL(base‖model) = Σ b (log b - log m) of the ten texts that differ most, to 1e-6."""
    [answer] = [answer for answer in pair.record.answers if answer.name == "divergence"]
    texts = answer.exhibits[1]["columns"][0]["texts"]
    assert len(texts) == 10
    words = [f"w{number}" for number in range(12)]
    for text in texts:
        tables = [
            torch.cat([part.log_probs[0] for part in made.score(torch.tensor([text["ids"]]))]).double()
            for made in (model(words, 2, "base"), model(words, 1, "student"))
        ]
        base, other = (table[: len(text["ids"])] for table in tables)
        assert text["values"]["kl"] == pytest.approx((base.exp() * (base - other)).sum(dim=1).tolist(), abs=1e-6)
    totals = [text["running"][-1] for text in texts]
    assert totals == sorted(totals, reverse=True)
    assert json.dumps(answer.exhibits)
