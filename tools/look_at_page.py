"""Look at pages as a browser does: size, requests, errors, first paint, accessibility, and screenshots.

    python tools/look_at_page.py PAGE.html … [--screenshots DIR]

Needs Chromium, playwright (the extra `test`) and npm, which gives axe-core. Exits with 1 where a page asks for
anything, fails, or breaks a rule of axe-core in light or dark.
"""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

AXE = "axe-core@4.14.0"
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
WIDTHS = (360, 768, 1440)
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"


def axe_script(folder: Path) -> Path:
    """axe-core's script, fetched by npm into a folder."""
    npm = shutil.which("npm") or sys.exit("npm is missing, which gives axe-core")
    subprocess.run([npm, "pack", "--silent", AXE], cwd=folder, check=True, capture_output=True)
    [archive] = folder.glob("axe-core-*.tgz")
    with tarfile.open(archive) as opened:
        opened.extract("package/axe.min.js", folder, filter="data")
    return folder / "package" / "axe.min.js"


def look(browser: Browser, path: Path, axe: Path, scheme: Any, screenshots: Path | None) -> list[str]:
    """Print what a page does in one colour scheme; the faults that were found."""
    page = browser.new_page(viewport={"width": WIDTHS[-1], "height": 1000}, color_scheme=scheme)
    address, faults = path.resolve().as_uri(), list[str]()
    page.on("request", lambda request: None if request.url.startswith((address, "data:", "blob:")) else
            faults.append(f"asks for {request.url[:100]}"))  # fmt: skip
    page.on("pageerror", lambda error: faults.append(f"fails: {error}"))
    page.on("console", lambda told: faults.append(f"logs: {told.text}") if told.type == "error" else None)
    page.goto(address)
    paint = page.evaluate(_PAINT)
    page.add_script_tag(path=axe)
    results = page.evaluate("axe.run()")
    faults += [f"{each['id']}: {each['nodes'][0]['html'][:120]}" for each in results["violations"]]
    print(
        f"{path.name}, {scheme}: {path.stat().st_size / 1e6:.2f} MB, first paint {paint:.0f} ms, {len(faults)} faults"
    )
    for width in WIDTHS if screenshots is not None else ():
        page.set_viewport_size({"width": width, "height": 1000})
        page.screenshot(path=f"{screenshots}/{path.stem}-{scheme}-{width}.png")
    page.close()
    return faults


def main() -> None:
    """Look at every page, in light and dark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--screenshots", type=Path)
    given = parser.parse_args()
    if given.screenshots is not None:
        given.screenshots.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        axe = axe_script(Path(folder))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        faults = [
            f"{path.name}, {scheme}: {fault}"
            for path in given.pages
            for scheme in ("light", "dark")
            for fault in look(browser, path, axe, scheme, given.screenshots)
        ]
        browser.close()
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
