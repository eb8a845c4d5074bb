from __future__ import annotations

from functools import partial

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import ContentSwitcher, Static

import tokviz
from tests.tui.waiting import until
from tokviz.live.document import LiveDocument
from tokviz.live.pre_tokens import step_ends
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tui.palette import token_palette
from tokviz.tui.widgets.splits.heads import PatternHead
from tokviz.tui.widgets.splits.panel import SplitsPanel
from tokviz.tui.widgets.splits.regex_field import DEFAULT_REGEX, RegexField, RegexInput
from tokviz.tui.widgets.splits.view import GlossView, PreTokenClicked

TEXT = "It costs 123456 dollars.\nDON'T worry\n"


class Host(App[None]):
    """An app with the panel and another tab that hides it."""

    def __init__(self, text: str = TEXT, initial: str = "splits") -> None:
        super().__init__()
        self.live = LiveDocument(text)
        palette = token_palette("tokviz-dark", "truecolor", False)
        self.panel = SplitsPanel(self.live, palette)
        self.panel.id = "splits"
        self.clicked: list[tuple[int, int]] = []
        self._initial = initial

    def compose(self) -> ComposeResult:
        with ContentSwitcher(initial=self._initial):
            yield self.panel
            yield Static("other", id="other")

    def on_pre_token_clicked(self, message: PreTokenClicked) -> None:
        self.clicked.append((message.offset, message.end))

    def edit(self, offset: int, n_removed: int, inserted: str) -> None:
        self.live.edit(offset, n_removed, inserted)
        self.panel.sync()

    @property
    def notes(self) -> list[str]:
        return [head.note for head in self.query(PatternHead)]

    @property
    def message(self) -> str:
        return self.query_one(RegexField).message

    def drawn(self) -> str:
        view = self.query_one(GlossView)
        return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))


async def test_counts_of_all_three_appear() -> None:
    app = Host()
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.notes == ["11 pre-tokens", "11 pre-tokens", "15 pre-tokens"])
        assert app.message == "✓ no gaps"


@pytest.mark.parametrize(
    "columns, shown",
    [(38, "pre-tokens: 2 · 4 · 3"), (80, "pre-tokens: GPT-2 2 · GPT-4 4 · custom 3")],
)
async def test_a_panel_of_few_lines_has_the_verdict_and_all_counts_in_one_line(
    columns: int, shown: str
) -> None:
    app = Host("a 123456")
    async with app.run_test(size=(columns, 7)) as pilot:
        await until(pilot, lambda: str(app.query_one(".counts", Static).content) == shown)
        await pilot.pause()
        verdict, counts = app.query_one(".verdict").region, app.query_one(".counts").region
        assert (verdict.height, counts.height) == (1, 1)
        assert verdict.width == len("✓ no gaps") and verdict.right == counts.x
        assert counts.width > len(shown) and counts.right == columns


async def test_the_rows_show_where_the_patterns_cut() -> None:
    app = Host("a 123456")
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: "custom ▏a" in app.drawn())
        assert app.drawn().splitlines()[:4] == [
            "GPT-2  ▏a▏·‿123‿456",
            "GPT-4  ▏a▏·▌123▌456",
            "custom ▏a▏·▌123‿456",
            "           ▲   ▲",
        ]


async def test_an_edit_is_seen_at_once_in_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Host("one two")
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.notes == ["2 pre-tokens", "2 pre-tokens", "3 pre-tokens"])
        layouts: list[object] = []
        monkeypatch.setattr(app.screen, "_refresh_layout", lambda *_: layouts.append(_))
        app.edit(7, 0, "s three")
        lines = app.drawn().splitlines()
        assert lines[0] == "GPT-2  ▏one▏·‿twos▏·three"
        assert lines[2] == "custom ▏one▏·▌twos ·three"
        await until(pilot, lambda: app.notes == ["3 pre-tokens", "3 pre-tokens", "5 pre-tokens"])
        assert app.drawn().splitlines()[2] == "custom ▏one▏·▌twos▏·▌three"
        assert layouts == [], "nothing is laid out again for a key"


async def test_a_new_regex_is_tried_while_it_is_typed() -> None:
    app = Host("ab 12")
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.message == "✓ no gaps")
        app.query_one(RegexInput).value = r"\d+"
        await until(pilot, lambda: app.message == "⚠ 1 gap")
        assert "×ab" in app.drawn()


async def test_a_regex_that_is_left_and_come_back_to_at_once_has_its_own_verdict() -> None:
    app = Host("ab 12")
    async with app.run_test(size=(50, 30)) as pilot:
        field = app.query_one(RegexInput)
        field.value = "("
        await until(pilot, lambda: app.message.startswith("✗ missing )"))
        for regex in (r"\d+", r"\d+|", r"\d+"):
            field.value = regex
        await until(pilot, lambda: app.message == "⚠ 1 gap")

        def underlined() -> bool:
            return any(s.style is not None and s.style.underline for s in field.render_line(0))

        field.value = "("
        await until(pilot, lambda: app.message.startswith("✗ missing )"))
        assert underlined()
        field.value = "(("
        field.value = "("
        await until(pilot, lambda: not underlined())
        await until(pilot, underlined)


async def test_a_wrong_regex_keeps_the_old_pre_tokens_and_edits_go_on() -> None:
    app = Host("ab 12")
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.notes[2] == "3 pre-tokens")
        app.query_one(RegexInput).value = "("
        await until(pilot, lambda: app.message.startswith("✗ missing )"))
        assert r"still showing /\w+|\s+" in app.message
        assert app.notes[2] == "3 pre-tokens"
        app.edit(5, 0, " cd")
        await until(pilot, lambda: app.notes[2] == "5 pre-tokens")
        assert app.message.startswith("✗ missing )")
        app.query_one(RegexInput).value = DEFAULT_REGEX
        await until(pilot, lambda: app.message == "✓ no gaps")


async def test_an_exploding_regex_is_given_up() -> None:
    app = Host("a" * 60 + "b")
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.message == "✓ no gaps")
        app.query_one(RegexInput).value = r"(a|aa)+$"
        await until(pilot, lambda: "takes longer than 0.7 s for one pre-token" in app.message)
        assert r"still showing /\w+|\s+" in app.message
        assert app.notes[2] == "1 pre-token"
        assert "▏" + "a" * 10 in app.drawn().splitlines()[2]


async def test_a_regex_that_takes_too_long_to_compile_keeps_the_old_pre_tokens() -> None:
    app = Host("ab 12")
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.notes[2] == "3 pre-tokens")
        app.query_one(RegexInput).value = "(?:(?:a{300}){300}){300}"
        await until(pilot, lambda: app.message.startswith("✗"))
        assert r"still showing /\w+|\s+" in app.message
        assert app.notes[2] == "3 pre-tokens"


async def test_clicking_a_pre_token_tells_where_it_is() -> None:
    app = Host("ab 12345")
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.message == "✓ no gaps")
        assert await pilot.click(GlossView, offset=(len("custom ▏ab▏"), 0))
        await until(pilot, lambda: app.clicked == [(2, 8)])


async def test_a_hidden_panel_does_nothing_and_catches_up() -> None:
    app = Host("one", initial="other")
    async with app.run_test(size=(50, 30)) as pilot:
        app.edit(3, 0, " two")
        await pilot.pause()
        assert app.notes == ["", "", ""]
        app.query_one(ContentSwitcher).current = "splits"
        await until(pilot, lambda: app.notes == ["2 pre-tokens", "2 pre-tokens", "3 pre-tokens"])


async def test_another_named_pattern_is_chosen_by_key_and_by_mouse() -> None:
    app = Host()
    async with app.run_test(size=(50, 30)) as pilot:
        head = app.query(PatternHead)[1]
        head.focus()
        await pilot.press("right")
        assert app.panel.patterns == ("gpt2", "gpt4o")
        assert await pilot.click(head, offset=(0, 0))
        await until(pilot, lambda: app.panel.patterns == ("gpt2", "gpt4"))


async def test_a_named_regex_can_be_taken_for_a_start() -> None:
    app = Host("12345")
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.notes[2] == "1 pre-token")
        app.query(PatternHead)[2].focus()
        await pilot.press("right", "right")
        await until(pilot, lambda: app.notes[2] == "2 pre-tokens")
        assert r"\p{N}{1,3}" in app.panel.regex


async def test_up_and_down_walk_through_earlier_regexes() -> None:
    app = Host()
    async with app.run_test(size=(50, 30)) as pilot:
        field = app.query_one(RegexInput)
        field.focus()
        first = field.value
        await pilot.press("up")
        assert field.value != first
        await pilot.press("down")
        assert field.value == first


async def test_show_brings_a_character_into_view() -> None:
    app = Host("".join(f"line{n} here\n" for n in range(5000)))
    async with app.run_test(size=(50, 30)) as pilot:
        await pilot.pause()
        app.panel.show(app.live.line_start(3210))
        await pilot.pause()
        assert "line" in app.drawn() and "3210" in app.drawn().replace("‿", "").replace("▌", "")


async def test_the_view_stays_with_its_text_when_something_is_inserted_before() -> None:
    app = Host("".join(f"line{n} here\n" for n in range(300)))
    async with app.run_test(size=(50, 30)) as pilot:
        await until(pilot, lambda: app.notes[2] == "1,200 pre-tokens")
        app.panel.show(app.live.line_start(200))
        before = app.drawn()
        app.edit(0, 0, "new\nlines\n")
        assert app.drawn() == before


@pytest.mark.parametrize("size", [(30, 24), (36, 9), (100, 60), (30, 4)])
async def test_any_size_can_be_drawn(size: tuple[int, int]) -> None:
    app = Host("你好 a\u200bb \x1b[0m " * 40 + "\n" * 3)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.message == "✓ no gaps")
        view = app.query_one(GlossView)
        for y in range(view.size.height):
            assert view.render_line(y).cell_length == view.size.width


async def test_a_very_long_line_of_one_pre_token_is_split_in_a_thread() -> None:
    app = Host("a" * 100_000 + " b")
    async with app.run_test(size=(50, 30)) as pilot:
        app.panel.show(50_000)
        await until(pilot, lambda: app.notes == ["2 pre-tokens", "2 pre-tokens", "3 pre-tokens"])
        await pilot.click(GlossView, offset=(20, 1))
        await until(pilot, lambda: app.clicked == [(0, 100_000)])


async def test_marked_tokens_are_scrolled_to() -> None:
    app = Host("".join(f"line{n} here\n" for n in range(300)))
    app.live.set_tokenizer(tokviz.load("gpt2"))
    app.live.ensure(0, app.live.n_chars)
    async with app.run_test(size=(50, 30)) as pilot:
        await pilot.pause()
        app.panel.set_marks(None, app.live.n_tokens - 2, scroll=True)
        assert "299" in app.drawn().replace("‿", "").replace("▌", "")


async def test_what_is_pasted_as_a_regex_is_a_clean_line() -> None:
    app = Host()
    async with app.run_test() as pilot:
        field = app.query_one(RegexInput)
        field.value = ""
        field.post_message(events.Paste(" ?\udc9b\\p{L}\x1b[2J+\u202e\nmore"))
        await until(pilot, lambda: field.value)
        assert field.value == " ?\\p{L}[2J+"


async def test_every_long_pre_token_that_is_scrolled_to_is_found() -> None:
    between = "\nsome words here" * 1_000
    app = Host("a" * 100_000 + between + "\n" + "b" * 100_000)
    app.live.set_tokenizer(tokviz.load("gpt2"))
    last = 100_000 + len(between) + 1
    async with app.run_test(size=(50, 30)) as pilot:
        row = app.panel._named[0]
        await until(pilot, lambda: row.counter.complete)
        for place, pre_token in (
            (50_000, (0, 100_000)),
            (last + 50_000, (last, last + 100_000)),
        ) * 2:
            app.panel.show(place)
            await until(pilot, partial(row.pre_tokens_in, place, place + 1))
            await pilot.click(GlossView, offset=(20, 1))
            assert app.clicked[-1] == pre_token


async def test_each_step_of_the_tokenizer_has_a_row() -> None:
    app = Host("It costs 123456 円です dollars")
    gpt2 = tokviz.load("gpt2")
    deepseek = gpt2.with_parts(SPLIT_PATTERNS["deepseek3"], gpt2.specials)
    app.live.set_tokenizer(deepseek)
    async with app.run_test(size=(80, 40)) as pilot:
        await until(pilot, lambda: "step 3" in app.drawn())
        app.edit(0, 2, "They 7")
        await until(pilot, lambda: "step 3" in app.drawn())
        assert [ends.tolist() for ends in step_ends(deepseek, "a 1234 円 b")] == [
            [2, 5, 6, 10],
            [2, 5, 6, 7, 8, 10],
            [1, 2, 5, 6, 7, 8, 10],
        ]
        app.live.set_tokenizer(gpt2)
        app.panel.sync()
        await until(pilot, lambda: "step 1" not in app.drawn())
