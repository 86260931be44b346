"""Articles with 20 planted errors and 20 true facts about ten made-up documents: what a check of each finds.

    python benchmarks/article.py [--which article|second|…|ninth] [--out article.html]

Prints the share of the 40 facts that were found as claims, of the errors that were flagged as refuted, and of the true
facts that were flagged too. No weights were fitted to any of them. Rules were mended after the first runs of all but
`third`, so their figures are kind now; docs/checking.md gives those of the first runs. `sixth` to `ninth` were written
without knowledge of the rules.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path

from offscript._files import write_json, write_text
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents.prose import markdown_document
from offscript.factcheck.documents.readers import read_documents
from offscript.factcheck.index import build_index
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.texts.checking import CheckedText, check_text
from offscript.report.text import text_page
from offscript.statistics.means import mean_interval

FOLDER = Path(__file__).parent / "article"
_FACT = re.compile(r"\{([TF])\|([^{}]*)\}")
ARTICLES = {
    "article": ("article.md", "documents.json"),
    "second": ("second.md", "second_documents.json"),
    "third": ("third.md", "third_documents.json"),
    "fourth": ("fourth.md", "fourth_documents.json"),
    "fifth": ("fifth.md", "fifth_documents.json"),
    "sixth": ("sixth.md", "sixth_documents.json"),
    "seventh": ("seventh.md", "seventh_documents.json"),
    "eighth": ("eighth.md", "eighth_documents.json"),
    "ninth": ("ninth.md", "ninth_documents.json"),
}


def checked_article(which: str) -> tuple[CheckedText, list[tuple[bool, str]]]:
    """The article as checked, and its facts with whether each is true."""
    article, documents = ARTICLES[which]
    marked = (FOLDER / article).read_text(encoding="utf-8")
    facts = [(label == "T", text) for label, text in _FACT.findall(marked)]
    with tempfile.TemporaryDirectory() as folder:
        index = build_index(read_documents(FOLDER / documents), Path(folder) / "index")
        document = markdown_document(article, _FACT.sub(r"\2", marked))
        return check_text(Checker([LocalIndex(index)]), document), facts


def share(hits: list[bool]) -> str:
    """A share with its interval."""
    found = mean_interval([float(hit) for hit in hits])
    return f"{sum(hits)} of {len(hits)}: {found.value:.3f} [{found.interval.lower:.3f}, {found.interval.upper:.3f}]"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--which", choices=ARTICLES, default="article")
    parser.add_argument("--out", type=Path)
    arguments, begun = parser.parse_args(), time.perf_counter()
    checked, facts = checked_article(arguments.which)
    print(f"{len(checked.text.split()):,} words, {len(checked.sentences)} sentences, {len(checked.claims)} claims")
    by_fact = [next((each for each in checked.sentences if text in each.text), None) for _, text in facts]
    found = [sentence is not None and bool(sentence.claims) for sentence in by_fact]
    refuted = [
        sentence is not None and sentence.verdict is not None and sentence.verdict.value == "REFUTED"
        for sentence in by_fact
    ]
    print("facts found as claims  ", share(found))
    print("planted errors flagged ", share([hit for hit, (true, _) in zip(refuted, facts, strict=True) if not true]))
    print("true facts flagged     ", share([hit for hit, (true, _) in zip(refuted, facts, strict=True) if true]))
    stated = {id(sentence) for sentence in by_fact}
    others = [each for each in checked.sentences if id(each) not in stated]
    print("other sentences checked", share([bool(each.claims) for each in others]))
    for (true, text), sentence in zip(facts, by_fact, strict=True):
        verdict = sentence.verdict.value if sentence and sentence.verdict else "not checked"
        print(f"  {'true ' if true else 'false'} {verdict:<16} {text}")
    print(f"{time.perf_counter() - begun:.1f} s")
    if arguments.out:
        write_text(arguments.out, text_page(checked))
        write_json(arguments.out.with_suffix(".json"), checked.to_json())


if __name__ == "__main__":
    main()
