"""What the parts of the Replay screen share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.runs import runs_folder
from tokviz.tui.screens.legacy import LegacyCopying
from tokviz.tui.screens.replay.position import START, Player, Position
from tokviz.tui.screens.replay.sources import Source, source_at_hand

if TYPE_CHECKING:
    from tokviz.replay.replay import Replay
    from tokviz.tui.screens.replay.comparison import Comparison
    from tokviz.tui.screens.replay.frames import Frame
    from tokviz.tui.screens.replay.opened import Opened
    from tokviz.tui.screens.replay.own_text import OwnText


class ReplayBase(LegacyCopying):
    """The state of the Replay screen, on which its groups of actions work."""

    opened: Opened | None = None
    """What is replayed, None until something is."""
    position: Position = START
    frame: Frame | None = None
    """The newest frame that has been worked out; it may be of another merge than `position`."""
    comparison: Comparison | None = None
    """What the replay is compared with."""
    player: Player
    own: OwnText

    @property
    def replay(self) -> Replay | None:
        """The states of what is replayed."""
        return None if self.opened is None else self.opened.replay

    @property
    def n_merges(self) -> int:
        """How many merges there are."""
        return 0 if self.opened is None else self.opened.replay.n_merges

    def go_to(self, position: Position) -> None:
        """Show another frame."""
        raise NotImplementedError

    def show_view(self, view: str, *, focus: bool = True) -> None:
        """Bring a view to the front."""
        raise NotImplementedError

    def show_frame(self, frame: Frame) -> None:
        """Show what has been worked out of a merge."""
        raise NotImplementedError

    def show_transport(self) -> None:
        """Show whether it plays, how fast, and where it is."""
        raise NotImplementedError

    def pause(self) -> None:
        """Stop where it is."""
        raise NotImplementedError

    def want_frame(self) -> None:
        """See to it that the frame of the present position is shown."""
        raise NotImplementedError

    def compare_text(self) -> None:
        """Compare what becomes of the user's text, now that it is another one."""
        raise NotImplementedError

    def jump_to(self, number: int) -> None:
        """Go to a merge that the user has pointed out."""
        raise NotImplementedError

    def at_hand(self) -> Source:
        """Name the tokenizer of the Tokens screen."""
        return source_at_hand(self.session.tokenizer, self.settings.tokenizer)

    def runs(self) -> Path | None:
        """Name the folder of the trainings, None if it cannot be made."""
        try:
            return runs_folder()
        except TokvizError:
            return None
