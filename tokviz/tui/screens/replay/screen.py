"""The Replay screen: transport, this merge, texts, candidates, all merges, curves."""

from __future__ import annotations

from threading import Lock

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from tokviz.explain.trace import lineage
from tokviz.glyphs import safe
from tokviz.replay.replay import Replay
from tokviz.replay.request import ReplayRequest
from tokviz.session import Session
from tokviz.tui.palette import palette_of
from tokviz.tui.screens.bars import tab_items
from tokviz.tui.screens.replay.card import (
    card_rows,
    lineage_rows,
    merge_text,
    paint_candidate,
)
from tokviz.tui.screens.replay.comparing import Comparing
from tokviz.tui.screens.replay.corpus_rows import corpus_rows, drawing_rows
from tokviz.tui.screens.replay.finding import Finding, MergesPanel
from tokviz.tui.screens.replay.frames import Candidate, Frame
from tokviz.tui.screens.replay.framing import Framing
from tokviz.tui.screens.replay.moving import Moving
from tokviz.tui.screens.replay.opened import Opened
from tokviz.tui.screens.replay.opening import OpeningActions
from tokviz.tui.screens.replay.own_text import OwnText
from tokviz.tui.screens.replay.position import START, Player, Position, clamped
from tokviz.tui.screens.replay.sources import Source
from tokviz.tui.screens.replay.text_actions import TextActions
from tokviz.tui.screens.replay.transport import status_items, transport_items
from tokviz.tui.screens.replay.views import Views
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.cursor_curve import CursorCurve, Curve
from tokviz.tui.widgets.flow import Row, ToMerge, ToToken
from tokviz.tui.widgets.lists import PickList
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.scrubber import Scrubber
from tokviz.tui.widgets.token_text import TokenText


class ReplayScreen(Moving, Finding, Framing, OpeningActions, Comparing, TextActions, Views):
    """Go through a training, or through any vocabulary, merge by merge."""

    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#scrubber"
    SCREEN_ID = "replay"

    def __init__(self, session: Session) -> None:
        """Begin without anything to replay."""
        super().__init__(session)
        self.player = Player()
        self._framing_lock = Lock()
        self._was_playing = False

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        palette = palette_of(self.app)
        self.card = RowsView(palette, id="card")
        self.corpus = RowsView(palette, id="corpus")
        self.corpus_head = Bar(id="corpus-head")
        self.own = OwnText(palette, show_invisibles=self.settings.show_invisibles, id="own")
        self.candidates = PickList[Candidate](paint_candidate, id="candidates")
        self.lineage = RowsView(palette, id="lineage")
        self.merges = MergesPanel(id="merges-panel")
        self.diff = RowsView(palette, id="diff")
        self.compression = CursorCurve(id="compression")
        self.counts = CursorCurve(id="counts")
        self.transport = Bar(id="transport")
        self.scrubber = Scrubber(id="scrubber")
        self.card.border_title = " This merge "
        yield self.title_bar
        with Container(id="work"):
            with Container(id="main"):
                yield self.card
                yield self.candidates
                yield self.lineage
                with Horizontal(id="texts"):
                    with Vertical(id="corpus-side"):
                        yield self.corpus_head
                        yield self.corpus
                    yield self.own
            with Container(id="column"):
                yield self.merges
                yield self.diff
                with Vertical(id="curves"):
                    yield self.compression
                    yield self.counts
        yield Static(id="problem")
        yield self.transport
        with Horizontal(id="scrub-row"):
            yield self.scrubber
        yield self.keys

    def on_mount(self) -> None:
        """Open what was asked for, or the tokenizer at hand."""
        self._fit(self.app.size)
        self.draw_tabs()
        self.end_comparison()
        self._show_title()
        self.show_transport()

    def on_screen_resume(self) -> None:
        """Take up what was asked for meanwhile, and go on."""
        self.take_text_at_hand()
        requests = self.session.take_requests("replay")
        if requests and isinstance(requests[-1], ReplayRequest):
            self.take_request(requests[-1])
        elif self.opened is None and self.opening is None:
            self.open_source(self.at_hand())
        elif self._was_playing:
            self.action_play_pause()
        self._was_playing = False

    def on_screen_suspend(self) -> None:
        """Play on when the screen is seen again."""
        self._was_playing = self.player.playing
        self.pause()

    def on_unmount(self) -> None:
        """Stop."""
        self.pause()

    # -- what is replayed

    def show_opening(self, source: Source) -> None:
        """Show that something is being opened."""
        self._show_title()
        if self.opened is None:
            self._show_message(f"Opening {source.name}…")

    def show_problem(self, source: Source, reason: str) -> None:
        """Say why something could not be opened; what is there stays."""
        text = f"{source.name} cannot be replayed. {reason}".strip()
        if self.opened is None:
            self._show_message(f"{text}\n\nCtrl+O lists what can be.")
        else:
            self.say(text, "error")
        self._show_title()

    def show_damage(self, replay: Replay, reason: str) -> None:
        """Say what is wrong with what was opened, and show it no more."""
        if replay is self.replay and self.opened is not None:
            source, self.opened = self.opened.source, None
            self.pause()
            self.show_problem(source, reason)

    def _show_message(self, text: str) -> None:
        self.query_one("#problem", Static).update(Content("\n".join(map(safe, text.split("\n")))))
        self.set_class(bool(text), "-message")

    def show_opened(self, opened: Opened, request: ReplayRequest | None) -> None:
        """Show what has been opened, from the merge that was asked for on."""
        self.pause()
        self.end_comparison()
        self.opened = opened
        self.frame = None
        replay = opened.replay
        self._show_message("")
        self.own.set_specials(frozenset(replay.tokenizer.special_tokens.values()))
        self.own.prepared = None
        self.merges.show_replay(replay)
        self.compression.show(opened.compression)
        self.counts.show(opened.counts)
        self.candidates.show([], None)
        self.corpus.show(lambda width: [])
        self.set_class(not replay.has_counts, "-no-counts")
        self.set_class(replay.has_counts, "-has-counts")
        self._show_title()
        at = request.at if request is not None else None
        self.go_to(START if at is None else clamped(at, replay.n_merges))
        self.draw_tabs()
        if request is not None and request.other is not None:
            self.compare_path(request.other)

    # -- where it is

    def go_to(self, position: Position) -> None:
        """Show another frame: at once what is known at once, the rest when it is worked out."""
        replay = self.replay
        if replay is None:
            return
        self.position = position
        self._show_card()
        self.show_transport()
        self.merges.follow(position.number)
        self._show_cursors()
        if self.frame is not None and self.frame.number == position.number:
            self.show_frame(self.frame)
        else:
            self.want_frame()

    def _show_card(self) -> None:
        replay, position = self.replay, self.position
        if replay is None:
            return
        step = replay.step(position.number) if position.number else None
        why = replay.why(position.number).sentences if position.number else ()
        n_bytes = replay.n_bytes
        self.card.show(lambda width: card_rows(step, why, position, n_bytes, width), from_top=True)
        if not replay.has_counts:
            node = None if step is None else lineage(replay.tokenizer, step.new_id)
            self.lineage.show(
                lambda width: [] if node is None else lineage_rows(node, width), from_top=True
            )

    def show_transport(self) -> None:
        """Show whether it plays, how fast, and where it is."""
        playing = self.player.playing
        left = transport_items(playing, self.player.speed)
        self.transport.show(left, status_items(self.position, self.n_merges))
        first = self.comparison.first_number if self.comparison is not None else None
        self.scrubber.show(self.position.n_done, self.n_merges, first)

    def _show_cursors(self) -> None:
        replay, opened, number = self.replay, self.opened, self.position.n_done
        if replay is None or opened is None:
            return
        ratio = replay.state(number).bytes_per_token
        text = self.own.prepared
        if ratio is None and text is not None and text.data:
            ratio = len(text.data) / max(text.n_tokens(number), 1)
        self.compression.set_cursor(number, "" if ratio is None else f"{ratio:.2f}")
        count = replay.step(self.position.number).count if self.position.number else None
        self.counts.set_cursor(number, "" if count is None else f"{count:,}")

    def show_frame(self, frame: Frame) -> None:
        """Show what has been worked out of a merge."""
        is_new = frame is not self.frame
        self.frame = frame
        position = Position(frame.number, self.position.merged)
        if frame.number == self.position.number:
            position = self.position
        self._show_corpus(frame, position)
        self.own.show_frame(frame, position, follow=not self.player.playing)
        if is_new:
            next_index = next((i for i, row in enumerate(frame.candidates) if row.is_next), None)
            self.candidates.show(frame.candidates, next_index)
        self._show_cursors()

    def _show_corpus(self, frame: Frame, position: Position) -> None:
        opened = self.opened
        if opened is None:
            return
        replay, drawing = opened.replay, opened.drawing
        token = replay.tokenizer.token_bytes
        step = replay.step(frame.number) if frame.number else None
        pair = None if step is None else (step.left_id, step.right_id, step.new_id)

        def rows(width: int) -> list[Row]:
            if drawing is not None:
                return drawing_rows(drawing.states, position, drawing.steps, token, width)
            return corpus_rows(frame, position, pair, token, is_whole=replay.is_tiny, width=width)

        self.corpus.show(rows, from_top=drawing is None and not replay.is_tiny)
        if drawing is not None:
            self.corpus.show_row(len(self.corpus.rows) - 1)
        self.corpus_head.show(self._corpus_items(position))

    def _corpus_items(self, position: Position) -> list[BarItem]:
        replay = self.replay
        if replay is None:
            return []
        n_tokens = replay.state(position.n_done).n_tokens
        if n_tokens is None:
            return [BarItem((("Corpus", "active"),)), BarItem((("not known", "plain"),))]
        ratio = (replay.n_bytes or 0) / max(n_tokens, 1)
        counts = f"{n_tokens:,} tokens · {ratio:.2f} bytes/token"
        return [
            BarItem((("Corpus", "active"),)),
            BarItem(((counts, "plain"),), "", ((f"{n_tokens:,} tokens", "plain"),)),
        ]

    def show_text_curve(self, curve: Curve) -> None:
        """Show how the user's text is compressed, where no corpus is known."""
        self.compression.show(curve)
        self._show_cursors()

    # -- back

    def action_leave(self) -> None:
        """Leave the editor, then the search; else pause."""
        if self.own.is_editing:
            self.own.end_edit()
        elif self.merges.found is not None:
            self.clear_search()
            self.scrubber.focus()
        else:
            self.pause()
            self.scrubber.focus()

    # -- clicks

    @on(TokenText.Picked)
    def _token_picked(self, event: TokenText.Picked) -> None:
        event.stop()
        self._jump_to_token(event.token_id)

    @on(RowsView.Picked)
    def _word_picked(self, event: RowsView.Picked) -> None:
        event.stop()
        if isinstance(event.action, ToMerge):
            self.jump_to(event.action.number)
        elif isinstance(event.action, ToToken):
            self._jump_to_token(event.action.token_id)

    def _jump_to_token(self, token_id: int) -> None:
        replay = self.replay
        if replay is None or token_id < 0:
            return
        number = replay.merge_of_token(token_id)
        if number is None:
            special = replay.tokenizer.is_special(token_id)
            self.say(f"No merge makes it: {'a special token' if special else 'a single byte'}.")
        else:
            self.jump_to(number)

    @on(PickList.Picked, "#candidates")
    def _candidate_picked(self, event: PickList.Picked) -> None:
        event.stop()
        number = self.candidates.rows[event.index].number
        if number is None:
            self.say("This pair is never merged.")
        else:
            self.jump_to(number)

    def action_copy_merge(self) -> None:
        """Copy this merge as a line of text."""
        if self.replay is not None and self.position.number:
            self.copy(merge_text(self.replay.step(self.position.number)), "merge")

    # -- the rest

    def _show_title(self) -> None:
        name = safe(self.source_name()) or "…"
        words: list[tuple[str, str]] = [(name, "chip")]
        if self.opening is not None and self.opened is not None:
            words = [(f"opening {safe(self.opening.name)}…", "plain")]
        elif self.replay is not None:
            words.append((f" ({self.n_merges:,} merges)", "plain"))
        chip = BarItem(
            (*words, (" ▾", "key")),  # type: ignore[arg-type]
            "screen.choose_replay",
            ((f"{name} ▾", "chip"),),
        )
        self.title_bar.show(tab_items("replay"), [chip])

    def on_resize(self, event: events.Resize) -> None:
        """Show what there is room for."""
        if not self.drop_if_outdated(event):
            self._fit(event.size)

    def _fit(self, size: Size) -> None:
        self.fit_views(size)
