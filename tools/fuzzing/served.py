"""Kinds of what model strings and servers bring: addresses, answers, kept answers, mixtures, named corpora."""

import json
from pathlib import Path

from fuzzing.commands import FILES
from fuzzing.kinds import Kind, of_text
from offscript.corpora.domains import domains_of
from offscript.models import load_model
from offscript.models.endpoints.address import parse_address
from offscript.models.endpoints.answers import aligned, places_of
from offscript.models.endpoints.ledger import Ledger

CHAT = {
    "logprobs": {
        "content": [
            {"token": "One", "id": 3, "logprob": -0.5, "top_logprobs": [{"token": "One", "logprob": -0.5, "id": 3}]},
            {"token": " dog", "logprob": None, "top_logprobs": []},
        ]
    }
}
COMPLETION = {
    "logprobs": {
        "tokens": ["One", " dog"],
        "token_logprobs": [None, -1.5],
        "top_logprobs": [None, {" dog": -1.5, " cat": -2.0}],
    }
}
STRINGS = (
    't.json+t.json,weights="1,2"',
    "openai/m@http://127.0.0.1:9/v1,tokenizer=t.json,max_requests=3",
    "t.json,adapter=folder",
    "t.json,approximate=2",
)
WORDS = (
    "+", ",", "=", "@", "openai/", "@http://127.0.0.1:9/v1", "adapter=", "bits=4", "weights=1", "weights=\"1,2\"",
    "key=HOME", "tokenizer=", "hf/", "uniform,vocabulary=t.json", "t.json", "offscript/none", "max_tokens=1", "\"",
)  # fmt: skip


def served_kinds(place: Path) -> dict[str, Kind]:
    """Every kind; `place` is a folder that the file of kept answers is made in."""
    return {
        "address of a server": Kind(
            "a", "m@https://api.example.org:8000/v1", of_text(parse_address), format="words", words=("@http", ":", "?")
        ),
        "answer of a chat": Kind("c.json", json.dumps(CHAT), _places),
        "answer of a completion": Kind("c.json", json.dumps(COMPLETION), _places),
        "named corpora": Kind(
            "c",
            "news=a.txt\nbooks=b.txt\nnews=c.txt",
            of_text(lambda text: domains_of(text.split("\n"))),
            format="words",
        ),
        "kept answers": _ledger(place / "kept.sqlite"),
        **{
            f"model string {number}": Kind(
                "s", text, _load, FILES, whole_folder=True, format="words", words=WORDS, leaves_files=True
            )
            for number, text in enumerate(STRINGS, start=1)
        },
    }


def _places(path: Path) -> object:
    """As a client does with one of the choices of an answer that was valid JSON."""
    try:
        choice = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if not isinstance(choice, dict):
        return None
    return aligned(places_of(choice, "the server"), [3, 4], ["One", " dog"], "t")


def _load(folder: Path) -> object:
    """The model of a string whose files lie in the folder; strings that reach outside of it are left out."""
    text = (folder / "s").read_bytes().decode("utf-8", "surrogateescape")
    if any(part.startswith(("/", "~", "..")) for part in text.replace("=", "+").replace(",", "+").split("+")):
        return None
    if "offscript/news" in text or "offscript/text8" in text:
        return None
    for name in FILES:
        text = text.replace(name, str(folder / name))
    return load_model(text)


def _ledger(path: Path) -> Kind:
    ledger = Ledger(path)
    ledger.reserve(10)
    ledger.keep("a", CHAT, unused=3, seconds=1.0, drawn=7)
    ledger._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ledger._connection.close()

    def read(path: Path) -> object:
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        kept = Ledger(path, most_tokens=1000)
        try:
            kept.reserve(5)
            return kept.spent, kept.pace, kept.find("a")
        finally:
            kept._connection.close()

    return Kind(path.name, path.read_bytes(), read, format="binary", leaves_files=True)
