"""A written page in a real browser."""

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TAGS = ("script", "img src=x onerror", "svg onload", "iframe srcdoc", "body onload", "a href=javascript:", "style")
BREAKS = (
    "",
    "</script>",
    "]]>",
    "-->",
    "'",
    '"',
    "`",
    "{{7*7}}",
    "\\u003c/script>",
    "</textarea>",
    "\u2028",
    "&lt;",
    "\x00",
)
PAYLOADS = [
    f"{end}<{tag}=\"document.title='owned'\">document.title='owned'</{tag.split()[0]}>"
    for tag in TAGS
    for end in BREAKS
]
PAYLOADS += [f"javascript:document.title='owned'//{number}" for number in range(100 - len(PAYLOADS))]


@pytest.fixture(scope="session")
def payloads() -> list[str]:
    """A hundred texts that would change the page's title if any of them were more than text."""
    return PAYLOADS


@pytest.fixture
def open_page(page: Any) -> Callable[[Path], list[str]]:
    """Open a page and wait until every chart is drawn; answers what it asked any server or disk for."""

    def opened(path: Path) -> list[str]:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function(
            "document.querySelectorAll('.chart').length === document.querySelectorAll('.chart svg').length"
        )
        return requests

    return opened


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """axe-core's script, from npm; it is used here and never shipped."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm, which gives axe-core")
    folder = tmp_path_factory.mktemp("axe")
    packed = subprocess.run([npm, "pack", "axe-core@4.14.0"], cwd=folder, capture_output=True, text=True, check=False)
    if packed.returncode != 0:
        pytest.skip("npm could not get axe-core")
    [archive] = folder.glob("axe-core-*.tgz")
    with tarfile.open(archive) as opened:
        opened.extract("package/axe.min.js", folder, filter="data")
    return folder / "package" / "axe.min.js"


@pytest.fixture
def violations(page: Any, axe: Path) -> Callable[[], list[str]]:
    """What axe-core finds wrong with the page that is open."""

    def found() -> list[str]:
        page.add_script_tag(path=axe)
        results = page.evaluate("axe.run()")
        return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in results["violations"]]

    return found
