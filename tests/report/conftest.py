"""A written page in a real browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


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
