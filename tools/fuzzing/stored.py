"""Kinds of files that offscript and other programs store: indexes, models, checkpoints, audits, studies, corpora.

Each is made once, small, by what writes it. Where a checksum or a hash protects a file, there are two kinds: one whose
checksum is left as it was, and one (", fitted") whose checksum is made to fit the damage, as an attacker would.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fuzzing.kinds import Kind
from offscript.audits.audit import read_record
from offscript.audits.comparison import compare_runs, read_runs
from offscript.audits.store import Store, read_results, write_results
from offscript.corpora import EncodedCorpus, WordVocabulary, encode_corpus
from offscript.factcheck.documents import Document
from offscript.factcheck.index import add_documents, build_index, check_index, delete_documents, open_index
from offscript.factcheck.index import files as index_files
from offscript.factcheck.retrieval import Searcher
from offscript.factcheck.tagging.tagger import TAGS, PerceptronTagger
from offscript.learning import checkpoints
from offscript.measures.measurement import Measurement
from offscript.measures.question import Answer
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import SEQGAN_FILES, load, load_seqgan_oracle, save
from offscript.report.page import write_page
from offscript.statistics import Curve, Interval
from offscript.studies.store import RatingStore

Files = dict[str, bytes]
WORDS = ["<unk>", "<eos>", "a", "b"]


def stored_kinds(place: Path) -> dict[str, Kind]:
    """All kinds; `place` is an empty folder that the examples are made in."""
    kinds: dict[str, Kind] = {}
    for make in (_indexes, _models, _corpora, _checkpoints, _audits, _studies, _taggers, _oracles):
        folder = place / make.__name__.strip("_")
        folder.mkdir()
        kinds |= make(folder)
    return kinds


def _files_of(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _each(
    label: str, files: Files, names: list[str], read: Callable[[Path], object], repair: Callable[[Path], None] | None
) -> dict[str, Kind]:
    """A kind for each of the files, and another for each whose checksum is made to fit."""
    kinds = {}
    for name in names:
        kind = Kind(name, files[name], read, files, whole_folder=True)
        kinds[f"{label}: {name}"] = kind
        if repair is not None:
            kinds[f"{label}: {name}, fitted"] = kind._replace(repair=repair)
    return kinds


def _indexes(folder: Path) -> dict[str, Kind]:
    texts = ["a dog barks", "a cat sleeps. It dreams.", "dogs and cats", "naïve text, 3 words", ""]
    build_index((Document(f"d{n}", f"T{n}", text, f"https://a.org/{n}") for n, text in enumerate(texts)), folder)
    add_documents(folder, [Document("e", text="another dog")])
    delete_documents(folder, ["d2"])
    files = {name: content for name, content in _files_of(folder).items() if not name.startswith(".")}

    def read(folder: Path) -> object:
        index = check_index(folder)
        return [index.document(hit.document_id).sentences() for hit in Searcher(index).search("dog cat naïve", 5)]

    def search(folder: Path) -> object:
        index = open_index(folder)
        return [index.document(hit.document_id).sentences() for hit in Searcher(index).search("dog cat naïve", 5)]

    def fit(folder: Path) -> None:
        try:
            content = json.loads((folder / index_files.MANIFEST).read_bytes())
            for segment in content["segments"]:
                for part in ("segment", "deletions"):
                    if segment[part]:
                        path = folder / segment[part]["name"]
                        segment[part] |= {"bytes": path.stat().st_size, "crc32": index_files.checksum(path)}
            del content["crc32"]
            fitted = {**content, "crc32": index_files._crc32_of(content)}
            (folder / index_files.MANIFEST).write_text(json.dumps(fitted))
        except (ValueError, KeyError, TypeError, OSError, AttributeError, RecursionError):
            return  # the damage took away what would be made to fit

    segments = [name for name in files if name.endswith(index_files.SUFFIX)]
    checked = _each("index", files, [index_files.MANIFEST, *segments], search, fit)
    return checked | {
        f"checked {label}": kind._replace(read=read) for label, kind in checked.items() if "fitted" in label
    }


def _fit_card(folder: Path) -> None:
    """Make the hashes of a card fit the files beside it."""
    try:
        card = json.loads((folder / "card.json").read_bytes())
        for name in card["sha256"]:
            card["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        (folder / "card.json").write_text(json.dumps(card))
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        return


def _models(folder: Path) -> dict[str, Kind]:
    network = LSTMLanguageModel(WordVocabulary(WORDS), LSTMSettings(hidden=4, embedding=4))
    save(network, folder)
    files = _files_of(folder)
    return _each("model", files, ["card.json", "vocabulary.json", "weights.safetensors"], load, _fit_card)


def _taggers(folder: Path) -> dict[str, Kind]:
    tagger = PerceptronTagger(np.ones((4, len(TAGS)), dtype=np.int8))
    tagger.save(folder, {"kind": "tagger"})
    files = _files_of(folder)
    read: Callable[[Path], object] = lambda place: PerceptronTagger.load(place).tag(["A dog barks."])  # noqa: E731
    return _each("tagger", files, sorted(files), read, _fit_card)


def _oracles(folder: Path) -> dict[str, Kind]:
    for name in SEQGAN_FILES:
        shape = {"embedding": (3, 2), "wo": (2, 3), "bo": (3,)}.get(name, (2,) if name[0] == "b" else (2, 2))
        with (folder / f"{name}.npz").open("wb") as stream:
            np.save(stream, np.zeros(shape, dtype=np.float32))
    files = _files_of(folder)
    kind = Kind("wo.npz", files["wo.npz"], load_seqgan_oracle, files, whole_folder=True, format="binary")
    return {"oracle": kind, "oracle embedding": kind._replace(name="embedding.npz", example=files["embedding.npz"])}


def _corpora(folder: Path) -> dict[str, Kind]:
    encode_corpus(["a b", "b a b", "a"], WordVocabulary(WORDS), end=True, folder=folder)
    files = _files_of(folder)

    def read(folder: Path) -> object:
        corpus = EncodedCorpus.open(folder)
        return [corpus[index].tolist() for index in range(min(len(corpus), 1000))]

    def fit(folder: Path) -> None:
        try:
            description = json.loads((folder / "corpus.json").read_bytes())
            for part in ("tokens", "offsets"):
                [path] = folder.glob(f"{part}*")
                description[f"{part}_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
            (folder / "corpus.json").write_text(json.dumps(description))
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            return

    kinds = _each("corpus", files, sorted(files), read, fit)
    return {label: kind._replace(format="" if "json" in label else "binary") for label, kind in kinds.items()}


def _checkpoints(folder: Path) -> dict[str, Kind]:
    network = torch.nn.Linear(2, 2)
    optimiser = torch.optim.Adam(network.parameters())
    network(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    path = folder / "last.safetensors"
    checkpoints.write_checkpoint(path, {"model": network}, {"model": optimiser}, checkpoints.Standing("r", step=1))

    def read(path: Path) -> object:
        other = torch.nn.Linear(2, 2)
        begun = checkpoints.Standing("r")
        return checkpoints.resume(path, {"model": other}, {"model": torch.optim.Adam(other.parameters())}, begun)

    return {"checkpoint": Kind(path.name, path.read_bytes(), read)}


def _measurement(**changes: Any) -> Measurement:
    recipe = {"model": "m", "samples": 4}
    known: dict[str, Any] = {
        "question": "likelihood",
        "name": "ppl",
        "value": 3.0,
        "standard_error": 0.1,
        "n": 4,
        "seed": 1,
        "interval": Interval(2.5, 3.5, 0.95, "Student"),
        "seconds": 2.0,
        "recipe": recipe,
        "higher_is_better": False,
        "by_position": Curve((3.0, 3.1), (2.0, 2.1), (4.0, 4.1), 0.95, "Student"),
        "per_item": np.arange(4.0),
    }
    return Measurement(**{**known, **changes})


def _audits(folder: Path) -> dict[str, Kind]:
    from offscript.audits.results import AuditedQuestion, AuditPart

    exhibits = [{"kind": "texts", "title": "Texts", "texts": ["One.", "Two."]}]
    asked = AuditedQuestion(name="likelihood", title="How likely?", questions=["likelihood"], exhibits=exhibits)
    part = AuditPart(questions=[asked], left_out=[("exposure", "needs --oracle")])
    for model in ("m", "n"):
        write_results(folder, model, [_measurement(), _measurement(name="nll")], config={"budget": "quick"}, audit=part)
    store, recipe = Store(folder / "cells"), {"question": "likelihood"}
    store.save(Answer([_measurement()], exhibits), recipe)
    files = _files_of(folder)
    results, items = (next(name for name in files if name.startswith(f"m/{kind}")) for kind in ("results", "samples"))

    def page(path: Path) -> object:
        return write_page(read_record(path), path.with_name("audit.html"))

    def compared(folder: Path) -> object:
        return compare_runs(read_runs([folder / "m", folder / "n"]))

    audit = Kind(results, files[results], compared, files, whole_folder=True)
    cell = str(store.cell_path(recipe).relative_to(folder))
    return {
        "audit, its page": Kind("results_a.json", files[results], page),
        "audit, compared": audit,
        "audit, its items": audit._replace(name=items, example=files[items]),
        "audit, read": Kind("results_a.json", files[results], read_results),
        "cell": Kind(Path(cell).name, files[cell], lambda folder: Store(folder).load(recipe), {}, whole_folder=True),
    }


def _studies(folder: Path) -> dict[str, Kind]:
    from offscript.studies.design import DATABASE, StudyDesign, StudyItem, write_study

    items = [StudyItem(item=f"i{n}", system="s", prompt="A", text="A text.") for n in range(3)]
    write_study(folder, StudyDesign(kind="rating", title="t", owner="o", per_participant=2), items)
    store = RatingStore(folder)
    store.invite(2)
    database = folder / DATABASE
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    del store
    files = {name: content for name, content in _files_of(folder).items() if not name.endswith(("-wal", "-shm"))}

    def read(folder: Path) -> object:
        opened = RatingStore(folder)
        try:
            return [opened.design, list(opened.codes())]
        finally:
            opened.connection.close()

    kinds = _each("study", files, sorted(files), read, None)
    return {
        label: kind._replace(leaves_files=True, format="binary" if label.endswith(database.name) else "")
        for label, kind in kinds.items()
    }
