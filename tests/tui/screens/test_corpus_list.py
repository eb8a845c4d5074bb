from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from tests.tui.mouse import click
from tokviz.training.corpus.entries import CorpusEntry
from tokviz.tui.screens.train.form import MOST_ROWS, CorpusList


class ListApp(App[None]):
    def compose(self) -> ComposeResult:
        yield CorpusList()


@pytest.mark.parametrize(
    ("n_entries", "wanted", "highlighted"),
    [(3, 1, 1), (3, 2, 2), (3, 3, 2), (3, 99, 2), (3, -1, 0), (1, 1, 0), (0, 0, None)],
)
async def test_an_entry_is_highlighted_also_where_the_last_ones_are_gone(
    n_entries: int, wanted: int, highlighted: int | None
) -> None:
    async with ListApp().run_test() as pilot:
        corpus = pilot.app.query_one(CorpusList)
        corpus.show_entries([CorpusEntry(f"{n}.txt") for n in range(n_entries)], wanted)
        assert corpus.highlighted == highlighted
        assert corpus.display == (n_entries > 0)


async def test_a_long_list_scrolls() -> None:
    async with ListApp().run_test() as pilot:
        corpus = pilot.app.query_one(CorpusList)
        corpus.show_entries([CorpusEntry(f"{n}.txt") for n in range(50)], 49)
        await pilot.pause()
        assert corpus.size.height == MOST_ROWS
        shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        assert "49.txt" in shown and "0.txt" not in shown.split()


async def test_a_double_click_on_the_cross_takes_one_entry_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(App, "CLICK_CHAIN_TIME_THRESHOLD", 3600.0)

    class Removing(ListApp):
        def on_mount(self) -> None:
            self.names = ["a.txt", "b.txt", "c.txt"]
            self.show_names()

        def on_corpus_list_removed(self, event: CorpusList.Removed) -> None:
            self.names.remove(event.entry.source)
            self.show_names()

        def show_names(self) -> None:
            self.query_one(CorpusList).show_entries([CorpusEntry(n) for n in self.names], 0)

    app = Removing()
    async with app.run_test(size=(40, 8)) as pilot:
        await pilot.pause()
        x = app.query_one(CorpusList).scrollable_content_region.width - 2
        for _ in range(2):
            await click(pilot, (x, 0))
        assert app.names == ["b.txt", "c.txt"]
