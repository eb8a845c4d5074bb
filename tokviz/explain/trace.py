"""Traces of tokens: the merges that made a token, and the encoding of a pre-token step by step.

Everything is computed on request for one token or one short pre-token. Tokens and pre-tokens too
long to read are not traced, but have a note.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tokviz.explain.algorithms.story import joined
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, format_sentences
from tokviz.tokenizer.encoding.merging import merge_pre_token

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

MAX_LINEAGE_BYTES = 1024
"""Longer tokens have no lineage."""
MAX_LINEAGE_DEPTH = 64
MAX_LINEAGE_NODES = 512
MAX_TRACE_BYTES = 512
"""Longer pre-tokens are encoded without recording the steps."""
MAX_EXPLAINED_BYTES = 65_536
"""Longer stretches of text are not split to explain why they are not a token."""


@dataclass(slots=True)
class LineageNode:
    """A token and the two tokens that a merge made it from.

    Attributes:
        token: Its bytes.
        id: Its id, None if it is not in the vocabulary.
        number: The number of the merge that makes it, from 1; None for a leaf.
        merge: The two parts; None for a leaf.
        children: The nodes of the parts, two or none.
        note: The reason why a leaf has no parts; empty otherwise.
    """

    token: bytes
    id: int | None
    number: int | None
    merge: tuple[bytes, bytes] | None = None
    children: tuple[LineageNode, ...] = ()
    note: str = ""


def lineage(tok: Tokenizer, token_id: int) -> LineageNode:
    """Trace a token back through its merges down to bytes.

    The tree is built breadth first, so that the limits cut only the deepest branches of a tree that
    is too large to show.

    Raises:
        TokenIdError: If no token has this id.
    """
    root = _node(tok, tok.token_bytes(token_id), token_id)
    pending = [(root, 0)]
    for node, depth in pending:
        if node.merge is None:
            continue
        if len(pending) + 2 > MAX_LINEAGE_NODES or depth >= MAX_LINEAGE_DEPTH:
            node.merge, node.note = None, f"{len(node.token):,} bytes, not divided further"
            continue
        node.children = tuple(_node(tok, part, tok.token_id(part)) for part in node.merge)
        pending.extend((child, depth + 1) for child in node.children)
    return root


def _node(tok: Tokenizer, token: bytes, token_id: int | None) -> LineageNode:
    merge, note = None, ""
    if token_id is not None and tok.is_special(token_id):
        note = "a special token: no merge makes it"
    elif len(token) == 1:
        note = "a single byte"
    elif len(token) > MAX_LINEAGE_BYTES:
        note = f"{len(token):,} bytes: too long to divide"
    else:
        merge = None if token_id is None else tok.merge_of(token_id)
        note = "" if merge is not None else "no merge makes it"
    number = None if merge is None else tok.pair_number(*merge)
    return LineageNode(token, token_id, number, merge, note=note)


@dataclass(frozen=True, slots=True)
class LineageRow:
    """One row of a rendered lineage.

    Attributes:
        prefix: The lines of the tree, made of box characters.
        node: The token in this row.
        times: 2 if both parts of a merge are this token, which is then drawn once.
    """

    prefix: str
    node: LineageNode
    times: int = 1

    def __str__(self) -> str:
        """Return the row as ASCII and box characters: `├─ b' t' 256`."""
        name = "" if self.node.id is None else f" {self.node.id}"
        return f"{self.prefix}{self.node.token!r}{self.twice}{name}"

    @property
    def twice(self) -> str:
        """A suffix for a row that represents both parts, or an empty string."""
        return " twice" if self.times > 1 else ""


def render_lineage(node: LineageNode) -> list[LineageRow]:
    """Render a lineage as a tree, with the token itself in the first row.

    A token merged from two equal parts has one branch: eight spaces take four rows, not fifteen.
    """
    rows: list[LineageRow] = []
    waiting: list[tuple[str, str, LineageNode, int]] = [("", "", node, 1)]
    while waiting:
        before, branch, current, times = waiting.pop()
        rows.append(LineageRow(before + branch, current, times))
        inner = before + {"├─ ": "│  ", "└─ ": "   "}.get(branch, "")
        children = current.children
        if len(children) == 2 and children[0] == children[1]:
            waiting.append((inner, "└─ ", children[0], 2))
            continue
        for place, child in reversed(list(enumerate(children))):
            last = place == len(children) - 1
            waiting.append((inner, "└─ " if last else "├─ ", child, 1))
    return rows


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One merge during the encoding of a pre-token.

    Attributes:
        position: Index of the left part among the tokens before the step.
        start: Byte offset of the left part in the pre-token.
        left: The left part.
        right: The right part.
        number: The number of the merge, from 1: no pair in the pre-token had a lower one.
    """

    position: int
    start: int
    left: bytes
    right: bytes
    number: int

    @property
    def token(self) -> bytes:
        """The token made by the step."""
        return self.left + self.right

    @property
    def end(self) -> int:
        """The byte offset of the end of the new token."""
        return self.start + len(self.left) + len(self.right)


@dataclass(frozen=True, slots=True)
class EncodeTrace:
    """The encoding of one pre-token, merge by merge.

    Attributes:
        pre_token: The bytes of the pre-token.
        steps: The merges in the order of application.
        tokens: The final tokens.
        note: A sentence if the steps are incomplete; empty otherwise.
    """

    pre_token: bytes
    steps: tuple[TraceStep, ...]
    tokens: tuple[bytes, ...]
    note: str = ""

    def states(self) -> Iterator[tuple[bytes, ...]]:
        """Yield the tokens before the first step, then after every step."""
        tokens = [self.pre_token[at : at + 1] for at in range(len(self.pre_token))]
        yield tuple(tokens)
        for step in self.steps:
            tokens[step.position : step.position + 2] = [step.token]
            yield tuple(tokens)


def encode_trace(tok: Tokenizer, pre_token: bytes) -> EncodeTrace:
    """Encode one pre-token step by step: the earliest merge first, then the leftmost.

    Args:
        tok: The tokenizer.
        pre_token: The bytes of one pre-token.

    Returns:
        The steps. Pre-tokens longer than `MAX_TRACE_BYTES` have none, and a note.
    """
    if len(pre_token) > MAX_TRACE_BYTES:
        note = f"A pre-token of {len(pre_token):,} bytes is too long to show step by step."
        return EncodeTrace(pre_token, (), (), note)
    steps: list[TraceStep] = []
    borders = list(range(len(pre_token) + 1))

    def note_step(middle: int, rank: int) -> None:
        at = bisect_left(borders, middle)
        start, end = borders[at - 1], borders[at + 1]
        del borders[at]
        number = tok.tables.merge_number(rank)
        steps.append(
            TraceStep(at - 1, start, pre_token[start:middle], pre_token[middle:end], number)
        )

    tokens = merge_pre_token(pre_token, tok.pair_rank, on_merge=note_step)
    if len(tokens) > 1 and _is_looked_up_whole(tok, pre_token):
        note = "No merges make it: the vocabulary contains the whole pre-token, which is used."
        return EncodeTrace(pre_token, (), (pre_token,), note)
    return EncodeTrace(pre_token, tuple(steps), tuple(tokens))


def _is_looked_up_whole(tok: Tokenizer, pre_token: bytes) -> bool:
    """Return whether the encoder yields one token for a pre-token that its merges do not join.

    tiktoken looks up a whole pre-token before merging.
    """
    return tok.token_id(pre_token) is not None and len(tok.encode_bytes(pre_token, "none")) == 1


Reason = Literal[
    "one token", "empty", "special", "split", "not in the vocabulary", "too late", "unreachable",
    "too long", "left out",
]  # fmt: skip

LEFT_OUT: Sentence = ("The tokenizer omits this text: it produces no tokens for it.",)
_MOST_LISTED = 8
"""Maximum number of tokens listed in a sentence."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reason why a stretch of text is not one token.

    Attributes:
        reason: The kind of reason.
        sentences: An explanation as a mix of words and bytes, which screens show like tokens.
        trace: The encoding of the text, if it is one pre-token and short enough to read.
    """

    reason: Reason
    sentences: tuple[Sentence, ...]
    trace: EncodeTrace | None = None

    def __str__(self) -> str:
        """Return the sentences, with bytes as Python literals."""
        return format_sentences(self.sentences)


def why_not_one_token(tok: Tokenizer, data: bytes, parse_specials: bool = True) -> Explanation:
    """Explain why a stretch of text, encoded alone, is not one token.

    Args:
        tok: The tokenizer.
        data: The bytes of the text; need not be valid UTF-8.
        parse_specials: Whether special tokens in the text are recognized.
    """
    if not data:
        return Explanation("empty", (("The text is empty.",),))
    whole = tok.token_id(data)
    these = "this byte" if len(data) == 1 else f"these {len(data):,} bytes"
    unknown = f"The vocabulary has no token for {these}"
    if whole is None and len(data) > MAX_EXPLAINED_BYTES:
        return Explanation("not in the vocabulary", ((f"{unknown}.",),))
    text = tok.byte_text.normalized(bytetext.from_bytes(data), parse_specials)
    data = bytetext.to_bytes(text)
    spans = tok.byte_text.split(text, parse_specials)
    if len(spans) > 1:
        pre_tokens = [text[start:end] for start, end in spans]
        return _crosses_pre_tokens(tok, pre_tokens, whole, parse_specials)
    ids = tok.byte_text.encode(text, parse_specials).tolist()
    if tok.remote:
        return _of_library(tok, data, ids, whole)
    if len(ids) == 1:
        return _is_one_token(tok, data, ids[0])
    trace = encode_trace(tok, data)
    if whole is None:
        so_far = ": the merges end at " if trace.tokens else "."
        sentence = (unknown + so_far, *joined(trace.tokens), "." if trace.tokens else "")
        return Explanation("not in the vocabulary", (sentence, *_missing(trace.tokens)), trace)
    if len(data) > MAX_TRACE_BYTES:
        sentence = (f"The vocabulary contains it (id {whole}). {trace.note}",)
        return Explanation("too long", (sentence,), trace)
    return _blocked(tok, whole, trace)


def listed(tok: Tokenizer, ids: Sequence[int], most: int) -> Sentence:
    """Join tokens to a sentence, at most `most` of them."""
    tokens = tuple(tok.token_bytes(token_id) for token_id in ids[:most])
    return (*joined(tokens), " …") if len(ids) > most else joined(tokens)


def _missing(tokens: tuple[bytes, ...]) -> tuple[Sentence, ...]:
    """Name the missing merge if there is only one."""
    return (("The merge ", *joined(tokens), " is missing."),) if len(tokens) == 2 else ()


def _is_one_token(tok: Tokenizer, data: bytes, token_id: int) -> Explanation:
    kind = "the special token" if tok.is_special(token_id) else "one token:"
    sentence = (f"Encoded alone, it is {kind} ", data, f", id {token_id}.")
    trace = None if tok.remote or tok.is_special(token_id) else encode_trace(tok, data)
    return Explanation("one token", (sentence,), trace)


def _of_library(tok: Tokenizer, data: bytes, ids: list[int], whole: int | None) -> Explanation:
    """Explain the encoding by another library, which does not report the merges it applied."""
    if not ids:
        return Explanation("left out", (LEFT_OUT,))
    tokens = listed(tok, ids, _MOST_LISTED)
    if tokens == (data,):
        return _is_one_token(tok, data, ids[0])
    if len(ids) == 1:
        sentence: Sentence = ("Encoded alone, it becomes one token: ", *tokens, f", id {ids[0]}.")
        return Explanation("one token", (sentence,))
    who = "The" if whole is None else f"The vocabulary contains it (id {whole}), but the"
    sentence = (f"{who} tokenizer's own library encodes it as {len(ids):,} tokens: ", *tokens, ".")
    return Explanation("not in the vocabulary" if whole is None else "unreachable", (sentence,))


def _crosses_pre_tokens(
    tok: Tokenizer, pre_tokens: list[str], whole: int | None, parse_specials: bool
) -> Explanation:
    special = next((pre_token for pre_token in pre_tokens if pre_token in tok.special_tokens), None)
    if special is not None and parse_specials:
        name = special.encode("utf-8")
        sentence = ("It contains the special token ", name, ", which never merges with other text.")
        return Explanation("special", (sentence,))
    left, right = (bytetext.to_bytes(pre_token) for pre_token in pre_tokens[:2])
    where = f"at byte {len(left):,}" if len(pre_tokens) == 2 else f"first at byte {len(left):,}"
    cut = (
        f"The split pattern {tok.split_pattern.name} cuts it into {len(pre_tokens):,} pre-tokens, "
        f"{where}, between ", left, " and ", right, ". No token spans two pre-tokens.",
    )  # fmt: skip
    if whole is None:
        return Explanation("split", (cut,))
    unused = f"The vocabulary contains it (id {whole}), but this pattern never lets it form."
    return Explanation("split", (cut, (unused,)))


def _blocked(tok: Tokenizer, whole: int, trace: EncodeTrace) -> Explanation:
    """Find the step that used a byte which the token's own merges needed."""
    root = lineage(tok, whole)
    wanted = list(_spans(root))
    for step in trace.steps:
        crossed = [
            (end - start, start, end, node)
            for start, end, node in wanted
            if step.start < end and start < step.end
            and not (start <= step.start and step.end <= end)
            and not (step.start <= start and end <= step.end)
        ]  # fmt: skip
        if crossed:
            _, start, end, node = min(crossed, key=lambda crossing: crossing[0])
            taken = trace.pre_token[max(start, step.start) : min(end, step.end)]
            return _too_late(whole, node, step, taken, trace)
    sentence = f"The vocabulary contains it (id {whole}), but its merges never make it from bytes."
    return Explanation("unreachable", ((sentence,),), trace)


def _too_late(
    whole: int, node: LineageNode, step: TraceStep, taken: bytes, trace: EncodeTrace
) -> Explanation:
    assert node.merge is not None
    left, right = node.merge
    held = f"The vocabulary contains it (id {whole}), but the merge "
    late = (held, left, " + ", right, f" (merge {node.number:,}) comes too late: ")
    first = (step.left, " + ", step.right, f" (merge {step.number:,}) is applied first and uses ")
    return Explanation("too late", ((*late, *first, taken, "."),), trace)


def _spans(root: LineageNode) -> Iterator[tuple[int, int, LineageNode]]:
    """Yield the byte span of every merged token of a lineage."""
    waiting = [(0, root)]
    while waiting:
        start, node = waiting.pop()
        if node.merge is None:
            continue
        yield start, start + len(node.token), node
        if node.children:
            left, right = node.children
            waiting.extend(((start, left), (start + len(left.token), right)))
