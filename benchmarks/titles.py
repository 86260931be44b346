"""How often the right document is among the first k: no re-ranking, eq. 2.1, and titles that can only help.

    python benchmarks/titles.py --data ../shared/data [--claims 300]

Claims are FEVER's development claims among the known evidence, SciFact's training claims among its abstracts, and drawn
claims on the almanac: one order has to serve collections whose titles name a subject and those whose titles do not.
"""

import argparse
import csv
import functools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from offscript.corpora.lines import Lines
from offscript.factcheck.almanac import almanac_facts, almanac_index, draw_claims
from offscript.factcheck.checking import query_words
from offscript.factcheck.claims import read_fever_passages
from offscript.factcheck.documents import Document
from offscript.factcheck.index import Index, build_index
from offscript.factcheck.retrieval.reranking import prefer_titles, rerank_by_title
from offscript.factcheck.sources import Found
from offscript.factcheck.sources.local import LocalIndex

DEPTHS = (1, 3, 5, 10)
FETCHED = 100
ORDERS: dict[str, Callable[[str, Sequence[Found]], Sequence[Found]]] = {
    "as found": lambda _, found: found,
    "eq. 2.1": rerank_by_title,
    "titles help": prefer_titles,
}
Asked = list[tuple[str, str]]  # claims, each with the name of the right document


def fever(data: Path, scratch: Path, random: np.random.Generator) -> tuple[Index, Asked]:
    """Development claims that a passage settles."""
    passages = read_fever_passages(data / "fever", titled=True)
    asked = [(each.claim, min(each.evidence[0])[0]) for each in passages.claims["dev"] if each.evidence]
    return build_index(passages.documents, scratch), [asked[place] for place in random.permutation(len(asked))]


def scifact(data: Path, scratch: Path, random: np.random.Generator) -> tuple[Index, Asked]:
    """Training claims with the abstract that settles them."""
    rows = csv.DictReader(Lines(data / "scifact" / "corpus_train.csv.xz"))
    documents = [Document(row["doc_id"], row["title"], row["abstract"]) for row in rows]
    claims = csv.DictReader(Lines(data / "scifact" / "claims_train.csv.xz"))
    asked = [(row["claim"], row["evidence_doc_id"]) for row in claims if row["evidence_doc_id"]]
    return build_index(documents, scratch), [asked[place] for place in random.permutation(len(asked))]


def almanac(data: Path, scratch: Path, random: np.random.Generator, *, claims: int) -> tuple[Index, Asked]:
    """Drawn claims with their subject's document."""
    del data, scratch
    drawn = draw_claims(almanac_facts(), claims, seed=int(random.integers(1000)))
    return almanac_index(), [(each.text, f"{each.fact.relation.subject_type}/{each.fact.subject}") for each in drawn]


def main() -> None:
    """Print a row for every collection and order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--claims", type=int, default=300)
    given = parser.parse_args()
    makers = {"FEVER": fever, "SciFact": scifact, "almanac": functools.partial(almanac, claims=given.claims)}
    print(f"{'':<10} {'order':<12} " + " ".join(f"among {depth:<3}" for depth in DEPTHS))
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as scratch:
            index, asked = make(given.data, Path(scratch), np.random.default_rng(3))
            asked = asked[: given.claims]
            queries = [" ".join(query_words(claim)) for claim, _ in asked]
            rankings = LocalIndex(index).find_all(queries, FETCHED)
        for order, sort in ORDERS.items():
            ids = [
                [each.document.id for each in sort(claim, own)] for (claim, _), own in zip(asked, rankings, strict=True)
            ]
            shares = [
                np.mean([right in own[:depth] for (_, right), own in zip(asked, ids, strict=True)]) for depth in DEPTHS
            ]
            print(f"{name:<10} {order:<12} " + " ".join(f"{share:<9.3f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
