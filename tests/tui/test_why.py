"""“Why?” by one key and one click, on every screen that shows tokens."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style
from textual.pilot import Pilot
from textual.widgets import Static
from textual.widgets.text_area import Selection

import tokviz
from tests.tui.waiting import settle, until
from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import Message
from tokviz.errors import JobError
from tokviz.explain.algorithms.story import Story, StoryRow
from tokviz.explain.character import Inspected, inspect
from tokviz.explain.explanation import Why
from tokviz.explain.places import Place
from tokviz.explain.pre_token_cuts import PreTokenCut
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs import character
from tokviz.tui.dialogs.character import CharacterDialog
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.dialogs.why import WhyDialog, why_rows
from tokviz.tui.palette import N_HUES, palette_of, token_palette
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.compare import CompareScreen
from tokviz.tui.screens.replay import ReplayScreen
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.vocabulary import VocabularyScreen
from tokviz.tui.widgets.editor import TokenEditor
from tokviz.tui.widgets.editor.row_painter import UNSTABLE, LookStyles
from tokviz.workspace.session import (
    Opened,
    ReplayRequest,
    Request,
    Session,
    ShowConversation,
    ShowScreen,
)
from tokviz.workspace.settings import Settings

TEXT = "it's unbelievable, 12345  times"
CONVERSATION = Conversation((Message("user", "unbelievable"), Message("assistant", "Yes, it is.")))
REQUESTS: dict[str, Request] = {
    "tokens": ShowScreen("tokens"),
    "chat": ShowConversation(CONVERSATION),
    "replay": ReplayRequest("gpt2", at=300),
    "compare": ShowScreen("compare"),
    "vocabulary": ShowScreen("vocabulary"),
}


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def make_app(screen: str = "tokens", text: str = TEXT, **settings: object) -> TokvizApp:
    chosen = Settings()._replace(tokenizer="gpt2", **settings)
    session = Session(
        Opened(text), tokviz.load("gpt2"), chosen, remember=False, first=REQUESTS[screen]
    )
    return TokvizApp(session)


async def begun(pilot: Pilot[None]) -> TokvizScreen:
    await settle(pilot)
    screen = pilot.app.screen
    if isinstance(screen, ChatScreen):
        await until(pilot, lambda: screen.rendered.rendering and screen.views.pin is not None)
    if isinstance(screen, ReplayScreen):
        await until(pilot, lambda: screen.state.frame is not None)
    if isinstance(screen, VocabularyScreen):
        await until(pilot, lambda: screen.pages.shown_id is not None)
    await settle(pilot)
    assert isinstance(screen, TokvizScreen)
    return screen


async def answered(pilot: Pilot[None], n_answers: int = 1) -> WhyDialog:
    """Wait for the dialog and what it says."""
    await until(pilot, lambda: isinstance(pilot.app.screen, WhyDialog))
    dialog = pilot.app.screen
    assert isinstance(dialog, WhyDialog)
    await until(pilot, lambda: len(dialog.answers) == n_answers)
    await settle(pilot)
    return dialog


def words(dialog: WhyDialog) -> str:
    return "\n".join("".join(span.text for span in row) for row in dialog.view.rows)


@pytest.mark.parametrize(
    ("keys", "inspecting"),
    [(("shift+f1",), ("shift+f7",)), (("ctrl+l", "w"), ("ctrl+l", "i"))],
    ids=["f-key", "chord"],
)
@pytest.mark.parametrize("screen", list(REQUESTS))
async def test_one_key_asks_why_and_one_what_the_character_is_on_every_screen_also_in_a_field(
    screen: str, keys: tuple[str, ...], inspecting: tuple[str, ...]
) -> None:
    app = make_app(screen)
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        await pilot.press(*keys)
        dialog = await answered(pilot)
        assert dialog.answers[0].tokens
        assert "gpt2" in words(dialog)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, TokvizScreen)
        await pilot.press(*inspecting)
        found = await inspected(pilot)
        token = b"".join(token for token, _ in dialog.answers[0].tokens)
        assert token.startswith(found.forms[0].data)


async def inspected(pilot: Pilot[None]) -> Inspected:
    """Wait for the dialog that tells what a character is."""
    await until(pilot, lambda: isinstance(pilot.app.screen, CharacterDialog))
    dialog = pilot.app.screen
    assert isinstance(dialog, CharacterDialog)
    await until(pilot, lambda: dialog.found is not None)
    await settle(pilot)
    assert dialog.found is not None
    return dialog.found


async def test_a_right_click_and_a_key_lead_to_the_character_under_the_mouse_and_to_the_next() -> (
    None
):
    app = make_app(text="ab \u200bп\u0430y")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, TokensScreen)
        await pilot.click(screen.editor, offset=(2, 1), button=3)
        await answered(pilot)
        line = [strip.text for strip in app.screen._compositor.render_strips()]
        row = next(row for row, words in enumerate(line) if "I characters" in words)
        await pilot.click(offset=(line[row].index("I characters"), row))
        assert (await inspected(pilot)).text == "b"
        for char in (" ", "\u200b", "п", "\u0430", "y", "y"):
            await pilot.press("right")
            await settle(pilot)
            assert (await inspected(pilot)).text == char
        await pilot.press("left")
        await settle(pilot)
        words = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "U+0430 looks like “a”" in words
        assert "CYRILLIC SMALL LETTER A" in words


@pytest.mark.parametrize("screen", list(REQUESTS))
@pytest.mark.parametrize("size", [(120, 40), (200, 50)], ids=str)
async def test_the_footer_offers_it_and_a_click_there_asks(
    screen: str, size: tuple[int, int]
) -> None:
    app = make_app(screen)
    async with app.run_test(size=size) as pilot:
        shown = await begun(pilot)
        line = shown.keys.render_line(0).text
        assert "why?" in line, line
        await pilot.click(shown.keys, offset=(line.index("why?") + 1, 0))
        await answered(pilot)


async def right_click_in_text(pilot: Pilot[None]) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, TokensScreen)
    await pilot.click(screen.editor, offset=(6, 0), button=3)


async def right_click_on_id(pilot: Pilot[None]) -> None:
    await pilot.click("IdGrid", offset=(8, 0), button=3)


async def right_click_on_pre_token(pilot: Pilot[None]) -> None:
    await pilot.press("alt+s")
    await settle(pilot)
    await pilot.click("GlossView", offset=(14, 0), button=3)


async def right_click_on_mask(pilot: Pilot[None]) -> None:
    await pilot.press("alt+m")
    await until(pilot, lambda: pilot.app.query("MaskFlow"))
    await until(pilot, lambda: pilot.app.screen.query_one("MaskFlow").n_tokens)  # type: ignore[attr-defined]
    await settle(pilot)
    await pilot.click("MaskFlow", offset=(3, 0), button=3)


@pytest.mark.parametrize(
    "click",
    [right_click_in_text, right_click_on_id, right_click_on_pre_token, right_click_on_mask],
    ids=["text", "ids", "splits", "mask"],
)
async def test_a_right_click_asks_about_the_token_under_it(
    click: Callable[[Pilot[None]], Awaitable[None]],
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        await click(pilot)
        dialog = await answered(pilot)
        assert dialog.answers[0].n_tokens >= 1


async def test_a_right_click_in_a_selection_asks_about_it_and_leaves_it() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, TokensScreen)
        screen.editor.selection = Selection((0, 2), (0, 17))
        await pilot.click(screen.editor, offset=(8, 0), button=3)
        dialog = await answered(pilot)
        assert [cut.pre_token for cut in dialog.answers[0].cuts] == [b"'s", b" unbelievable"]
        assert screen.editor.selection == Selection((0, 2), (0, 17))


async def test_a_right_click_on_a_token_of_a_conversation_and_of_the_vocabulary_asks() -> None:
    app = make_app("chat")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, ChatScreen)
        await pilot.click(screen.views.current, offset=(20, 1), button=3)
        await answered(pilot)
    app = make_app("vocabulary")
    async with app.run_test(size=(120, 40)) as pilot:
        vocabulary = await begun(pilot)
        assert isinstance(vocabulary, VocabularyScreen)
        await pilot.click(vocabulary.table, offset=(4, 5), button=3)
        dialog = await answered(pilot)
        assert dialog.answers[0].tokens[0][1] == vocabulary.pages.shown_id


async def test_a_right_click_asks_the_tokenizer_in_whose_row_the_token_is() -> None:
    app = make_app("compare", compared=("cl100k_base",))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, CompareScreen)
        await until(pilot, lambda: len(screen.state.rows()) == 2)
        await settle(pilot)
        for row, token in enumerate((b" 123", b"123")):
            await pilot.click(screen.gloss, offset=(36, row), button=3)
            dialog = await answered(pilot)
            assert [one for one, _ in dialog.answers[0].tokens] == [token]
            await pilot.press("escape")
            await settle(pilot)
        await pilot.press("n", "shift+f1")
        assert "gpt2" in words(await answered(pilot)).splitlines()[0], "the first row's again"


async def test_the_text_of_the_replay_is_asked_about_by_a_right_click_and_while_it_is_edited() -> (
    None
):
    app = make_app("replay")
    async with app.run_test(size=(140, 48)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, ReplayScreen)
        await until(pilot, lambda: screen.own.tokens._tokens is not None)
        await pilot.click(screen.own.tokens, offset=(8, 0), button=3)
        dialog = await answered(pilot)
        assert (b" unbelievable", 24479) in dialog.answers[0].tokens
        await pilot.press("escape", "f5")
        await settle(pilot)
        await pilot.press("shift+f1")
        dialog = await answered(pilot)
        assert dialog.answers[0].tokens[0][0] == b"it"


async def test_it_says_what_cut_the_pre_token_the_merges_and_where_the_token_is_from() -> None:
    app = make_app()
    async with app.run_test(size=(120, 48)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, TokensScreen)
        screen.editor.move_cursor((0, 19))
        await pilot.press("shift+f1")
        dialog = await answered(pilot)
        said = words(dialog)
        for part in ("What cut it", "How it is encoded", "not one token", "Made by merging"):
            assert part in said, (part, said)
        assert "is missing" in said
        assert "Alternative 9 of 12 of the pattern gpt2 matches it" in said
        marked = [span.text for row in dialog.view.rows for span in row if span.role == "left"]
        assert marked == [r" ?\p{N}+"]


async def test_a_key_changes_the_theme_within_a_dialog_and_its_tokens_with_it() -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await begun(pilot)
        await pilot.press("shift+f1")
        dialog = await answered(pilot)
        before = palette_of(app)
        await pilot.press("f10")
        await settle(pilot)
        assert app.screen is dialog
        assert dialog.view._palette == palette_of(app) != before
        editor = app.screen_stack[0].query_one(TokenEditor)
        assert editor._painter._palette == palette_of(app)


async def test_a_second_tokenizer_stands_beside_and_is_remembered() -> None:
    app = make_app(second_tokenizer="cl100k_base")
    async with app.run_test(size=(160, 48)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, TokensScreen)
        screen.editor.move_cursor((0, 20))
        await pilot.press("shift+f1")
        dialog = await answered(pilot, 2)
        first = "".join(span.text for span in dialog.view.rows[0])
        assert "gpt2" in first and "cl100k_base" in first
        await pilot.press("x")
        await settle(pilot)
        assert len(dialog.answers) == 1
        assert app.session.settings.second_tokenizer == ""
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, TokenizerPicker))
        await settle(pilot)
        await pilot.press(*"o200k")
        await settle(pilot)
        await pilot.press("enter")
        await answered(pilot, 2)
        assert dialog.answers[1].tokenizer == "o200k_base"
        assert app.session.settings.second_tokenizer == "o200k_base"


async def test_a_tokenizer_of_a_file_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    tokviz.load("gpt2").save(path)
    app = make_app(second_tokenizer=str(path))
    async with app.run_test(size=(160, 48)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, TokensScreen)
        await pilot.press("shift+f1")
        dialog = await answered(pilot, 2)
        first = "".join(span.text for span in dialog.view.rows[0])
        assert "mine.json" in first and "gpt2" in first
        assert str(tmp_path) not in first


async def test_characters_are_stepped_through_though_they_are_looked_up_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()
    go_on.set()

    def inspect_late(*asked: Any) -> Inspected:
        go_on.wait(30)
        return inspect(*asked)

    monkeypatch.setattr(character, "inspect", inspect_late)
    app = make_app()
    async with app.run_test() as pilot:
        dialog = CharacterDialog(app.session.tokenizer, Place("abcdef", 0, 1), lambda *_: None)
        app.push_screen(dialog)
        await until(pilot, lambda: dialog.found)
        go_on.clear()
        await pilot.press("right", "right", "right", "left")
        go_on.set()
        await settle(pilot)
        assert dialog.found is not None
        assert dialog.found.start == 2


async def test_what_went_wrong_with_a_character_is_not_said_of_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail_at_b(text: str, at: int, tokenizer: tokviz.Tokenizer) -> Inspected:
        if text[at] == "b":
            raise JobError("the child died")
        return inspect(text, at, tokenizer)

    monkeypatch.setattr(character, "inspect", fail_at_b)
    app = make_app()
    async with app.run_test() as pilot:
        dialog = CharacterDialog(app.session.tokenizer, Place("abc", 0, 1), lambda *_: None)
        app.push_screen(dialog)
        await until(pilot, lambda: dialog.found)
        await pilot.press("right")
        await settle(pilot)
        error = dialog.query_one(".error", Static)
        assert error.display
        await pilot.press("left")
        await settle(pilot)
        assert dialog.found is not None
        assert dialog.found.start == 0
        assert not error.display


async def test_a_second_tokenizer_that_nobody_wants_any_more_does_not_come_late() -> None:
    app = make_app()
    async with app.run_test(size=(160, 48)) as pilot:
        await begun(pilot)
        await pilot.press("shift+f1")
        dialog = await answered(pilot)
        asked, go_on = threading.Event(), threading.Event()

        def load(source: str) -> tokviz.Tokenizer:
            asked.set()
            go_on.wait(30)
            return tokviz.load(source)

        dialog._load = load
        dialog._take_second("cl100k_base")
        await until(pilot, asked.is_set)
        await pilot.press("x")
        go_on.set()
        await settle(pilot)
        assert len(dialog.answers) == 1 and not dialog.has_class("-two")


async def test_a_second_tokenizer_that_is_gone_is_named_and_the_answer_stands() -> None:
    app = make_app(second_tokenizer="/nowhere/tokenizer.json")
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        await pilot.press("shift+f1")
        dialog = await answered(pilot)
        await until(pilot, lambda: dialog.query_one(".error").display)
        assert "cannot be loaded" in str(dialog.query_one(".error").render())
        assert len(dialog.answers) == 1


async def test_the_answer_is_copied_as_text(copied: list[str]) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(pilot)
        await pilot.press("shift+f1")
        await answered(pilot)
        await pilot.press("c")
        await until(pilot, lambda: copied)
        assert "Alternative" in copied[0]


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (24, 9)], ids=str)
async def test_it_fits_small_terminals_and_scrolls(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await begun(pilot)
        await pilot.press("shift+f1")
        dialog = await answered(pilot)
        assert all(
            sum(map(len, (span.text for span in row))) <= dialog.view.row_width
            for row in dialog.view.rows
        )
        await pilot.press("end")
        await settle(pilot)
        assert dialog.view.scroll_y == dialog.view.max_scroll_y
        await pilot.press("home")
        assert dialog.view.scroll_y == 0


async def test_an_empty_text_gets_a_sentence() -> None:
    app = make_app(text="")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot)
        await pilot.press("shift+f1")
        await settle(pilot)
        assert isinstance(app.screen, TokensScreen)
        assert any("no token here" in toast.message for toast in app._notifications)


async def marked_end(pilot: Pilot[None]) -> str:
    """Wait until the end of the text has been looked at, and give what is marked."""
    screen = pilot.app.screen
    assert isinstance(screen, TokensScreen)
    await until(pilot, lambda: screen.editor.unstable != (0, 0))
    first, last = screen.editor.unstable
    assert last == screen.live.n_chars
    return screen.live.text_in(first, last)


async def test_the_tokens_at_the_end_that_may_change_are_marked_after_a_moment() -> None:
    app = make_app(text="once upon a")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, TokensScreen)
        assert await marked_end(pilot) == " a"
        screen.editor.move_cursor((0, 11))
        await pilot.press("space")
        assert screen.editor.unstable == (0, 0)
        assert await marked_end(pilot) == " "
        cells = list(screen.editor.render_line(0))
        marked = [cell.text for cell in cells if cell.style and cell.style.underline]
        assert "".join(marked).strip() == "·"


@pytest.mark.parametrize("no_color", [False, True], ids=["colour", "no colour"])
def test_the_mark_shows_on_every_token_also_without_colour(no_color: bool) -> None:
    styles = LookStyles(token_palette("tokviz-dark", "truecolor", no_color), Style.null())
    for hue in range(N_HUES):
        assert styles.style_of(hue | UNSTABLE) != styles.style_of(hue)


async def test_a_text_that_ends_in_a_space_says_which_words_cannot_come() -> None:
    app = make_app(text="once upon a ")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        assert isinstance(screen, TokensScreen)
        screen.editor.move_cursor((0, 12))
        await pilot.press("shift+f1")
        said = " ".join(words(await answered(pilot)).split())
        assert "At the end of the text" in said
        assert "33,134 longer tokens start with" in said
        assert "the” (262)" in said
        assert "Token healing" in said


async def test_a_click_beside_and_the_same_key_close_it() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot)
        for close in (lambda: pilot.press("shift+f1"), lambda: pilot.click(offset=(1, 1))):
            await pilot.press("shift+f1")
            await answered(pilot)
            await close()
            await until(pilot, lambda: app.screen is screen)


def test_a_pre_token_of_which_nothing_is_known_has_no_heading() -> None:
    found = Why("bert", "BertPreTokenizer", "", cuts=(PreTokenCut(b"the", None, (), None),))
    assert "What cut it" not in [span.text for row in why_rows([found], 80) for span in row]


PATHS = tuple(StoryRow(f"-{n}.50", (b"un", b"it" * n)) for n in range(1, 6))
UNIGRAM = Story(b"unit", ((b"un", 1), (b"it", 2)), PATHS, (("The runner-up is lower.",),), n_rows=2)


async def test_n_shows_more_paths_of_a_unigram_model(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = PreTokenCut(b"unit", None, (("unit", " is read."),), None, UNIGRAM)
    answer = Why("unigram", "Metaspace", "", cuts=(cut,), n_pre_tokens=1)
    monkeypatch.setattr("tokviz.tui.dialogs.why.explain", lambda *args, **options: answer)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot)
        await pilot.press("shift+f1")
        dialog = await answered(pilot)
        for shown, hint in ((2, "more paths"), (5, "fewer paths"), (2, "more paths")):
            text = ["".join(span.text for span in row) for row in dialog.view.rows]
            assert "What the model reads" in text and "Most probable paths" in text
            assert sum(row.startswith("-") for row in text) == shown
            assert hint in app.export_screenshot().replace("&#160;", " ")
            await pilot.press("n")
            await settle(pilot)
