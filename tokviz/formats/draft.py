"""Unchecked content of a tokenizer file, and the checks on it.

Every format is read into a `Draft`. `inspect` finds inconsistencies, and `build` makes the
tokenizer if it finds no errors. So a format's module only reads, and all formats share the checks
and their messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import fspath

from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import StrPath
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.encoding.normalization import NEVER_IN_UTF8, UNCHANGED, Normalizer
from tokviz.tokenizer.encoding.packed import Tables, pack_merges, pack_ranks
from tokviz.tokenizer.encoding.specials import PostProcessor, SpecialTokens
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.report import FileFinding, Report, Severity
from tokviz.tokenizer.tokenizer import Tokenizer

MAX_TOKEN_ID = (1 << 22) - 1
"""The largest id accepted: twenty times the largest vocabulary in use."""

MAX_TOKEN_BYTES = 1 << 16
"""The longest token accepted, in bytes."""

MAX_TOTAL_BYTES = 64_000_000
"""The most bytes of all tokens together."""

GUESSED_PATTERN = "guessed-pattern"
MERGE_WITHOUT_TOKEN = "merge-without-token"


@dataclass(slots=True)
class Draft:
    """The content of a tokenizer file, or of a pair of them.

    Attributes:
        kind: The kind of file, in words that fit after "a".
        path: The file.
        tokens: Ordinary tokens, (id, bytes), in the order of the file.
        merges: The merges in order; None if ids are ranks of concatenations.
        specials: Special tokens, (text, id).
        split_pattern: The split pattern.
        about: Further words on its source, such as what was guessed.
        ignore_merges: See `Tokenizer`.
        normalized: See `SpecialTokens`.
        non_special: See `SpecialTokens`.
        place_of_token: Returns the n-th token's place in the file.
        place_of_merge: Returns the n-th merge's place.
        place_of_special: Returns the n-th special token's place.
        notes: Findings of the reader itself.
        merges_path: The file of the merges, if it is a separate one.
        normalizer: See `Tokenizer`.
        post_processor: See `Tokenizer`.
    """

    kind: str
    path: StrPath
    tokens: list[tuple[int, bytes]]
    merges: list[Merge] | None
    specials: list[tuple[str, int]]
    split_pattern: SplitPattern
    about: str = ""
    ignore_merges: bool = False
    normalized: Collection[str] = ()
    non_special: Collection[str] = ()
    place_of_token: Callable[[int], str] = "token {}".format
    place_of_merge: Callable[[int], str] = lambda index: f"merge {index + 1}"
    place_of_special: Callable[[int], str] = "special token {}".format
    notes: list[FileFinding] = field(default_factory=list)
    merges_path: StrPath | None = None
    normalizer: Normalizer = UNCHANGED
    post_processor: PostProcessor = field(default_factory=PostProcessor)


def guessed_pattern(name: str, holder: str) -> FileFinding:
    """Return a note that the split pattern is a guess because the file has none."""
    return _guess(f"the split pattern {name} is a guess: {holder} none")


def notes_of_guess(message: object) -> list[FileFinding]:
    """Return the note of a guess that a file was saved with; none if it is not a text."""
    return [_guess(message)] if message and isinstance(message, str) else []


def _guess(message: str) -> FileFinding:
    remedy = "choose another one if the tokens look wrong"
    return FileFinding("note", GUESSED_PATTERN, "", message, remedy)


def build(draft: Draft, name: str) -> Tokenizer:
    """Create the tokenizer of a draft.

    Raises:
        InputFileError: If the draft has errors; it has the message of the first.
    """
    findings = [*draft.notes, *inspect(draft)]
    for finding in findings:
        if finding.severity == "error":
            in_merges = finding.code == MERGE_WITHOUT_TOKEN
            path = (draft.merges_path if in_merges else None) or draft.path
            raise InputFileError(path, str(finding))
    try:
        specials = SpecialTokens(dict(draft.specials), draft.normalized, draft.non_special)
        tokenizer = Tokenizer.of(
            _tables(draft),
            specials,
            split_pattern=draft.split_pattern,
            ignore_merges=draft.ignore_merges,
            normalizer=draft.normalizer,
            name=name,
        )
    except TokvizError as error:
        raise InputFileError(draft.path, str(error)) from None
    tokenizer.post_processor = draft.post_processor
    about = f"; {draft.about}" if draft.about else ""
    tokenizer.source = f"{draft.kind} {fspath(draft.path)}{about}"
    guesses = (note.message for note in draft.notes if note.code == GUESSED_PATTERN)
    tokenizer.pattern_doubt = next(guesses, "")
    tokenizer.load_report = Report(fspath(draft.path)).joined(findings)
    return tokenizer


def _tables(draft: Draft) -> Tables:
    if draft.merges is None:
        return pack_ranks(draft.tokens)
    special = {(token_id, text.encode()) for text, token_id in draft.specials}
    ordinary = (token for token in draft.tokens if token not in special)
    return pack_merges(ordinary, draft.merges)


def inspect(draft: Draft) -> list[FileFinding]:
    """Find the problems of a draft; repeated ones are counted in one finding."""
    return [
        finding for check in (_sizes, _ids, _bytes, _specials, _merges) for finding in check(draft)
    ]


class _Fault:
    """A problem that may occur at several places; the message is about the first."""

    def __init__(self, severity: Severity, code: str, remedy: str) -> None:
        self._kind = severity, code
        self._remedy = remedy
        self._n, self._place, self._message = 0, "", ""

    def add(self, place: str, message: str) -> None:
        """Add a place."""
        if not self._n:
            self._place, self._message = place, message
        self._n += 1

    def found(self) -> Iterable[FileFinding]:
        """Yield one finding for all places, if there are any."""
        if self._n:
            more = f" (and {self._n - 1:,} more like it)" if self._n > 1 else ""
            yield FileFinding(*self._kind, self._place, self._message + more, self._remedy)


def _sizes(draft: Draft) -> Iterable[FileFinding]:
    if not draft.tokens:
        yield FileFinding("error", "empty", "", "holds no token", "choose a vocabulary")
    for number, (token_id, token) in enumerate(draft.tokens):
        code, remedy = "huge-id", "renumber the tokens"
        if token_id > MAX_TOKEN_ID:
            message = f"the id {token_id:,} is beyond the limit of {MAX_TOKEN_ID:,}"
        elif token_id < 0:
            code, message = "negative-id", f"the id {token_id} is negative"
        elif len(token) > MAX_TOKEN_BYTES:
            code, remedy = "huge-token", "remove it"
            message = f"{len(token):,} bytes are more than a token may have ({MAX_TOKEN_BYTES:,})"
        else:
            continue
        yield FileFinding("error", code, draft.place_of_token(number), message, remedy)
        break
    if sum(len(token) for _, token in draft.tokens) > MAX_TOTAL_BYTES:
        message = f"the tokens have more than {MAX_TOTAL_BYTES:,} bytes together"
        yield FileFinding("error", "huge-vocabulary", "", message, "this is not a vocabulary")


def _repeated(
    items: Sequence[Hashable], distinct: Collection[Hashable]
) -> Iterator[tuple[int, int]]:
    """Yield the index of each repeated item, and the index of its first occurrence."""
    seen: dict[Hashable, int] = {}
    for number, item in enumerate(items if len(distinct) < len(items) else ()):
        if seen.setdefault(item, number) != number:
            yield number, seen[item]


def _ids(draft: Draft) -> Iterable[FileFinding]:
    ids = [token_id for token_id, _ in draft.tokens]
    distinct = set(ids)
    place = draft.place_of_token
    twice = _Fault("error", "duplicate-id", "give each token its own id")
    for number, first in _repeated(ids, distinct):
        twice.add(place(number), f"the id {ids[number]} is also that of {place(first)}")
    yield from twice.found()
    everything = distinct | {token_id for _, token_id in draft.specials}
    if everything and min(everything) >= 0 and max(everything) <= MAX_TOKEN_ID:
        n_missing = max(everything) + 1 - len(everything)
        if n_missing:
            gap = next(i for i in range(len(everything) + 1) if i not in everything)
            message = (
                f"{n_missing:,} ids below the largest have no token, first {gap}"
                if n_missing > 1
                else f"the id {gap} has no token"
            )
            remedy = "models may have such gaps; decoding these ids fails"
            yield FileFinding("note", "gapped-ids", "", message, remedy)


def _bytes(draft: Draft) -> Iterable[FileFinding]:
    tokens = [token for _, token in draft.tokens]
    distinct = set(tokens)
    place = draft.place_of_token
    empty = _Fault("error", "empty-token", "remove it")
    twice = _Fault("error", "duplicate-token", "remove one of them")
    for number, token in enumerate(tokens if b"" in distinct else ()):
        if not token:
            empty.add(place(number), "the token has no bytes")
    for number, first in _repeated(tokens, distinct):
        if token := tokens[number]:
            twice.add(place(number), f"{token[:40]!r} is a token already, at {place(first)}")
    yield from empty.found()
    yield from twice.found()
    unneeded = NEVER_IN_UTF8 if draft.normalizer.replaces_bytes else ()
    missing = [
        byte for byte in range(256) if bytes([byte]) not in distinct and byte not in unneeded
    ]
    if missing and tokens:
        shown = ", ".join(f"0x{byte:02x}" for byte in missing[:4])
        shown += ", …" if len(missing) > 4 else ""
        are = "single bytes have" if len(missing) > 1 else "single byte has"
        message = f"{len(missing)} of the 256 {are} no token ({shown})"
        remedy = "add them, or texts that hold these bytes cannot be encoded"
        yield FileFinding("error", "missing-bytes", "", message, remedy)


def _specials(draft: Draft) -> Iterable[FileFinding]:
    place = draft.place_of_special
    token_of = dict(draft.tokens)
    text_of: dict[int, str] = {}
    texts: set[str] = set()
    ordinary = set(token_of.values()) if draft.specials else set()
    for number, (text, token_id) in enumerate(draft.specials):
        finding = None
        if not text:
            finding = ("empty-special", "the special token is empty", "remove it")
        elif bytetext.replace_surrogates(text)[1]:
            message = f"{text[:40]!r} holds half a character"
            finding = ("surrogate-special", message, "remove it: no text has it")
        elif not 0 <= token_id <= MAX_TOKEN_ID:
            message = f"the id {token_id:,} of {text[:40]!r} is not within 0 … {MAX_TOKEN_ID:,}"
            finding = ("huge-id", message, "renumber the special tokens")
        elif text in texts:
            finding = ("duplicate-special", f"{text[:40]!r} is listed twice", "remove one")
        elif token_id in text_of:
            message = f"{text[:40]!r} has the id of {text_of[token_id][:40]!r}: {token_id}"
            finding = ("colliding-special", message, "give each its own id")
        elif token_of.get(token_id, text.encode()) != text.encode():
            message = f"{text[:40]!r} has the id {token_id} of the token {token_of[token_id]!r}"
            finding = ("colliding-special", message, "give it an id of its own")
        if finding is not None:
            code, message, remedy = finding
            yield FileFinding("error", code, place(number), message, remedy)
            return
        if token_id not in token_of and text.encode() in ordinary:
            message = f"{text[:40]!r} is an ordinary token too, with another id"
            remedy = "in a text it is always the special token"
            yield FileFinding("warning", "special-is-token", place(number), message, remedy)
        text_of[token_id] = text
        texts.add(text)


def _merges(draft: Draft) -> Iterable[FileFinding]:
    if draft.merges is None:
        return
    known = {token for _, token in draft.tokens}
    place = draft.place_of_merge
    remedy = "add the token to the vocabulary, or remove the merge"
    missing = _Fault("error", MERGE_WITHOUT_TOKEN, remedy)
    twice = _Fault("warning", "duplicate-merge", "remove it; the first one counts")
    remedy = "the merge never applies, or only after later ones"
    early = _Fault("warning", "early-merge", remedy)
    remedy = "a file converted from tiktoken lists every way to build a token; the ids are right"
    another = _Fault("note", "every-way", remedy)
    made = {bytes([byte]) for byte in range(256)}
    in_time: set[bytes] = set()
    late: list[tuple[int, bytes, bytes]] = []
    seen: set[Merge] = set()
    for number, merge in enumerate(draft.merges):
        left, right = merge
        product = left + right
        if product not in known or left not in known or right not in known:
            lacking = next(token for token in (left, right, product) if token not in known)
            role = "product" if lacking is product else "part"
            missing.add(place(number), f"the {role} {lacking[:40]!r} is not a token")
        elif merge in seen:
            twice.add(place(number), f"{left[:40]!r} + {right[:40]!r} is listed before")
        elif left not in made or right not in made:
            lacking = left if left not in made else right
            late.append((number, lacking, product))
        else:
            in_time.add(product)
        made.add(product)
        seen.add(merge)
    for number, lacking, product in late:
        if product in in_time:
            message = (
                f"another merge makes {product[:40]!r} before its part {lacking[:40]!r} is made"
            )
            another.add(place(number), message)
        else:
            early.add(place(number), f"no merge before makes its part {lacking[:40]!r}")
    for fault in (missing, twice, early, another):
        yield from fault.found()
