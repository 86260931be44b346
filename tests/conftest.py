"""What every test stands on: no network, fixed randomness, few threads, and a closing list of what was left out."""

import contextlib
import ipaddress
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
# Without these Chromium does not start as root, and talks to other hosts: its maker's, and those a page names.
BROWSER_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)

# Read once, when the libraries are first imported, and handed on to the processes that tests start.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("OMP_NUM_THREADS", str(min(os.cpu_count() or 1, 4)))

hypothesis.settings.register_profile("repeatable", derandomize=True, max_examples=50, deadline=None)
hypothesis.settings.register_profile("thorough", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    """Fail, past any `except`, a test that asks for a host other than this one."""
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def checked_connect(self: socket.socket, address: Any) -> None:
        _refuse_remote(self.family, address)
        connect(self, address)

    def checked_connect_ex(self: socket.socket, address: Any) -> int:
        _refuse_remote(self.family, address)
        return connect_ex(self, address)

    def checked_look_up(host: Any, *arguments: Any, **named: Any) -> Any:
        _refuse_remote(socket.AF_INET, (host,))
        return look_up(host, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", checked_connect)
        patch.setattr(socket.socket, "connect_ex", checked_connect_ex)
        patch.setattr(socket, "getaddrinfo", checked_look_up)
        yield


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests out of the user's cache, and out of what an earlier run left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OFFSCRIPT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The public data sets: `OFFSCRIPT_DATA`, else `../shared/data`; a test that asks for them is marked `data`."""
    folder = Path(os.environ.get("OFFSCRIPT_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no data folder (../shared/data, or what OFFSCRIPT_DATA names)")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of an installed Chromium or Chrome, else playwright's own; a test that asks for it is marked `browser`."""
    installed = next(filter(None, map(shutil.which, BROWSERS)), None) or _browser_of_playwright()
    if installed is None:
        pytest.skip("no browser (Chromium, Chrome or playwright's own)")
    return installed


@pytest.fixture
def page(chromium: str) -> Iterator[Any]:
    """A playwright page that reaches files and this machine alone; an error on the page fails the test."""
    from playwright.sync_api import sync_playwright

    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(BROWSER_FLAGS))
        opened = browser.new_page()
        opened.on("pageerror", lambda error: faults.append(str(error)))
        opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        yield opened
        browser.close()
    assert faults == []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures they ask for, so that no mark is forgotten, and put files with slow tests first.

    A worker that begins a slow file last keeps all others waiting.
    """
    for item in items:
        for fixture, mark in (("data_folder", "data"), ("chromium", "browser")):
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End the run with one line for each reason why something did not run."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if deselected := len(terminalreporter.stats.get("deselected", [])):
        reasons["deselected on the command line"] = deselected
    if reasons:
        terminalreporter.section("left out")
    for reason, tests in reasons.most_common():
        terminalreporter.line(f"{tests} {'test' if tests == 1 else 'tests'}: {reason}")


def _refuse_remote(family: int, address: Any) -> None:
    if family in (socket.AF_INET, socket.AF_INET6) and not _is_here(address[0]):
        pytest.fail(f"a test asked the network for {address[0]!r}")


def _is_here(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback or ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False


def _browser_of_playwright() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _reason(report: pytest.CollectReport | pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


@pytest.fixture
def repository_tool() -> Callable[[str], Any]:
    """A script of `tools/` as a module."""
    return lambda name: _script(REPOSITORY / "tools" / f"{name}.py")


@pytest.fixture(scope="session")
def benchmark_script() -> Callable[[str], Any]:
    """A script of `benchmarks/` as a module."""
    return lambda name: _script(REPOSITORY / "benchmarks" / f"{name}.py")


def _script(path: Path) -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_AGENT_PORTS = (
    "metrics-export-port",
    "dashboard-agent-grpc-port",
    "dashboard-agent-listen-port",
    "runtime-env-agent-port",
)


class Cluster:
    """Two nodes of Ray on this machine, each a `ray start` of its own; the second is there to be killed."""

    def __init__(self, folder: Path) -> None:
        self.port, client_port = _free_ports(2)
        self.client = f"ray://127.0.0.1:{client_port}"
        self.nodes: list[subprocess.Popen[bytes]] = []
        common = ("--node-ip-address=127.0.0.1", "--num-cpus=1", "--object-store-memory=80000000", "--block")
        head = ("--head", f"--port={self.port}", "--include-dashboard=false", f"--ray-client-server-port={client_port}")
        for own in (head, (f"--address=127.0.0.1:{self.port}",)):
            # Where Ray chooses these ports itself, a node gives up if its agents take 15 seconds to tell them.
            agents = zip(_AGENT_PORTS, _free_ports(len(_AGENT_PORTS)), strict=True)
            ports = [f"--{name}={number}" for name, number in agents]
            self._start(folder, [sys.executable, "-m", "ray.scripts.scripts", "start", *own, *common, *ports])

    def _start(self, folder: Path, command: list[str], tries: int = 4) -> None:
        """Ray gives up on a node that takes 30 seconds to start, as on a machine under load: it is started again."""
        log = folder / f"node-{len(self.nodes)}.log"
        with log.open("wb") as stream:
            node = subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True)
        while "Ray runtime started" not in log.read_text():
            if node.poll() is None:
                time.sleep(0.1)
            elif tries > 1:
                return self._start(folder, command, tries - 1)
            else:
                self.close()
                pytest.fail(f"ray start ended: {log.read_text()[-500:]}")
        self.nodes.append(node)
        return None

    def kill(self, number: int) -> None:
        """A node and all that it started, at once."""
        node = self.nodes[number]
        if node.poll() is None:
            os.killpg(node.pid, signal.SIGKILL)
            node.wait()

    def close(self) -> None:
        """Both."""
        for number in range(len(self.nodes)):
            self.kill(number)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A Ray cluster of two nodes, which `--on ray` finds."""
    pytest.importorskip("ray", reason="no Ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("HOME", str(tmp_path))  # else the token of a Ray run of the user is asked for
    made = Cluster(tmp_path)
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{made.port}")
    try:
        yield made
    finally:
        made.close()
