"""Rows that TRL tokenizes without a chat template: their texts are joined, and EOS follows.

Source: `add_eos` and `tokenize_fn` in TRL's `sft_trainer.py`. The prompt alone is tokenized too: as
many tokens as it has are masked, even if its end is tokenized differently with the completion. All
tokens of a row with only a text are in the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tokviz.chat.caching_encoder import encoder_of
from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError
from tokviz.chat.model_files import model_files_of
from tokviz.chat.rendering import PLAIN_TEXT, Rendering, render_spans
from tokviz.chat.spans import TRANSFORMERS, content, end, special
from tokviz.errors import PatternError
from tokviz.tokenizer.encoding.specials import segments
from tokviz.tokenizer.tokenizer import Tokenizer

_EOS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>")


def eos_of(tokenizer: Tokenizer) -> str:
    """Return the EOS token that the tokenizer's files name, or else a usual one; "" for none."""
    files = model_files_of(tokenizer)
    named = [] if files is None else [files.variables.get("eos_token", "")]
    return next((text for text in (*named, *_EOS) if text in tokenizer.special_tokens), "")


def texts_to_encode(conversation: Conversation) -> list[str]:
    """Return the texts that `render_plain` encodes, so that many can be encoded in one call."""
    texts = [message.text for message in conversation.messages]
    return ["".join(texts), *texts[:-1]]


def _encode(tokenizer: Tokenizer, text: str) -> Sequence[int]:
    parts = [*segments(text, tokenizer.specials.search(True))]
    try:
        if parts == [(text, False)] and not tokenizer.remote:
            return encoder_of(tokenizer).encode(text)
        return tokenizer.byte_text.encode(text, True)
    except PatternError as error:
        raise ConversationError(str(error), 0) from error


def render_plain(
    tokenizer: Tokenizer, conversation: Conversation, max_tokens: int, most_new: int | None = None
) -> Rendering:
    """Render a conversation without a template; see `render`.

    Raises:
        ConversationError: If the split pattern takes too long.
        MuchIsNewError: If more characters are not cached.
    """
    messages, eos = conversation.messages, eos_of(tokenizer)
    post = tokenizer.post_processor
    texts = {token_id: text for text, token_id in tokenizer.special_tokens.items()}
    before, after = ([texts[id] for id in ids if id in texts] for ids in (post.before, post.after))
    spans = [special(text) for text in before]
    spans += [content(it.text, it.role, "text", n, 0) for n, it in enumerate(messages)]
    if eos and not messages[-1].text.endswith(eos):
        spans.append(end(eos, len(messages) - 1))
    spans += [special(text) for text in after]
    notes = [] if eos else ["TRL adds EOS at the end, but the EOS token is not known."]
    ids = [*post.before, *_encode(tokenizer, messages[0].text), *post.after]
    if len(messages) == 1:
        ids = []
    made = render_spans(
        tokenizer,
        spans,
        (),
        PLAIN_TEXT,
        max_tokens,
        specials=TRANSFORMERS,
        mask_source=PLAIN_TEXT,
        left_out=conversation.extra_fields(),
        most_new=most_new,
    )
    if ids != [*made.ids[: len(ids)]]:
        notes.append(
            f"The end of the prompt is tokenized differently with the completion: TRL masks the "
            f"first {len(ids):,} tokens, as many as the prompt has alone."
        )
    kept = made.n_kept
    mask = bytes(min(len(ids), kept)) + b"\1" * max(0, kept - len(ids))
    mask += bytes(len(made) - kept)
    return replace(made, mask=mask, notes=(*made.notes, *notes))
