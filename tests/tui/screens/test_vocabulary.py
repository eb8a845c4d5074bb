from __future__ import annotations

import asyncio
import gc
import json
import weakref
from pathlib import Path

import pytest
from textual import events
from textual.app import App
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.widgets import Input

import tokviz
from tests.tui.first_frame import imported_for_the_first_frame
from tests.tui.waiting import settle, until
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.vocabulary import VocabularyScreen
from tokviz.workspace.session import Opened, Session


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def small_tokenizer() -> Tokenizer:
    """Bytes, " t", "th", " th", "he", " the", the parts of 世, and a token out of reach."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges = [(b" ", b"t"), (b"t", b"h"), (b"h", b"e"), (b" t", b"he"), (b"\xe4", b"\xb8")]
    merges += [(b"\xe4\xb8", b"\x96")]
    tokens += [left + right for left, right in merges]
    tokens += [b"zq\x1b[2J"]
    return Tokenizer(dict(enumerate(tokens)), merges, {"<|end|>": 300}, name="small")


THE = 259


def make_app(text: str = "the cat and the dog", tok: Tokenizer | None = None) -> TokvizApp:
    return TokvizApp(Session(Opened(text), tok or small_tokenizer(), remember=False))


async def show(pilot: Pilot[None]) -> VocabularyScreen:
    await settle(pilot)
    await pilot.press("alt+v")
    screen = pilot.app.screen
    assert isinstance(screen, VocabularyScreen)
    await until(
        pilot,
        lambda: (
            screen.searching.index is not None and screen.searching.index.unreachable is not None
        ),
    )
    await settle(pilot)
    return screen


def tokens_screen(app: TokvizApp) -> TokensScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, TokensScreen)
    return screen


async def type_query(pilot: Pilot[None], text: str) -> None:
    field = pilot.app.screen.query_one("#query", Input)
    field.value = text
    await settle(pilot)


def lines(app: TokvizApp) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


def shown(app: TokvizApp) -> str:
    return "\n".join(lines(app))


def said(app: TokvizApp) -> str:
    return "\n".join(notice.message for notice in app._notifications)


def row_text(line: str) -> str:
    """Give the words of a row of the list, which stands between the first two borders."""
    return " ".join(line.split("│")[1].split()) if "│" in line else ""


async def click_text(pilot: Pilot[None], text: str) -> None:
    for y, line in enumerate(lines(pilot.app)):
        if text in line:
            await pilot.click(offset=(line.index(text) + 1, y))
            await settle(pilot)
            return
    raise AssertionError(f"{text!r} is not on the screen:\n" + shown(pilot.app))


def listed(screen: VocabularyScreen) -> list[int]:
    assert screen.searching.index is not None and screen.searching.selection is not None
    return [int(screen.searching.index.ids[row]) for row in screen.searching.selection.rows]


# -- searching


async def test_typing_narrows_the_list_and_escape_shows_all_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        assert "264 tokens" in shown(app)
        assert "30 ␞ 1 1 Common" in [row_text(line) for line in lines(app)]
        monkeypatch.setattr(screen.searching, "in_thread", None)  # plain text needs none
        await pilot.press("t", "h")
        await settle(pilot)
        assert listed(screen) == [257, THE] and "2 of 264 tokens" in shown(app)
        await pilot.press("escape")
        await settle(pilot)
        assert len(listed(screen)) == 264


async def test_a_filter_is_clicked_in_and_out() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await click_text(pilot, "unreachable 1")
        assert screen.searching.typed == "is:unreachable" and listed(screen) == [262]
        assert "● unreachable" in shown(app)
        await click_text(pilot, "unreachable 1")
        assert screen.searching.typed == "" and len(listed(screen)) == 264
        await click_text(pilot, "special 1")
        assert listed(screen) == [300]


async def test_the_bar_shows_every_filter_with_its_number_whatever_is_searched() -> None:
    app = make_app("the cat and the dog")
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)

        def bar() -> str:
            return " ".join(
                next(line for line in lines(app) if "partial characters" in line).split()
            )

        used = len(app.session.live.token_counts())
        filters = f"○ special 1 ○ partial characters 129 ○ unreachable 1 ○ in your text {used}"
        assert bar() == filters
        await type_query(pilot, "nothing at all")
        assert bar() == filters
        await app.run_action("screen.only_used")
        await settle(pilot)
        assert bar() == filters.replace("○ in your", "● in your")
        await pilot.press("alt+k", "x", "alt+v")
        await settle(pilot)
        used_now = len(app.session.live.token_counts())
        assert used_now == used + 1
        assert bar().endswith(f"● in your text {used_now}")


async def test_typing_and_the_search_keys_reach_the_search_from_a_panel() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        for keys, typed in (
            (("t", "w", "3", "space", "1"), "tw3 1"),
            (("slash", "a"), "a"),
            (("ctrl+f", "a"), "a"),
        ):
            screen.field.put("")
            screen.pages.rows.focus()
            await settle(pilot)
            await pilot.press(*keys)
            await settle(pilot)
            assert app.current_mode == "vocabulary" and app.screen is screen
            assert (screen.field.value, screen.field.has_focus) == (typed, True)


async def test_histogram_filters_by_mouse_and_by_keyboard() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await click_text(pilot, "Han ")
        assert screen.searching.typed == "script:han" and listed(screen) == [261]
        await click_text(pilot, "● Han")
        assert screen.searching.typed == ""
        await pilot.press("f5", "f5", "home", "down", "enter")
        await settle(pilot)
        assert screen.searching.typed == "len:2"
        assert listed(screen) == [256, 257, 258, 260]


async def test_a_filter_that_cannot_be_followed_is_told_and_the_app_lives() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await type_query(pilot, "^th script:klingon")
        assert "No script is named klingon" in shown(app)
        assert listed(screen) == [257]
        await type_query(pilot, "/(/")
        assert "missing )" in shown(app)
        await type_query(pilot, "")
        assert "missing" not in shown(app)


async def test_nothing_found_says_what_to_do() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await type_query(pilot, "25967")
        assert "No token fits." in shown(app) and "#25967" in shown(app)


async def test_only_the_newest_search_is_shown() -> None:
    app = make_app(tok=tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        for typed in ("/.*a.*e.*/", "/.*b.*/", "#5"):
            screen.field.value = typed
            await pilot.pause()
        await settle(pilot)
        assert listed(screen) == [5]


# -- the list


async def test_columns_sort_by_key_and_by_mouse() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await click_text(pilot, "bytes ")
        assert screen.searching.order == "length" and screen.searching.descending
        assert listed(screen)[0] == 300
        await click_text(pilot, "bytes▼")
        assert not screen.searching.descending and listed(screen)[0] == 0
        await pilot.press("f7")
        await settle(pilot)
        assert screen.searching.order == "characters"
        await pilot.press("f8")
        await settle(pilot)
        assert not screen.searching.descending


async def test_arrow_keys_move_the_mark_while_the_field_keeps_the_keyboard() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await pilot.press("down", "down", "up")
        assert screen.table.token_id == 1
        await pilot.press("ctrl+end")
        assert screen.table.token_id == 300
        await pilot.press("pageup", "ctrl+home", "pagedown")
        assert screen.table.token_id == screen.table.page
        assert screen.field.has_focus


async def test_what_a_vocabulary_holds_never_reaches_the_terminal_raw() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await type_query(pilot, "#262")
        await pilot.press("enter")
        await settle(pilot)
        assert "zq␛[2J" in shown(app) and "\x1b" not in shown(app)


# -- a token's page


async def test_page_tells_what_a_token_is_made_of_merged_into_and_where_it_is_used() -> None:
    app = make_app("the cat and the dog")
    async with app.run_test(size=(120, 50)) as pilot:
        screen = await show(pilot)
        await type_query(pilot, "#258")
        await pilot.press("enter")
        await settle(pilot)
        page = shown(app)
        assert "Made by merging h + e" in page
        assert "Merged into 1 token" in page and "·the 259" in page
        await click_text(pilot, "·the 259"[4:] + " ")
        assert screen.pages.shown_id == THE
        assert "1 time in your text" in shown(app)
        await click_text(pilot, "#")
        await settle(pilot)


async def test_a_place_in_the_text_is_gone_to() -> None:
    app = make_app("the cat and the dog")
    async with app.run_test(size=(120, 50)) as pilot:
        await show(pilot)
        await type_query(pilot, f"#{THE}")
        await pilot.press("f3")
        await settle(pilot)
        tokens = app.screen
        assert isinstance(tokens, TokensScreen)
        index = tokens.editor.token_at_cursor()
        assert index is not None and tokens.live.token(index).id == THE


async def test_pages_lead_from_token_to_token_and_back_while_the_list_stays() -> None:
    app = make_app()
    async with app.run_test(size=(120, 50)) as pilot:
        screen = await show(pilot)
        await type_query(pilot, f"#{THE}")
        screen.pages.go_to(256)
        screen.pages.go_to(32)
        await settle(pilot)
        assert screen.pages.shown_id == 32 and listed(screen) == [THE]
        assert "‹ back to ·t" in shown(app)
        await pilot.press("f5", "backspace")
        await settle(pilot)
        assert screen.pages.shown_id == 256
        await click_text(pilot, "‹ back to ·the")
        assert screen.pages.shown_id == THE and "‹ back" not in shown(app)


async def test_a_token_of_the_text_is_shown_in_the_vocabulary() -> None:
    app = make_app("the cat and the dog")
    async with app.run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        tokens = tokens_screen(app)
        tokens.text.editor.go_to_token(tokens.live.occurrences(THE)[1][0])
        await pilot.press("alt+w")
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, VocabularyScreen)
        await until(pilot, lambda: screen.pages.shown_id == THE)
        await settle(pilot)
        assert screen.pages.side.shown == "token" and "·the" in shown(app)


async def test_id_bytes_and_text_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[tuple[str, str]] = []
    monkeypatch.setattr(TokvizScreen, "copy", lambda self, *what: copied.append(what))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await type_query(pilot, f"#{THE}")
        await pilot.press("f4", "shift+f4", "alt+c")
        await type_query(pilot, "#260")
        await pilot.press("alt+c")
        await settle(pilot)
        assert [text for text, _ in copied] == [str(THE), "20 74 68 65", " the"]
        assert "These bytes are not text" in said(app)


# -- tokenizers


async def test_another_tokenizer_is_read_when_it_is_chosen() -> None:
    app = make_app(tok=tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        assert "50,257 tokens" in shown(app)
        closed = App[None]()
        closed.__dict__["itself"], gone = closed, weakref.ref(closed)
        gc.collect()
        del closed  # it is old by now: only a look at everything finds it
        await pilot.press("ctrl+t")
        await settle(pilot)
        for char in "cl100k":
            await pilot.press(char)
        await pilot.press("enter")
        await until(
            pilot,
            lambda: screen.searching.index is not None and len(screen.searching.index) == 100_261,
        )
        await settle(pilot)
        assert "cl100k_base" in lines(app)[0] and "100,261 tokens" in shown(app)
        assert "16 of the 100,277 ids have no token" in shown(app)
        gc.collect()
        assert gone() is None, "what was closed before is let go, whatever is read meanwhile"


@pytest.mark.parametrize("order", ["id", "uses"])
async def test_what_is_used_is_found_by_the_uses_of_another_tokenizer(order: str) -> None:
    app = make_app("the dog")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.searching.sort(order)
        if order == "id":
            await type_query(pilot, "is:used")
        other = tokviz.load("gpt2")
        app.session.use_tokenizer(other, "gpt2")
        await until(pilot, lambda: set(screen.searching.uses) == set(other.encode("the dog")))
        await settle(pilot)
        selection, index = screen.searching.selection, screen.searching.index
        assert selection is not None and index is not None and index.tokenizer is other
        found = [int(index.ids[row]) for row in selection.rows[:2]]
        assert set(found) == set(other.encode("the dog"))


async def test_check_page_tells_source_findings_and_checks() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await pilot.press("alt+e")
        await until(pilot, lambda: "Checked" in shown(app))
        assert "made in memory" in shown(app) and "✓" in shown(app)


async def test_search_help_tells_what_can_be_typed() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await pilot.press("shift+f2")
        await settle(pilot)
        assert "script:han,thai" in shown(app)


async def test_list_is_exported_with_exact_bytes(tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await type_query(pilot, "is:partial len:2")
        await pilot.press("ctrl+s")
        await settle(pilot)
        app.screen.query_one(Input).value = str(tmp_path / "cut.jsonl")
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, (tmp_path / "cut.jsonl").exists)
        await settle(pilot)
        (line,) = (tmp_path / "cut.jsonl").read_text().splitlines()
        assert json.loads(line)["bytes"] == "e4b8"
        assert "Exported 1 token to" in said(app)


async def test_tokenizer_is_saved_once_it_was_said_what_is_lost(tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await pilot.press("f12")
        await settle(pilot)
        assert "Nothing is lost" in shown(app) or "What the file will not hold" in shown(app)
        await pilot.press("enter")
        await settle(pilot)
        app.screen.query_one(Input).value = str(tmp_path / "mine.json")
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, VocabularyScreen))
        again = tokviz.load(tmp_path / "mine.json")
        assert again.encode(" the the") == small_tokenizer().encode(" the the")


# -- a path that is pasted


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "a b.json"
    small_tokenizer().save(path)
    return path


@pytest.mark.parametrize("spelled", ["plain", "quoted", "escaped"])
async def test_pasted_path_of_a_tokenizer_is_offered_and_taken_back(
    saved: Path, spelled: str
) -> None:
    text = {
        "plain": str(saved),
        "quoted": f"'{saved}'",
        "escaped": str(saved).replace(" ", "\\ "),
    }[spelled]
    app = make_app("hello", tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        tokens = tokens_screen(app)
        tokens.editor.post_message(Paste(text))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert text in tokens.live.text
        await pilot.press("enter")
        await until(pilot, lambda: tokens.live.tokenizer is not tokviz.load("gpt2"))
        await settle(pilot)
        assert tokens.live.text == "hello"
        assert tokens.live.tokenizer is not None and tokens.live.tokenizer.n_vocab == 301
        assert app.session.settings.recent_tokenizers == (str(saved),)


@pytest.mark.parametrize("behind", [Key("x", "x"), Paste("two\nlines")])
async def test_what_comes_right_behind_a_pasted_path_stays(
    saved: Path, behind: Key | Paste
) -> None:
    app = make_app("hello", tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        tokens = tokens_screen(app)
        app.post_message(Paste(str(saved)))
        app.post_message(behind)
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        typed = tokens.live.text
        await pilot.press("enter")
        await until(pilot, lambda: tokens.live.tokenizer is not tokviz.load("gpt2"))
        await settle(pilot)
        assert tokens.live.text == typed


@pytest.mark.parametrize(("behind", "left"), [((), "is:special "), (("x",), None)])
async def test_a_pasted_path_is_taken_out_of_the_search_and_nothing_else_is(
    saved: Path, behind: tuple[str, ...], left: str | None
) -> None:
    app = make_app("hello", tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.field.focus()
        screen.field.put("is:special ")
        app.post_message(Paste(str(saved)))
        for key in behind:
            app.post_message(Key(key, key))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        typed = screen.field.value
        assert typed == f"is:special {saved}" + "".join(behind)
        await pilot.press("enter")
        await until(pilot, lambda: app.session.tokenizer is not tokviz.load("gpt2"))
        await settle(pilot)
        assert screen.field.value == (typed if left is None else left)


async def test_pasted_path_stays_text_if_that_is_what_was_meant(saved: Path) -> None:
    app = make_app("")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        tokens_screen(app).editor.post_message(Paste(str(saved)))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("escape")
        await settle(pilot)
        assert tokens_screen(app).live.text == str(saved)


@pytest.mark.parametrize("text", ["hello", "/no/such/file.json", "a\nb", "/etc", "x" * 5000])
async def test_other_pastes_are_text(text: str) -> None:
    app = make_app("")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        tokens_screen(app).editor.post_message(Paste(text))
        await settle(pilot)
        assert tokens_screen(app).live.text == text
        assert isinstance(app.screen, TokensScreen)


async def test_tokenizer_that_cannot_be_loaded_is_told_and_the_old_one_stays(
    tmp_path: Path,
) -> None:
    bad = tmp_path / "bad.tiktoken"
    bad.write_text("YQ== 0\nYg== x\n")
    app = make_app("hello", tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        tokens_screen(app).choice.pick(str(bad))
        await settle(pilot)
        assert isinstance(app.screen, TokenizerPicker)
        assert "bad.tiktoken" in shown(app) and "line 2" in shown(app)
        await pilot.press("escape")
        await settle(pilot)
        assert tokens_screen(app).live.tokenizer is tokviz.load("gpt2")
        assert app.session.settings.recent_tokenizers == ()


# -- the screen


async def test_filters_that_a_narrow_terminal_has_no_room_for_are_behind_a_mark() -> None:
    app = make_app()
    async with app.run_test(size=(40, 12)) as pilot:
        screen = await show(pilot)
        row = screen.filtering.bar.render_line(0).text
        assert row.split("  ")[:2] == ["○ special", "○ partial"] and row.rstrip().endswith("…")
        await pilot.click(screen.filtering.bar, offset=(row.index("…") + 3, 0))
        await settle(pilot)
        assert "What to type" in shown(app)


@pytest.mark.parametrize("how", ["click", "type"])
async def test_the_search_field_brings_the_list_back_where_a_page_takes_its_room(how: str) -> None:
    app = make_app()
    async with app.run_test(size=(40, 12)) as pilot:
        screen = await show(pilot)
        await pilot.click(screen.table, offset=(5, 1))
        await settle(pilot)
        assert not screen.table.is_on_screen
        await (pilot.click(screen.field) if how == "click" else pilot.press("t"))
        await settle(pilot)
        assert screen.table.is_on_screen


async def test_a_token_on_a_page_is_a_link_and_not_only_its_id() -> None:
    app = make_app()
    async with app.run_test(size=(120, 50)) as pilot:
        screen = await show(pilot)
        screen.pages.go_to(THE)
        await settle(pilot)
        y, line = next((y, line) for y, line in enumerate(lines(app)) if "└─ he" in line)
        await pilot.click(offset=(line.index("└─ he") + 3, y))
        await settle(pilot)
        assert screen.pages.shown_id == 258


async def test_a_search_that_finds_nothing_draws_no_empty_bars() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await show(pilot)
        await type_query(pilot, "zzzz")
        assert "No token matches." in shown(app)
        assert "Length in bytes" not in shown(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (40, 12), (20, 6)])
async def test_the_screen_fits_every_terminal(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await show(pilot)
        await type_query(pilot, "^th")
        assert listed(screen) == [257]
        for key in ("f2", "f2", "f2", "f2"):
            await pilot.press(key)
            await settle(pilot)
        assert all(len(line) <= size[0] for line in lines(app) if line.isascii())


async def test_help_shows_what_can_be_done_on_the_screen() -> None:
    app = make_app()
    async with app.run_test(size=(120, 50)) as pilot:
        await show(pilot)
        await pilot.press("f1")
        await settle(pilot)
        assert "Show the token's page" in shown(app)


def test_nothing_of_the_screen_is_imported_before_it_is_shown() -> None:
    names = imported_for_the_first_frame()
    assert "tokviz.tui.screens.tokens.screen" in names
    assert not {name for name in names if "vocabulary" in name}
    assert "numpy" not in names


async def test_home_and_end_go_through_the_field_then_to_the_ends_of_the_list() -> None:
    app = make_app("", tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await pilot.press("end")
        assert screen.table.highlighted == 50_256
        await pilot.press("home")
        assert screen.table.highlighted == 0
        await pilot.press(*"ab")
        await settle(pilot)
        await pilot.press("home")
        assert screen.field.cursor_position == 0
        await pilot.press("end")
        assert screen.field.cursor_position == 2 and screen.table.highlighted == 0
        await pilot.press("end")
        assert screen.table.highlighted == screen.searching.n_found - 1


@pytest.mark.parametrize("by_mouse", [False, True])
async def test_what_can_be_searched_for_is_one_key_or_click_away(by_mouse: bool) -> None:
    app = make_app("", tokviz.load("gpt2"))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await show(pilot)
        await (pilot.click("#how", offset=(2, 0)) if by_mouse else pilot.press("ctrl+l", "q"))
        await settle(pilot)
        assert screen.pages.side.shown == "syntax"
        assert "What to type" in shown(app)
        lines = shown(app).splitlines()
        y = next(y for y, line in enumerate(lines) if '" the"' in line)
        await pilot.click(offset=(lines[y].index('" the"') + 1, y))
        await settle(pilot)
        assert screen.field.value == '" the"'


async def test_a_space_that_is_typed_or_pasted_first_is_searched_for() -> None:
    app = make_app("", tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await pilot.press("t", "h", "e")
        await settle(pilot)
        without = screen.searching.n_found
        screen.field.put("")
        screen.field.post_message(Paste(" the"))
        await settle(pilot)
        assert screen.field.value == " the"
        assert 0 < screen.searching.n_found < without


async def test_the_page_of_a_token_says_which_files_paid_for_it(tmp_path) -> None:
    for name, text in {"a": "the then", "b": "the"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    tokviz.train(sorted(tmp_path.glob("*.txt")), 259).save(tmp_path / "run")
    app = make_app("the", tokviz.load(tmp_path / "run"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.pages.find(257)
        await until(pilot, lambda: "It comes from a.txt (2, 67%)" in shown(app))
        screen.pages.find(32)
        await settle(pilot)
        assert "It comes from" not in shown(app)


@pytest.mark.parametrize("key", ["f4", "shift+f4", "alt+c", "f3"])
async def test_a_key_before_another_tokenizer_is_taken_up_is_not_about_the_old_one(
    key: str, copied: list[str]
) -> None:
    app = make_app("hello", tokviz.load("cl100k_base"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.pages.find(58_040)
        await settle(pilot)
        assert screen.pages.shown_id == 58_040
        app.switch_mode("tokens")
        await settle(pilot)
        app.session.use_tokenizer(tokviz.load("gpt2"), "gpt2")
        assert screen.pages.shown_id is None
        is_free = asyncio.Event()
        screen.call_later(is_free.wait)  # it is busy, and hears late that it is seen again
        app.post_message(events.Key("alt+v", None))
        app.post_message(events.Key(key, None))
        asyncio.get_running_loop().call_later(1.0, is_free.set)
        await until(pilot, lambda: is_free.is_set() and screen.searching.index is not None)
        await settle(pilot)
        assert app.screen is screen
        assert copied == []
