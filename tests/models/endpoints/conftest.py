"""A completions server on loopback with a tiny model behind it, which can be told to fail."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

WORDS = ["<s>", "</s>", "<unk>", *(f"w{index}" for index in range(29))]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 with random weights and a tokenizer of words, as `save_pretrained` writes them."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    place = tmp_path_factory.mktemp("served") / "tiny"
    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(place)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        sizes = {"vocab_size": len(WORDS), "n_positions": 64, "n_embd": 16, "n_layer": 2, "n_head": 2}
        GPT2LMHeadModel(GPT2Config(**sizes, initializer_range=0.5, bos_token_id=0, eos_token_id=1)).save_pretrained(
            place
        )
    return place


class Served:
    """A server, what it can do, what it was asked and what it answers next in place of a completion."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.network = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.echo = self.ids = self.log_probs = self.several = self.extensions = True
        self.records = False  # one record per token, with ids, in place of lists
        self.ignores = False  # what it does not know it leaves out, and says nothing
        self.unknown: set[str] = set()  # names that it refuses
        self.failing: set[str] = set()  # names at which it fails
        self.greedy = False  # takes the likeliest token unless a whole configuration says otherwise
        self.adds_start = False  # puts the start before every text
        self.excess = 0.0  # of every log-probability
        self.key = ""
        self.failures: list[tuple[int, dict[str, str], bytes]] = []
        self.asked: list[dict[str, Any]] = []
        self.answered: list[str] = []
        self.stop_after: int | None = None  # dies when it has answered so many
        self.port = 0
        self._lock = threading.Lock()
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def tokens(self) -> int:
        """What all answers cost."""
        return sum(json.loads(each)["cost"] for each in self.answered)

    def start(self) -> None:
        self.stop_after = None
        served = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, content = served.respond(self.path, body, self.headers)
                if status == 0:
                    self.connection.close()
                    return
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        class Server(ThreadingHTTPServer):
            allow_reuse_address, daemon_threads = True, True

            def handle_error(self, *_: Any) -> None:
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def respond(self, path: str, body: dict[str, Any], headers: Any) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            self.asked.append(body)
            if self.stop_after is not None and len(self.answered) >= self.stop_after:
                return 0, {}, b""
            if self.failures:
                return self.failures.pop(0)
            if self.key and headers.get("Authorization") != f"Bearer {self.key}":
                said = f"Incorrect API key: {headers.get('Authorization')}"
                return 401, {}, json.dumps({"error": {"message": said}}).encode()
            if self.failing & set(body):
                return 500, {}, json.dumps({"error": {"message": "logits_all is off"}}).encode()
            if problem := self._refused(path, body):
                return 422, {}, json.dumps({"error": {"message": problem}}).encode()
            answer, cost = self._completion(path, body)
            self.answered.append(json.dumps({"asked": body, "cost": cost}, sort_keys=True))
            return 200, {}, json.dumps(answer).encode()

    def _refused(self, path: str, body: dict[str, Any]) -> str:
        if path not in ("/v1/completions", "/v1/chat/completions"):
            return "no such path"
        if known := self.unknown & set(body):
            return f"{known} is not known"
        if body.get("echo") and not self.echo:
            return "echo is not supported"
        if not isinstance(body.get("prompt", ""), str) and not self.ids:
            return "prompt must be a string"
        if "logprobs" in body and not self.log_probs:
            return "logprobs are not supported"
        return (
            "top_k is not known" if {"top_k", "min_p", "generation_config"} & set(body) and not self.extensions else ""
        )

    def _completion(self, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
        prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        ids = self.tokenizer(prompt, add_special_tokens=False)["input_ids"] if isinstance(prompt, str) else prompt
        ids = [0, *ids] if isinstance(prompt, str) and self.adds_start else ids
        number = body.get("n", 1) if self.several else 1
        drawn = [self._drawn(ids, body, place) for place in range(number)]
        choices = []
        for index, (own, finish) in enumerate(drawn):
            shown = [*ids, *own] if body.get("echo") else own
            text = self.tokenizer.decode([each for each in shown if each != 1] if not body.get("echo") else shown)
            choice: dict[str, Any] = {"index": index, "finish_reason": finish, "logprobs": None}
            choice |= {"message": {"role": "assistant", "content": text}} if "messages" in body else {"text": text}
            if "logprobs" in body:
                choice["logprobs"] = self._log_probs(
                    [*ids, *own], 0 if body.get("echo") else len(ids), body["logprobs"]
                )
            choices.append(choice)
        cost = len(ids) + sum(len(own) for own, _ in drawn)
        return {"choices": choices, "usage": {"total_tokens": cost}}, cost

    def distribution(self, ids: list[int], temperature: float = 1.0) -> torch.Tensor:
        with torch.inference_mode():
            logits = self.network(torch.tensor([ids or [0]])).logits[0, -1].double()
        return (logits / temperature).log_softmax(dim=-1)

    def _drawn(self, ids: list[int], body: dict[str, Any], place: int) -> tuple[list[int], str]:
        generator = torch.Generator().manual_seed(body.get("seed", len(self.answered)) * 1000 + place)
        narrow = json.loads(body["generation_config"]) if "generation_config" in body else body
        one = narrow.get("top_k") == 1 and not self.ignores
        one |= self.greedy and not narrow.get("do_sample")
        own: list[int] = []
        while len(own) < body.get("max_tokens", body.get("max_completion_tokens")):
            if body.get("temperature", 1.0) == 0 or one:
                token = int(self.distribution([*ids, *own]).argmax())
            else:
                chances = self.distribution([*ids, *own], body.get("temperature", 1.0)).exp()
                token = int(torch.multinomial(chances, 1, generator=generator))
            own.append(token)
            if token == 1:
                return own, "stop"
        return own, "length"

    def _log_probs(self, ids: list[int], first: int, top: int) -> dict[str, Any]:
        with torch.inference_mode():
            table = self.network(torch.tensor([ids])).logits[0].double().log_softmax(dim=-1) + self.excess
        places = []
        for position in range(first, len(ids)):
            token = self.tokenizer.decode([ids[position]])
            if position == 0:
                places.append((token, ids[position], None, None))
                continue
            values, tops = table[position - 1].topk(min(top, len(WORDS)))
            options = [
                {"token": self.tokenizer.decode([index]), "id": index, "logprob": value}
                for index, value in zip(tops.tolist(), values.tolist(), strict=True)
            ]
            places.append((token, ids[position], float(table[position - 1, ids[position]]), options))
        if self.records:
            listed = [{"token": a, "id": b, "logprob": c, "top_logprobs": d} for a, b, c, d in places]
            return {"content": listed}
        return {
            "tokens": [place[0] for place in places],
            "token_logprobs": [place[2] for place in places],
            "top_logprobs": [
                None if place[3] is None else {each["token"]: each["logprob"] for each in place[3]} for place in places
            ],
        }


@pytest.fixture
def served(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The server, with a cache of its own and no keys in the environment, and hardly any waiting."""
    from offscript.models.endpoints import client

    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path / "cache"))
    for variable in ("OFFSCRIPT_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(client, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(client, "LONGEST_WAIT", 0.1)
    server = Served(folder)
    yield server
    server.stop()
