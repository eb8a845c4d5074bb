"""The tokens of a conversation, each with its mask and its reason."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from tokviz.chat.caching_encoder import CachingEncoder, encoder_of
from tokviz.chat.conversation import ExtraField
from tokviz.chat.messages import ConversationError
from tokviz.chat.spans import (
    CONTENT_AS_TEXT,
    REASON_NAMES,
    TRANSFORMERS,
    Reason,
    TemplateSpan,
    TextPiece,
)
from tokviz.errors import PatternError
from tokviz.process.runner import raise_if_stopped
from tokviz.text import bytetext
from tokviz.text.notebooks import displayed
from tokviz.tokenizer.encoding.specials import segments
from tokviz.tokenizer.tokenizer import Tokenizer

DEFAULT_MAX_TOKENS = 2048
"""nanochat's context size."""

LABEL_OF_MASKED = -100
"""The label of a token that is not in the loss, in PyTorch and transformers."""

TEMPLATE_MASK = "template"
GENERATION_MARKS = "generation marks"
ROLE_SPANS = "role spans"
PLAIN_TEXT = "plain text"
MASK_SOURCES = {
    PLAIN_TEXT: "The row is plain text without a chat template, as TRL tokenizes it: all after the "
    "prompt is learned.",
    TEMPLATE_MASK: "The template says which tokens are learned.",
    GENERATION_MARKS: "The mask comes from the template's {% generation %} marks.",
    ROLE_SPANS: "The template has no {% generation %} marks: the assistant's messages are learned, "
    "with the tokens that end them.",
}
"""The origins of a mask, each described in a sentence."""


_MOST_NAMED = 8


class MuchIsNewError(Exception):
    """The conversation has more text to encode than `most_new` allows."""


class TokenRun(NamedTuple):
    """Neighboring tokens of one origin; a long text has several runs.

    Attributes:
        first: The first token.
        last: One past the last.
        message: The message they belong to, counted from 0, -1 for none.
        part: The part of that message, -1 for none.
        reason: Their reason, also if they are cut off.
        n_bytes: Their length in bytes.
    """

    first: int
    last: int
    message: int
    part: int
    reason: Reason
    n_bytes: int


@displayed("rendering")
@dataclass(frozen=True)
class Rendering:
    """The tokens of a conversation. All columns have one item for each token.

    Tokens beyond `max_tokens` are in the columns too, with mask 0 and the reason `TRUNCATED`:
    training sees `ids[:n_kept]` and `mask[:n_kept]`.

    Attributes:
        tokenizer: The tokenizer.
        template: The template's name.
        text: The rendered conversation, byte text.
        ids: Token ids; typecode "I".
        mask: 1 where a token is in the loss, else 0.
        reasons: Values of `Reason`.
        from_structure: 1 where a token comes from the template, 0 where it comes from the
            conversation. The first byte decides for a token that crosses the border; the token is
            in the loss if any of its bytes is.
        runs: Ranges of tokens with their message, part and reason.
        max_tokens: The number of tokens to keep.
        specials: A key of `SPECIALS`.
        virtual_specials: Special tokens that nanochat's template needs and the tokenizer lacks,
            with made-up ids after the tokenizer's last.
        missing_specials: Special tokens that another template writes and the tokenizer lacks, and
            the number of tokens into which each is split.
        mask_source: A key of `MASK_SOURCES`.
        notes: Notes about the rendering for the user, in sentences.
        left_out: Fields of the conversation that the template omits or changes; also in a note.
        untrained: Messages excluded from the loss by one of their keys, and that key; also in a
            note.
        miscounted: A text within generation marks that transformers puts elsewhere, or None.
        generation_header: The text that starts the assistant's turns, of a Jinja template.
    """

    tokenizer: Tokenizer
    template: str
    text: str = field(repr=False)
    ids: array[int]
    mask: bytes
    reasons: bytes
    from_structure: bytes
    runs: tuple[TokenRun, ...]
    max_tokens: int
    specials: str = CONTENT_AS_TEXT
    virtual_specials: Mapping[str, int] = field(default_factory=dict)
    missing_specials: Mapping[str, int] = field(default_factory=dict)
    mask_source: str = TEMPLATE_MASK
    notes: tuple[str, ...] = ()
    left_out: tuple[ExtraField, ...] = ()
    untrained: Mapping[int, str] = field(default_factory=dict)
    miscounted: str | None = None
    generation_header: str = ""

    def __hash__(self) -> int:
        """Return a hash of the text and its template."""
        return hash((self.template, self.text))

    def __len__(self) -> int:
        """Return the number of tokens, including those cut off."""
        return len(self.ids)

    @property
    def n_kept(self) -> int:
        """The number of tokens kept."""
        return min(len(self.ids), self.max_tokens)

    @property
    def labels(self) -> list[int]:
        """The kept ids, -100 where a token is not in the loss; not shifted."""
        kept = zip(self.ids[: self.n_kept], self.mask, strict=False)
        return [token_id if learned else LABEL_OF_MASKED for token_id, learned in kept]

    @cached_property
    def n_learned(self) -> int:
        """The number of tokens with mask 1."""
        return self.mask.count(1)

    @property
    def supervised_share(self) -> float:
        """The share of the kept tokens that are in the loss, 0 to 1."""
        return self.n_learned / self.n_kept if self.n_kept else 0.0

    @cached_property
    def _virtual_bytes(self) -> dict[int, bytes]:
        return {token_id: text.encode() for text, token_id in self.virtual_specials.items()}

    def token_bytes(self, index: int) -> bytes:
        """Return the bytes of a token."""
        token_id = self.ids[index]
        virtual = self._virtual_bytes.get(token_id)
        return self.tokenizer.token_bytes(token_id) if virtual is None else virtual

    def is_special(self, index: int) -> bool:
        """Return whether a token is a special token, of the tokenizer or virtual."""
        token_id = self.ids[index]
        return token_id in self._virtual_bytes or self.tokenizer.is_special(token_id)

    @cached_property
    def message_spans(self) -> list[tuple[int, int]]:
        """The first token and one past the last of each message; equal if it has no tokens."""
        spans: dict[int, tuple[int, int]] = {}
        for message, first, last in self.stretches:
            spans[message] = (spans.get(message, (first, 0))[0], last)
        return [spans.get(message, (0, 0)) for message in range(max(spans, default=-1) + 1)]

    @cached_property
    def stretches(self) -> list[tuple[int, int, int]]:
        """Ranges of tokens by message: the message, the first token, and one past the last."""
        by_message = (list(runs) for _, runs in groupby(self.runs, itemgetter(2)))
        return [(runs[0].message, runs[0].first, runs[-1].last) for runs in by_message]

    def run_of(self, index: int) -> TokenRun:
        """Return the run that a token is in."""
        return self.runs[bisect_right(self.runs, index, key=itemgetter(0)) - 1]

    @cached_property
    def message_of(self) -> array[int]:
        """The message of every token, counted from 0, -1 for none; typecode "i"."""
        return self._column(lambda run: run.message)

    @cached_property
    def part_of(self) -> array[int]:
        """The part of its message for every token, -1 for none; typecode "i"."""
        return self._column(lambda run: run.part)

    def _column(self, value: Callable[[TokenRun], int]) -> array[int]:
        column = array("i")
        for run in self.runs:
            column.extend(array("i", [value(run)]) * (run.last - run.first))
        return column

    def reason_sentence(self, index: int) -> str:
        """Explain a token's mask in a sentence."""
        reason = Reason(self.reasons[index])
        if reason is Reason.TRUNCATED:
            return (
                f"0: cut off. This is token #{index}, and only the first {self.max_tokens:,} are "
                "kept; training does not see it."
            )
        value = self.mask[index]
        message = self.run_of(index).message
        key = self.untrained.get(message)
        if key is not None and reason in _ASSISTANT:
            what = f"{REASON_NAMES[reason]} of message {message + 1}"
            return f"0: {what}; its key {key!r} keeps it from being learned."
        where = f" of message {message + 1}" if message >= 0 else ""
        if reason is Reason.HEADER:
            what = f"template text{where}"
            why = "the model writes it" if value else "input only: the model reads it"
        elif reason is Reason.END:
            what = f"the token that ends the assistant's turn{where}"
            why = "so the model learns to stop" if value else "so the model does not learn to stop"
        else:
            origin = "structure" if self.from_structure[index] else "content"
            what = f"{REASON_NAMES[reason]}{where} ({origin})"
            why = _WHY[reason] if bool(value) == (reason in _LEARNED) else _UNUSUAL[value]
        return f"{value}: {what}; {why}."


_LEARNED = frozenset({Reason.ASSISTANT_TEXT, Reason.TOOL_CALL})
_ASSISTANT = _LEARNED | {Reason.END}
_WHY = {
    Reason.SYSTEM_TEXT: "input only: the model reads it",
    Reason.USER_TEXT: "input only: the user writes it",
    Reason.ASSISTANT_TEXT: "the model learns to write it",
    Reason.TOOL_CALL: "the model learns to call the tool",
    Reason.TOOL_OUTPUT: "input only: the tool returns it",
}
_UNUSUAL = {
    0: "the template excludes it from the loss",
    1: "the template includes it in the loss",
}


def render_spans(
    tokenizer: Tokenizer,
    spans: Sequence[TemplateSpan],
    special_tokens: Sequence[str],
    template: str,
    max_tokens: int,
    *,
    specials: str = CONTENT_AS_TEXT,
    pieces: Sequence[TextPiece] = (),
    makes_up_ids: bool = False,
    generation: Sequence[tuple[int, int]] | None = None,
    mask_source: str = TEMPLATE_MASK,
    notes: tuple[str, ...] = (),
    left_out: Sequence[ExtraField] = (),
    untrained: Mapping[int, str] = MappingProxyType({}),
    most_new: int | None = None,
) -> Rendering:
    """Encode the spans of a template.

    Args:
        tokenizer: The tokenizer.
        spans: The spans.
        special_tokens: The special tokens that the template may write.
        template: The template's name.
        max_tokens: The number of tokens to keep.
        specials: A key of `SPECIALS`.
        pieces: With `CONTENT_AS_TEXT`, the pieces to encode on their own; none if each span says
            whether it is a special token.
        makes_up_ids: Whether special tokens that the tokenizer lacks get ids after its last;
            otherwise they are encoded as text.
        generation: The character ranges that transformers puts in the loss; None if the spans
            tell.
        mask_source: A key of `MASK_SOURCES`.
        notes: Sentences for the rendering's `notes`.
        left_out: Fields of the conversation that the template omits or changes.
        untrained: Messages excluded from the loss, and the key that excludes each.
        most_new: The most characters to encode that are not cached; None for no limit.

    Raises:
        MuchIsNewError: If more characters are not cached.
    """
    if untrained:
        spans = [
            span._replace(learned=span.learned and span.message not in untrained) for span in spans
        ]
        numbers = ", ".join(str(message + 1) for message in islice(untrained, _MOST_NAMED))
        more = ", …" if len(untrained) > _MOST_NAMED else ""
        keys = " or ".join(dict.fromkeys(map(repr, untrained.values())))
        notes = (*notes, f"Not learned because of {keys}: message {numbers}{more}.")
    virtual = virtual_specials(tokenizer, special_tokens) if makes_up_ids else {}
    text = "".join([span.text for span in spans])
    runs = encoding_runs(tokenizer, spans, virtual, specials, pieces)
    columns = _Columns(tokenizer, {**virtual, **tokenizer.special_tokens})
    columns.add_all(runs, most_new)
    n_kept = min(len(columns), max_tokens)
    n_cut = len(columns) - n_kept
    if left_out:
        keys = ", ".join(dict.fromkeys(repr(aside.key) for aside in left_out))
        verb = leaves_out(mask_source)
        changed = "" if mask_source == TEMPLATE_MASK else " Changed text counts as template text."
        notes = (*notes, f"{template} {verb} a part of the conversation: {keys}.{changed}")
    mask = columns.mask()
    if generation is not None and specials == TRANSFORMERS:
        mask = _transformers_mask(tokenizer, text, columns, generation)
    lacking = set(special_tokens) - tokenizer.special_tokens.keys() - virtual.keys()
    encoder = encoder_of(tokenizer)
    missing = {name: len(encoder.encode(name)) for name in special_tokens
               if name in lacking and name in text}  # fmt: skip
    return Rendering(
        tokenizer,
        template,
        text,
        columns.ids,
        bytes(mask[:n_kept]) + bytes(n_cut),
        columns.bytes_of(lambda span: span.reason)[:n_kept] + bytes([Reason.TRUNCATED]) * n_cut,
        columns.bytes_of(lambda span: span.structure),
        tuple(columns.runs),
        max_tokens,
        specials,
        virtual,
        missing,
        mask_source,
        notes,
        tuple(left_out),
        {**untrained},
    )


def _transformers_mask(
    tokenizer: Tokenizer, text: str, columns: _Columns, generation: Sequence[tuple[int, int]]
) -> bytearray:
    """Return 1 for each token whose characters overlap a range, and 0 for each other.

    Source: `apply_chat_template` in transformers `tokenization_utils_base.py`.
    """
    import numpy as np  # slow to import, and built-in templates do not need it

    at, lasts = 0, [np.zeros(0, np.int64)]
    for encoder, part in () if tokenizer.remote else columns.texts:
        n_bytes = bytetext.n_bytes(part)
        lasts.append(at + np.array([n_bytes] if encoder is None else encoder.ends(part), np.int64))
        at += n_bytes
    starts, ends = tokenizer.char_offsets(text, columns.ids, np.concatenate(lasts))
    first, last = np.array([*generation, (0, 0)], np.int64)[:-1].T
    # transformers moves to the next range once a token starts at or after the end of the last one.
    number = np.searchsorted(np.maximum.accumulate(last), starts, "right")
    is_within = number < len(generation)
    is_within[is_within] = ends[is_within] > first[number[is_within]]
    return bytearray(is_within)


def leaves_out(mask_source: str) -> str:
    """Return the verb for fields that are not in the rendered text.

    A built-in template leaves them out; a Jinja template may also have written them differently.
    """
    return "leaves out" if mask_source == TEMPLATE_MASK else "leaves out or changes"


def virtual_specials(tokenizer: Tokenizer, special_tokens: Sequence[str]) -> dict[str, int]:
    """Return made-up ids for missing special tokens: those after the tokenizer's last, in order."""
    lacking = [text for text in special_tokens if text not in tokenizer.special_tokens]
    return {text: tokenizer.n_vocab + i for i, text in enumerate(dict.fromkeys(lacking))}


class EncodingRun(NamedTuple):
    """Neighboring spans that are encoded together.

    Attributes:
        spans: The spans.
        is_special: Whether they are one special token.
        is_parsed: Whether the tokenizer recognizes special tokens in their text. Only a tokenizer
            in another process does; for others, they are runs of their own.
        continues: Whether text precedes that is encoded on its own.
    """

    spans: list[TemplateSpan]
    is_special: bool = False
    is_parsed: bool = False
    continues: bool = False


def encoding_runs(
    tokenizer: Tokenizer,
    spans: Sequence[TemplateSpan],
    virtual: Mapping[str, int],
    specials: str,
    pieces: Sequence[TextPiece] = (),
) -> list[EncodingRun]:
    """Group spans that are encoded together; see `render_spans`."""
    if specials == CONTENT_AS_TEXT and not pieces:
        return _runs_as_declared(spans, {**virtual, **tokenizer.special_tokens})
    n_chars = sum([len(span.text) for span in spans])
    runs: list[EncodingRun] = []
    rest = _SpanReader(spans)
    for start, end, as_text in pieces or [TextPiece(0, n_chars, False)]:
        continues = start > 0
        if as_text or tokenizer.remote:
            runs.append(EncodingRun(rest.take(end - start), False, not as_text, continues))
            continue
        taken = rest.take(end - start)
        text = "".join([span.text for span in taken])
        parts = _SpanReader(taken)
        for part, is_special in segments(text, tokenizer.specials.search(True)):
            run = parts.take(len(part))
            if is_special:
                learned = any(span.learned for span in run)
                run = [run[0]._replace(text=part, special=True, learned=learned)]
            runs.append(EncodingRun(run, is_special))
    return runs


class _SpanReader:
    """A reader that cuts spans at given lengths."""

    def __init__(self, spans: Sequence[TemplateSpan]) -> None:
        self._spans = iter(spans)
        self._rest: TemplateSpan | None = None

    def take(self, n_chars: int) -> list[TemplateSpan]:
        """Return the next spans with this many characters; none of them is a special token."""
        taken: list[TemplateSpan] = []
        while n_chars > 0:
            span = self._rest or next(self._spans)
            self._rest = None
            if len(span.text) > n_chars:
                self._rest = span._replace(text=span.text[n_chars:])
                span = span._replace(text=span.text[:n_chars])
            if span.text:
                taken.append(span._replace(special=False))
            n_chars -= len(span.text)
        return taken


def _runs_as_declared(
    spans: Iterable[TemplateSpan], special_tokens: Mapping[str, int]
) -> list[EncodingRun]:
    """Group neighboring text; each span says whether it is a special token."""
    runs: list[EncodingRun] = []
    is_open = False
    for span in spans:
        if span.special and span.text in special_tokens:
            runs.append(EncodingRun([span], is_special=True))
            is_open = False
        elif span.text:
            if is_open and not span.apart:
                runs[-1].spans.append(span)
            else:
                runs.append(EncodingRun([span]))
            is_open = not span.apart
    return runs


_TOGETHER = 1_000
"""Texts to encode per call."""

_SpanText = tuple[TemplateSpan, str]
"""A span, and the part of its text that is in one encoded text."""


class _Columns:
    """A builder for the columns of a rendering.

    Attributes:
        ids: The token ids.
        runs: The origins of the tokens.
        texts: The texts that are encoded, each with its encoder; None for a special token.
    """

    def __init__(self, tokenizer: Tokenizer, special_ids: Mapping[str, int]) -> None:
        self._tokenizer = tokenizer
        self._special_ids = special_ids
        self.ids = array("I")
        self.runs: list[TokenRun] = []
        self.texts: list[tuple[CachingEncoder | None, str]] = []
        self._spans: list[TemplateSpan] = []
        """The span of each run."""
        self._learned_too: list[int] = []
        """Tokens that end in a span of the loss but start before it."""

    def __len__(self) -> int:
        return self.runs[-1].last if self.runs else 0

    def add_all(self, runs: Sequence[EncodingRun], most_new: int | None) -> None:
        """Add runs; raise `MuchIsNewError` if more than `most_new` characters are not cached."""
        parts = [(run, *part) for run in runs for part in self._parts(run)]
        if most_new is not None:
            new = (text for run, _, text in parts if not self._encoder(run).knows(text))
            if sum(map(len, new)) > most_new:
                raise MuchIsNewError
        self.texts = [(None if run.is_special else self._encoder(run), text)
                      for run, _, text in parts]  # fmt: skip
        for number, (run, span_texts, text) in enumerate(parts):
            if number % _TOGETHER == 0:
                raise_if_stopped()
                some = parts[number : number + _TOGETHER]
                plain = encoder_of(self._tokenizer)
                plain.learn(text for run, _, text in some if not run.is_special)
            if run.is_special:
                self.ids.append(self._special_ids[text])
                self._note(span_texts[0][0], 1, bytetext.n_bytes(text))
            else:
                self._add(self._encoder(run), span_texts, text)

    def _encoder(self, run: EncodingRun) -> CachingEncoder:
        return encoder_of(self._tokenizer, run.is_parsed, run.continues)

    def _parts(self, run: EncodingRun) -> Iterator[tuple[list[_SpanText], str]]:
        """Cut a run's text where the cut does not change the tokens."""
        raise_if_stopped()
        text = "".join([span.text for span in run.spans])
        where = run.spans[0].message, run.spans[0].part
        parts = [text] if run.is_special else self._encoder(run).parts(text, where)
        spans = iter(run.spans)
        at = last = 0
        for part in parts:
            span_texts, end = list[_SpanText](), at + len(part)
            while at < end:
                if at == last:
                    span = next(spans)
                    last += len(span.text)
                stop = min(end, last)
                span_texts.append((span, part if stop - at == len(part) else text[at:stop]))
                at = stop
            yield span_texts, part

    def _add(self, encoder: CachingEncoder, span_texts: list[_SpanText], text: str) -> None:
        """Add plain text that is encoded in one go, its tokens shared out by bytes."""
        message = span_texts[0][0].message
        try:
            ids = encoder.encode(text)
        except PatternError as error:
            raise ConversationError(str(error), message if message >= 0 else None) from error
        self.ids.extend(ids)
        if len(span_texts) == 1:
            self._note(span_texts[0][0], len(ids), bytetext.n_bytes(text))
            return
        ends = encoder.ends(text)
        first, n_bytes = 0, 0
        for span, part in span_texts:
            n_before, n_bytes = n_bytes, n_bytes + bytetext.n_bytes(part)
            # A token that crosses the end of this span belongs to it.
            whole = bisect_right(ends, n_bytes)
            reaches_over = whole < len(ends) and (ends[whole - 1] if whole else 0) < n_bytes
            last = whole + reaches_over
            if span.learned and first and ends[first - 1] > n_before:
                self._learned_too.append(len(self) - 1)
            end = ends[last - 1] if last else 0
            self._note(span, last - first, end - (ends[first - 1] if first else 0))
            first = last

    def _note(self, span: TemplateSpan, n: int, n_bytes: int) -> None:
        """Record the origin of the next n tokens."""
        if n:
            first = len(self)
            self._spans.append(span)
            run = TokenRun(first, first + n, span.message, span.part, span.reason, n_bytes)
            self.runs.append(run)

    def mask(self) -> bytearray:
        """Return 1 for each token in the loss, and 0 for each other."""
        mask = bytearray(self.bytes_of(lambda span: span.learned))
        for token in self._learned_too:
            mask[token] = 1
        return mask

    def bytes_of(self, value: Callable[[TemplateSpan], int]) -> bytes:
        """Return a property of its span for each token."""
        return b"".join(
            bytes([value(span)]) * (run.last - run.first)
            for span, run in zip(self._spans, self.runs, strict=True)
        )


def rendering_to_json(rendering: Rendering) -> dict[str, object]:
    """Return the kept tokens and the notes of a rendering, ready for `json.dumps`."""
    kept = rendering.n_kept
    return {
        "tokenizer": rendering.tokenizer.name,
        "template": rendering.template,
        "mask_source": rendering.mask_source,
        "specials": rendering.specials,
        "max_tokens": rendering.max_tokens,
        "n_tokens": len(rendering),
        "n_kept": kept,
        "n_learned": rendering.n_learned,
        "virtual_specials": dict(rendering.virtual_specials),
        "missing_specials": dict(rendering.missing_specials),
        "notes": list(rendering.notes),
        "ids": rendering.ids[:kept].tolist(),
        "mask": list(rendering.mask[:kept]),
        "reasons": [REASON_NAMES[Reason(r)] for r in rendering.reasons[:kept]],
        "messages": rendering.message_of[:kept].tolist(),
    }
