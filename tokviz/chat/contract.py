"""nanochat's functions, as other programs call them: plain lists in and out.

Source: `render_conversation` and `render_for_completion` in karpathy/nanochat
`nanochat/tokenizer.py`.
"""

from __future__ import annotations

from tokviz.chat.conversation import Conversation, ConversationError
from tokviz.chat.nanochat import ASSISTANT_START, SPECIAL_TOKENS
from tokviz.chat.render import render, virtual_specials
from tokviz.chat.request import DEFAULT_MAX_TOKENS
from tokviz.tokenizer.tokenizer import Tokenizer


def render_conversation(
    tokenizer: Tokenizer, conversation: object, max_tokens: int = DEFAULT_MAX_TOKENS
) -> tuple[list[int], list[int]]:
    """Tokenize a conversation for training, exactly as nanochat does.

    A tokenizer that lacks nanochat's special tokens gets them virtually: their ids come after its
    last, in nanochat's order. So any vocabulary can be tried, but a model trained with it needs
    these tokens too.

    Args:
        tokenizer: Any tokenizer.
        conversation: A dict with `messages`, or a `Conversation`; it is not changed.
        max_tokens: How many tokens are kept.

    Returns:
        Token ids, and a mask of the same length: 1 for tokens that the assistant is trained on.

    Raises:
        ConversationError: If it is no conversation that nanochat renders.

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


def render_for_completion(tokenizer: Tokenizer, conversation: object) -> list[int]:
    """Tokenize a conversation so that the assistant is next, exactly as nanochat does.

    The last message, the assistant's, is left out and the token that starts its turn stands there.

    Args:
        tokenizer: See `render_conversation`.
        conversation: A dict with `messages`, or a `Conversation`; it is not changed.

    Raises:
        ConversationError: If the last message is not the assistant's, or nanochat does not render
            the others.
    """
    read = _as_conversation(conversation)
    if not read.messages or read.messages[-1].role != "assistant":
        last = len(read.messages) - 1 if read.messages else None
        raise ConversationError("the last message must be from 'assistant'", last, "role")
    ids, _ = render_conversation(tokenizer, Conversation(read.messages[:-1]))
    known = {**virtual_specials(tokenizer, SPECIAL_TOKENS), **tokenizer.special_tokens}
    return [*ids, known[ASSISTANT_START]]


def _as_conversation(value: object) -> Conversation:
    return value if isinstance(value, Conversation) else Conversation.from_json(value)
