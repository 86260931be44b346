"""The pages in a real browser: a claim typed, the verdict seen, sentences shaded, and nobody's script run."""

import html
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from offscript.factcheck.checking import Checker
from offscript.factcheck.documents import Document, read_documents
from offscript.factcheck.index import build_index
from offscript.factcheck.sources.local import LocalIndex

Serve = Callable[[Any], str]
CLAIM = "The capital of Australia is Sydney."


@pytest.fixture
def bare_page(chromium: str) -> Iterator[Any]:
    """A page of a browser with JavaScript switched off, on a phone."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
        yield context.new_page()
        browser.close()


def shade_of(page: Any, sentence: str) -> str:
    found = page.locator(".prose mark", has_text=sentence).first
    return str(found.evaluate("mark => getComputedStyle(mark).backgroundColor"))


def test_a_claim_is_typed_and_its_document_read(page: Any, serve: Serve, documents: list[Document]) -> None:
    address = serve(documents)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.get_by_label("Claim to check").fill(CLAIM)
    page.get_by_role("button", name="Check").click()
    page.wait_for_selector(".verdict-card")
    assert page.locator("#verdict").inner_text() == "Refuted"
    assert page.locator(".confidence").inner_text() == "87 % confidence"
    assert page.title() == f"Refuted: {CLAIM} – offscript"
    assert page.locator("section.kind h2").all_inner_texts() == ["Wikipedia", "High factuality"]
    assert page.locator(".documents .stance-bar").count() == 2

    page.get_by_role("link", name="Australia 0").first.click()
    page.wait_for_selector(".prose")
    assert page.locator(".prose mark").all_inner_texts() == documents[0].sentences()
    agreeing, disagreeing = shade_of(page, "Sydney is the largest"), shade_of(page, "is Canberra")
    assert agreeing != disagreeing
    assert shade_of(page, "It lies inland") == "rgba(0, 0, 0, 0)"
    assert page.locator(".pie path").count() == 4
    assert page.locator(".radar .shape").is_visible()
    assert page.locator(".cloud text").first.is_visible()
    assert all(url.startswith(address) for url in requests)


def test_rationales_are_reordered_by_a_stance(page: Any, serve: Serve, documents: list[Document]) -> None:
    page.goto(f"{serve(documents)}/document?claim=a&document=0")
    page.get_by_role("link", name="disagree", exact=True).click()
    page.wait_for_url("**order=disagree**")
    assert page.locator(".evidence .jump").first.inner_text() == "The capital of Australia is Canberra."
    assert page.locator(".choices [aria-current]").inner_text() == "disagree"
    page.locator(".evidence .jump").first.click()
    assert page.locator(".prose mark:target").inner_text() == "The capital of Australia is Canberra."


def test_everything_is_reached_by_the_keyboard(page: Any, serve: Serve, documents: list[Document]) -> None:
    page.goto(serve(documents))
    page.keyboard.type(CLAIM)
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict-card")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "claim"
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('href')"))
        seen = "document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(seen) != "none"
    assert {f"/document?claim=The+capital+of+Australia+is+Sydney.&document={number}" for number in (0, 1)} <= reached
    page.reload()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


def test_pages_fit_a_phone_in_the_dark(page: Any, serve: Serve, documents: list[Document]) -> None:
    endless = Document("long", "Pneumonoultramicroscopic" * 9, "x" * 3000, f"https://example.org/{'y' * 900}")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 320, "height": 640})
    address = serve([endless, *documents])
    for path in ("/", f"/check?claim={'z' * 400}", "/document?claim=a&document=0", "/api"):
        page.goto(address + path)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"


def test_the_essentials_need_no_script(bare_page: Any, serve: Serve, documents: list[Document]) -> None:
    bare_page.goto(serve(documents))
    bare_page.get_by_label("Claim to check").fill(CLAIM)
    bare_page.get_by_role("button", name="Check").click()
    assert bare_page.locator("#verdict").inner_text() == "Refuted"
    bare_page.get_by_role("link", name="Australia 1").first.click()
    assert bare_page.locator(".prose mark").count() == 3
    assert bare_page.locator(".prose p").count() == 2
    bare_page.get_by_role("link", name="agree", exact=True).click()
    assert "order=agree" in bare_page.url
    assert bare_page.locator(".pie path").first.is_visible()
    bare_page.goto(bare_page.url.split("/document")[0] + "/check?claim=")
    assert "the claim is empty" in bare_page.locator("[role=alert]").inner_text()


@pytest.fixture
def hostile_file(tmp_path: Path) -> Path:
    """A collection as strangers write it: script, a line of a megabyte, nothing at all."""
    script = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
    texts = [
        f"Canberra is the capital of Australia {script}. {script} Sydney is not it.",
        "Sydney capital Australia " + "x" * 1_000_000 + " Canberra",
        "",
    ]
    records = [
        {"id": f"{place} {script}", "title": f"Australia {script}", "text": text} for place, text in enumerate(texts)
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_hostile_documents_do_no_harm(page: Any, serve: Serve, hostile_file: Path, tmp_path: Path) -> None:
    halves = Document("halves", "Australia", "The capital of Australia \ud800 is Canberra. Sydney \udfff is a city.")
    index = build_index([*read_documents(hostile_file), halves], tmp_path / "index")
    address = serve(Checker([LocalIndex(index)]))
    page.goto(f"{address}/check?claim={CLAIM}")
    links = page.locator(".documents h3 a").evaluate_all("links => links.map(link => link.href)")
    assert len(links) == 4
    texts = []
    for link in links:
        page.goto(link)
        assert page.title().endswith("– offscript")
        assert page.locator("body").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        texts.append(page.locator(".prose").inner_text())
    assert any("<script>document.title = 'owned'</script>" in text for text in texts)
    assert any("\ufffd" in text for text in texts)
    assert any("more characters" in text for text in texts)
    assert page.evaluate("document.scripts.length") == 1


def test_documents_of_nothing_can_be_opened(page: Any, serve: Serve) -> None:
    documents = [Document("empty"), Document("blank", " ", " \n \n "), Document("\x00", "\ud800", "\udfff. \ud800")]
    address = serve(documents)
    for number in range(len(documents)):
        page.goto(f"{address}/document?claim={CLAIM}&document={number}")
        assert page.locator("h1").is_visible()


def test_the_bookmarklet_checks_what_is_selected_on_another_page(
    page: Any, serve: Serve, tmp_path: Path, documents: list[Document]
) -> None:
    address = serve(documents)
    page.goto(f"{address}/text")
    code = page.locator("a.bookmarklet").get_attribute("href")
    other = tmp_path / "news.html"
    passage = "Canberra is the capital of Australia. 50 % of it is “green” & <wide>."
    other.write_text(
        f"<!doctype html><meta charset=utf-8><p id=said>{html.escape(passage)}</p><p>Other words.</p>"
        f"<a id=bookmark href={json.dumps(html.escape(code))}>Check the selection</a>",
        encoding="utf-8",
    )
    page.goto(other.as_uri())
    page.evaluate("getSelection().selectAllChildren(document.getElementById('said'))")
    with page.context.expect_page() as opened:
        page.evaluate("document.getElementById('bookmark').click()")  # a bookmark leaves the selection as it is
    opened.value.wait_for_load_state()
    assert opened.value.url.startswith(f"{address}/text?text=Canberra%20is")
    assert opened.value.locator("textarea").input_value() == passage
    assert "Other words" not in opened.value.content()
    assert opened.value.locator(".tag.disagree").first.inner_text() == "refuted 87 %"
    assert page.url == other.as_uri()
