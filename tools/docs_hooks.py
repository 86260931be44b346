"""Hooks of `make docs`: the built pages ask nothing of a network, and pages that moved are still found."""

import re
from pathlib import Path
from typing import Any

MOVED = {"factcheck.html": "service.html"}
"""Pages that had another name, and where they are now."""

_OUTSIDE = re.compile(r'<script src="https?://[^"]*"[^>]*></script>')


def on_post_page(output: str, **more: Any) -> str:
    """Drop scripts that would be loaded from elsewhere; only search in pages opened from disk needs one.

    Args:
        output: The page as it will be written.
        more: What else mkdocs passes.

    Returns:
        The page without them.
    """
    del more
    return _OUTSIDE.sub("", output)


def on_post_build(config: Any, **more: Any) -> None:
    """Leave a page at every old address that leads to the new one.

    Args:
        config: Mkdocs' configuration.
        more: What else mkdocs passes.
    """
    del more
    for old, new in MOVED.items():
        moved = f'<!doctype html><title>Moved</title><meta http-equiv="refresh" content="0; url={new}">'
        (Path(config.site_dir) / old).write_text(f'{moved}<a href="{new}">This page moved.</a>\n', encoding="utf-8")
