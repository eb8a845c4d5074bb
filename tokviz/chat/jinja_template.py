"""Jinja chat templates: a child process renders the text, this process makes tokens and mask."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from tokviz.chat.conversation import Conversation, ExtraField
from tokviz.chat.jinja_spans import GIVEN_BESIDE, MOST_TURNS, MarkedText, to_spans
from tokviz.chat.messages import MESSAGE_EXTRA_FIELDS, ConversationError
from tokviz.chat.messages import Message as ChatMessage
from tokviz.chat.rendering import GENERATION_MARKS, ROLE_SPANS, Rendering, render_spans
from tokviz.errors import TokvizError
from tokviz.process.child import JobTimeoutError
from tokviz.process.limits import HAS_CPU_LIMITS, Limits
from tokviz.process.protocol import Body, Message
from tokviz.process.runner import JobClient, JobDroppedError
from tokviz.text.bytetext import to_bytes
from tokviz.tokenizer.tokenizer import Tokenizer

PATIENCE_SECONDS = 2.0
"""Limit of a template's processor time for one conversation."""

_TIMES_BY_THE_CLOCK = 15 if HAS_CPU_LIMITS else 1
"""The limit in wall-clock time, as a multiple: other programs may keep the processor busy."""

LIMITS = Limits(memory_mb=512, cpu_seconds=30)

_MAX_TIMEOUTS = 3
_LIKE_A_SPECIAL = re.compile(r"<\|[^|<>\s]{1,60}\|>")


class ChatTemplateError(ConversationError):
    """A Jinja template that is invalid, or cannot render a conversation.

    Attributes:
        template: The template's name.
        line: The line of the template, from 1, if known.
    """

    def __init__(
        self,
        template: str,
        reason: str,
        line: int | None = None,
        message_index: int | None = None,
    ) -> None:
        """Create the error from the template's name, the reason, the line and the message."""
        self.template = template
        self.line = line
        where = f"{template}, line {line}" if line is not None else template
        super().__init__(f"the chat template {where}: {reason}", message_index)


@dataclass(frozen=True)
class JinjaTemplate:
    """A chat template in Jinja, such as `chat_template` in a `tokenizer_config.json`.

    Attributes:
        name: The name of its file.
        source: The Jinja source.
        title: A title to show.
        help: A description in a sentence.
        variables: Its variables besides the messages, such as `bos_token`.
        special_tokens: Special tokens of the tokenizer it belongs to.
    """

    name: str
    source: str
    title: str = "Jinja template"
    help: str = "Rendered by Jinja in a separate process with limits."
    variables: Mapping[str, Any] = field(default_factory=dict)
    special_tokens: Sequence[str] = ()
    _jobs: JobClient = field(
        default_factory=lambda: JobClient(
            "chat_template",
            limits=LIMITS._replace(silent_seconds=PATIENCE_SECONDS),
            patience=PATIENCE_SECONDS * _TIMES_BY_THE_CLOCK,
        ),
        init=False,
        repr=False,
        compare=False,
    )

    is_remote: ClassVar[bool] = True
    """Whether rendering waits for a child process."""

    def render(
        self, tokenizer: Tokenizer, conversation: Conversation, max_tokens: int
    ) -> Rendering:
        """Render a conversation; waits for the child.

        Raises:
            ChatTemplateError: If the template is wrong, too slow or too large.
        """
        return self.rendering(tokenizer, conversation, self.marked(conversation), max_tokens)

    def rendering(
        self, tokenizer: Tokenizer, conversation: Conversation, marked: MarkedText, max_tokens: int
    ) -> Rendering:
        """Make a rendering from the text that the child rendered."""
        needed = self.specials_in_use()
        spans = to_spans(marked, conversation, {*tokenizer.special_tokens, *needed})
        source = ROLE_SPANS if marked.generation is None else GENERATION_MARKS
        return render_spans(
            tokenizer,
            spans,
            needed,
            self.name,
            max_tokens,
            mask_source=source,
            notes=_notes(marked.turns_missed(conversation)),
            left_out=list(self._left_out(conversation, marked)),
            untrained=conversation.untrained(),
        )

    def _left_out(self, conversation: Conversation, marked: MarkedText) -> Iterator[ExtraField]:
        """List the fields of a conversation that are missing from the rendered text, or changed.

        A template may reformat tools and documents, so they count as written if its source names
        them. An unusual key of a tool call counts if its value is anywhere in the text.
        """
        lost = set(marked.lost)
        for aside in conversation.extra_fields():
            if aside.message is None:
                is_written = aside.key in GIVEN_BESIDE and aside.key in self.source
            elif aside.key in MESSAGE_EXTRA_FIELDS:
                is_written = isinstance(aside.value, str) and (aside.message, aside.key) not in lost
            else:
                is_written = str(aside.value) in marked.text
            if not is_written:
                yield aside
        for message, key in sorted(lost):
            if key not in MESSAGE_EXTRA_FIELDS:
                yield ExtraField(key, None, message, conversation.messages[message].role)

    def specials_in_use(self) -> list[str]:
        """List the special tokens that the template writes, in the order of its text."""
        found = {match.group(): match.start() for match in _LIKE_A_SPECIAL.finditer(self.source)}
        for text in self.special_tokens:
            if text in self.source:
                found[text] = self.source.index(text)
        for name, text in self.variables.items():
            if name.endswith("_token") and isinstance(text, str) and text and name in self.source:
                found.setdefault(text, self.source.index(name))
        return sorted(found, key=lambda text: found[text])

    def marked(self, conversation: Conversation) -> MarkedText:
        """Render a conversation in the child, without tokens; see `render`."""
        result = next(self.marked_all([conversation]))
        if isinstance(result, ChatTemplateError):
            raise result
        return result

    def marked_all(
        self, conversations: Sequence[Conversation]
    ) -> Iterator[MarkedText | ChatTemplateError]:
        """Render conversations in the child; yield the text or the error of each.

        Raises:
            JobDroppedError: If the template is closed.
        """
        results: list[MarkedText | ChatTemplateError] = []
        n_timeouts = 0
        while len(results) < len(conversations):
            requests = partial(self._requests, conversations[len(results) :])
            try:
                self._jobs.call(requests, lambda body: results.append(_read(self, body)))
            except JobDroppedError:
                raise
            except TokvizError as error:
                failure = _as_template_error(self, error)
                results.append(failure)
                n_timeouts += 1
                if n_timeouts == _MAX_TIMEOUTS:
                    results.extend([failure] * (len(conversations) - len(results)))
        yield from results

    def close(self) -> None:
        """End the child; a pending rendering fails. Safe to call twice."""
        self._jobs.close()

    def _requests(
        self, conversations: Sequence[Conversation], memory: dict[str, Any]
    ) -> Iterator[Body]:
        if memory.get("template") is not self:
            memory["template"] = self
            yield {"do": "template", "source": self.source, "variables": dict(self.variables)}
        for conversation in conversations:
            yield {
                "do": "render",
                "messages": [_given(message) for message in conversation.messages],
                "variables": {key: conversation.extra.get(key) for key in GIVEN_BESIDE},
            }


def _notes(n_missed: int) -> tuple[str, ...]:
    if not n_missed:
        return ()
    return (
        f"In {n_missed:,} of the assistant's messages, those after the first {MOST_TURNS} with "
        "reasoning or tool calls, the template text around these is not learned here.",
    )


def _given(message: ChatMessage) -> Body:
    """Return a message as the template gets it, without null values, which it would write as None.

    `apply_chat_template` of transformers (pull request 45422) does the same with the content of a
    message that calls tools.
    """
    return {key: value for key, value in message.to_json().items() if value is not None}


def _read(template: JinjaTemplate, body: Message) -> MarkedText | ChatTemplateError:
    if "failed" in body:
        return ChatTemplateError(template.name, body["failed"], body["line"], body["message"])
    marked = MarkedText.from_answer(body)
    try:
        to_bytes(marked.text)
    except UnicodeEncodeError as error:
        reason = f"writes U+{ord(marked.text[error.start]):04X}, half of a UTF-16 surrogate pair"
        return ChatTemplateError(template.name, f"{reason}, which no tokenizer can encode")
    return marked


def _as_template_error(template: JinjaTemplate, error: TokvizError) -> ChatTemplateError:
    if isinstance(error, JobTimeoutError):
        reason = f"took longer than {PATIENCE_SECONDS:g} s and was stopped; does it loop?"
    elif "memory" in str(error):
        reason = f"needs more than {LIMITS.memory_mb} MB of memory"
    elif "needs the package" in str(error):
        reason = str(error)
    else:
        reason = f"ended the process it ran in: {error}"
    return ChatTemplateError(template.name, reason)
