from __future__ import annotations

from textual.app import App, ComposeResult

from tokviz.tui.widgets.field import Choice, Choices, PushButton, place_choices


class ChoicesApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str] = []
        self.pressed = 0

    def compose(self) -> ComposeResult:
        yield Choices([Choice(name, name.upper()) for name in ("one", "two", "three")], "one")
        yield PushButton("go", "app.go")

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        self.chosen.append(event.value)

    def action_go(self) -> None:
        self.pressed += 1


def test_words_that_do_not_fit_go_to_the_next_row() -> None:
    placed = place_choices(["aa", "bb", "cc"], 10)
    assert [(place.row, place.start, place.stop) for place in placed] == [
        (0, 0, 4),
        (0, 6, 10),
        (1, 0, 4),
    ]


async def test_arrow_keys_choose_and_stop_at_the_ends() -> None:
    app = ChoicesApp()
    async with app.run_test() as pilot:
        app.query_one(Choices).focus()
        await pilot.press("left", "right", "right", "right", "home")
        assert app.chosen == ["two", "three", "one"]


async def test_a_click_chooses_the_word_under_the_mouse() -> None:
    app = ChoicesApp()
    async with app.run_test() as pilot:
        await pilot.click(Choices, offset=(9, 0))
        await pilot.click(Choices, offset=(5, 0))
        assert app.chosen == ["two"], "between two words there is nothing to choose"


async def test_the_chosen_word_is_marked_without_colour() -> None:
    app = ChoicesApp()
    async with app.run_test():
        line = app.query_one(Choices).render_line(0).text
        assert line.startswith("● ONE  ○ TWO  ○ THREE")


async def test_the_keyboard_is_seen_where_no_word_is_marked_and_space_marks_the_first() -> None:
    app = ChoicesApp()
    async with app.run_test() as pilot:
        choices = app.query_one(Choices)
        choices.chosen = ""

        def lit() -> list[str]:
            cursor = choices.get_component_rich_style("choices--handle", partial=True)
            line = choices.render_line(0)
            return [text for text, style, _ in line if style and style.bgcolor == cursor.bgcolor]

        app.set_focus(None)
        await pilot.pause()
        assert not lit()
        choices.focus()
        await pilot.pause()
        assert lit() == ["ONE"]
        await pilot.press("space", "space")
        assert app.chosen == ["one"]
        assert lit() == ["ONE"]


async def test_a_button_is_pressed_by_mouse_and_keyboard() -> None:
    app = ChoicesApp()
    async with app.run_test() as pilot:
        await pilot.click(PushButton)
        app.query_one(PushButton).focus()
        app.query_one(PushButton).disabled = True
        await pilot.pause()
        assert app.query_one(PushButton).styles.opacity == 1, "it can be read in 16 colours too"
        app.query_one(PushButton).disabled = False
        app.query_one(PushButton).focus()
        await pilot.press("enter", "space")
        assert app.pressed == 3
