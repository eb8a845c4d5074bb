"""Rendering conversations with a template, and nanochat's own two functions.

`render_conversation` and `render_for_completion` take and return what those of karpathy/nanochat
`nanochat/tokenizer.py` do: dicts and lists.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset_shapes import SHAPES
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError
from tokviz.chat.nanochat import ASSISTANT_START, SPECIAL_TOKENS
from tokviz.chat.plain_text import render_plain
from tokviz.chat.rendering import DEFAULT_MAX_TOKENS, Rendering, render_spans, virtual_specials
from tokviz.chat.spans import SPECIALS
from tokviz.chat.template_files import load_template
from tokviz.chat.templates import ChatTemplate
from tokviz.errors import TokvizError
from tokviz.formats.loader import AnyTokenizer, as_tokenizer


def render(
    tokenizer: AnyTokenizer,
    conversation: object,
    template: str | ChatTemplate | JinjaTemplate | None = None,
    max_tokens: int | None = None,
    most_new: int | None = None,
    *,
    variables: Mapping[str, Any] | None = None,
    specials: str | None = None,
) -> Rendering:
    """Render a conversation.

    Args:
        tokenizer: Any tokenizer, or a name or path as for `tokviz.load`.
        conversation: A list of messages, or a dict in any shape of datasets, such as one with
            `messages`, or a `Conversation`; it is not changed.
        template: A built-in template, or a Jinja template, which a child process renders; the call
            waits for at most two seconds of processor time. Or the name or path of one; see
            `load_template`. None for the tokenizer's own template, or nanochat's if it has none.
        max_tokens: The number of tokens to keep; None for all.
        most_new: The most characters to encode that are not cached from an earlier rendering; None
            for no limit. Ignored for a Jinja template.
        variables: Variables for a Jinja template, such as `enable_thinking`; they take priority
            over the conversation's `chat_template_kwargs`.
        specials: A key of `SPECIALS`: "transformers" recognizes special tokens in contents too,
            "content_as_text" does not. None for the policy of the template's source: the latter
            for the built-in templates nanochat, llama3 and gpt-oss, the former for all others.

    Raises:
        ConversationError: If the template cannot write this conversation.
        ChatTemplateError: If a Jinja template is wrong or takes too long.
        UnknownTemplateError: If there is no such template.
        MuchIsNewError: If more characters are not cached.
    """
    tokenizer = as_tokenizer(tokenizer)
    chosen = template
    if chosen is None or isinstance(chosen, str):
        chosen = load_template(chosen, tokenizer)
    if specials is not None and specials not in SPECIALS:
        raise TokvizError(f"specials is {specials!r}: use {' or '.join(map(repr, SPECIALS))}")
    read = _as_conversation(conversation).with_variables(variables or {})
    kept = sys.maxsize if max_tokens is None else max_tokens
    if read.is_plain:
        return _with_note(render_plain(tokenizer, read, kept, most_new), read)
    if isinstance(chosen, ChatTemplate):
        made = render_spans(
            tokenizer,
            chosen.write(read),
            chosen.special_tokens,
            chosen.name,
            kept,
            specials=specials or chosen.specials,
            makes_up_ids=chosen.makes_up_ids,
            left_out=[aside for aside in read.extra_fields() if not chosen.writes(aside)],
            untrained=read.untrained(),
            most_new=most_new,
        )
        return _with_note(made, read)
    return _with_note(chosen.render(tokenizer, read, kept, specials or chosen.specials), read)


def _with_note(rendering: Rendering, conversation: Conversation) -> Rendering:
    """Add the note of the conversation's shape."""
    note = SHAPES[conversation.shape].note
    return replace(rendering, notes=(note, *rendering.notes)) if note else rendering


def render_conversation(
    tokenizer: AnyTokenizer, conversation: object, max_tokens: int = DEFAULT_MAX_TOKENS
) -> tuple[list[int], list[int]]:
    """Tokenize a conversation for training, exactly as nanochat does.

    Any vocabulary can be tried: if it lacks nanochat's special tokens, they get made-up ids after
    its last, in nanochat's order. A model trained on these ids needs the tokens too.

    Args:
        tokenizer: See `render`.
        conversation: See `render`.
        max_tokens: The number of tokens to keep.

    Returns:
        Token ids, and a mask of the same length: 1 for tokens that the assistant is trained on.

    Raises:
        ConversationError: If nanochat cannot render the conversation.

    >>> import tokviz
    >>> messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> ids, mask = tokviz.render_conversation(tokviz.load("gpt2"), {"messages": messages})
    >>> ids
    [50257, 50258, 17250, 50259, 50260, 15496, 50261]
    >>> mask
    [0, 0, 0, 0, 0, 1, 1]
    """
    rendering = render(tokenizer, _as_conversation(conversation), "nanochat", max_tokens)
    kept = rendering.n_kept
    return rendering.ids[:kept].tolist(), list(rendering.mask[:kept])


def render_for_completion(tokenizer: AnyTokenizer, conversation: object) -> list[int]:
    """Tokenize a conversation as a prompt for the assistant, exactly as nanochat does.

    The last message, the assistant's, is replaced by the token that starts the assistant's turn.

    Args:
        tokenizer: See `render`.
        conversation: See `render`.

    Raises:
        ConversationError: If the last message is not the assistant's, or nanochat cannot render
            the others.
    """
    tokenizer, read = as_tokenizer(tokenizer), _as_conversation(conversation)
    if not read.messages or read.messages[-1].role != "assistant":
        last = len(read.messages) - 1 if read.messages else None
        raise ConversationError("the last message must be from 'assistant'", last, "role")
    ids, _ = render_conversation(tokenizer, Conversation(read.messages[:-1]))
    known = {**virtual_specials(tokenizer, SPECIAL_TOKENS), **tokenizer.special_tokens}
    return [*ids, known[ASSISTANT_START]]


def _as_conversation(value: object) -> Conversation:
    return value if isinstance(value, Conversation) else Conversation.from_json(value)
