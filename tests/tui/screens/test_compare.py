"""The Compare screen, used as a user does, with real tokenizers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

import tokviz
from tests.tui.waiting import WAIT, settle, until
from tokviz.compare.boundaries import Comparison
from tokviz.compare.compared_documents import (
    ComparedDocument,
    ComparedTokenizer,
    SpanSearch,
    next_span,
)
from tokviz.compare.figures import WordCounter, figures_by_script
from tokviz.compare.report import measured, report_on, totals
from tokviz.compare.report_tables import ORDERS
from tokviz.compare.vocabularies import VocabularyDifference, diff_vocabularies
from tokviz.errors import TokvizError
from tokviz.live.chunked_text import ChunkedText
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.screens import lanes
from tokviz.tui.screens.compare import CompareScreen
from tokviz.tui.screens.lanes import Lanes
from tokviz.tui.widgets.spans import RunAction, ToToken
from tokviz.workspace.prices import prices_path
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings

TEXT = "I paid 12345 for the unbelievable 🙂 thing.\n\nHELLO SolidGold\n"
SIZES = [(80, 24), (120, 40), (40, 12), (200, 60)]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def make_app(text: str = TEXT, compared: tuple[str, ...] = ("gpt2",), **choices: str) -> TokvizApp:
    settings = Settings(compared=compared, **choices)  # type: ignore[arg-type]
    return TokvizApp(Session(Opened(text), tokviz.load("gpt-4"), settings, remember=False))


async def show(pilot: Pilot[None]) -> CompareScreen:
    await settle(pilot)
    await pilot.press("alt+q")
    screen = pilot.app.screen
    assert isinstance(screen, CompareScreen)
    await settle(pilot)
    return screen


def lines(app: TokvizApp) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


def headings(screen: CompareScreen) -> list[str]:
    """What the report's texts are called, in order."""
    first = [row[0] for row in screen.report_rows.rows if row]
    return [span.text for span in first if span.role == "heading"]


def shown(app: TokvizApp) -> str:
    return "\n".join(lines(app))


def said(app: TokvizApp) -> str:
    return " ".join(notice.message for notice in app._notifications)


def card(screen: CompareScreen) -> str:
    return " ".join("".join(span.text for span in row) for row in screen.card.rows)


async def click(pilot: Pilot[None], words: str, within: str = "") -> None:
    """Click on words where they stand last, in a line with others."""
    for y, line in reversed([*enumerate(lines(pilot.app))]):  # type: ignore[arg-type]
        if words in line and within in line:
            await pilot.click(offset=(line.index(words), y))
            await settle(pilot)
            return
    raise AssertionError(f"{words} is not shown")


@pytest.mark.parametrize("size", SIZES)
async def test_the_text_stands_once_in_every_tokenizer(size: tuple[int, int]) -> None:
    app = make_app(theme="tokviz-light")
    async with app.run_test(size=size) as pilot:
        await show(pilot)
        rows = [line for line in lines(app) if "paid" in line]
        assert len(rows) == 2
        assert rows[0].index("paid") == rows[1].index("paid"), "they are aligned"
        if size[0] > 40:
            assert "cl100k_base" in rows[0] and "gpt2" in rows[1]
            assert "▏I▏·paid▏·▌123▏45▏·for" in rows[0]
            assert "▏I▏·paid▏·‿123▏45▏·for" in rows[1]


async def test_what_is_typed_on_the_tokens_screen_is_compared() -> None:
    app = make_app("")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        assert "Your text is empty" in shown(app)
        for typed in ("H", "ello 1234"):
            await pilot.press("enter")
            await until(pilot, lambda: app.current_mode == "tokens")
            app.screen.query_one(TextArea).insert(typed)
            await settle(pilot)
            await pilot.press("alt+q")
            await settle(pilot)
        assert "Your text is empty" not in shown(app)
        assert "▏Hello▏·‿12▌3‿4" in shown(app)
        counts = Comparison("Hello 1234", [tokviz.load("gpt-4"), tokviz.load("gpt2")]).counts
        assert [line.figures and line.figures.n_tokens for line in screen.figures.lines()] == [
            *counts
        ]


async def test_typing_in_between_leads_back_to_the_same_place_and_counts_anew() -> None:
    app = make_app("the cat sat\n" * 200 + "I paid 12345\n" + "the cat sat\n" * 200)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await show(pilot)
        await until(pilot, lambda: "1 disagreement. n goes" in card(screen))
        await pilot.press("n")
        await settle(pilot)
        assert "Disagreement 1 of 1." in card(screen)
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "tokens")
        await settle(pilot)
        await pilot.press(*"9876 ")
        await pilot.press("alt+q")
        await until(pilot, lambda: "2 disagreements. n goes" in card(screen))
        assert any("paid" in line for line in lines(app)), "the place is in view"
        await pilot.press("p")
        await settle(pilot)
        assert "Disagreement 1 of 2." in card(screen)


async def test_next_and_previous_go_through_every_disagreement_and_name_its_cause() -> None:
    app = make_app(compared=("gpt2", "o200k_base"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        tokenizers = [tokviz.load(name) for name in ("gpt-4", "gpt2", "o200k_base")]
        found = Comparison(TEXT, tokenizers).disagreements
        spans = []
        await until(pilot, lambda: f"{len(found)} disagreements. n goes to" in card(screen))
        for number, one in enumerate(found, 1):
            await pilot.press("n")
            await settle(pilot)
            assert f"Disagreement {number} of {len(found)}. Line" in card(screen)
            spans.append(screen.disagreements.span)
            causes = [cause for reason in one.reasons for cause in reason.causes]
            assert all(f"{cause}:" in card(screen) for cause in causes)
        assert spans == [one.byte_span for one in found]
        await pilot.press("n")
        await settle(pilot)
        assert "They agree on all of the text below." in said(app)
        await pilot.press("p")
        await settle(pilot)
        assert screen.disagreements.span == spans[-2]
        # Quicker than the answers come.
        await pilot.press("n", "p", "p")
        await settle(pilot)
        assert screen.disagreements.span == spans[-3]


async def test_the_table_shows_what_drawing_has_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lanes, "_encode", lambda self: None)
    app = make_app(compared=())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await until(pilot, lambda: screen._poll and not screen._poll._active.is_set())
        screen.lanes.add(ComparedTokenizer("gpt2"))
        count = Comparison(TEXT, [tokviz.load("gpt2")]).counts[0]
        await until(pilot, lambda: re.search(rf"gpt2 +{count} ", shown(app)))


async def test_a_click_on_a_token_shows_the_disagreement_there() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await click(pilot, "123▏45▏·for")
        assert screen.disagreements.span == (6, 10)
        assert "pattern gpt2" in card(screen)
        assert screen.gloss._spans.hover == range(6, 10)
        await click(pilot, "I▏·paid")
        assert "They agree on this token." in said(app)


async def test_the_way_to_the_text_leads_to_the_disagreement() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await pilot.press("n", "enter")
        await until(pilot, lambda: app.current_mode == "tokens")
        await settle(pilot)
        assert app.screen.query_one(TextArea).selected_text in (" ", "")


async def test_a_tokenizer_is_added_by_the_picker_and_removed_and_remembered() -> None:
    app = make_app(compared=())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await pilot.press("n")
        assert "Add a tokenizer (a)." in said(app)
        for name in ("gpt2", "o200k_base", "qwen2"):
            await click(pilot, "+ add a tokenizer")
            assert isinstance(app.screen, TokenizerPicker)
            await pilot.press(*name, "enter")
            await until(pilot, lambda: app.screen is screen)
            await settle(pilot)
        assert list(app.session.settings.compared) == ["gpt2", "o200k_base", "qwen2"]
        assert "+ add" not in shown(app)
        await pilot.press("a")
        assert "You can compare at most 4 tokenizers" in said(app)
        await click(pilot, "o200k_base")
        assert screen.state.base == 2
        table = next(line for line in lines(app) if "▸ o200k_base" in line)
        assert "×" in table
        await pilot.click(offset=(table.rindex("×"), lines(app).index(table)))
        await settle(pilot)
        assert list(app.session.settings.compared) == ["gpt2", "qwen2"]
        assert screen.state.base == 0, "the base has gone"
        await pilot.press("x")
        await settle(pilot)
        assert list(app.session.settings.compared) == ["gpt2"]


async def test_one_that_is_compared_already_is_not_added_again() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await pilot.press("a", *"gpt2", "enter")
        await until(pilot, lambda: app.screen is screen)
        assert "gpt2 is already in the comparison." in said(app)


async def test_one_that_cannot_be_loaded_says_so_in_its_row_and_others_go_on() -> None:
    app = make_app(compared=("/no/such.json", "gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        row = next(line for line in lines(app) if "such.json" in line)
        assert "no" in row and "×" in row
        assert len([line for line in lines(app) if "paid" in line]) == 2
        await pilot.press("n")
        await settle(pilot)
        assert screen.disagreements.span == (6, 10)


async def test_another_tokenizer_in_use_is_the_first_row() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        app.session.use_tokenizer(tokviz.load("o200k_base"), "o200k_base")
        await settle(pilot)
        assert screen.state.names == ["o200k_base", "gpt2"]
        assert "o200k_base" in next(line for line in lines(app) if "paid" in line)


async def test_the_table_is_copied_with_prices_as_markdown_and_tsv(copied: list[str]) -> None:
    prices_path().parent.mkdir(parents=True, exist_ok=True)
    prices_path().write_text('[[model]]\nname = "any"\nwindow = 100\nprice = 1000\n')
    settings = Settings(compared=("gpt2",))
    app = TokvizApp(Session(Opened(TEXT), tokviz.load("gpt-4"), settings))
    async with app.run_test(size=(120, 40)) as pilot:
        await show(pilot)
        await pilot.press("f4", "shift+f4")
        await settle(pilot)
        markdown, tsv = copied
        counts = Comparison(TEXT, [tokviz.load("gpt-4"), tokviz.load("gpt2")]).counts
        assert markdown.startswith("| tokenizer | tokens | bytes/token |")
        assert re.findall(r"\| (?:cl100k_base|gpt2) \| (\d+) ", markdown) == [*map(str, counts)]
        assert tsv.splitlines()[1].split("\t")[-2:] == [f"0.0{counts[0]} USD", f"{counts[0]} %"]


@pytest.mark.parametrize("theme", ["tokviz-dark", "tokviz-light"])
async def test_without_colours_marks_tell_the_rows_apart(
    theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(theme=theme)
    async with app.run_test(size=(80, 24)) as pilot:
        await show(pilot)
        await pilot.press("n")
        await settle(pilot)
        assert "▌123▏45" in shown(app) and "‿123▏45" in shown(app)
        assert any(set(line.split()) == {"▲"} for line in lines(app))


async def test_a_view_tells_what_each_script_takes() -> None:
    text = "the cat 12\nПривет мир\n世界"
    app = make_app(text, compared=("gpt2", "o200k_base"))
    async with app.run_test(size=(100, 30)) as pilot:
        await show(pilot)
        await pilot.press("f2")
        await until(pilot, lambda: "Cyrillic" in shown(app))
        names = ("gpt-4", "gpt2", "o200k_base")
        sides = Comparison(text, [tokviz.load(name) for name in names]).sides
        for script, n_chars, _, n_tokens in figures_by_script(text, sides):
            row = next(line for line in lines(app) if script in line)
            assert row.split()[2:-1] == [str(n_chars), *(f"{n_chars / n:.2f}" for n in n_tokens)]


async def test_the_difference_of_two_tokenizers_has_a_verdict_and_tokens_that_are_links() -> None:
    app = make_app(compared=("gpt2", "o200k_base"))
    async with app.run_test(size=(120, 60)) as pilot:
        screen = await show(pilot)
        await pilot.press("f2", "f2")
        await until(pilot, lambda: screen.differences.found is not None)
        await settle(pilot)
        found = screen.differences.found
        assert found is not None and found.verdict == "different"
        words = " ".join(" ".join(span.text for span in row) for row in screen.difference_rows.rows)
        words = " ".join(words.split())
        assert found.summary in words
        for part in found.parts:
            assert part.name in words and part.texts[0] in words
        assert f"{len(found.tokens.only_in_a):,} tokens only in cl100k_base" in words
        spans = [span for row in screen.difference_rows.rows for span in row]
        assert any(isinstance(span.action, ToToken) for span in spans)
        await pilot.press("v")
        await until(pilot, lambda: screen.differences.found not in (None, found))
        other = screen.differences.found
        assert other is not None and other.b.name == "o200k_base"
        await pilot.press("r")
        await until(pilot, lambda: screen.differences.found not in (None, other))
        await pilot.press("r", "r")
        await until(pilot, lambda: screen.differences.found is not None)
        await settle(pilot)
        screen.difference_rows.focus()
        await pilot.press("end")
        await settle(pilot)
        # “Why?” is about the current token of the text, which is not one of these.
        await pilot.click(offset=(4, 30), button=3)
        await settle(pilot)
        assert app.screen is screen
        await pilot.press("alt+q", "n")
        await settle(pilot)


async def test_enter_opens_a_text_whose_ids_differ() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.views.show_view("difference")
        await until(pilot, lambda: bool((found := screen.differences.found) and found.examples))
        await settle(pilot)
        found = screen.differences.found
        assert found is not None
        row = next(
            row for row in screen.difference_rows.rows for span in row
            if span.action == RunAction("open_example(1)")
        )  # fmt: skip
        links = [
            number for number, one in enumerate(screen.difference_rows.rows)
            if any(span.action is not None for span in one)
        ]  # fmt: skip
        screen.difference_rows.focus()
        place = list(screen.difference_rows.rows).index(row)
        await pilot.press("home", *["down"] * links.index(place), "enter")
        await until(pilot, lambda: app.current_mode == "tokens")
        await until(pilot, lambda: screen.session.live.text == found.examples[1].text)


async def test_the_report_measures_the_chosen_tokenizers_and_is_copied(copied: list[str]) -> None:
    app = make_app(compared=("gpt2",))
    async with app.run_test(size=(100, 40)) as pilot:
        screen = await show(pilot)
        await click(pilot, "Report")
        await until(pilot, lambda: "all texts" in shown(app))
        await settle(pilot)
        tokenizers = [tokviz.load("gpt-4"), tokviz.load("gpt2")]
        own = measured(tokenizers, "your text", TEXT, True)
        wanted = report_on(tokenizers)
        everything = totals([own, *wanted.texts[:-1]], "all texts")
        rows = ["".join(span.text for span in row).split() for row in screen.report_rows.rows]
        for group in (everything, own, wanted.texts[4]):
            at = rows.index([*group[0].text.split(), f"{group[0].n_bytes:,}", "bytes"])
            for row, cells in zip(group, rows[at + 1 : at + 3], strict=True):
                assert cells[:2] == [row.tokenizer, f"{row.n_tokens:,}"]
        hindi = next(group for group in wanted.languages if group[0].text == "Hindi")
        costs = [
            f"{row.relative(base):.2f}"
            for row, base in zip(hindi, wanted.languages[0], strict=True)
        ]
        assert ["Hindi", f"{hindi[0].n_bytes:,}", *costs] in rows
        await click(pilot, "JSON")
        await click(pilot, "Markdown")
        # By what they cost in the second tokenizer, then the other way round; the sum stays first.
        listed = [own, *wanted.texts[:-1]]
        assert headings(screen) == ["all texts", *(group[0].text for group in listed)]
        assert "F7 sorts by: as listed ▲ · name · bytes · " in shown(app)
        await click(pilot, "gpt2", within="F7 sorts by")
        await settle(pilot)
        costs = sorted(listed, key=lambda group: group[1].n_tokens / group[1].n_bytes)
        assert headings(screen) == ["all texts", *(group[0].text for group in costs)]
        await pilot.press("f8")
        assert headings(screen) == ["all texts", *(group[0].text for group in costs[::-1])]
        record, markdown = json.loads(copied[0]), copied[1]
        assert [text["text"] for text in record["texts"]][:2] == ["your text", "news, English"]
        assert f"| all texts | {everything[0].n_bytes:,} | {everything[0].n_tokens:,} " in markdown
        # The base of the table is what the differences are to; fewer tokenizers: a new report.
        screen.figures.use_base(1)
        await settle(pilot)
        assert "difference to gpt2" in shown(app)
        await pilot.press("x")
        await settle(pilot)
        rows = ["".join(span.text for span in row).split() for row in screen.report_rows.rows]
        assert sum(row[:1] == ["gpt2"] for row in rows) == 0
        assert ["your", "text", f"{own[0].n_bytes:,}", "bytes"] in rows


async def test_escape_leaves_alone_a_tokenizer_that_only_reads_the_text_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app, go_on = make_app(), Event()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        (other,) = app.session.others

        def slowly(*arguments: Any) -> ComparedDocument:
            assert go_on.wait(WAIT)
            return ComparedDocument(*arguments)

        monkeypatch.setattr(lanes, "ComparedDocument", slowly)
        app.session.live.set_parse_specials(False)
        screen.lanes.follow()
        assert other.lane is None
        await pilot.press("escape")
        go_on.set()
        await until(pilot, lambda: other.lane is not None)
        assert not other.error


async def test_escape_ends_the_measuring_of_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    going, held = Event(), Event()

    def slow(tokenizers: object, on_progress: Callable[[float], object]) -> None:
        on_progress(0.25)
        going.set()
        held.wait(20)
        on_progress(0.5)

    monkeypatch.setattr("tokviz.tui.screens.compare.report.report_on", slow)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await show(pilot)
        await pilot.press("f2", "f2", "f2")
        await until(pilot, lambda: going.is_set() and "Measuring, 25%" in shown(app))
        await pilot.press("escape")
        held.set()
        await until(pilot, lambda: screen.views.front == "tokens")
        await settle(pilot)
        assert "Measuring, 50%" not in shown(app)


async def test_the_difference_view_says_what_it_needs() -> None:
    app = make_app(compared=())
    async with app.run_test(size=(80, 24)) as pilot:
        await show(pilot)
        await click(pilot, "Difference")
        assert "Add a tokenizer (a) to compare" in shown(app)


async def test_a_lane_that_fails_says_so_and_the_others_go_on(tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers")
    vocab = {word: number for number, word in enumerate(["the", "cat", "[UNK]"])}
    made = hf.Tokenizer(hf.models.WordLevel(vocab, unk_token="[UNK]"))
    made.pre_tokenizer = hf.pre_tokenizers.Whitespace()
    content = json.loads(made.to_str())
    bomb = {"type": "Replace", "pattern": {"String": "q"}, "content": "q" * 100_000}
    content["normalizer"] = {"type": "Sequence", "normalizers": [bomb, bomb]}
    path = tmp_path / "words.json"
    path.write_text(json.dumps(content))
    app = make_app("the cat 12345 qqqqqq", compared=(str(path), "gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await until(pilot, lambda: screen.figures.lines()[1].note not in ("", "loading…"))
        assert screen.figures.lines()[1].note[:20] in " ".join(shown(app).split())
        rows = [line for line in lines(app) if "12345" in line or "123" in line]
        assert len(rows) == 3
        await pilot.press("n")
        await settle(pilot)
        assert "still being counted" in said(app)


async def test_a_vocabulary_that_is_read_too_late_does_not_stand_there_without_its_tokenizer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    going, held = Event(), Event()

    def slow(*arguments: Any) -> VocabularyDifference:
        going.set()
        assert held.wait(WAIT)
        return diff_vocabularies(*arguments[:2])

    monkeypatch.setattr("tokviz.compare.difference.diff_vocabularies", slow)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await show(pilot)
        screen.views.show_view("difference")
        await until(pilot, going.is_set)
        await pilot.press("x")
        await until(pilot, lambda: "Add a tokenizer (a) to compare" in shown(app))
        held.set()
        await settle(pilot)
        assert "Add a tokenizer (a) to compare" in shown(app)


async def test_the_vocabulary_view_says_of_a_tokenizer_that_it_cannot_be_loaded() -> None:
    app = make_app(compared=("/nowhere/tokenizer.json",))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await show(pilot)
        screen.views.show_view("difference")
        await settle(pilot)
        words = " ".join("".join(s.text for s in row) for row in screen.difference_rows.rows)
        assert screen.state.others[0].error in words
        assert "Loading" not in words


async def test_the_report_has_a_base_and_an_order_where_a_tokenizer_is_not_there() -> None:
    app = make_app("cat", compared=("/nowhere/tokenizer.json", "gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.views.show_view("report")
        await until(pilot, lambda: "difference to cl100k_base" in shown(app))
        await pilot.press("r")
        await settle(pilot)
        assert "difference to cl100k_base" in shown(app), "nothing can be said of the missing one"
        await pilot.press("r")
        await settle(pilot)
        assert "difference to gpt2" in shown(app)
        orders = []
        for _ in range(2 * len([*ORDERS, "cl100k_base", "gpt2"])):
            await pilot.press("f7")
            await settle(pilot)
            orders.append(re.search(r"(\S+) ▲", shown(app)).group(1))  # type: ignore[union-attr]
        assert orders[: len(orders) // 2] == orders[len(orders) // 2 :]
        assert {"cl100k_base", "gpt2"} < {*orders}


def held_search(monkeypatch: pytest.MonkeyPatch) -> tuple[Event, Event]:
    """Hold every search until the second event is set; the first tells that one has begun."""
    going, held = Event(), Event()

    def slow(*arguments: Any) -> SpanSearch:
        going.set()
        assert held.wait(WAIT)
        return next_span(*arguments)

    monkeypatch.setattr("tokviz.tui.screens.compare.navigation.next_span", slow)
    return going, held


async def test_a_disagreement_that_is_found_too_late_is_none_of_the_other_tokenizers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    going, held = held_search(monkeypatch)
    app = make_app(compared=("gpt2", "o200k_base"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await pilot.press("n")
        await until(pilot, going.is_set)
        await pilot.press("x")
        await until(pilot, lambda: len(screen.state.others) == 1)
        held.set()
        await settle(pilot)
        assert screen.disagreements.span is None
        await pilot.press("n")
        await settle(pilot)
        assert "Disagreement 1 of" in card(screen)


async def test_a_step_is_taken_though_the_search_before_it_was_for_another_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    going, held = held_search(monkeypatch)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        await pilot.press("n")
        await until(pilot, going.is_set)
        screen.session.live.edit(0, 1, "We")
        screen.text_changed()
        await pilot.press("n")
        held.set()
        await settle(pilot)
        assert "Disagreement 1 of" in card(screen)


async def test_figures_by_script_of_the_text_before_do_not_come_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    going, held = Event(), Event()

    def slow(*arguments: Any) -> Any:
        going.set()
        assert held.wait(WAIT)
        return figures_by_script(*arguments)

    monkeypatch.setattr("tokviz.tui.screens.compare.scripts.figures_by_script", slow)
    app = make_app("abc")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.views.show_view("scripts")
        await until(pilot, going.is_set)
        monkeypatch.setattr(ChunkedText, "settled", False)
        screen.session.live.edit(0, 1, "Ω")
        screen.text_changed()
        screen.lanes.rest()
        await until(pilot, lambda: "still being counted" in shown(app))
        held.set()
        await settle(pilot)
        assert "still being counted" in shown(app)


async def test_the_words_of_another_text_are_not_those_of_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held, count = Event(), WordCounter.count
    held.set()

    def slow(*arguments: Any) -> int:
        assert held.wait(WAIT)
        return count(*arguments)

    monkeypatch.setattr(WordCounter, "count", slow)
    app = make_app("one two three")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        held.clear()
        screen.session.live.edit(3, 10, "")
        screen.text_changed()
        assert not any(line.complete for line in screen.figures.lines())
        held.set()
        await settle(pilot)
        assert [line.figures and line.figures.n_words for line in screen.figures.lines()] == [1, 1]


async def test_a_report_of_other_tokenizers_is_neither_drawn_nor_copied(
    monkeypatch: pytest.MonkeyPatch, copied: list[str]
) -> None:
    going, held = Event(), Event()

    def slow(*arguments: Any, **told: Any) -> Any:
        going.set()
        assert held.wait(WAIT)
        return report_on(*arguments)

    monkeypatch.setattr("tokviz.tui.screens.compare.report.report_on", slow)
    app = make_app(compared=("gpt2",))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.views.show_view("report")
        await until(pilot, going.is_set)
        screen.views.show_view("tokens")
        screen.lanes.add(ComparedTokenizer("o200k_base"))
        await until(pilot, lambda: all(screen.state.documents))
        screen.figures.use_base(2)
        held.set()
        await settle(pilot)
        screen.reports.copy_report("JSON")
        await settle(pilot)
        assert not copied and "The report is not measured yet" in said(app)
        screen.views.show_view("report")
        await until(pilot, lambda: "difference to o200k_base" in shown(app))


async def test_tokenizers_of_one_name_have_their_own_figures_by_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app(compared=("gpt2",))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        other = screen.state.others[0]
        assert other.tokenizer is not None
        monkeypatch.setattr(other.tokenizer, "name", screen.session.tokenizer.name)
        screen.views.show_view("scripts")
        await until(pilot, lambda: "Latin" in shown(app))
        head = next(line for line in lines(app) if "script" in line and "chars" in line)
        assert head.count("cl100k_base") == 2


async def test_vocabularies_that_cannot_be_read_are_not_said_to_be_read_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise TokvizError("the process of the tokenizer has ended")

    monkeypatch.setattr("tokviz.compare.difference.VocabularyIndex", broken)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.views.show_view("difference")
        await settle(pilot)
        assert "reading…" not in shown(app)
        assert "The process of the tokenizer has ended" in shown(app)


async def test_the_vocabulary_that_is_compared_stays_when_one_before_it_is_removed() -> None:
    app = make_app(compared=("gpt2", "o200k_base", "qwen2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await show(pilot)
        screen.differences.compare_with(2)
        await settle(pilot)
        await screen.run_action("screen.remove_tokenizer(1)")
        await until(pilot, lambda: len(screen.state.others) == 2)
        await settle(pilot)
        await until(pilot, lambda: screen.differences.found is not None)
        found = screen.differences.found
        assert found is not None and found.b.name == "o200k_base"
