from __future__ import annotations

from textual.app import App, ComposeResult

import tokviz
from tests.tui.waiting import until
from tokviz.explain.trace import why_not_one_token
from tokviz.live.document import LiveDocument
from tokviz.tui.messages import CopyRequested, Notice, TokenPicked
from tokviz.tui.palette import token_palette
from tokviz.tui.widgets import token_card
from tokviz.tui.widgets.token_card import TokenCard

TOK = tokviz.load("gpt2")
PALETTE = token_palette("tokviz-dark", "truecolor", False)
TEXT = "the cat and the dog and the 世 bird"


def known(text: str) -> LiveDocument:
    live = LiveDocument(text, TOK)
    while not live.encode_pending(1.0):
        pass
    assert live.complete
    return live


class CardApp(App[None]):
    def __init__(self, live: LiveDocument) -> None:
        super().__init__()
        self.live = live
        self.heard: list[object] = []

    def compose(self) -> ComposeResult:
        yield TokenCard(self.live, PALETTE, delay=0.001)

    def on_token_picked(self, event: TokenPicked) -> None:
        self.heard.append(event.index)

    def on_copy_requested(self, event: CopyRequested) -> None:
        self.heard.append((event.text, event.what))

    def on_notice(self, event: Notice) -> None:
        self.heard.append(event.text)

    @property
    def card(self) -> TokenCard:
        return self.query_one(TokenCard)

    def lines(self) -> list[str]:
        return ["".join(span.text for span in row).rstrip() for row in self.card.rows]

    def place_of(self, text: str) -> tuple[int, int]:
        """Return the position of a text on the screen, for a click."""
        for y in range(self.card.size.height):
            x = self.card.render_line(y).text.find(text)
            if x >= 0:
                return x + self.card.content_offset.x, y
        raise AssertionError(f"{text!r} is not in view")


async def test_the_pinned_token_is_shown_before_the_pointed_one() -> None:
    app = CardApp(known(TEXT))
    async with app.run_test(size=(50, 40)):
        app.card.set_marks(1, None)
        assert app.lines()[:2] == ["#1 · 11 tokens", "·cat"]
        app.card.set_marks(1, 2)
        assert app.lines()[:2] == ["#2 · 11 tokens", "·and"]


async def test_without_a_token_the_card_says_how_to_get_one() -> None:
    app = CardApp(known(TEXT))
    async with app.run_test(size=(50, 40)):
        assert app.lines() == ["Move the cursor to a token, or point at one."]


async def test_without_a_tokenizer_the_card_waits() -> None:
    app = CardApp(LiveDocument(TEXT))
    async with app.run_test(size=(50, 40)):
        assert app.lines() == ["Loading the vocabulary…"]


async def test_an_edit_updates_the_card() -> None:
    app = CardApp(known(TEXT))
    async with app.run_test(size=(50, 40)):
        app.card.set_marks(None, 2)
        app.live.edit(4, 3, "dog")
        app.card.sync()
        app.card.set_marks(None, 1)
        assert app.lines()[:2] == ["#1 · 11 tokens", "·dog"]
        assert "occurs   2 times  ‹ previous  next ›" in app.lines()


async def test_a_token_that_an_edit_took_away_is_not_shown() -> None:
    app = CardApp(known(TEXT))
    async with app.run_test(size=(50, 40)):
        app.card.set_marks(None, 10)
        app.live.set_text("the")
        app.card.sync()
        app.card.set_marks(None, 10)
        assert app.lines() == ["Move the cursor to a token, or point at one."]


async def test_a_part_of_a_character_is_recognised_from_its_neighbours() -> None:
    live = known(TEXT)
    app = CardApp(live)
    async with app.run_test(size=(60, 40)):
        app.card.set_marks(None, live.token_index_at(TEXT.index("世")))
        assert any("of 世 U+4E16" in line for line in app.lines())


async def test_clicks_jump_to_other_places() -> None:
    live = known(TEXT)
    app = CardApp(live)
    async with app.run_test(size=(50, 40)) as pilot:
        first = live.token_index_at(TEXT.index(" the"))
        second = live.token_index_at(TEXT.rindex(" the"))
        app.card.set_marks(None, first)
        await pilot.click(TokenCard, offset=app.place_of("next ›"))
        await pilot.click(TokenCard, offset=app.place_of(f"#{second}"))
        await pilot.click(TokenCard, offset=app.place_of("‹ previous"))
        assert app.heard == [second, second, "No previous occurrence."]


async def test_keys_jump_to_other_places_and_tokens() -> None:
    live = known(TEXT)
    app = CardApp(live)
    async with app.run_test(size=(50, 40)) as pilot:
        first = live.token_index_at(TEXT.index(" the"))
        app.card.set_marks(None, first)
        app.card.focus()
        await pilot.press("n", "left", "right")
        assert first is not None
        assert app.heard == [
            live.token_index_at(TEXT.rindex(" the")),
            first - 1,
            first + 1,
        ]


async def test_id_bytes_and_text_are_copied_by_click_and_by_key() -> None:
    app = CardApp(known(TEXT))
    async with app.run_test(size=(50, 40)) as pilot:
        app.card.set_marks(None, 1)
        token_id = str(TOK.encode(" cat")[0])
        expected = [
            (token_id, "the token id"),
            ("20 63 61 74", "the token bytes"),
            (" cat", "the token text"),
        ]
        await pilot.click(TokenCard, offset=app.place_of(token_id))
        await pilot.click(TokenCard, offset=app.place_of("20 63"))
        await pilot.click(TokenCard, offset=app.place_of("·cat"))
        assert app.heard == expected
        app.card.focus()
        await pilot.press("i", "b", "t")
        assert app.heard == expected * 2


async def test_a_selection_of_several_tokens_is_explained_after_a_moment() -> None:
    app = CardApp(known("unbelievably"))
    async with app.run_test(size=(50, 60)) as pilot:
        app.card.set_selection((0, 12))
        assert "…" in app.lines()
        while "…" in app.lines():
            await pilot.pause()
        assert "Why not one token?" in app.lines()
        assert "How it is encoded" in app.lines()


async def test_a_selection_inside_one_token_is_no_question() -> None:
    app = CardApp(known(TEXT))
    async with app.run_test(size=(50, 40)):
        app.card.set_selection((4, 6))
        assert app.lines() == ["Move the cursor to a token, or point at one."]


async def test_the_selected_bytes_are_exactly_those_selected() -> None:
    app = CardApp(known("unbelievably"))
    async with app.run_test(size=(60, 60)) as pilot:
        app.card.set_selection((1, 11))
        while "…" in app.lines():
            await pilot.pause()
        assert "The selection starts or ends inside a token." in app.lines()
        found = why_not_one_token(TOK, b"nbelievabl", False).sentences[0]
        words = "".join(part for part in found if isinstance(part, str)).split()
        assert {word for word in words if word.isalpha()} <= set(" ".join(app.lines()).split())


async def test_a_selection_over_text_not_tokenized_yet_waits_for_it() -> None:
    live = LiveDocument("unbelievably" + "a" * 40_000 + " cat", TOK)
    app = CardApp(live)
    async with app.run_test(size=(60, 60)):
        app.card.set_selection((0, live.n_chars))
        assert app.lines() == ["Move the cursor to a token, or point at one."]


async def test_another_tokenizer_is_another_vocabulary() -> None:
    live = known(TEXT)
    app = CardApp(live)
    async with app.run_test(size=(60, 60)):
        app.card.set_marks(None, 1)
        other = tokviz.load("cl100k_base")
        live.set_tokenizer(other)
        live.ensure(0, live.n_chars)
        app.card.sync()
        app.card.set_marks(None, 1)
        assert f"id       {other.encode(' cat')[0]}" in app.lines()


async def test_a_selection_over_a_whole_book_is_counted_and_left_alone() -> None:
    live = known("the " * 100_000)
    app = CardApp(live)
    async with app.run_test(size=(60, 60)):
        app.card.set_selection((0, live.n_chars))
        assert app.lines()[0] == f"{live.n_tokens:,} tokens from #0"
        assert app.lines()[-2:] == ["Too many tokens to explain.", ""]


async def test_occurrences_in_a_long_document_follow_after_a_moment() -> None:
    live = known("the cat " * (token_card.AT_ONCE_TOKENS))
    app = CardApp(live)
    async with app.run_test(size=(60, 40)) as pilot:
        app.card.set_marks(None, 1)
        assert "occurs   …" in app.lines()
        while "occurs   …" in app.lines():
            await pilot.pause()
        assert "occurs   20,000 times  ‹ previous  next ›" in app.lines()


async def test_a_hidden_card_catches_up_when_it_is_shown() -> None:
    app = CardApp(known(TEXT))
    async with app.run_test(size=(50, 40)) as pilot:
        app.card.display = False
        await pilot.pause()
        app.card.set_marks(None, 1)
        assert app.lines()[:1] != ["#1 · 11 tokens"]
        app.card.display = True
        await until(pilot, lambda: app.lines()[:2] == ["#1 · 11 tokens", "·cat"])
