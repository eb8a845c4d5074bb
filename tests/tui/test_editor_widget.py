from __future__ import annotations

import random
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from rich.style import Style
from textual.app import App, ComposeResult
from textual.document._document import Selection
from textual.events import Paste
from textual.geometry import Region
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import TextArea

import tokviz
from tests.tui.mouse import drag
from tests.tui.waiting import until
from tokviz.live.document import LiveDocument
from tokviz.tui.messages import CopyRequested, TokenHovered
from tokviz.tui.palette import token_palette
from tokviz.tui.undo import BoundedHistory
from tokviz.tui.widgets.editor import TokenEditor

DARK = token_palette("tokviz-dark", "truecolor", False)
WIDTH, HEIGHT = 40, 12
INNER = WIDTH - 3  # two borders and the scrollbar


class EditorApp(App[None]):
    def __init__(self, text: str, tokenizer: str | None = "gpt2", **options) -> None:
        super().__init__()
        self.live = LiveDocument(text, tokviz.load(tokenizer) if tokenizer else None)
        self.editor = TokenEditor(self.live, DARK, **options)
        self.messages: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.editor

    def on_token_hovered(self, message: TokenHovered) -> None:
        self.messages.append(message)

    def on_copy_requested(self, message: CopyRequested) -> None:
        self._clipboard = message.text

    def on_text_area_changed(self, message: TextArea.Changed) -> None:
        self.messages.append(message)


@asynccontextmanager
async def editing(text: str, **options) -> AsyncIterator[tuple[TokenEditor, Pilot[None]]]:
    app = EditorApp(text, **options)
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        app.editor.focus()
        await pilot.pause()
        yield app.editor, pilot


def shown(editor: TokenEditor) -> list[str]:
    return [editor.render_line(y).text.rstrip() for y in range(editor.size.height)]


def first_style(editor: TokenEditor, y: int = 0) -> Style:
    """Return the style of the first cells of a row."""
    style = next(iter(editor.render_line(y))).style
    assert style is not None
    return style


def messages(editor: TokenEditor, kind: type) -> list:
    app = editor.app
    assert isinstance(app, EditorApp)
    return [message for message in app.messages if isinstance(message, kind)]


# -- exact text


def rows_of(editor: TokenEditor) -> list[str]:
    rows: list[str] = []
    while len(rows) < editor.wrapped_document.height:
        rows.append(editor.wrapped_document.row_part(len(rows), 0, 1_000).text)
    return rows


async def test_typing_changes_the_live_document():
    async with editing("hello") as (editor, pilot):
        await pilot.press("end", "!", "enter", "x", "left", "backspace")
        assert editor.live.text == editor.text == "hello!x"


async def test_exact_text_survives_loading_editing_undo_and_redo():
    text = "a\r\nb\rc\x0b\x0c\x85\u2028\x00\udce4\ufeffz\n"
    async with editing("") as (editor, pilot):
        editor.load_text(text)
        assert editor.text == editor.live.text == text
        await pilot.press("ctrl+home", "down", "right", "right", "x", "delete")
        changed = "a\r\nb\rx\x0b\x0c\x85\u2028\x00\udce4\ufeffz\n"
        assert editor.live.text == changed
        await pilot.press("ctrl+z", "ctrl+z", "ctrl+z")
        assert editor.live.text == text
        await pilot.press("ctrl+y", "ctrl+y", "ctrl+y")
        assert editor.live.text == changed


async def test_a_carriage_return_is_a_character_that_can_be_deleted():
    async with editing("a\r\nb") as (editor, pilot):
        assert shown(editor)[:2] == ["a␍⏎", "b"]
        await pilot.press("end", "backspace")
        assert editor.live.text == "a\nb"


async def test_a_paste_of_the_terminal_has_line_feeds():
    async with editing("") as (editor, pilot):
        editor.post_message(Paste("one\rtwo\ud800"))
        await pilot.pause()
        assert editor.live.text == "one\ntwo\ufffd"
        await pilot.press("ctrl+z")
        assert editor.live.text == ""


async def test_a_paste_with_line_feeds_is_exact():
    async with editing("") as (editor, pilot):
        editor.post_message(Paste("one\r\ntwo\rthree\udce4"))
        await pilot.pause()
        assert editor.live.text == "one\r\ntwo\rthree\udce4"


async def test_a_long_paste_is_prepared_in_a_thread_and_keys_wait_for_it(monkeypatch):
    monkeypatch.setattr("tokviz.tui.widgets.editor.editor._LONG_TEXT", 100)
    text = "some words, 世界\n" + "x" * 90 + "\n\tlast line\n" * 200
    async with editing("ab") as (editor, pilot):
        threads = []
        prepare = editor.live.prepare_edit

        def noted(inserted: str) -> None:
            threads.append(threading.current_thread())
            prepare(inserted)

        monkeypatch.setattr(editor.live, "prepare_edit", noted)
        editor.selection = Selection((0, 1), (0, 1))
        editor.post_message(Paste(text))
        await pilot.press("!")
        await until(pilot, lambda: editor.live.text == f"a{text}!b")
        assert threads
        assert threading.main_thread() not in threads
        rows = rows_of(editor)
        editor.wrapped_document.wrap(editor.wrap_width)
        assert rows == rows_of(editor)
        await pilot.press("ctrl+z", "ctrl+z")
        assert editor.live.text == "ab"


async def test_a_long_text_that_comes_back_is_prepared_in_a_thread_and_keys_wait(monkeypatch):
    monkeypatch.setattr("tokviz.tui.widgets.editor.editor._LONG_TEXT", 100)
    text = "some words, 世界\n" + "x" * 90 + "\n\tlast line\n" * 200
    async with editing(text) as (editor, pilot):
        threads = []
        prepare = editor.prepare

        def noted(inserted: str) -> None:
            threads.append(threading.current_thread())
            prepare(inserted)

        monkeypatch.setattr(editor, "prepare", noted)
        await pilot.press("ctrl+home", "ctrl+shift+end", "y")
        assert editor.live.text == "y"
        await pilot.press("ctrl+z", "ctrl+end", "!")
        await until(pilot, lambda: editor.live.text == f"{text}!")
        assert len(threads) == 1
        editor.load_text("")
        editor.type_text(text)
        await pilot.press("ctrl+z", "ctrl+y", "!")
        await until(pilot, lambda: editor.live.text == f"{text}!")
        assert len(threads) == 2
        assert threading.main_thread() not in threads
        rows = rows_of(editor)
        editor.wrapped_document.wrap(editor.wrap_width)
        assert rows == rows_of(editor)


async def test_a_long_text_is_rewritten_in_a_thread_as_one_edit_and_keys_wait(monkeypatch):
    monkeypatch.setattr("tokviz.tui.widgets.editor.editor._LONG_TEXT", 100)
    text = "some words, 世界\n" * 30
    async with editing(text) as (editor, pilot):
        threads, prepare = [], editor.prepare

        def noted(inserted: str) -> None:
            threads.append(threading.current_thread())
            prepare(inserted)

        monkeypatch.setattr(editor, "prepare", noted)

        def doubled(old: str) -> str:
            threads.append(threading.current_thread())
            return old.replace("word", "wordword")

        editor.rewrite(doubled, lambda: editor.move_cursor((0, 0)))
        await pilot.press("!")
        expected = text.replace("word", "wordword")
        await until(pilot, lambda: editor.live.text == "!" + expected)
        assert len(threads) == 2
        assert threading.main_thread() not in threads
        await pilot.press("ctrl+z", "ctrl+z")
        await until(pilot, lambda: editor.live.text == text)


async def test_cut_and_paste_keep_raw_bytes_and_carriage_returns():
    async with editing("a\r\udce4b") as (editor, pilot):
        editor.selection = Selection((0, 1), (0, 3))
        await pilot.press("ctrl+x")
        assert editor.live.text == "ab"
        await pilot.press("end", "ctrl+v")
        assert editor.live.text == "ab\r\udce4"


async def test_loading_begins_a_new_history():
    async with editing("old") as (editor, pilot):
        await pilot.press("x")
        editor.load_text("new")
        await pilot.press("ctrl+z")
        assert editor.text == "new"
        assert editor.cursor_location == (0, 0)


async def test_the_history_forgets_the_oldest_of_too_much_text():
    async with editing("") as (editor, _):
        editor.history = BoundedHistory(5_000)
        for letter in "abc":
            editor.insert(letter * 2_000)
        for _ in range(3):
            editor.undo()
        assert editor.text == "a" * 2_000


# -- what is drawn


async def test_invisible_characters_are_shown_or_hidden():
    async with editing("a b\tc\u200b\n") as (editor, _):
        assert shown(editor)[0] == "a·b→c‹U+200B›⏎"
        editor.show_invisibles = False
        assert shown(editor)[0] == "a b c◦"


async def test_tokens_have_their_hues_and_a_token_over_a_line_end_goes_on():
    async with editing("ab\n\n\nc") as (editor, _):
        spans = editor.live.tokens_in(0, 6)
        assert any(span.end - span.start > 1 and span.start < 4 <= span.end for span in spans)
        fills = [first_style(editor, y).bgcolor for y in (1, 2)]
        hues = [style.bgcolor for style in DARK.hues]
        assert all(fill in hues for fill in fills)


async def test_text_without_a_tokenizer_is_pending_until_the_tokens_are_known():
    async with editing("hello world", tokenizer=None) as (editor, _):
        editor.selection = Selection.cursor((0, 11))
        assert first_style(editor).bgcolor == DARK.pending.bgcolor
        editor.live.set_tokenizer(tokviz.load("gpt2"))
        editor.refresh()
        assert first_style(editor).bgcolor in [h.bgcolor for h in DARK.hues]


async def test_marks_light_a_token_up():
    async with editing("one two three") as (editor, _):
        plain = [editor.render_line(0)]
        editor.has_pin = True
        editor.go_to_token(2)
        editor.set_hover(1)
        styles = {s.text: s.style or Style() for s in editor.render_line(0)}
        assert styles["two"].bgcolor == DARK.hover.bgcolor
        assert styles["three"].bgcolor == DARK.pin.bgcolor
        editor.has_pin = False
        editor.set_hover(None)
        editor.move_cursor((0, 0))
        assert [editor.render_line(0)] == plain


async def test_marks_of_tokens_that_are_gone_do_no_harm():
    async with editing("one two three") as (editor, _):
        editor.set_hover(2)
        editor.load_text("")
        assert shown(editor)[0] == ""


async def test_the_cursor_is_drawn_and_looks_different_without_the_focus():
    async with editing("abc") as (editor, pilot):
        assert first_style(editor).bgcolor == DARK.cursor.bgcolor
        focused = editor.render_line(0)
        editor.app.set_focus(None)
        await pilot.pause()
        blurred = editor.render_line(0)
        assert blurred != focused
        assert first_style(editor).underline


async def test_a_token_that_is_gone_to_is_scrolled_into_view():
    async with editing("word\n" * 500) as (editor, _):
        while not editor.live.encode_pending(1):
            pass
        last = editor.live.n_tokens - 1
        editor.go_to_token(last)
        assert editor.scroll_offset.y > 480


async def test_an_empty_editor_says_what_to_do():
    async with editing("") as (editor, pilot):
        editor.placeholder = "Type or paste text"
        assert shown(editor)[0] == "Type or paste text"
        await pilot.press("x")
        assert shown(editor)[0] == "x"


@pytest.mark.parametrize("soft_wrap", [True, False])
async def test_every_row_is_as_wide_as_the_view_at_any_scroll_position(soft_wrap):
    text = "世界\t👩‍👩‍👧‍👦 e\u0301 \u202e tok" * 900 + "\nshort\r\n"
    async with editing(text, soft_wrap=soft_wrap) as (editor, pilot):
        for location in [(0, 0), (0, 5_000), (0, len(text) - 20), (1, 3)]:
            editor.move_cursor(location)
            await pilot.pause()
            strips = editor.render_lines(Region(0, 0, *editor.outer_size))
            assert {strip.cell_length for strip in strips} == {editor.outer_size.width}
            x, y = editor.wrapped_document.location_to_offset(location)
            assert 0 <= x - editor.scroll_offset.x < editor.size.width
            assert 0 <= y - editor.scroll_offset.y < editor.size.height


async def test_what_is_in_view_stays_there_while_rows_are_laid_out(monkeypatch):
    monkeypatch.setattr("tokviz.tui.widgets.editor.wrapping._BLOCK_SIZE", 1_000)
    chance = random.Random(5)
    lines = [f"{n}: " + "世界 word " * chance.choice((0, 0, 1, 9, 30)) for n in range(2_000)]
    async with editing("\n".join(lines)) as (editor, pilot):

        async def scroll(rows: int) -> None:
            before = shown(editor)
            editor.scroll_relative(y=rows, animate=False, immediate=True)
            await pilot.pause()
            now = shown(editor)
            assert before[rows:] == now[:-rows] if rows > 0 else before[:rows] == now[-rows:]

        for line, key in ((1_999, "ctrl+end"), (0, "ctrl+home"), (1_999, "ctrl+end")):
            await pilot.press(key)
            assert any(row.startswith(f"{line}:") for row in shown(editor))
        for rows in (-7, -3) * 40:
            await scroll(rows)
        for line in (1_000, 300, 1_200, 900):
            editor.move_cursor((line, 0))
            await pilot.pause()
            assert any(row.startswith(f"{line}:") for row in shown(editor))
            for rows in (-9, -9, -9, 5, 9, 9, 9):
                await scroll(rows)
        y = editor.wrapped_document.height // 3
        editor.scroll_to(y=y, animate=False, immediate=True)
        await pilot.pause()
        top = editor.wrapped_document.offset_to_location(editor.scroll_offset)
        await pilot.resize_terminal(WIDTH // 2, HEIGHT)
        await until(pilot, lambda: editor.wrapped_document.width == editor.wrap_width)
        await pilot.pause()
        now = editor.wrapped_document.offset_to_location(editor.scroll_offset)
        assert now[0] == top[0] != 0
        assert rows_of(editor)
        assert editor.virtual_size.height == editor.wrapped_document.height


async def test_a_resize_wraps_anew():
    async with editing("word " * 40) as (editor, pilot):
        before = editor.wrapped_document.height
        await pilot.resize_terminal(20, HEIGHT)
        await until(pilot, lambda: editor.wrapped_document.height > before)
        await pilot.press("ctrl+end", "x")
        assert editor.text == "word " * 40 + "x"
        rows = editor.size.height
        await pilot.resize_terminal(20, 5)
        await until(pilot, lambda: editor.size.height < rows)
        await pilot.pause()
        cursor = editor.wrapped_document.location_to_offset(editor.cursor_location)
        assert 0 <= cursor.y - editor.scroll_offset.y < editor.size.height, "it stays in view"


# -- only what changed is drawn


def sent_rows(editor: TokenEditor) -> set[int]:
    return {region.y - editor.content_offset.y for region in editor._exchange_repaint_regions()}


async def test_a_row_drawn_for_a_full_repaint_is_not_taken_for_sent():
    async with editing("first\nsecond") as (editor, pilot):
        await pilot.pause()
        editor.move_cursor((1, 0))
        editor.render_lines(Region(0, 0, *editor.outer_size))  # somebody else repaints everything
        editor.move_cursor((0, 0))
        assert sent_rows(editor) == {0, 1}


async def test_a_new_border_is_drawn_beside_rows_that_did_not_change():
    async with editing("text") as (editor, _):
        whole = Region(0, 0, *editor.outer_size)
        editor.styles.border = ("heavy", "red")
        assert {strip.text[0] for strip in editor.render_lines(whole)[1:-1]} == {"┃"}
        editor.styles.border = ("double", "red")
        assert {strip.text[0] for strip in editor.render_lines(whole)[1:-1]} == {"║"}


async def test_a_key_looks_at_the_rows_in_view_only(monkeypatch):
    async with editing("a line of text\n" * 20_000) as (editor, pilot):
        editor.move_cursor((10_000, 3))
        await pilot.pause()
        asked: list[int] = []
        plain = editor.live.tokens_in

        def tokens_in(lo: int, hi: int):
            asked.append(hi - lo)
            return plain(lo, hi)

        monkeypatch.setattr(editor.live, "tokens_in", tokens_in)
        editor.insert("x")
        editor.render_lines(Region(0, 0, *editor.outer_size))
        assert 0 < sum(asked) <= 512, "the row that changed, and not far beyond"


# -- messages


async def test_the_screen_is_told_of_every_edit_before_the_frame():
    async with editing("ab") as (editor, _pilot):
        told: list[str] = []
        editor.on_edited = lambda: told.append(editor.live.text)
        editor.insert("x")
        editor.undo()
        editor.redo()
        assert told == ["xab", "ab", "xab"]
        assert editor.last_edit_seconds > 0


async def test_the_pointer_tells_of_the_token_below_it():
    async with editing("one two\n三") as (editor, pilot):
        for offset in [(2, 1), (3, 1), (5, 1), (30, 1), (30, 5)]:
            await pilot.hover(editor, offset=offset)
        told = [message.index for message in messages(editor, TokenHovered)]
        assert list(dict.fromkeys(told)) == [0, 1, None]


async def test_a_click_moves_the_cursor_and_selects_nothing():
    async with editing("one two three") as (editor, pilot):
        await pilot.click(editor, offset=(6, 1))
        assert editor.cursor_location == (0, 5)
        assert editor.token_at_cursor() == 1
        assert editor.selection.is_empty


async def test_two_clicks_select_a_word_and_three_a_line():
    async with editing("one two_2 three\nnext") as (editor, pilot):
        await pilot.click(editor, offset=(7, 1), times=2)
        assert editor.selected_text == "two_2"
        await pilot.click(editor, offset=(7, 1), times=3)
        assert editor.selected_text == "one two_2 three"


async def test_dragging_selects():
    async with editing("one two three") as (editor, pilot):
        await pilot.mouse_down(editor, offset=(1, 1))
        await drag(pilot, editor, (5, 1))
        await pilot.mouse_up(editor, offset=(5, 1))
        await pilot.pause()
        assert editor.selected_text == "one "


async def test_a_selection_goes_on_while_the_mouse_rests_below_the_text() -> None:
    async with editing("line\n" * 100) as (editor, pilot):
        await pilot.mouse_down(editor, offset=(1, 1))
        await drag(pilot, editor, (1, HEIGHT + 3))
        await until(pilot, lambda: editor.selection.end[0] == 100)
        await pilot.mouse_up(editor, offset=(1, 1))
        assert editor.selection.start[0] == 0


async def test_a_selection_whose_release_went_elsewhere_ends_when_the_mouse_comes_back() -> None:
    async with editing("one two three") as (editor, pilot):
        await pilot.mouse_down(editor, offset=(1, 1))
        await drag(pilot, editor, (5, 1))
        await pilot.hover(editor, offset=(8, 1))
        assert editor.selected_text == "one "


async def test_going_to_a_token_makes_it_the_one_at_the_cursor():
    async with editing("a世\U0001f926b") as (editor, pilot):
        n_tokens = editor.live.n_tokens
        assert any(editor.live.tokens_in(0, 4)[i].split for i in range(n_tokens))
        for index in range(n_tokens):
            editor.go_to_token(index)
            await pilot.pause()
            info = editor.live.token(index)
            assert editor.token_at_cursor() == index
            assert editor.document.get_index_from_location(editor.cursor_location) == info.start
            assert editor.selection.is_empty
        editor.insert("x")
        offset = editor.document.get_index_from_location(editor.cursor_location)
        assert editor.token_at_cursor() == editor.live.token_index_at(offset)


async def test_a_token_that_was_gone_to_stays_while_those_before_it_become_known() -> None:
    async with editing("word 世界 " * 20_000) as (editor, _pilot):
        live = editor.live
        last = live.tokens_in(live.n_chars - 5, live.n_chars)[2]
        editor.go_to_token(last.index)
        before = live.n_tokens
        assert editor.token_at_cursor() == last.index
        while not live.settled:
            live.encode_pending(1)
        gained = live.n_tokens - before
        assert gained > 0
        assert editor.token_at_cursor() == last.index + gained


async def test_a_picked_token_is_forgotten_when_the_tokens_change():
    async with editing("\U0001f926") as (editor, _):
        editor.go_to_token(1)
        assert editor.token_at_cursor() == 1
        editor.live.set_tokenizer(tokviz.load("o200k_base"))
        assert editor.token_at_cursor() == 0


async def test_the_token_at_the_end_of_the_text_is_the_last_one():
    async with editing("one two") as (editor, pilot):
        await pilot.press("ctrl+end")
        assert editor.token_at_cursor() == 1
        editor.load_text("")
        assert editor.token_at_cursor() is None


# -- keys


async def test_keys_move_by_text_page_word_and_row():
    async with editing("word one\n" * 100) as (editor, pilot):
        await pilot.press("ctrl+end")
        assert editor.cursor_location == (100, 0)
        await pilot.press("ctrl+home")
        assert editor.cursor_location == (0, 0)
        await pilot.press("pagedown")
        assert editor.cursor_location[0] == editor.size.height
        await pilot.press("pageup", "ctrl+right", "ctrl+right")
        assert editor.cursor_location == (0, 8)
        await pilot.press("ctrl+left", "down", "ctrl+shift+end")
        assert editor.selection == Selection((1, 5), (100, 0))


async def test_a_word_to_the_right_is_deleted_with_what_stands_before_it():
    async with editing("one  two\nx") as (editor, pilot):
        await pilot.press("right", "right", "right", "alt+delete")
        assert editor.text == "one\nx"
        await pilot.press("alt+delete")
        assert editor.text == "onex"


async def test_a_letter_with_a_mark_is_one_step_if_invisibles_are_hidden():
    async with editing("e\u0301x", show_invisibles=False) as (editor, pilot):
        await pilot.press("right")
        assert editor.cursor_location == (0, 2)
        await pilot.press("left", "delete")
        assert editor.text == "x"


async def test_soft_wrap_can_be_switched_and_the_end_of_a_long_line_reached():
    async with editing("世界 word " * 2_000) as (editor, pilot):
        editor.soft_wrap = False
        await pilot.pause()
        assert editor.wrapped_document.height == 1
        await pilot.press("end")
        await pilot.pause()
        assert editor.render_line(0).text.rstrip().endswith("世界·word·")
        assert editor.scroll_offset.x > 2_000
        editor.soft_wrap = True
        await pilot.pause()
        assert editor.wrapped_document.height > 300
