"""Explanation of a token's mask."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tokviz.chat.rendering import Rendering
from tokviz.chat.spans import REASON_NAMES, Reason
from tokviz.text.glyphs import safe, token_label
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.mask.base import MARKS

HINT = "Click a token, or go to it with the cursor keys, to see why it is learned or not."


def reason_words(rendering: Rendering, index: int) -> str:
    """Return the reason of a token's mask in a word or two."""
    return REASON_NAMES[Reason(rendering.reasons[index])]


def why_content(
    rendering: Rendering | None,
    index: int | None,
    roles: Sequence[str],
    width: int,
    *,
    brief: bool = False,
) -> Content:
    """Describe a token: its origin, whether and why it is in the loss, and the token predicting it.

    Args:
        rendering: The tokens, None for none.
        index: The token.
        roles: The role of each message.
        width: Columns of a row.
        brief: Whether there are only three rows.
    """
    if rendering is None:
        return Content()
    if index is None or not 0 <= index < len(rendering):
        return Content.styled(HINT, "$text-muted")
    learned = bool(rendering.mask[index])
    data = rendering.token_bytes(index)
    kind = _kind(rendering, index)
    facts = f"  id {rendering.ids[index]}, {len(data)} byte{'s' * (len(data) != 1)}{kind}"
    verdict = f"{MARKS[learned]} {'learned' if learned else 'not learned'}"
    look = "$text-success bold" if learned else "bold"
    room = width - len(facts) - len(str(index)) - 2 - (len(verdict) + 2 if brief else 0)
    label = fit(token_label(data), max(8, room))
    first = [(f"#{index} ", "$text-muted"), (label, "bold"), (facts, "$text-muted")]
    reason = Content(safe(rendering.reason_sentence(index)))
    if brief:
        return Content("\n").join([Content.assemble(*first, "  ", (verdict, look)), reason])
    lines = [
        Content.assemble(*first),
        Content.assemble((verdict, look), (f"  {_place(rendering, index, roles)}", "$text-muted")),
        reason,
        Content.styled(safe(_shifted(rendering, index)), "$text-muted"),
    ]
    return Content("\n").join(lines)


def _kind(rendering: Rendering, index: int) -> str:
    if not rendering.is_special(index):
        return ""
    token_id = rendering.ids[index]
    virtual = token_id in rendering.virtual_specials.values()
    return ", not in the vocabulary" if virtual else ", special"


def _place(rendering: Rendering, index: int, roles: Sequence[str]) -> str:
    message, part = rendering.run_of(index)[2:4]
    origin = "template text" if rendering.from_structure[index] else "content"
    if message < 0:
        return f"no message, {origin}"
    of_part = f", part {part + 1}" if part >= 0 else ""
    role = f" ({roles[message]})" if message < len(roles) else ""
    return f"message {message + 1}{role}{of_part}, {origin}"


def _shifted(rendering: Rendering, index: int) -> str:
    if index >= rendering.n_kept:
        return ""
    if index == 0:
        return "Nothing predicts the first token."
    before = token_label(rendering.token_bytes(index - 1))
    position = f"position {index - 1} ({fit(before, 24)})"
    if rendering.mask[index]:
        return f"In the loss: predicted from {position}."
    return f"Not in the loss at {position}."
