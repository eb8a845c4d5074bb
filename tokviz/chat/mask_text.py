"""Mask of a text: a conversation in JSON, a text in a template's format, or any other text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tokviz.chat import harmony, nanochat, turns
from tokviz.chat.conversation import Conversation
from tokviz.chat.json_text import loads
from tokviz.chat.messages import ConversationError, Message
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering, TokenRun, render_spans
from tokviz.chat.spans import TRANSFORMERS, Reason, TemplateSpan, end, reason_of_role, special
from tokviz.chat.templates import TEMPLATES, ChatTemplate
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import search_for, segments
from tokviz.tokenizer.tokenizer import Tokenizer

_TEMPLATE = "nanochat"
MAX_JSON_CHARS = 2_000_000
"""The longest text to try as JSON."""


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text with its mask.

    Attributes:
        rendering: The tokens; its template is "" if the text is in no template's format.
        conversation: The conversation, if the text is JSON or shown as a user message.
        sentence: How the text was read and, if it has no mask, how to get one.
        aligned: Whether the tokens are exactly those of the text, in the same places.
    """

    rendering: Rendering
    conversation: Conversation | None
    sentence: str
    aligned: bool


def mask_text(tokenizer: Tokenizer, text: str, parse_specials: bool = True) -> MaskedText:
    """Detect the format of a text, and compute its mask.

    Args:
        tokenizer: The tokenizer.
        text: Byte text.
        parse_specials: Whether the user has special tokens parsed in the text. In a text in a
            template's format, they always are.
    """
    conversation, problem = _conversation_of(text)
    if conversation is not None:
        try:
            rendering = render(tokenizer, conversation, _TEMPLATE)
        except ConversationError as error:
            problem = f"The text is a conversation that {_TEMPLATE} cannot write: {error}"
        else:
            sentence = f"The text is a conversation in JSON, written by the template {_TEMPLATE}."
            return MaskedText(rendering, conversation, problem or sentence, False)
    reader = _reader_of(text)
    if reader is not None:
        spans = list(reader.read(text, tokenizer))
        needed = [token for token in reader.template.special_tokens if token in text]
        name = reader.template.name
        rendering = render_spans(
            tokenizer, spans, needed, name, len(text) + 1, specials=TRANSFORMERS
        )
        sentence = f"The text is in the format of {reader.template.title}: masked by its roles."
        if not parse_specials:
            sentence += " Special tokens are parsed here, but not in the editor."
        return MaskedText(rendering, None, sentence, parse_specials)
    message = Conversation((Message("user", text),))
    rendering = _as_it_is(tokenizer, text, parse_specials)
    return MaskedText(rendering, message, problem or _HOW_TO, True)


def _as_it_is(tokenizer: Tokenizer, text: str, parse_specials: bool) -> Rendering:
    """Return a rendering of a text's own tokens, special ones too, as a user's message."""
    ids = tokenizer.byte_text.encode(text, parse_specials)
    n = len(ids)
    reasons, n_bytes = bytes([Reason.USER_TEXT]) * n, bytetext.n_bytes(text)
    runs = (TokenRun(0, n, 0, 0, Reason.USER_TEXT, n_bytes),) if n else ()
    return Rendering(tokenizer, "", text, ids, bytes(n), reasons, bytes(n), runs, n + 1)


_HOW_TO = "Not a conversation: it is shown as one user message."
EXAMPLE = """\
{"messages": [
  {"role": "user", "content": "What is 2 + 2?"},
  {"role": "assistant", "content": "4"}
]}
"""
"""A text that has a mask."""


def _conversation_of(text: str) -> tuple[Conversation | None, str]:
    """Read a conversation in JSON, or the first of JSON Lines; the sentence tells of problems."""
    head = text.lstrip("\ufeff \t\r\n")[:1]
    if head not in ("{", "[") or len(text) > MAX_JSON_CHARS:
        return None, ""
    data = text.encode("utf-8", "surrogateescape")
    try:
        try:
            value, byte_text = loads(data)
            note = ""
        except ConversationError as whole:
            first, newline, rest = data.lstrip().partition(b"\n")
            if not newline or not rest.strip() or first.strip() in (b"{", b"["):
                raise
            try:
                value, byte_text = loads(first)
            except ConversationError:
                raise whole from None
            note = "The text holds several conversations; this is the first. Open the file in Chat."
        return Conversation.from_json(value, byte_text=byte_text), note
    except ConversationError as error:
        return None, f"The text starts like JSON but is not a conversation: {error}"


# -- texts in a template's format

_Segment = tuple[str, bool]
"""Text, and whether it is a special token."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """A reader for texts in the format of a template.

    Attributes:
        template: The template.
        marks: Special tokens, any of which identifies the format.
        assign: Turns the text's segments into spans.
    """

    template: ChatTemplate
    marks: tuple[str, ...]
    assign: Callable[[Iterator[_Segment]], Iterator[TemplateSpan]]

    def read(self, text: str, tokenizer: Tokenizer) -> Iterator[TemplateSpan]:
        """Return the spans of a text; all special tokens in it count as special."""
        specials = {*tokenizer.special_tokens, *self.template.special_tokens}
        return self.assign(segments(text, search_for(specials)))


def _reader_of(text: str) -> _Reader | None:
    """Find the reader whose mark comes first in the text."""
    reader_of = {mark: reader for reader in _READERS for mark in reader.marks if mark in text}
    return reader_of[min(reader_of, key=text.index)] if reader_of else None


def _reason_of(header: str) -> Reason:
    """Return the reason of the text after a header."""
    return reason_of_role(header.split()[0] if header.split() else "")


def _read_headers(
    start: str, header_end: str, ends: frozenset[str], text_segments: Iterator[_Segment]
) -> Iterator[TemplateSpan]:
    r"""Read turns of a start token, a header with the role, its end, the text, an end token.

    The header's end is a special token, or "\n" for the first line break.
    """
    message = -1
    reason = Reason.HEADER
    in_header = False
    header = ""
    for text, is_special in text_segments:
        if is_special and text == start:
            message, reason, in_header, header = message + 1, Reason.HEADER, True, ""
            yield special(text, message)
        elif is_special and text == header_end:
            in_header, reason = False, _reason_of(header)
            yield special(text, message)
        elif is_special:
            header += " "
            ended = reason is Reason.ASSISTANT_TEXT and text in ends
            reason = Reason.HEADER if text in ends else reason
            yield end(text, message) if ended else special(text, message)
        elif in_header and header_end == "\n":
            line, newline, rest = text.partition("\n")
            header += line
            yield TemplateSpan(line + newline, Reason.HEADER, message=message)
            if newline:
                in_header, reason = False, _reason_of(header)
            if rest:
                yield _said(rest, reason, message)
        elif in_header:
            header += text
            yield TemplateSpan(text, Reason.HEADER, message=message)
        elif header_end == turns.HEADER_END and text.startswith("\n\n"):
            yield TemplateSpan("\n\n", Reason.HEADER, message=message)
            if text[2:]:
                yield _said(text[2:], reason, message)
        else:
            yield _said(text, reason, message)


def _said(text: str, reason: Reason, message: int) -> TemplateSpan:
    learned = reason in (Reason.ASSISTANT_TEXT, Reason.TOOL_CALL)
    structure = reason is Reason.HEADER
    return TemplateSpan(text, reason, learned, False, structure, message, -1 if structure else 0)


_read_chatml = partial(_read_headers, turns.IM_START, "\n", frozenset({turns.IM_END}))
_read_llama3 = partial(
    _read_headers, turns.HEADER_START, turns.HEADER_END, frozenset({turns.EOT, "<|eom_id|>"})
)


def _read_harmony(text_segments: Iterator[_Segment]) -> Iterator[TemplateSpan]:
    """Read Harmony: the model writes the part of its header that follows its name.

    In a second message in a row, it writes its name too.
    """
    ends = frozenset({harmony.END, harmony.RETURN, harmony.CALL})
    spans: list[TemplateSpan] = []
    is_assistant = in_header = goes_on = False
    for span in _read_headers(harmony.START, harmony.MESSAGE, ends, text_segments):
        if span.special and span.text == harmony.START:
            in_header, is_assistant = True, False
            goes_on = bool(spans) and spans[-1][:2] == (harmony.END, Reason.END)
        elif in_header and not is_assistant and span.text.startswith("assistant"):
            is_assistant = True
            if goes_on:
                spans[-1] = spans[-1]._replace(learned=True)
            spans.append(span._replace(text="assistant", learned=goes_on))
            rest = span.text.removeprefix("assistant")
            span = span._replace(text=rest, learned=True)
        elif in_header and is_assistant:
            span = span._replace(learned=True)
        if span.special and span.text == harmony.MESSAGE:
            in_header = False
        spans.append(span)
    yield from spans


def _read_nanochat(text_segments: Iterator[_Segment]) -> Iterator[TemplateSpan]:
    message = -1
    speaker = Reason.HEADER
    reason = Reason.HEADER
    inner = {
        nanochat.AROUND["python"][0]: Reason.TOOL_CALL,
        nanochat.AROUND["python_output"][0]: Reason.TOOL_OUTPUT,
    }
    inner_ends = {last for _, last in nanochat.AROUND.values()}
    for text, is_special in text_segments:
        if not is_special:
            yield _said(text, reason, message)
        elif text in (nanochat.USER_START, nanochat.ASSISTANT_START):
            message += 1
            is_user = text == nanochat.USER_START
            speaker = reason = Reason.USER_TEXT if is_user else Reason.ASSISTANT_TEXT
            yield special(text, message)
        elif text == nanochat.ASSISTANT_END and speaker is Reason.ASSISTANT_TEXT:
            speaker = reason = Reason.HEADER
            yield end(text, message)
        elif speaker is Reason.ASSISTANT_TEXT and text in inner:
            reason = inner[text]
            yield TemplateSpan(text, reason, reason is Reason.TOOL_CALL, True, message=message)
        elif speaker is Reason.ASSISTANT_TEXT and text in inner_ends:
            yield TemplateSpan(text, reason, reason is Reason.TOOL_CALL, True, message=message)
            reason = speaker
        else:
            if text == nanochat.USER_END:
                speaker = reason = Reason.HEADER
            yield special(text, message)


_READERS = (
    _Reader(TEMPLATES["chatml"], (turns.IM_START,), _read_chatml),
    _Reader(TEMPLATES["llama3"], (turns.HEADER_START,), _read_llama3),
    _Reader(TEMPLATES["nanochat"], (nanochat.USER_START, nanochat.ASSISTANT_START), _read_nanochat),
    _Reader(TEMPLATES["gpt-oss"], (harmony.START,), _read_harmony),
)
"""A reader for each format that is recognized."""
