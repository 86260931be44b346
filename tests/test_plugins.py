"""Registries by name: built-in things, entry points of other packages, plug-in files; nothing is imported unasked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from offscript._plugins import PLUGINS_VARIABLE, Registry, load_plugin, load_plugins
from offscript.errors import OffscriptError

GROUP = "offscript.tests"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLUGINS_VARIABLE, "")


@pytest.fixture
def things() -> Registry[object]:
    return Registry("thing", GROUP, {"pi": "math:pi", "dumps": "json:dumps"})


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, entry_points: str, code: str = "") -> None:
    """What an installed package leaves behind: a module, and metadata with entry points."""
    (folder / f"{package}.py").write_text(code)
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_points}\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, package, raising=False)


def test_names_keep_their_order_and_built_in_things_come_first(things: Registry[object]) -> None:
    things.register("zeta", 1)
    things.register("alpha", 2)
    assert list(things) == ["pi", "dumps", "zeta", "alpha"]
    assert (len(things), things.added) == (4, ["zeta", "alpha"])
    assert things["pi"] == pytest.approx(3.14159, abs=1e-4)
    assert things.find("alpha") == 2
    assert "beta" not in things
    assert things.get("beta") is None


def test_a_decorator_registers_and_gives_back(things: Registry[object]) -> None:
    @things.add("double")
    def double(number: int) -> int:
        return 2 * number

    assert things["double"] is double
    assert double(2) == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pi", "there already is a thing 'pi'; give yours another name"),
        ("mine", "there already is a thing 'mine'"),
        ("a,b", "'a,b' cannot name a thing"),
        ("a/b", "'a/b' cannot name a thing"),
        ("", "'' cannot name a thing"),
    ],
)
def test_a_name_is_free_and_can_be_written_in_a_string(things: Registry[object], name: str, message: str) -> None:
    things.register("mine", 1)
    with pytest.raises(OffscriptError, match=message):
        things.register(name, 2)
    assert things["mine"] == 1


def test_an_unknown_name_is_answered_with_the_nearest(things: Registry[object]) -> None:
    with pytest.raises(OffscriptError, match=r"no thing 'dump'; did you mean 'dumps'\?"):
        things.find("dump")
    with pytest.raises(OffscriptError, match="no thing 'xyz'; known: dumps, pi"):
        things.find("xyz")
    with pytest.raises(KeyError):
        things["xyz"]


def test_listing_names_imports_nothing() -> None:
    code = (
        "import sys; from offscript._plugins import Registry; r = Registry('thing', 'x', {'a': 'torch:Tensor'});"
        "print(list(r), 'a' in r, len(r), 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert finished.stdout.split("\n")[0] == "['a'] True 1 False False"


def test_an_installed_package_adds_things(
    things: Registry[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, "added_pkg", "second = added_pkg:two\nfirst = added_pkg:one", "one, two = 1, 2")
    assert list(things) == ["pi", "dumps", "first", "second"]
    assert "added_pkg" not in sys.modules
    assert things["second"] == 2
    assert "added_pkg" in sys.modules


def test_an_entry_point_may_name_a_module_that_registers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    things: Registry[object] = Registry("thing", GROUP)
    code = "import tests_registry_holder as h\nh.things.register('mine', 7)"
    _install(tmp_path, monkeypatch, "module_pkg", "mine = module_pkg\nother = module_pkg", code)
    monkeypatch.setitem(sys.modules, "tests_registry_holder", type(sys)("holder"))
    sys.modules["tests_registry_holder"].things = things  # type: ignore[attr-defined]
    assert things.find("mine") == 7
    with pytest.raises(OffscriptError, match="module_pkg registers no thing 'other'"):
        things.find("other")


@pytest.mark.parametrize("value", ["no_such_module:thing", "broken_pkg:nothing"])
def test_a_broken_entry_point_is_one_line_and_only_when_looked_up(
    things: Registry[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    _install(tmp_path, monkeypatch, "broken_pkg", f"mine = {value}")
    assert list(things) == ["pi", "dumps", "mine"]
    assert things["pi"] > 3  # type: ignore[operator]
    with pytest.raises(OffscriptError, match="the thing 'mine' cannot be imported; .*(no_such_module|nothing)"):
        things.find("mine")


def test_two_packages_with_one_name_are_told_apart(
    things: Registry[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, "taking_pkg", "pi = taking_pkg:pi")
    for _ in range(2):
        with pytest.raises(
            OffscriptError, match="two packages have a thing 'pi'; one is math:pi, the other taking_pkg"
        ):
            list(things)


def test_a_plugin_file_named_by_hand_goes_before_an_entry_point(
    things: Registry[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, "later_pkg", "mine = later_pkg:one", "one = 1")
    things.register("mine", 2)
    assert things["mine"] == 2


def test_a_plugin_file_runs_once(tmp_path: Path) -> None:
    path = tmp_path / "once.py"
    path.write_text(f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\nvalue = 3")
    assert load_plugin(str(path)).value == 3
    assert load_plugin(str(path)) is load_plugin(f"{path.parent}/../{path.parent.name}/once.py")
    assert (tmp_path / "runs").read_text() == "x"


def test_two_files_of_one_name_are_two_plugins(tmp_path: Path) -> None:
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        (tmp_path / number / "mine.py").write_text(f"value = {number}")
    assert [load_plugin(str(tmp_path / number / "mine.py")).value for number in ("1", "2")] == [1, 2]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(:\n    pass", "is not valid Python; invalid syntax, line 1 of .*broken.py"),
        ("import no_such_module_here", "cannot be imported; No module named 'no_such_module_here'; install it"),
        (None, "there is no plug-in .*broken.py; check the path"),
    ],
)
def test_a_broken_plugin_is_one_line(tmp_path: Path, code: str | None, message: str) -> None:
    path = tmp_path / "broken.py"
    if code is not None:
        path.write_text(code)
    for _ in range(2):
        with pytest.raises(OffscriptError, match=message) as caught:
            load_plugin(str(path))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", ["no_such_module_here", "no such module", "", ".relative", "mine.txt"])
def test_a_module_that_is_not_there_is_one_line(place: str) -> None:
    with pytest.raises(OffscriptError, match="name a .py file or an installed module"):
        load_plugin(place)


def test_a_fault_of_the_plugin_itself_keeps_its_traceback(tmp_path: Path) -> None:
    path = tmp_path / "faulty.py"
    path.write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        load_plugin(str(path))


def test_plugins_are_handed_on_to_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was only given the environment loads the plug-in when a registry is first used."""
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'runs')!r}, 'a').write('x')")
    monkeypatch.chdir(tmp_path)
    load_plugins(["mine.py", "json"])
    load_plugins(["mine.py"])
    assert os.environ[PLUGINS_VARIABLE] == os.pathsep.join([str(tmp_path / "mine.py"), "json"])
    monkeypatch.chdir("/")
    code = "from offscript._plugins import Registry; r = Registry('thing', 'x'); print(len(r), len(r))"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert (tmp_path / "runs").read_text() == "xx"


def test_no_plugin_leaves_the_environment_alone() -> None:
    load_plugins([])
    assert os.environ[PLUGINS_VARIABLE] == ""
