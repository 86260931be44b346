"""Check the links of the built documentation: every file and every anchor that a page names must be there.

    python tools/check_links.py site

Mkdocs checks what Markdown says; this checks what the pages say, generated references, notebooks and pictures included.
Addresses of other hosts are not asked: the check needs no network.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The anchors of a page and what it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember ids, names and addresses."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.add(value)


def broken_links(site: Path) -> list[str]:
    """Every link between pages that leads nowhere.

    Args:
        site: The folder of the built pages.

    Returns:
        A line per link: the page, the link, and what is missing.
    """
    pages = {path: _read(path) for path in sorted(site.resolve().glob("**/*.html"))}
    faults = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or (path.name == "404.html" and parts.path.startswith("/")):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                faults.append(f"{path.relative_to(site.resolve())}: {link}: no such file")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{path.relative_to(site.resolve())}: {link}: no such anchor")
    return faults


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main() -> None:
    """Check the folder that is named and exit with 1 if a link is broken."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    if not any(site.glob("**/*.html")):
        sys.exit(f"there are no pages in {site}; build them with make docs")
    faults = broken_links(site)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} broken links")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
