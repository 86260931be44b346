"""A hook of `make docs`: the built pages ask nothing of a network."""

import re
from typing import Any

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
