"""The commands of the documentation, as `make base` reads them out of the Markdown files."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    specification = importlib.util.spec_from_file_location("base", REPOSITORY / "tools" / "check_base_install.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_commands_are_read_with_what_they_need(tool: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Text\n\n```sh\npip install .\noffscript ls models   # all\noffscript serve   # a page (needs web)\n"
        "echo '{\n}' > a.json\noffscript train a.yaml   # (takes minutes)\n```\n\n"
        "```python\n# (needs web)\nimport a\n```\n```yaml\nname: a\n```\n"
    )
    commands = [(command.place, command.text, command.needs) for command in tool.commands_of(page)]
    assert commands == [
        ("page.md:5", "offscript ls models", ""),
        ("page.md:6", "offscript serve", "web"),
        ("page.md:8", "echo '{\n}' > a.json", ""),
        ("page.md:9", "offscript train a.yaml", "minutes"),
        ("page.md:13", "# (needs web)\nimport a\n", "web"),
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_commands_need_is_an_extra_or_is_known(tool: ModuleType, path: Path) -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.findall(r"^(\w+) = \[", project.partition("[project.optional-dependencies]")[2], re.MULTILINE)
    known = {"", tool.MINUTES, *tool.OUTSIDE, *extras}
    assert [command for command in tool.commands_of(path) if command.needs not in known] == []
