"""The main text of web pages and PDF files, taken out in processes with a limit on time and memory.

Some would take hours. `python -m offscript.factcheck.sources.extraction MEMORY` is such a process. It reads pages on
standard input, each after a line of JSON with its size, kind and address, and answers each with a line of JSON.
"""

import contextlib
import io
import json
import queue
import re
import subprocess
import sys
import threading
import zlib
from typing import NamedTuple

from offscript.errors import require_package

SECONDS = 10.0
MEMORY = 1 << 30  # bytes of address space
WORKERS = 2
START_SECONDS = 60.0
READY = b"ready\n"
ENDED = "the process that read it ended, most likely for want of memory"
PDF = "application/pdf"
_HYPHEN = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


class Page(NamedTuple):
    """What a page says."""

    title: str = ""
    text: str = ""
    date: str = ""


class ExtractionError(Exception):
    """Why nothing was taken out of a page."""


class UnreadableError(ExtractionError):
    """What is wrong with a file; the process that said so reads on."""


class Extractor:
    """Takes the main text out of pages, a few at a time. Several threads may use one extractor.

    A process that does not answer within `seconds`, or wants more than `memory` bytes, is ended; the next page gets a
    new one. Processes end with the extractor, or with the process that made it.
    """

    def __init__(self, *, seconds: float = SECONDS, memory: int = MEMORY, workers: int = WORKERS) -> None:
        self._seconds, self._memory = seconds, memory
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        for _ in range(workers):
            self._idle.put(None)  # a worker that is still to be started

    def page_of(self, content: bytes, kind: str, url: str) -> Page:
        """Title, main text and date of a page; `ExtractionError` where it takes too long or too much memory."""
        if kind == "text/plain":
            return page_of(content, kind, url)
        worker = self._idle.get()
        try:
            if worker is None:
                worker = _Worker(self._memory)
            answer = worker.ask(content, kind, url, self._seconds)
        except UnreadableError:
            raise
        except ExtractionError:
            if worker is not None:
                worker.end()
            worker = None
            raise
        finally:
            self._idle.put(worker)
        return Page(*answer)

    def close(self) -> None:
        """End the processes that wait for work."""
        with contextlib.suppress(queue.Empty):
            while True:
                if (worker := self._idle.get_nowait()) is not None:
                    worker.end()


class _Worker:
    """A process that takes one page after the other."""

    def __init__(self, memory: int) -> None:
        require_package("reading web pages", "trafilatura", extra="web")
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self._line(START_SECONDS) != READY:
            self.end()
            raise ExtractionError("the process that reads pages did not start")

    def ask(self, content: bytes, kind: str, url: str, seconds: float) -> list[str]:
        """Title, text and date; `ExtractionError` with the reason where the process gives one."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"size": len(content), "kind": kind, "url": url}).encode() + b"\n")
            self._process.stdin.write(content)
            self._process.stdin.flush()
        except OSError as error:
            raise ExtractionError(ENDED) from error
        answer: list[str] | str = json.loads(self._line(seconds) or "[]")
        if isinstance(answer, str):
            raise UnreadableError(answer)
        if not answer:
            raise ExtractionError(ENDED)
        return answer

    def end(self) -> None:
        """Kill the process and let go of its pipes."""
        self._process.kill()
        self._process.communicate()

    def _line(self, seconds: float) -> bytes:
        """The next line of the answer; empty where the process ended. One that takes longer is killed."""
        assert self._process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        if late.is_set():
            raise ExtractionError(f"its text is not found within {seconds:g} seconds")
        return line


def page_of(content: bytes, kind: str, url: str) -> Page:
    """Title, main text and date of a page, in this process; empty where there is none."""
    if kind == "text/plain":
        return Page(text=content.decode("utf-8", "replace").strip())
    if kind == PDF:
        return pdf_page(content)
    import trafilatura

    document = trafilatura.bare_extraction(content, url=url, include_comments=False, with_metadata=True)
    if document is None:
        return Page()
    assert isinstance(document, trafilatura.settings.Document)
    return Page(document.title or "", document.text or "", document.date or "")


def pdf_page(content: bytes) -> Page:
    """Title, text and date of a PDF file; `UnreadableError` says why it has none."""
    import pypdf
    import pypdf.errors

    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableError("it has a password")
        text = "\n".join(page.extract_text() for page in reader.pages)
        about = reader.metadata
        title = str(about.title or "").strip() if about else ""
        written = (about.modification_date or about.creation_date) if about else None
    except pypdf.errors.DependencyError as error:
        raise UnreadableError("it is encrypted, which needs cryptography: pip install cryptography") from error
    except (
        pypdf.errors.PyPdfError,
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        NotImplementedError,
        OSError,
        TypeError,
        ValueError,
        zlib.error,
    ) as error:
        raise UnreadableError(f"it is damaged: {error}") from error
    return Page(title, _HYPHEN.sub("", text).strip(), written.date().isoformat() if written else "")


def main() -> None:
    """Answer pages until standard input ends; a page that does not fit in memory gives an empty list."""
    import trafilatura  # noqa: F401 - imported now, so that no page waits for it

    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # what a library prints is no answer
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
    answers.write(READY)
    answers.flush()
    while header := sys.stdin.buffer.readline():
        request = json.loads(header)
        content = sys.stdin.buffer.read(request["size"])
        try:
            answer = json.dumps(page_of(content, request["kind"], request["url"]))
        except UnreadableError as error:
            answer = json.dumps(str(error))
        except (MemoryError, RecursionError):
            answer = "[]"
        answers.write(answer.encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
