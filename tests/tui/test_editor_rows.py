from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokviz.tui.widgets.editor.wrapping import Line, RowIndex

lines_of = st.integers(0, 3).map(lambda n: Line("x", tuple(range(n))))
lists = st.lists(lines_of, min_size=1, max_size=40)
changes = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 20), lists), max_size=12)


def made(lines: list[Line]) -> RowIndex:
    """Return an index of lines that are not laid out yet, in blocks of seven."""
    sizes = [len(lines[at : at + 7]) for at in range(0, len(lines), 7)]
    return RowIndex(((n, 2 * n) for n in sizes), lambda first, last: lines[first:last])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(RowIndex, "usual_block", 8)


def check(index: RowIndex, lines: list[Line]) -> None:
    """Compare with a flat list of rows."""
    flat = [(n, section) for n, line in enumerate(lines) for section in range(len(line.breaks) + 1)]
    assert [index.line(n) for n in range(len(lines))] == lines
    assert (index.n_rows, index.n_lines) == (len(flat), len(lines))
    assert [index.line_at(row) for row in range(len(flat))] == flat
    assert index.line_at(len(flat) + 5) == flat[-1]
    assert [index.top(n) for n in range(len(lines))] == [
        flat.index((n, 0)) for n in range(len(lines))
    ]


@given(lists, changes)
def test_rows_and_lines_agree_with_a_flat_list_after_every_change(lines, edits):
    index = made(lines)
    check(index, lines)
    for where, length, new in edits:
        first = where % len(lines)
        last = min(first + length, len(lines) - 1)
        lines = [*lines[:first], *new, *lines[last + 1 :]]
        index.replace(first, last, new)
        check(index, lines)
