"""Find the messages of a conversation that change the tokens of earlier messages.

With such a template, a model that was trained on whole conversations sees other tokens when it is
used turn by turn, and a server computes again what it had cached.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.chat.templates import ChatTemplate
from tokviz.text.common_prefix import n_common
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer

REASONING = "reasoning of earlier messages is left out"
SPACE = "white space of earlier messages is trimmed"
PROMPT = "the generation prompt is not the start of the answer"
MOVED = "the system text or the tools move"
MERGED = "a token reaches across the border"
OTHER = "earlier text is written differently"

_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """A line of a Jinja template.

    Attributes:
        number: Its number, from 1.
        source: Its text.
        condition: The line of the `{% if %}` that it is under, after "{% else %} of " if it is
            in the `{% else %}`; may be empty.
    """

    number: int
    source: str
    condition: str


@dataclass(frozen=True, slots=True)
class Instability:
    """A message whose addition changes earlier tokens.

    Attributes:
        n_messages: The number of messages before it.
        token_index: The first token that changes, counted from 0.
        n_lost: The number of tokens that change: those of the shorter conversation from there on.
        before: The text from there on without the message, shortened.
        after: The text from there on with the message, shortened.
        cause: Why, in a few words.
        lines: The lines of the template that write the first character that differs, without and
            with the message; empty for a built-in template.
    """

    n_messages: int
    token_index: int
    n_lost: int
    before: str
    after: str
    cause: str
    lines: Sequence[TemplateLine] = ()

    @property
    def sentence(self) -> str:
        """The instability in a sentence."""
        line = f"; line {self.lines[0].number} of the template" if self.lines else ""
        lost = pluralize(self.n_lost, "earlier token")
        return (
            f"message {self.n_messages + 1} changes {lost} from #{self.token_index} on: "
            f"{self.cause}{line}"
        )


class _Start(NamedTuple):
    """The rendered start of a conversation; see `Sandbox.starts`."""

    n_messages: int
    text: str
    ids: array[int]
    n_prompt: int = 0
    lines: Sequence[TemplateLine] = ()


def instabilities(
    tokenizer: Tokenizer, conversation: Conversation, template: ChatTemplate | JinjaTemplate
) -> list[Instability]:
    """Render each start of a conversation and list where earlier tokens change.

    A start ends before a message; before an answer, it has the generation prompt. Special tokens
    are recognized everywhere, as transformers does.

    Raises:
        ConversationError: If the template cannot write the conversation.
    """
    if isinstance(template, ChatTemplate):
        starts = [*_written(tokenizer, conversation, template)]
    else:
        starts = _rendered(tokenizer, template.starts(conversation, tokenizer))
    found = []
    for earlier, later in pairwise(starts):
        index = n_common(earlier.ids, later.ids)
        if index < len(earlier.ids):
            found.append(_instability(conversation, earlier, later, index))
    return found


def _rendered(tokenizer: Tokenizer, answers: list[dict[str, Any]]) -> list[_Start]:
    starts: list[_Start] = []
    text = ""
    for answer in reversed(answers):
        text = text[: answer["length"]] if answer["text"] is None else answer["text"]
        lines = [TemplateLine(**line) for line in answer.get("lines", ()) if line]
        ids, n_prompt = tokenizer.byte_text.encode(text), answer.get("n_prompt", 0)
        starts.append(_Start(answer["n_messages"], text, ids, n_prompt, lines))
    return starts[::-1]


def _written(
    tokenizer: Tokenizer, conversation: Conversation, template: ChatTemplate
) -> Iterator[_Start]:
    n_messages = len(conversation.messages)
    for n in range(1, n_messages + 1):
        try:
            start = replace(conversation, messages=conversation.messages[:n])
            rendering = render(tokenizer, start, template)
        except ConversationError:
            if n == n_messages:
                raise
            continue
        yield _Start(n, rendering.text, rendering.ids)


def _instability(
    conversation: Conversation, earlier: _Start, later: _Start, index: int
) -> Instability:
    position = n_common(earlier.text, later.text)
    return Instability(
        earlier.n_messages,
        index,
        len(earlier.ids) - index,
        earlier.text[position:][:_SHOWN_CHARS],
        later.text[position:][:_SHOWN_CHARS],
        _cause(conversation, earlier, later, position),
        earlier.lines,
    )


def _cause(conversation: Conversation, earlier: _Start, later: _Start, position: int) -> str:
    before, after = earlier.text[position:], later.text[position:]
    if not before:
        return MERGED
    if len(before) <= earlier.n_prompt:
        return PROMPT
    messages = conversation.messages[: earlier.n_messages]
    for message in messages:
        texts = [text.strip() for text in message.reasoning if text.strip()]
        if "<think>" in message.text:
            texts.append("<think>")
        if any(earlier.text.count(text) > later.text.count(text) for text in texts):
            return REASONING
    told = [message.text.strip() for message in messages if message.role in ("system", "developer")]
    if any(earlier.text.find(text) != later.text.find(text) for text in told if text):
        return MOVED
    dense, longer = ("".join(text.split()) for text in (before, after))
    return SPACE if longer.startswith(dense) else OTHER
