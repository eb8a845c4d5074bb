"""Text with its mask, for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tokviz.chat.nanochat import SPECIAL_TOKENS
from tokviz.chat.rendering import Rendering, virtual_specials
from tokviz.formats.loader import AnyTokenizer, as_tokenizer
from tokviz.text import bytetext

_RED, _GREEN, _GREY, _RESET = "\033[91m", "\033[92m", "\033[90m", "\033[0m"


def visualize_tokenization(
    tokenizer: AnyTokenizer, ids: list[int], mask: list[int], with_token_id: bool = False
) -> str:
    r"""Color tokens by their mask: green is learned, red is not. Returns exactly nanochat's string.

    Control characters are kept: to show the text safely on a terminal, use
    `tokviz chat FILE --mask`.

    Source: `visualize_tokenization` in karpathy/nanochat `nanochat/tokenizer.py`.

    Args:
        tokenizer: The tokenizer of the ids, or a name or path as for `tokviz.load`.
        ids: Token ids, such as those of `render_conversation`.
        mask: 1 or 0 for each.
        with_token_id: Whether to write each token's id after it.

    Raises:
        TokenIdError: If an id is not in the vocabulary.

    >>> import tokviz
    >>> visualize_tokenization(tokviz.load("gpt2"), [17250, 15496], [0, 1])
    '\x1b[91mHi\x1b[0m|\x1b[92mHello\x1b[0m'
    """
    tokenizer = as_tokenizer(tokenizer)
    virtual = {i: text for text, i in virtual_specials(tokenizer, SPECIAL_TOKENS).items()}
    shown = []
    for token_id, value in zip(ids, mask, strict=False):
        text = virtual.get(token_id)
        text = tokenizer.decode([token_id]) if text is None else text
        shown.append(f"{_GREEN if value == 1 else _RED}{text}{_RESET}")
        if with_token_id:
            shown.append(f"{_GREY}({token_id}){_RESET}")
    return "|".join(shown)


def mask_lines(rendering: Rendering, safe: Callable[[str], str], *, colour: bool) -> Iterator[str]:
    """Return the kept tokens with their mask; see `marked_lines`."""
    kept = range(rendering.n_kept)
    return marked_lines(map(rendering.token_bytes, kept), rendering.mask, safe, colour=colour)


def marked_lines(
    tokens: Iterable[bytes], mask: Iterable[int], safe: Callable[[str], str], *, colour: bool
) -> Iterator[str]:
    """Return tokens with their mask, a line for each line of the text.

    Learned tokens are in brackets, so that color is never the only sign; `|` separates the others.

    Args:
        tokens: The bytes of the tokens.
        mask: 1 for each learned token, 0 for each other; further values are ignored.
        safe: Makes text safe for a terminal.
        colour: Whether to add colors: green is learned, red is not.
    """
    line: list[str] = []
    was_learned = False
    for data, learned in zip(tokens, map(bool, mask), strict=False):
        text = safe(bytetext.from_bytes(data))
        shown = f"[{text}]" if learned else text
        if colour:
            shown = f"{_GREEN if learned else _RED}{shown}{_RESET}"
        if line and not learned and not was_learned:
            line.append("|")
        was_learned = learned
        line.append(shown)
        if data.endswith(b"\n"):
            yield "".join(line)
            line = []
    if line:
        yield "".join(line)
