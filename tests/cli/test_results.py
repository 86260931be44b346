"""Tables fit the terminal and never break a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.cli._results import column_widths, show_rows

cells = st.lists(st.text("ab ", max_size=30), min_size=1, max_size=4)


@given(st.dictionaries(st.text("xy", min_size=1, max_size=6), cells, min_size=1, max_size=5), st.integers(20, 100))
def test_a_table_fits_and_keeps_every_word(columns: dict[str, list[str]], total: int) -> None:
    widths = column_widths(columns, total)
    words = {key: max(len(word) for cell in (key, *each) for word in cell.split()) for key, each in columns.items()}
    frame = 1 + 3 * len(columns)
    if widths is None:
        assert sum(words.values()) + frame > total
        return
    assert sum(widths.values()) + frame <= total
    assert all(widths[key] >= words[key] for key in columns)
    natural = {key: max(map(len, (key, *each))) for key, each in columns.items()}
    assert widths == natural or sum(widths.values()) + frame == total


def test_what_fits_no_table_becomes_a_list(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    name = "factuality.tempered,temperature=0.5.prompted"
    show_rows([{"figure": name, "value": "0.25", "about": "a share of all the statements that were drawn"}])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [name, "  value: 0.25", "  about: a share of all the statements", "    that were drawn"]
