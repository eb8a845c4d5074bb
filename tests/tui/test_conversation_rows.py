from __future__ import annotations

from sys import getrefcount

from hypothesis import given
from hypothesis import strategies as st

from tokviz.tui.widgets.conversation.rows import (
    MOST_ROWS,
    BlockRows,
    MessageBlock,
    MessageBlocks,
    PartBlock,
    PartPlace,
    add_spans,
    header_spans,
    wrap_text,
)
from tokviz.tui.widgets.spans import RunAction, span_at

BLOCKS = [
    MessageBlock("user", (PartBlock("", "one two\nthree"),)),
    MessageBlock("assistant", (PartBlock("text", "x"), PartBlock("python", "y\nz"))),
]


def as_blocks(blocks: list[MessageBlock]) -> MessageBlocks:
    return MessageBlocks(blocks, blocks.__getitem__)


def rows(live: PartPlace | None = None, editor_height: int = 1) -> BlockRows:
    return BlockRows(as_blocks(BLOCKS), live, editor_height, 40, False)


def kinds(found: BlockRows) -> list[str]:
    return [found.row(number).kind for number in range(found.n_rows)]


def test_every_row_is_about_something() -> None:
    assert kinds(rows()) == [
        *("header", "text", "text"),
        *("header", "kind", "text", "kind", "text", "text"),
        "add",
    ]


def test_the_part_that_is_edited_leaves_room_for_the_editor() -> None:
    found = rows(PartPlace(1, 0), editor_height=3)
    assert kinds(found)[3:] == [
        *("header", "kind", "editor", "editor", "editor"),
        *("kind", "text", "text", "add"),
    ]
    assert found.top_of(PartPlace(1, 0)) == 5
    assert found.top_of(PartPlace(1, 1)) == 9
    assert found.header_of(1) == 3


@given(
    st.lists(st.lists(st.text("ab \n世", max_size=30), min_size=1, max_size=3), max_size=4),
    st.integers(1, 12),
)
def test_the_rows_of_a_part_are_its_text(texts: list[list[str]], width: int) -> None:
    blocks = [
        MessageBlock("user", tuple(PartBlock("text", text) for text in parts)) for parts in texts
    ]
    found = BlockRows(as_blocks(blocks), None, 1, width, False)
    shown: dict[tuple[int, int], str] = {}
    for number in range(found.n_rows):
        row = found.row(number)
        if row.kind == "text":
            key = (row.message, row.part)
            text = blocks[row.message].parts[row.part].text
            shown[key] = shown.get(key, "") + text[row.start : row.end]
    for message, parts in enumerate(texts):
        for part, text in enumerate(parts):
            assert shown[message, part] == text.replace("\n", "")


def test_a_very_long_text_shows_its_beginning_and_says_so() -> None:
    wrapped = wrap_text("x\n" * 100_000, 20, True)
    assert (len(wrapped.rows), wrapped.complete) == (MOST_ROWS, False)
    text = "x" * 1_000_000
    n_holders = getrefcount(text)
    one_line = wrap_text(text, 20, True)
    assert (len(one_line.rows), one_line.complete) == (MOST_ROWS, False)
    assert getrefcount(text) == n_holders, "a thousand such rows of a dataset are not kept"
    one_cell = wrap_text("a" + "\u0301" * 1_000_000, 20, True)
    assert 0 < len(one_cell.rows) <= MOST_ROWS and not one_cell.complete


def test_a_header_gives_up_its_note_bit_by_bit_and_never_exceeds_its_width() -> None:
    block = MessageBlock("assistant", (PartBlock("", ""),), "1,234 tokens, 999 learned")
    for width in range(1, 80):
        words = header_spans(block, 0, width, is_live=False)
        assert sum(len(word.text) for word in words) <= width
    wide = header_spans(block, 0, 80, is_live=False)
    assert any("learned" in word.text for word in wide)
    narrow = header_spans(block, 0, 30, is_live=False)
    assert not any("tokens" in word.text for word in narrow)
    between = header_spans(block, 0, 40, is_live=False)
    assert any(word.text == " 1,234 tokens " for word in between)
    assert [word.action.call for word in narrow if isinstance(word.action, RunAction)] == [
        "role",
        "up",
        "down",
        "delete",
    ]


def test_a_role_with_an_escape_sequence_is_drawn_safely() -> None:
    block = MessageBlock("us\x1b[31mer", (PartBlock("", ""),))
    assert not any("\x1b" in word.text for word in header_spans(block, 0, 60, is_live=False))


def test_a_click_finds_the_words_below_it() -> None:
    words = add_spans(("user", "assistant"), 40)
    actions = [span_at(words, x).action for x in (3, 12, 39)]
    assert actions == [RunAction("add:user"), RunAction("add:assistant"), None]


_MESSAGES = st.lists(st.lists(st.text("ab \n世", max_size=9), min_size=1, max_size=3), max_size=5)


@given(st.data())
def test_what_is_laid_out_with_what_is_known_is_as_if_nothing_was(data: st.DataObject) -> None:
    made: list[MessageBlock] = [
        MessageBlock("user", tuple(PartBlock("text", text) for text in parts))
        for parts in data.draw(_MESSAGES)
    ]
    known: list[BlockRows] = []
    for _ in range(6):
        new = [
            MessageBlock("user", tuple(PartBlock("text", text) for text in parts))
            for parts in data.draw(_MESSAGES)
        ]
        made = data.draw(st.permutations([*made, *new]))[: data.draw(st.integers(0, 8))]
        live = data.draw(st.sampled_from([None, *range(len(made))]))
        place = None if live is None else PartPlace(live, 0)
        how = place, data.draw(st.integers(1, 3)), data.draw(st.sampled_from([3, 9])), False
        found, fresh = (
            BlockRows(as_blocks(made), *how, known[-2:]),
            BlockRows(as_blocks(made), *how),
        )
        assert [found.row(n) for n in range(found.n_rows)] == [
            fresh.row(n) for n in range(fresh.n_rows)
        ]
        assert [found.header_of(n) for n in range(len(made))] == [
            fresh.header_of(n) for n in range(len(made))
        ]
        known.append(found)


def test_of_many_messages_only_the_one_that_changed_is_laid_out_again() -> None:
    blocks = [MessageBlock("user", (PartBlock("", f"text {n}"),)) for n in range(1_000)]
    asked = list[int]()

    def make(index: int) -> MessageBlock:
        asked.append(index)
        return blocks[index]

    first = BlockRows(MessageBlocks(blocks, make), PartPlace(7), 1, 40, False)
    asked.clear()
    blocks = [*blocks[:7], MessageBlock("user", (PartBlock("", "typed"),)), *blocks[8:]]
    typed = BlockRows(MessageBlocks(blocks, make), PartPlace(7), 1, 40, False, [first])
    assert {*asked} == {7}
    asked.clear()
    blocks = [*blocks[:3], blocks[500], *blocks[4:]]
    BlockRows(MessageBlocks(blocks, make), PartPlace(9), 1, 40, False, [typed])
    assert {*asked} <= {7, 3, 9}
