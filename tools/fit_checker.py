"""Make the fact checker's shipped weights again: the lexical stance model's, then those of the verdicts.

    python tools/fit_checker.py --data ../shared/data [--only stance|verdicts]

Stances are learned from FEVER's training pairs and from almanac claims, verdicts from FEVER's development claims
(`paper_dev`) and from other almanac claims; `paper_test` and the almanac's other half are left for measuring.
"""

import argparse
import ast
import csv
import io
import lzma
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from offscript._files import write_json
from offscript.corpora.prose import decode_brackets
from offscript.factcheck._logistic import Logistic, fit_logistic
from offscript.factcheck.almanac import almanac_documents, almanac_facts, almanac_index, draw_claims
from offscript.factcheck.almanac.facts import Fact
from offscript.factcheck.checked import Verdict
from offscript.factcheck.checking import Checker, in_context
from offscript.factcheck.claims import JudgedClaim, read_fever_passages
from offscript.factcheck.documents import Document
from offscript.factcheck.index import Index, build_index
from offscript.factcheck.retrieval import Searcher
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.lexical import TERMS, sentence_features, with_products
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import STANCES, StanceModel
from offscript.factcheck.stance.tokens import tokens_of
from offscript.factcheck.verdict import FEATURES as VERDICT_FEATURES
from offscript.factcheck.verdict import VerdictModel, fit_verdict_model, verdict_features

ASSETS = Path(__file__).parents[1] / "src" / "offscript" / "assets"
COMMAND = "python tools/fit_checker.py --data ../shared/data"
SAMPLES = ("", "_pointers")
AGREE, DISAGREE, DISCUSS, UNRELATED = range(4)
Pair = tuple[str, str, int]


def development_half(facts: Sequence[Fact]) -> list[Fact]:
    """Facts of every second subject; the others are for measuring."""
    return [fact for fact in facts if zlib.crc32(fact.subject.encode()) % 2 == 0]


def fever_pairs(folder: Path, scratch: Path) -> list[Pair]:
    """Training claims with their own sentence, and with the two most like it that belong to other claims."""
    rows, pointers = (_rows(folder / "train-sample" / f"train_balanced_10000_samples{kind}.csv.xz") for kind in SAMPLES)
    pages = [ast.literal_eval(pointer["evidence"])[0].replace("_", " ") for pointer in pointers]
    sentences = [
        in_context(decode_brackets(page), decode_brackets(row["sentence"]))
        for page, row in zip(pages, rows, strict=True)
    ]
    numbers = {text: str(number) for number, text in enumerate(dict.fromkeys(sentences))}
    index = build_index([Document(id, text=text) for text, id in numbers.items()], scratch / "pairs")
    claims = [row["claim"] for row in rows]
    found = Searcher(index).search_all(claims, 4)
    pairs = []
    for claim, row, sentence, hits in zip(claims, rows, sentences, found, strict=True):
        pairs.append((claim, sentence, AGREE if row["label"] == "SUPPORTS" else DISAGREE))
        others = [index.document(hit.document_id).text for hit in hits]
        pairs += [(claim, other, _told_apart(claim, other)) for other in others if other != sentence][:2]
    return pairs


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(lzma.decompress(path.read_bytes()).decode())))


def almanac_pairs(count: int, seed: int) -> list[Pair]:
    """Almanac claims with the sentence that decides them, with others of the same subject, and with other subjects'."""
    facts = development_half(almanac_facts())
    documents = {document.id: document for document in almanac_documents(facts)}
    told: dict[str, list[Fact]] = {}
    for fact in facts:
        told.setdefault(fact.relation.name, []).append(fact)
    generator, pairs = np.random.default_rng(seed), []
    for claim in draw_claims(facts, count, seed=seed):
        deciding, own = claim.fact.sentence, told[claim.fact.relation.name]
        pairs.append((claim.text, deciding, AGREE if claim.true else DISAGREE))
        others = documents[f"{claim.fact.relation.subject_type}/{claim.fact.subject}"].sentences()
        pairs += [(claim.text, other, DISCUSS) for other in others if other != deciding][:3]
        strangers = [own[number].sentence for number in generator.integers(len(own), size=2)]
        pairs += [(claim.text, stranger, UNRELATED) for stranger in strangers if stranger != deciding]
    return pairs


def _told_apart(claim: str, other: str) -> int:
    """A sentence of another claim discusses this one if it is about the same name."""
    names = {token.key for token in tokens_of(claim).content if token.kind == "name"}
    return DISCUSS if names & tokens_of(other).keys else UNRELATED


def fit_stance(data: Path, scratch: Path) -> None:
    """Fit the lexical weights on nine tenths of the pairs, say how good they are on the last, and ship them."""
    pairs = fever_pairs(data / "fever", scratch) + almanac_pairs(4_000, seed=1)
    table = with_products(np.concatenate([sentence_features(claim, [sentence]) for claim, sentence, _ in pairs]))
    answers = np.array([answer for *_, answer in pairs], dtype=np.int64)
    held_out = np.random.default_rng(1).random(len(pairs)) < 0.1
    balance = len(answers) / len(STANCES) / np.bincount(answers)  # no stance is likelier than another beforehand
    weights = balance[answers[~held_out]]
    fitted = fit_logistic(table[~held_out], answers[~held_out], STANCES, TERMS, row_weights=weights)
    guesses = fitted.probabilities(table[held_out]).argmax(axis=1)
    accuracy = float((guesses == answers[held_out]).mean())
    decided = answers[held_out] <= DISAGREE
    print(f"stance: {accuracy:.3f} of {held_out.sum()} pairs held out; counts {np.bincount(answers)}")
    print(f"  where a sentence decides: {(guesses == answers[held_out])[decided].mean():.3f} of {decided.sum()}")
    card = {
        "name": "lexical",
        "command": COMMAND,
        "data": "FEVER training pairs (CC BY-SA 3.0); almanac claims",
        "accuracy on held-out pairs": round(accuracy, 4),
    }
    write_json(ASSETS / "stance-lexical" / "weights.json", {"card": card, **fitted.to_json()})


def fit_verdicts(data: Path, scratch: Path, stance: StanceModel, fever_claims: int) -> None:
    """Fit the verdicts of a stance model on development claims, half FEVER's and half the almanac's by weight."""
    passages = read_fever_passages(data / "fever", titled=True)
    chosen = np.random.default_rng(1).permutation(len(passages.claims["dev"]))[:fever_claims]
    fever = [passages.claims["dev"][number] for number in chosen]
    almanac = almanac_claims(fever_claims // 2, seed=2)
    parts = [
        verdict_table(build_index(passages.documents, scratch / "fever"), stance, fever),
        verdict_table(almanac_index(), stance, almanac),
    ]
    answers = [claim.label for claim in (*fever, *almanac)]
    weights = np.concatenate([np.full(len(fever), 0.5 / len(fever)), np.full(len(almanac), 0.5 / len(almanac))])
    model = fit_verdict_model(np.concatenate(parts), answers, row_weights=weights * len(answers))
    for name, table, claims in (("FEVER", parts[0], fever), ("almanac", parts[1], almanac)):
        right = [
            model.decide(dict(zip(Verdict, row, strict=True))) == claim.label
            for row, claim in zip(model.weights.probabilities(table), claims, strict=True)
        ]
        print(f"verdicts on {stance.name}, {name}: {np.mean(right):.3f} of {len(claims)} development claims")
    card = {
        "stance": stance.name,
        "command": f"{COMMAND} --only verdicts --stance {stance.name} --claims {len(fever)}",
        "data": f"{len(fever)} claims of FEVER paper_dev (CC BY-SA 3.0); {len(almanac)} almanac claims",
    }
    write_json(ASSETS / "verdicts" / f"{stance.name.replace('/', '-')}.json", {"card": card, **model.to_json()})


def almanac_claims(count: int, seed: int) -> list[JudgedClaim]:
    """Of the development half, two in three as drawn; the others' subjects are made up, so nothing is known."""
    drawn = draw_claims(development_half(almanac_facts()), count, seed=seed)
    return [_with_label(number, claim.text, claim.fact.subject, claim.true) for number, claim in enumerate(drawn)]


def _with_label(number: int, text: str, subject: str, true: bool) -> JudgedClaim:
    if number % 6 in (4, 5):
        made_up = "".join(reversed(subject.removeprefix("the ").lower())).capitalize()
        lowered = text[:1].lower() + text[1:] if subject[:1].islower() else text
        return JudgedClaim(str(number), lowered.replace(subject, made_up), Verdict.unknown)
    return JudgedClaim(str(number), text, Verdict.supported if true else Verdict.refuted)


def verdict_table(index: Index, stance: StanceModel, claims: Sequence[JudgedClaim]) -> np.ndarray:
    """Features of every claim checked against an index; [claims, features]."""
    undecided = VerdictModel(Logistic(tuple(Verdict), VERDICT_FEATURES, np.zeros((3, len(VERDICT_FEATURES) + 1))), 1.0)
    checker = Checker([LocalIndex(index)], stance=stance, verdicts=undecided)
    return np.array([verdict_features(claim.claim, checker.check(claim.claim).documents) for claim in claims])


def main() -> None:
    """Fit what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("scratch"))
    parser.add_argument("--only", choices=("stance", "verdicts"))
    parser.add_argument("--stance", default="lexical")
    parser.add_argument("--claims", type=int, default=4_000)
    given = parser.parse_args()
    if given.only != "verdicts":
        fit_stance(given.data, given.scratch)
    if given.only != "stance":
        fit_verdicts(given.data, given.scratch, stance_model(given.stance), given.claims)


if __name__ == "__main__":
    main()
