"""Real Lucene 8 in this process: Debian's liblucene8-java through JPype."""

import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

JARS = Path("/usr/share/java")
MODULES = ("core", "analyzers-common")


class LuceneMissing(Exception):  # noqa: N818
    """What is not installed."""


def start_lucene(heap: str = "512m") -> None:
    """Start the virtual machine with Lucene."""
    try:
        import jpype
    except ImportError as error:
        raise LuceneMissing("no JPype (pip install jpype1)") from error
    jars = [next(JARS.glob(f"lucene-{module}-8*.jar"), None) for module in MODULES]
    if None in jars:
        raise LuceneMissing("no Lucene 8 (Debian's liblucene8-java)")
    if not jpype.isJVMStarted():
        try:
            jpype.startJVM(f"-Xmx{heap}", classpath=[str(jar) for jar in jars])
        except jpype.JVMNotFoundException as error:
            raise LuceneMissing("no Java virtual machine") from error


def lucene_similarities() -> dict[str, Any]:
    """Lucene's similarity for every model name of offscript that Lucene 8 has."""
    package = "org.apache.lucene.search.similarities."
    make = lambda name, *arguments: _java(package + name)(*arguments)  # noqa: E731
    normalizations = {"h1": ("H1", 1.0), "h2": ("H2", 1.0), "h3": ("H3", 800.0), "z": ("Z", 0.3)}
    normalization = {key: make(f"Normalization{name}", _float(value)) for key, (name, value) in normalizations.items()}
    similarities = {
        "bm25": make("BM25Similarity", _float(1.2), _float(0.75)),
        "bm25,k1=0.9,b=0.4": make("BM25Similarity", _float(0.9), _float(0.4)),
        "classic": make("ClassicSimilarity"),
        "lm-dirichlet": make("LMDirichletSimilarity", _float(2000.0)),
        "ib-ll": make("IBSimilarity", make("DistributionLL"), make("LambdaTTF"), normalization["h3"]),
        "ib-spl": make("IBSimilarity", make("DistributionSPL"), make("LambdaTTF"), normalization["h3"]),
    }
    for weight in (0.05, 0.1, 0.2):
        similarities[f"lm-jelinek-mercer,lambda={weight}"] = make("LMJelinekMercerSimilarity", _float(weight))
    for name, independence in (
        ("standardized", "Standardized"),
        ("saturated", "Saturated"),
        ("chisquared", "ChiSquared"),
    ):
        similarities[f"dfi-{name}"] = make("DFISimilarity", make(f"Independence{independence}"))
    for basic, effect, key in itertools.product(("G", "IF", "In", "Ine"), ("B", "L"), normalization):
        similarities[f"dfr-{basic.lower()}-{effect.lower()}-{key}"] = make(
            "DFRSimilarity", make(f"BasicModel{basic}"), make(f"AfterEffect{effect}"), normalization[key]
        )
    for distribution, mean, key in itertools.product(("LL", "SPL"), ("DF", "TTF"), normalization):
        similarities[f"ib-{distribution.lower()}-{mean.lower()}-{key}"] = make(
            "IBSimilarity", make(f"Distribution{distribution}"), make(f"Lambda{mean}"), normalization[key]
        )
    return similarities


class Lucene:
    """A Lucene index in memory; terms are what `analyzer` (Whitespace or Standard) makes of the texts."""

    def __init__(self, texts: Sequence[str], analyzer: str) -> None:
        package = "core.Whitespace" if analyzer == "whitespace" else "standard.Standard"
        self._analyzer = _java(f"org.apache.lucene.analysis.{package}Analyzer")()
        directory = _java("org.apache.lucene.store.ByteBuffersDirectory")()
        settings = _java("org.apache.lucene.index.IndexWriterConfig")(self._analyzer)
        writer = _java("org.apache.lucene.index.IndexWriter")(directory, settings)
        field, stored = _java("org.apache.lucene.document.TextField"), _java("org.apache.lucene.document.Field$Store")
        for text in texts:
            document = _java("org.apache.lucene.document.Document")()
            document.add(field("text", text, stored.NO))
            writer.addDocument(document)
        writer.forceMerge(1)
        writer.close()
        reader = _java("org.apache.lucene.index.DirectoryReader").open(directory)
        self._searcher = _java("org.apache.lucene.search.IndexSearcher")(reader)

    def terms(self, text: str) -> list[str]:
        """The terms of a text."""
        stream = self._analyzer.tokenStream("text", text)
        attribute = stream.addAttribute(_java("org.apache.lucene.analysis.tokenattributes.CharTermAttribute").class_)
        stream.reset()
        terms = []
        while stream.incrementToken():
            terms.append(str(attribute.toString()))
        stream.end()
        stream.close()
        return terms

    def query(self, terms: Sequence[str]) -> Any:
        """A query for documents that hold any of the terms; no query parser, which would read AND, OR and NOT."""
        builder = _java("org.apache.lucene.search.BooleanQuery$Builder")()
        should = _java("org.apache.lucene.search.BooleanClause$Occur").SHOULD
        for term in terms:
            name = _java("org.apache.lucene.index.Term")("text", term)
            builder.add(_java("org.apache.lucene.search.TermQuery")(name), should)
        return builder.build()

    def search(self, query: Any, k: int, similarity: Any) -> list[tuple[int, float]]:
        """Numbers and scores of the k best documents."""
        self._searcher.setSimilarity(similarity)
        return [(hit.doc, hit.score) for hit in self._searcher.search(query, k).scoreDocs]


@functools.cache
def _java(name: str) -> Any:
    import jpype

    return jpype.JClass(name)


def _float(value: float) -> Any:
    import jpype

    return jpype.JFloat(value)
