"""`tokviz chat --trainers`: the masks that trainers give a row, compared with the mask shown."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering
from tokviz.chat.templates import ChatTemplate
from tokviz.chat.trainers import TRAINERS, Example, TrainerRefusalError, trainer_mask
from tokviz.cli import options
from tokviz.text.glyphs import safe, token_label

HELP = """
--trainers compares the mask with those of trainers. With --json, one object per trainer:
  {"file", "row", "place", "trainer", "n_learned", "mask"}
  or {"file", "row", "place", "trainer", "error"}."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--trainers`."""
    names = ", ".join(TRAINERS)
    help_text = f"show the tokens that trainers put in the loss: {names}"
    options.add_flag(parser, "--trainers", help_text)


def trainer_records(
    conversation: Conversation, template: ChatTemplate | JinjaTemplate, rendering: Rendering
) -> Iterator[dict[str, Any]]:
    """Yield a JSON record for each trainer; `rendering` is the one shown."""
    kept = rendering.n_kept
    whole = rendering
    if kept < len(rendering):
        specials = rendering.specials
        whole = render(rendering.tokenizer, conversation, template, specials=specials)
    example = Example(conversation, template, whole)
    for trainer in TRAINERS.values():
        try:
            mask = trainer_mask(trainer, example, kept)
        except TrainerRefusalError as error:
            yield {"trainer": trainer.name, "error": str(error)}
        else:
            yield {"trainer": trainer.name, "n_learned": mask.count(1), "mask": [*mask]}


def trainer_lines(
    conversation: Conversation, template: ChatTemplate | JinjaTemplate, rendering: Rendering
) -> Iterator[str]:
    """Yield a line for each trainer, with the first token that differs from the mask shown."""
    width = max(map(len, TRAINERS))
    shown = rendering.mask[: rendering.n_kept]
    for record in trainer_records(conversation, template, rendering):
        name = f"  {record['trainer']:<{width}}"
        if "error" in record:
            yield f"{name}  refused: {safe(record['error'])}"
            continue
        learned = f"{name}  {record['n_learned']:>6,} in the loss"
        pairs = enumerate(zip(record["mask"], shown, strict=True))
        first = next((token for token, (theirs, ours) in pairs if theirs != ours), None)
        if first is None:
            yield f"{learned}, as shown"
            continue
        is_in = "in the loss" if record["mask"][first] else "masked"
        text = token_label(rendering.token_bytes(first))
        yield f"{learned}, first difference: token #{first:,} {text} is {is_in}"
