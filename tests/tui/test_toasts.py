"""Sentences for the user cover nothing that was just acted on, and none stands twice."""

from __future__ import annotations

import pytest
from textual.geometry import Region
from textual.notifications import Notification
from textual.widgets._toast import Toast, ToastHolder, ToastRack

import tokviz
from tests.tui.waiting import settle, until
from tokviz.session import Opened, Session, ShowScreen
from tokviz.tui.app import TokvizApp
from tokviz.tui.toasts import MOST_TOASTS
from tokviz.tui.widgets.lists import RowList

TEXT = "\n".join(f"line {number} of many" for number in range(100))


@pytest.fixture(autouse=True)
def patient_toasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Toasts stand as long as a slow machine needs."""
    monkeypatch.setattr(TokvizApp, "NOTIFICATION_TIMEOUT", 1_000)


def make_app(screen: str = "tokens") -> TokvizApp:
    first = ShowScreen(screen)
    return TokvizApp(Session(Opened(TEXT), tokviz.load("gpt2"), remember=False, first=first))


def covered(app: TokvizApp) -> range:
    """The rows that toasts cover."""
    region = Region.from_union([toast.region for toast in app.screen.query(Toast)])
    return range(region.y, region.bottom)


def is_drawn(app: TokvizApp) -> bool:
    return any(toast.region.height for toast in app.screen.query(Toast))


SIZES = [(40, 12), (80, 24), (120, 40)]


@pytest.mark.parametrize("size", SIZES)
async def test_a_toast_does_not_cover_the_cursor_wherever_it_goes(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(notifications=True, size=size) as pilot:
        await settle(pilot)
        app.screen.notify("Saved 12 bytes to a file.")
        await until(pilot, lambda: is_drawn(app))
        for _ in range(size[1]):
            await pilot.press("down")
            await settle(pilot)
            row = app.screen.focused.cursor_screen_offset.y  # type: ignore[union-attr]
            assert row not in covered(app)


async def test_a_new_toast_does_not_cover_the_cursor() -> None:
    app = make_app()
    async with app.run_test(notifications=True, size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("down", "down")
        (rack,) = app.screen.query_children(ToastRack)
        assert not rack.has_class("-below"), "nothing is placed, and styled, that is not there"
        app.screen.notify("Saved 12 bytes to a file.")
        await until(pilot, lambda: is_drawn(app))
        row = app.screen.focused.cursor_screen_offset.y  # type: ignore[union-attr]
        assert row not in covered(app)
        below = app.screen
        await pilot.press("ctrl+o")
        await until(pilot, lambda: app.screen is not below and is_drawn(app))
        assert not any(toast.region for toast in below.query(Toast)), "it would stand twice"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is below and is_drawn(app))


@pytest.mark.parametrize("row", [4, 19])
async def test_a_toast_does_not_cover_what_was_clicked(row: int) -> None:
    app = make_app()
    async with app.run_test(notifications=True, size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.click(offset=(70, row))
        app.screen.notify("Saved 12 bytes to a file.")
        await until(pilot, lambda: is_drawn(app))
        await pilot.pause()
        before = covered(app)
        assert row not in before
        await pilot.click(offset=(70, before[0]))
        await until(pilot, lambda: not is_drawn(app))


async def test_a_toast_does_not_cover_the_row_of_a_list_that_has_the_keyboard() -> None:
    app = make_app("vocabulary")
    async with app.run_test(notifications=True, size=(120, 40)) as pilot:
        table = app.screen.query_one("#table", RowList)
        await until(pilot, lambda: len(table.rows) > 3)
        table.focus()
        await pilot.press("down")
        app.screen.notify("Saved 12 bytes to a file.")
        await until(pilot, lambda: is_drawn(app))
        await pilot.pause()
        at = table.cursor_screen_offset.y
        assert at == table.content_region.y + 1
        assert at not in covered(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_toast_does_not_cover_the_plan_that_answers_what_is_filled_in(
    size: tuple[int, int],
) -> None:
    app = make_app("train")
    async with app.run_test(notifications=True, size=size) as pilot:
        await settle(pilot)
        fields = list(app.screen.query("TrainForm Field"))
        plan = app.screen.query_one("#plan").region
        app.screen.notify(
            "A note of two lines, which takes the whole width of a small terminal to be told. " * 2
        )
        await until(pilot, lambda: is_drawn(app))
        for field in (fields[0], fields[-1]):
            field.focus()
            await pilot.press("1")
            await settle(pilot)
            toasts = [toast.region for toast in app.screen.query(Toast)]
            assert not any(toast.overlaps(plan) for toast in toasts)
            assert field.region.y not in covered(app)


@pytest.mark.parametrize("size", SIZES)
async def test_a_toast_is_never_cut_by_the_edge_of_the_screen(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(notifications=True, size=size) as pilot:
        await settle(pilot)
        app.screen.notify(" ".join(f"word{number}" for number in range(20)))
        await until(pilot, lambda: is_drawn(app))
        (toast,) = app.screen.query(Toast)
        assert app.screen.region.contains_region(toast.region)


async def test_the_same_sentence_stands_once() -> None:
    app = make_app()
    async with app.run_test(notifications=True, size=(80, 24)) as pilot:
        await settle(pilot)
        for _ in range(3):
            app.screen.notify("There is no token at the cursor.")
            await pilot.pause()
        app.screen.notify("Another sentence.")
        await until(pilot, lambda: len(app.screen.query(Toast)) == 2)
        said = [notice.message for notice in app._notifications]
        assert said == ["There is no token at the cursor.", "Another sentence."]
        await until(pilot, lambda: len(app.screen.query(ToastHolder)) == 2)


async def test_of_news_that_differ_in_a_number_the_newest_stands() -> None:
    app = make_app()
    async with app.run_test(notifications=True) as pilot:
        await settle(pilot)
        for size in ("8", "1,009"):
            for name in ("a1.txt", "a2.txt"):
                app.notify(f"Saved {size} bytes to {name}.")
            app.notify(f"Line {size} is damaged.", severity="warning")

        def stand(*said: str) -> bool:
            return [one.message for one in app._notifications] == [*said]

        saved = [f"Saved 1,009 bytes to {name}." for name in ("a1.txt", "a2.txt")]
        await until(pilot, lambda: stand("Line 8 is damaged.", *saved, "Line 1,009 is damaged."))


async def test_a_sentence_may_end_while_another_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    async with app.run_test(notifications=True) as pilot:
        await settle(pilot)
        app.notify("first")
        await until(pilot, lambda: len(app._notifications))
        looks = iter([False])
        ended = property(lambda notification: next(looks, True))
        monkeypatch.setattr(Notification, "has_expired", ended)
        app.notify("second")


async def test_a_toast_stands_whole_in_every_terminal_also_once_that_shrinks() -> None:
    app = make_app()
    words = "Saved 12 bytes to a file whose name is so long that one row cannot hold this sentence."
    async with app.run_test(notifications=True, size=(120, 40)) as pilot:
        await settle(pilot)
        app.screen.notify(words)
        await until(pilot, lambda: is_drawn(app))
        for size in [(80, 24), (40, 12), (24, 10), (120, 40)]:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            toast = app.screen.query_one(Toast).region
            assert app.screen.region.contains_region(toast), size
            lines = [strip.text for strip in app.screen._compositor.render_strips()]
            drawn = [
                lines[y][toast.x : toast.right].strip("▌ ") for y in range(toast.y, toast.bottom)
            ]
            assert " ".join(line.strip("▌ ") for line in drawn) == words, size


@pytest.mark.parametrize("left", [0.0, 1e-9])
async def test_a_toast_whose_time_was_up_while_it_was_made_goes(left: float) -> None:
    app = make_app()
    async with app.run_test(notifications=True) as pilot:
        await settle(pilot)
        toast = Toast(Notification("Late."))
        toast._timeout = left
        await app.screen.mount(toast)
        await until(pilot, lambda: not toast.is_attached)


async def test_no_more_toasts_stand_than_can_be_read_and_errors_stay_the_longest() -> None:
    app = make_app()
    async with app.run_test(notifications=True) as pilot:
        await settle(pilot)
        app.notify("It went wrong.", severity="error")
        for number in range(30):
            app.notify(f"Copied {number}.")

        def stand(*said: str) -> bool:
            messages = [one.message for one in app._notifications]
            return messages == [*said] and len(app.screen.query(Toast)) == len(said)

        last = [f"Copied {number}." for number in range(31 - MOST_TOASTS, 30)]
        await until(pilot, lambda: stand("It went wrong.", *last))
        for number in range(MOST_TOASTS + 1):
            app.notify(f"Wrong {number}.", severity="error")
        last = [f"Wrong {number}." for number in range(1, MOST_TOASTS + 1)]
        await until(pilot, lambda: stand(*last))
