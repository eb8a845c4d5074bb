"""Jinja chat templates: a child process renders the text, this process makes tokens and mask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar

from tokviz.chat.conversation import Conversation, ExtraField
from tokviz.chat.jinja_spans import GIVEN_BESIDE, MOST_TURNS, MarkedText, to_spans
from tokviz.chat.messages import MESSAGE_EXTRA_FIELDS, ConversationError
from tokviz.chat.messages import Message as ChatMessage
from tokviz.chat.model_files import model_files_of
from tokviz.chat.rendering import GENERATION_MARKS, ROLE_SPANS, Rendering, render_spans
from tokviz.chat.spans import CONTENT_AS_TEXT, TRANSFORMERS
from tokviz.chat.variables import TemplateVariable
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
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)


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
        tool_source: The Jinja source for conversations with tools; "" if it is the same.
        title: A title to show.
        help: A description in a sentence.
        variables: Variables such as `bos_token`, from the files beside it, for a tokenizer without
            such files.
        special_tokens: Special tokens of the tokenizer it belongs to.
    """

    name: str
    source: str
    tool_source: str = ""
    title: str = "Jinja template"
    help: str = "Rendered by Jinja in a separate process with limits."
    variables: Mapping[str, Any] = field(default_factory=dict)
    special_tokens: Sequence[str] = ()
    _literals: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
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
    specials: ClassVar[str] = TRANSFORMERS
    makes_up_ids: ClassVar[bool] = False

    def render(
        self,
        tokenizer: Tokenizer,
        conversation: Conversation,
        max_tokens: int,
        specials: str = TRANSFORMERS,
    ) -> Rendering:
        """Render a conversation; waits for the child.

        Raises:
            ChatTemplateError: If the template is wrong, too slow or too large.
        """
        marked = self.marked(conversation, tokenizer, specials)
        return self.rendering(tokenizer, conversation, marked, max_tokens, specials)

    def rendering(
        self,
        tokenizer: Tokenizer,
        conversation: Conversation,
        marked: MarkedText,
        max_tokens: int,
        specials: str = TRANSFORMERS,
    ) -> Rendering:
        """Make a rendering from the text that the child rendered."""
        needed = self.specials_in_use(tokenizer)
        spans = to_spans(marked, conversation, {*tokenizer.special_tokens, *needed})
        has_marks = marked.generation is not None
        made = render_spans(
            tokenizer,
            spans,
            needed,
            self.name,
            max_tokens,
            specials=specials,
            pieces=marked.pieces,
            generation=marked.counted if has_marks else None,
            mask_source=GENERATION_MARKS if has_marks else ROLE_SPANS,
            notes=(*_notes(marked.turns_missed(conversation)), *conversation.media_notes()),
            left_out=list(self._left_out(conversation, marked)),
            untrained={} if has_marks else conversation.untrained(),
        )
        return replace(made, miscounted=marked.miscounted, generation_header=marked.header)

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

    def specials_in_use(self, tokenizer: Tokenizer | None = None) -> list[str]:
        """List the special tokens that the template may write, in the order of its text."""
        source = _COMMENT.sub("", self.source)
        found = {match.group(): match.start() for match in _LIKE_A_SPECIAL.finditer(source)}
        for text in self.special_tokens:
            if text in source:
                found[text] = source.index(text)
        for name, text in self.variables_for(tokenizer).items():
            if name.endswith("_token") and isinstance(text, str) and text and name in source:
                found.setdefault(text, source.index(name))
        return sorted(found, key=lambda text: found[text])

    def variables_for(self, tokenizer: Tokenizer | None) -> Mapping[str, Any]:
        """Return variables such as `bos_token`: those of the tokenizer, if its files name any."""
        own = None if tokenizer is None else model_files_of(tokenizer)
        return self.variables if own is None else own.variables

    def control_tokens(self, tokenizer: Tokenizer, has_tools: bool = False) -> list[str]:
        """List the tokens that `CONTENT_AS_TEXT` encodes as text in contents.

        They are the special tokens, and the other added tokens that the template contains, comments
        aside; waits for the child. Source: `_get_control_tokens` in transformers.
        """
        known = tokenizer.specials
        source = self._source(has_tools)
        if source not in self._literals:
            self._literals[source] = "\0".join(self._asked("literals", source))
        written = self._literals[source]
        return [
            text
            for text in known.ids
            if text not in known.non_special or (text in written and not text.isspace())
        ]

    def marked(
        self,
        conversation: Conversation,
        tokenizer: Tokenizer | None = None,
        specials: str = TRANSFORMERS,
    ) -> MarkedText:
        """Render a conversation in the child, without tokens; see `render`."""
        result = next(self.marked_all([conversation], tokenizer, specials))
        if isinstance(result, ConversationError):
            raise result
        return result

    def marked_all(
        self,
        conversations: Sequence[Conversation],
        tokenizer: Tokenizer | None = None,
        specials: str = TRANSFORMERS,
    ) -> Iterator[MarkedText | ConversationError]:
        """Render conversations in the child; yield the text or the error of each.

        Args:
            conversations: The conversations.
            tokenizer: The tokenizer, for its special tokens; None to use those beside the template.
            specials: A key of `SPECIALS`.

        Raises:
            JobDroppedError: If the template is closed.
        """
        variables = self.variables_for(tokenizer)
        control = None
        if specials == CONTENT_AS_TEXT and tokenizer is not None:
            control = cache(partial(self.control_tokens, tokenizer))
        requests = [self._request(each, variables, control) for each in conversations]
        answers = self._answers([it for it in requests if not isinstance(it, ConversationError)])
        for request in requests:
            if isinstance(request, ConversationError):
                yield request
                continue
            answer = next(answers)
            yield answer if isinstance(answer, ConversationError) else _read(self, answer)

    def starts(
        self, conversation: Conversation, tokenizer: Tokenizer | None = None
    ) -> list[dict[str, Any]]:
        """Render each start of a conversation in the child; see `Sandbox.starts`.

        Raises:
            ConversationError: If the template cannot write the conversation.
        """
        request = self._request(conversation, self.variables_for(tokenizer), None)
        if isinstance(request, ConversationError):
            raise request
        answer = next(self._answers([{**request, "do": "starts"}]))
        if isinstance(answer, ConversationError):
            raise answer
        return [*answer["starts"]]

    def _answers(self, bodies: Sequence[Body]) -> Iterator[Message | ChatTemplateError]:
        results: list[Message | ChatTemplateError] = []
        n_timeouts = 0
        while len(results) < len(bodies):
            requests = partial(self._with_templates, bodies[len(results) :])
            try:
                self._jobs.call(requests, lambda body: results.append(_checked(self, body)))
            except JobDroppedError:
                raise
            except TokvizError as error:
                failure = _as_template_error(self, error)
                results.append(failure)
                n_timeouts += 1
                if n_timeouts == _MAX_TIMEOUTS:
                    results.extend([failure] * (len(bodies) - len(results)))
        yield from results

    def parameters(self) -> list[TemplateVariable]:
        """List the variables that the template reads, besides messages and special tokens."""
        found = [TemplateVariable(**fields) for fields in self._asked("variables")]
        return [it for it in found if not it.name.endswith("_token")]

    def message_loops(self) -> list[dict[str, Any]]:
        """List the loops over the messages; see `tokviz.chat.template_loops.message_loops`."""
        return self._asked("loops")

    def _source(self, has_tools: bool) -> str:
        return (has_tools and self.tool_source) or self.source

    def _asked(self, what: str, source: str = "") -> list[Any]:
        """Return what the child finds in the template's source, or in another source."""
        found: list[Any] = []

        def requests(memory: dict[str, Any]) -> Iterator[Body]:
            return self._with_templates([{"do": what, "source": source or self.source}], memory)

        try:
            self._jobs.call(requests, lambda body: found.extend(body[what]))
        except TokvizError as error:
            raise _as_template_error(self, error) from None
        return found

    def close(self) -> None:
        """End the child; a pending rendering fails. Safe to call twice."""
        self._jobs.close()

    def _request(
        self,
        conversation: Conversation,
        variables: Mapping[str, Any],
        control: Callable[[bool], list[str]] | None,
    ) -> Body | ConversationError:
        """Return the request for a conversation, or an error that transformers raises too."""
        if not conversation.messages:
            return ConversationError("there is no message; start with one from the user")
        try:
            beside = {key: conversation.objects(key) for key in GIVEN_BESIDE}
        except ConversationError as error:
            return error
        has_tools = beside["tools"] is not None
        return {
            "do": "render",
            "source": self._source(has_tools),
            "messages": [_given(message) for message in conversation.messages],
            "variables": {**variables, **beside, **conversation.variables},
            "control_tokens": None if control is None else control(has_tools),
        }

    def _with_templates(self, bodies: Sequence[Body], memory: dict[str, Any]) -> Iterator[Body]:
        """Yield requests, and before them the template if the child does not have it."""
        for body in bodies:
            source = body["source"]
            if memory.get("source") != source:
                memory["source"] = source
                yield {"do": "template", "source": source}
            yield {key: value for key, value in body.items() if key != "source"}


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


def _checked(template: JinjaTemplate, body: Message) -> Message | ChatTemplateError:
    if "failed" not in body:
        return body
    return ChatTemplateError(template.name, body["failed"], body["line"], body["message"])


def _read(template: JinjaTemplate, body: Message) -> MarkedText | ChatTemplateError:
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
