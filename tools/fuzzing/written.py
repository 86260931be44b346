"""Kinds that people write: recipes, grids, experiments, ratings, studies, model and sampler strings, gates, pages."""

import json
from importlib.resources import files
from pathlib import Path

from fuzzing.kinds import Kind, every, of_text, records
from fuzzing.texts import CAT
from offscript._config import expanded, parse_yaml, read_mapping
from offscript._specification import parse_specification
from offscript.audits.gates import parse_gate
from offscript.corpora import parallel
from offscript.corpora.prose import separate_punctuation, split_sentences
from offscript.corpora.ratings import read_ratings, read_texts
from offscript.experiments.experiment import read_experiment
from offscript.experiments.sweep import read_sweep
from offscript.experiments.tables import experiments
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.documents.markup import plain_text
from offscript.factcheck.sources.extraction import page_of
from offscript.factcheck.tagging.tagger import SHIPPED, PerceptronTagger
from offscript.learning import find_trainer
from offscript.models.conditional import load_table
from offscript.sampling.transforms import parse_transform
from offscript.sampling.transforms.learned import read_policy
from offscript.studies.associations import read_targets
from offscript.studies.design import read_design, read_items
from offscript.studies.policy import read_reward
from offscript.web.checks import read_claim

STARTERS = files("offscript.assets").joinpath("starter")
POLICY = {
    "policy": {
        "level": 0.1,
        "by_entropy": 0.1,
        "by_position": 0.0,
        "entropy_mean": 2.0,
        "entropy_deviation": 1.0,
        "prefix": 3,
        "length": 20,
    },
    "reward": {"mean": [0.0], "deviation": [1.0], "weights": [1.0], "intercept": 0.0, "correlation": 0.5},
}
PAGE = (
    "<!DOCTYPE html><html><head><title>T</title><meta name='date' content='2020-01-01'></head><body><article><h1>T</h1>"
    "<p>One sentence of the main text of this page, which is long enough.</p><table><tr><td>x</td></tr></table>"
    "<p>Another &amp; longer sentence of the main text, with <a href='/b'>a link</a> in it.</p></article></body></html>"
)
WIKITEXT = "== A ==\n''b'' [[c|d]] {{e|f={{g}}}} <ref name=x>h</ref> {| \n| i\n|} [//j k] &amp; <math>l</math>\n* m\n"
CONDITIONAL = {
    "kind": "conditional-tabular",
    "vocabulary": ["A", "B"],
    "length": 2,
    "end": "B",
    "sources": {"x": {"": [0.5, 0.5], "A": [1, 0]}, "y": {"": [0, 1]}},
}
RATINGS = "item,rater,system,rating,seconds,passed\na,r1,s,3,4.5,1\na,r2,s,4,,\nb,r1,t,0,2,0\n"
MTURK = "HITId,WorkerId,Input.item,Input.system,Answer.rating,WorkTimeInSeconds\nh,w,a,s,3,10\n"


def _recipe(path: Path) -> object:
    """As `offscript train` reads one, before anything is trained."""
    content = expanded(read_mapping(path, "recipe"))
    return find_trainer(content).recipe(content, str(path))


def _tagged(text: str) -> object:
    return PerceptronTagger.load(SHIPPED).tag(split_sentences(text))


def _starter(name: str) -> str:
    return STARTERS.joinpath(name).read_text(encoding="utf-8")


def _shipped(name: str) -> str:
    return experiments()[name].read_text(encoding="utf-8")


WRITTEN: dict[str, Kind] = {
    "recipe": Kind("r.yaml", _starter("recipe.yaml"), _recipe),
    "translation recipe": Kind(
        "r.yaml",
        "model: {kind: encoder-decoder, width: 16}\ndata: {kind: parallel, train: [{path: a, targets: b}], "
        "validation: [{path: a, targets: b}], vocabulary: {size: 300}}\nalgorithm: scheduled-sampling\n"
        "algorithm_settings: {schedule: linear}\nstop: {epochs: 2}\n",
        _recipe,
    ),
    "grid": Kind("g.yaml", _starter("grid.yaml"), read_sweep),
    "experiment": Kind("e.yaml", _shipped("regret/table-1"), lambda path: read_experiment(str(path), "quick")),
    "experiment with statements": Kind(
        "e.yaml", _shipped("exposure-bias/figure-2"), lambda path: read_experiment(str(path), "quick")
    ),
    "YAML": Kind(
        "y.yaml",
        "a: &x [1, 2.5, {b: null}]\nc: *x\nd: '2001'\ne: |\n  text\nf: !!str 3\n",
        of_text(lambda text: parse_yaml(text, "the text")),
    ),
    "specification": Kind("s", "nucleus,p=0.9,k=3,x=true", of_text(parse_specification), format="words"),
    "sampler": Kind(
        "s",
        "tempered,t=0.7",
        of_text(parse_transform),
        format="words",
        words=("top-k,k=5", "nucleus,p=1", "target-entropy,e=3", "tempered-top-k", "max-entropy", "+", ",", "="),
    ),
    "gate": Kind("g", "exposure.eb_c.js.lower>=1.1", of_text(parse_gate), format="words", words=(".upper", ">", "nan")),
    "claim": Kind("c", "The capital of Australia is Sydney.", of_text(read_claim), format="words"),
    "ratings table": Kind("r.csv", RATINGS, read_ratings),
    "ratings in JSON": Kind(
        "r.jsonl",
        records({"item": "a", "rater": "r", "rating": 3, "seconds": 1.5}, {"item": "b", "rater": "s", "rating": 1}),
        read_ratings,
    ),
    "ratings of a platform": Kind("r.csv", MTURK, read_ratings),
    "rated texts": Kind("t.jsonl", records({"item": "a", "system": "s", "text": "One.", "log_prob": -1.5}), read_texts),
    "rated texts in a table": Kind("t.csv", "item,system,text,log_prob\na,s,One.,-1.5\n", read_texts),
    "pairs table": Kind("p.tsv", "source\ttarget\nein Wort\ta word\n", every(parallel.read_pairs)),
    "pairs in JSON": Kind("p.jsonl", records({"source": "ein", "target": "a"}), every(parallel.read_pairs)),
    "pairs of two files": Kind(
        "p.de",
        "ein Wort\nzwei\n",
        lambda folder: list(parallel.read_pairs(folder / "p.de", folder / "p.en")),
        {"p.en": "a word\ntwo\n"},
        True,
    ),
    "targets": Kind("t.csv", "term,domain\nnurse,profession\n", read_targets),
    "targets of tests": Kind("t.json", json.dumps(CAT), read_targets),
    "study": Kind("study.json", '{"kind": "rating", "title": "t", "owner": "o"}', read_design, {}, True),
    "study items": Kind(
        "items.jsonl",
        records({"item": "a", "system": "s", "prompt": "p", "text": "p q", "log_prob": -1, "tokens": [1], "prefix": 1}),
        read_items,
        {},
        True,
    ),
    "learned sampler": Kind("p.json", json.dumps(POLICY), read_policy),
    "reward model": Kind("p.json", json.dumps(POLICY), read_reward),
    "conditional table": Kind("t.json", json.dumps(CONDITIONAL), load_table),
    "web page": Kind("p.html", PAGE, lambda path: page_of(path.read_bytes(), "text/html", "https://a.org/b")),
    "plain page": Kind("p.txt", "One. Two.", lambda path: page_of(path.read_bytes(), "text/plain", "https://a.org/b")),
    "wikitext": Kind("w.txt", WIKITEXT, of_text(plain_text), format="markup"),
    "prose": Kind(
        "p.txt",
        'He said "No." Then Dr. A. B. Smith (b. 1950) left... 3.5 % of it!',
        of_text(split_sentences),
        format="words",
    ),
    "punctuation": Kind(
        "p.txt", "It's a well-known (x) test, isn't it?", of_text(separate_punctuation), format="words"
    ),
    "tagged prose": Kind("p.txt", "Ada Lovelace wrote programs in 1843. It ran.", of_text(_tagged), format="words"),
    "analysed text": Kind(
        "p.txt", "Ada Lovelace wrote 3 programs, naïve ones.", of_text(Analyzer().terms), format="words"
    ),
}
