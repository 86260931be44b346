"""Kinds of text files: corpora, documents, claims, ratings, tables, and the strings that people write."""

import json
from collections.abc import Callable
from pathlib import Path

from fuzzing.kinds import Kind, every, records
from offscript.corpora import read_sentences, vocabulary_from
from offscript.corpora.associations import read_association_tests, read_predictions
from offscript.corpora.records import read_json_value
from offscript.corpora.wordlists import read_frequencies, read_sentiment_words
from offscript.factcheck.claims import read_claims, read_fever_passages
from offscript.factcheck.documents import read_documents
from offscript.factcheck.evaluation import read_judgments, read_queries
from offscript.factcheck.language import read_cues
from offscript.factcheck.sources.ratings import read_ratings
from offscript.factcheck.stance.pairs import read_pairs
from offscript.factcheck.stance.teaching.tasks import read_task
from offscript.factcheck.tagging.tagger import read_treebank
from offscript.measures.stance.estimation import read_predictions as read_stances
from offscript.models.tabular import Tabular

CAT = {
    "data": {
        "intrasentence": [
            {
                "id": "i",
                "target": "t",
                "bias_type": "race",
                "context": "He is BLANK.",
                "sentences": [
                    {"id": label, "sentence": f"He is {label}.", "gold_label": label}
                    for label in ("stereotype", "anti-stereotype", "unrelated")
                ],
            }
        ]
    }
}
DUMP = (
    "<mediawiki><siteinfo><base>https://x.org/wiki/A</base></siteinfo><page><title>T</title><ns>0</ns><id>1</id>"
    "<revision><timestamp>2019</timestamp><text>''A'' &amp; [[b|c]].</text></revision></page></mediawiki>"
)
FNC = {
    "competition_test_bodies.csv": "Body ID,articleBody\n1,One. Two.\n",
    "competition_test_stances.csv": "Headline,Body ID,Stance\nH,1,agree\n",
}
SCIFACT = {
    "corpus_train.csv": "doc_id,title,abstract,structured\n7,T,['One.' \"Two.\"],False\n",
    "claims_validation.csv": (
        "id,claim,evidence_doc_id,evidence_label,evidence_sentences,cited_doc_ids\n3,x,7,SUPPORT,[0 1],[7]\n"
    ),
}
TEXTS = {"gold-evidence-dev/dev.raw.input0.xz": "A text .\n", "gold-evidence-dev/dev.raw.input1.xz": "A claim.\n"}
FEVER = records({"id": 1, "claim": "A claim.", "label": "SUPPORTS", "evidence": [[[1, 2, "Page_A", 0]]]})
PERSPECTRUM = {
    "perspectrum/perspective_pool_v1.0.json": '[{"pId": 1, "text": "w"}, {"pId": 2, "text": "v"}]',
    "perspectrum/dataset_split_v1.0.json": '{"5": "train"}',
    "perspectrum/perspectrum_with_answers_v1.0.json": json.dumps(
        [{"cId": 5, "text": "c", "perspectives": [{"stance_label_3": "SUPPORT", "pids": [1, 2]}]}]
    ),
}
MNLI = 'For the statement, "a", does the hypothesis "b" represent entailment, contradiction, or neutrality?'


def _task(name: str) -> Callable[[Path], object]:
    return lambda folder: read_task(name, folder)


def _documents(format: str = "auto") -> Callable[[Path], object]:
    return lambda path: [document.sentences() for document in read_documents(path, format=format)]  # type: ignore[arg-type]


def _fills(path: Path) -> object:
    return [
        test.fill(each)
        for test in read_association_tests(path)
        for each in test.associations
        if "BLANK" in test.context
    ]


TEXTS_READ: dict[str, Kind] = {
    "sentences": Kind("a.txt", "One .\nTwo .\n", every(read_sentences)),
    "sentences in JSON": Kind("a.jsonl", records({"text": "one"}, {"text": "two"}), every(read_sentences)),
    "sentences in CSV": Kind("a.csv", 'id,text\n1,"a, b"\n', every(read_sentences)),
    "WikiText": Kind("a.tokens", " = T = \n A text . \n", every(read_sentences)),
    "documents": Kind("d.jsonl", records({"id": "1", "title": "T", "text": "One. Two.", "url": "u"}), _documents()),
    "SciFact documents": Kind("d.jsonl", records({"doc_id": 1, "title": "T", "abstract": ["One."]}), _documents()),
    "FEVER documents": Kind("d.jsonl", records({"id": "A_-LRB-b", "lines": "0\tOne .\tx\n1\t"}), _documents()),
    "SciFact table": Kind("d.csv", SCIFACT["corpus_train.csv"], _documents()),
    "Cranfield": Kind("d.all", ".I 1\n.T\nTitle\n.W\nOne. Two.\n", _documents("cranfield")),
    "TREC": Kind(
        "d.sgml", "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\nOne &amp; <B>two</B>.\n</TEXT>\n</DOC>\n", _documents("trec")
    ),
    "NPL": Kind("d.npl", "1\nOne two\n/\n", _documents("npl")),
    "Wikipedia": Kind("d.xml", DUMP, _documents()),
    "text": Kind("d.txt", "One. Two.\n", _documents()),
    "claims": Kind(
        "c.jsonl",
        records(
            {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [["a", 3], "b", [["c", 1], ["d", None]]]},
            {"id": 2, "claim": "c", "label": "REFUTES", "evidence": [[[1, 2, "Page", 0]]]},
            {"id": 3, "claim": "c", "evidence": {"7": [{"sentences": [1], "label": "CONTRADICT"}]}},
        ),
        read_claims,
    ),
    "claims table": Kind("c.csv", SCIFACT["claims_validation.csv"], read_claims),
    "FEVER passages": Kind(
        "paper_dev.jsonl.xz",
        FEVER,
        lambda folder: read_fever_passages(folder, titled=True),
        {**TEXTS, "paper_test.jsonl.xz": FEVER},
        True,
    ),
    "queries": Kind("q.jsonl", records({"id": 1, "text": "q"}), read_queries),
    "judgments": Kind("qrels", "1 0 a 1\n1 0 b 0\n", read_judgments),
    "pairs": Kind(
        "p.jsonl", records({"claim": "c", "text": "One. Two.", "label": "agree"}), lambda p: read_pairs(str(p))
    ),
    "FNC bodies": Kind("competition_test_bodies.csv", "", lambda folder: read_pairs(str(folder)), FNC, True),
    "FNC stances": Kind("competition_test_stances.csv", "", lambda folder: read_pairs(str(folder)), FNC, True),
    "SciFact corpus": Kind("corpus_train.csv", "", lambda folder: read_pairs(str(folder)), SCIFACT, True),
    "SciFact claims": Kind("claims_validation.csv", "", lambda folder: read_pairs(str(folder)), SCIFACT, True),
    "stances": Kind(
        "s.csv",
        FNC["competition_test_stances.csv"],
        lambda folder: read_stances(folder / "s.csv", read_pairs(str(folder))),
        FNC,
        True,
    ),
    "StereoSet": Kind("t.json", json.dumps(CAT), _fills),
    "predictions": Kind("p.json", '{"intrasentence": [{"id": "a", "score": 0.5}]}', read_predictions),
    "ratings": Kind("r.tsv", "source_url\tfact\nhttps://a.org\thigh\n", read_ratings),
    "MPQA": Kind("m.tff", "type=strongsubj len=1 word1=abuse pos1=verb stemmed1=y priorpolarity=negative\n", read_cues),
    "lexicon": Kind("l.txt", "; x\ngood\nvery good\n", read_cues),
    "sentiment words": Kind(
        "positive-words.txt", "good\n", read_sentiment_words, {"negative-words.txt": "bad\n"}, True
    ),
    "frequencies": Kind("f.txt", "the 7\ncat\t1\n", read_frequencies),
    "treebank": Kind("t.conllu", "# x\n1\tA\ta\tDET\t_\t_\t0\tx\t_\t_\n\n", every(read_treebank)),
    "tabular": Kind(
        "t.json",
        '{"kind": "tabular", "vocabulary": ["A", "B"], "length": 2, "end": "B", "next": {"": [0.5, 0.5], "A": [1, 0]}}',
        Tabular.load,
    ),
    "vocabulary": Kind(
        "v.json",
        '{"kind": "word", "lower": false, "end": "b", "unknown": null, "symbols": ["a", "b"]}',
        lambda path: vocabulary_from(read_json_value(path)),
    ),
    "SNLI": Kind("aux-nli/snli-train-sample/train.csv", "1\t0\ta\tb\n", _task("snli"), {}, True),
    "MNLI": Kind(
        "aux-nli/mnli-sample/mnli_train.csv",
        'Question,Answer\n"' + MNLI.replace('"', '""') + '",neutral\n',
        _task("mnli"),
        {},
        True,
    ),
    "FEVER sample": Kind(
        "fever/train-sample/train_balanced_10000_samples.csv",
        "claim,label,sentence\nc,SUPPORTS,s\n",
        _task("fever"),
        {},
        True,
    ),
    "RTE": Kind(
        "aux-nli/rte-glue/train.tsv", "sentence1\tsentence2\tlabel\na\tb\tentailment\n", _task("rte"), {}, True
    ),
    "SST": Kind("aux-sentiment/sst-2/train.tsv", "sentence\tlabel\na \t1\n", _task("sst"), {}, True),
    **{
        f"PERSPECTRUM {name.rpartition('/')[2]}": Kind(name, "", _task("paraphrases"), PERSPECTRUM, True)
        for name in PERSPECTRUM
    },
}
