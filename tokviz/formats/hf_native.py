"""Reader for `tokenizer.json`, as byte-level BPE if tokviz can encode it exactly.

If not (another model, a normalizer, special tokens that swallow white space …), the result is
`NeedsLibrary`, and Hugging Face's library encodes (`tokviz.formats.huggingface_tokenizer`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tokviz.errors import InputFileError
from tokviz.formats.byte_level import from_characters
from tokviz.formats.conversions import read_content
from tokviz.formats.draft import Draft, build, notes_of_guess
from tokviz.formats.equivalents import LONGEST_MATCH
from tokviz.formats.hf_pattern import (
    NotNativeError,
    adds_prefix_space,
    part_types,
    split_pattern_of,
)
from tokviz.formats.hf_post_processor import read_post_processor
from tokviz.formats.huggingface import GUESS
from tokviz.storage.files import StrPath
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.encoding.normalization import FORMS, NEVER_IN_UTF8, Form, Normalizer
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.tokenizer.report import FileFinding
from tokviz.tokenizer.tokenizer import Tokenizer

KIND = "Hugging Face tokenizer"
HAS_PATTERN = "has its own split pattern: leave the other one out"

Json = dict[str, Any]

_MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_MODEL_OPTIONS = ("dropout", "continuing_subword_prefix", "end_of_word_suffix")
_ADDED_OPTIONS = ("lstrip", "rstrip", "single_word")


class NeedsLibrary(NamedTuple):
    """A `tokenizer.json` that only Hugging Face's library can use exactly.

    Attributes:
        path: The file.
        content: Its content without the vocabulary and the merges.
        reason: The reason that the library is needed.
    """

    path: StrPath
    content: Json
    reason: str


def read_tokenizer_json(
    path: StrPath,
    *,
    name: str | None = None,
    known_pattern: SplitPattern | None = None,
    confirmed: str | SplitPattern | None = None,
) -> Tokenizer | NeedsLibrary:
    """Read a `tokenizer.json`.

    Args:
        path: The file.
        name: A name to show; the file's path if None.
        known_pattern: The split pattern that the file was written from, if known.
        confirmed: The split pattern of a file that was saved with a guess.

    Returns:
        The tokenizer, or `NeedsLibrary` if tokviz cannot encode it exactly.

    Raises:
        InputFileError: If the file cannot be read, or is damaged.
    """
    content = read_content(path)
    guess = _guess(content)
    if confirmed is not None and not guess:
        raise InputFileError(path, HAS_PATTERN)
    try:
        draft = read_native(content, path, known_pattern)
        draft.notes += [] if confirmed else notes_of_guess(guess)
        draft.split_pattern = get_split_pattern(confirmed or draft.split_pattern)
    except NotNativeError as reason:
        model = {k: v for k, v in content["model"].items() if k not in ("vocab", "merges")}
        return NeedsLibrary(path, {**content, "model": model}, str(reason))
    config = content.get("tokenizer_config", {})
    del content
    tokenizer = build(draft, name or str(path))
    tokenizer.config = config
    return tokenizer


def _guess(content: Json) -> object:
    """Return the mark of a split pattern that was a guess when tokviz saved the file."""
    part = content.get("pre_tokenizer")
    return part.get(GUESS) if isinstance(part, dict) else None


def read_native(content: Json, path: StrPath, known_pattern: SplitPattern | None = None) -> Draft:
    """Read the content of a `tokenizer.json`.

    Args:
        content: The content.
        path: The file, for messages.
        known_pattern: The split pattern that the file was written from, if known.

    Raises:
        NotNativeError: If only Hugging Face's library encodes it exactly.
        InputFileError: If it is damaged; it names the key.
    """
    model = _part(content, "model", dict, path)
    vocab, merges = _check_model(model, path)
    normalizer = _normalizer(content)
    pattern = split_pattern_of(content.get("pre_tokenizer"), known_pattern)
    specials = dict(_numbered(list(_added(content, path)), vocab))
    known = _tokens(vocab, specials, path)
    keys = list(known)
    added: list[Json] = content.get("added_tokens") or []
    normalized = [token["content"] for token in added if token.get("normalized")]
    if normalizer.form:
        for text in normalized:
            if normalizer.form != "NFC" or _UNCHANGED_BY_NFC.fullmatch(text) is None:
                raise NotNativeError(f"its added token {text[:40]!r} is found in normalized text")
    non_special = [token["content"] for token in added if not token.get("special")]
    return Draft(
        KIND,
        path,
        [(vocab[text], token) for text, token in known.items()],
        _merges(merges, known, path),
        list(specials.items()),
        pattern,
        ignore_merges=bool(model.get("ignore_merges")),
        normalized=normalized,
        non_special=non_special,
        place_of_token=lambda number: f"model.vocab[{keys[number]!r}]",
        place_of_merge="model.merges[{}]".format,
        place_of_special="added_tokens[{}]".format,
        notes=list(notes_of(content, non_special)),
        post_processor=read_post_processor(content),
        normalizer=normalizer._replace(replaces_bytes=bool(_missing_bytes(known))),
    )


_UNCHANGED_BY_NFC = re.compile(r"[^K`;\x80-\U0010ffff]*[^A-Za-z<=>`;\x80-\U0010ffff]")
"""ASCII that composes with no mark after it, and without the characters that NFC makes."""


def _normalizer(content: Json) -> Normalizer:
    """Return the equivalent normalizer.

    Raises:
        NotNativeError: If there is none.
    """
    kinds = part_types(content.get("normalizer"))
    if not {*kinds} <= {*FORMS}:
        raise NotNativeError(f"it normalizes text ({' + '.join(kinds)})")
    # Several forms in a row are one: that of the last, for compatibility if any of them is.
    ending = ("K" if any("K" in kind for kind in kinds) else "") + "".join(kinds)[-1:]
    form: Form = next((form for form in FORMS if form == f"NF{ending}"), "")
    return Normalizer(form, adds_prefix_space(content.get("pre_tokenizer")))


def _part(
    content: Json, key: str, kind: type[dict[Any, Any]] | type[list[Any]], path: StrPath
) -> Any:
    value = content.get(key)
    if not isinstance(value, kind):
        name = "an object" if kind is dict else "a list"
        what = "is missing" if value is None else f"is not {name}"
        raise InputFileError(path, f"its key {key!r} {what}: a tokenizer.json has {name} there")
    return value


def _check_model(model: Json, path: StrPath) -> tuple[Json, list[Any]]:
    kind = model.get("type", "BPE" if "merges" in model else None)
    if "vocab" not in model:
        raise InputFileError(path, "its key 'model' has no `vocab`: the file is not complete")
    if "type" in model and kind not in (*_MODELS, LONGEST_MATCH):
        known = ", ".join(_MODELS)
        raise InputFileError(
            path, f"model.type: {str(kind)[:40]!r} is not a model: tokviz knows {known}"
        )
    if kind != "BPE":
        raise NotNativeError(f"its model is {kind}")
    for option in _MODEL_OPTIONS:
        if model.get(option):
            raise NotNativeError(f"its model sets {option}")
    vocab: Json = _part(model, "vocab", dict, path)
    merges: list[Any] = _part(model, "merges", list, path)
    return vocab, merges


def _added(content: Json, path: StrPath) -> Iterator[tuple[str, int]]:
    """Return every added token's text and its id in the file."""
    added = content.get("added_tokens")
    if added is not None and not isinstance(added, list):
        raise InputFileError(path, "its key 'added_tokens' is not a list")
    for number, token in enumerate(added or ()):
        text = token.get("content") if isinstance(token, dict) else None
        if not isinstance(text, str):
            raise InputFileError(path, f"added_tokens[{number}]: its `content` is not a text")
        yield text, _id(token.get("id"), f"added_tokens[{number}]", path)
        for option in _ADDED_OPTIONS:
            if token.get(option):
                raise NotNativeError(f"its added token {text[:40]!r} sets {option}")


def _numbered(added: list[tuple[str, int]], vocab: Json) -> Iterator[tuple[str, int]]:
    """Number the added tokens as the library does, which ignores ids outside the vocabulary.

    Source: huggingface/tokenizers `tokenizers/src/tokenizer/added_vocabulary.rs` (`add_tokens`).
    """
    next_id = len(vocab)
    seen: set[str] = set()
    for text, token_id in added:
        if text in seen:
            raise NotNativeError(f"its added token {text[:40]!r} is listed twice")
        seen.add(text)
        given = vocab.get(text)
        if given is None:
            given, next_id = next_id, next_id + 1
        if given != token_id:
            raise NotNativeError(f"its added token {text[:40]!r} gets another id when loaded")
        yield text, token_id


def _tokens(vocab: Json, specials: dict[str, int], path: StrPath) -> dict[str, bytes]:
    """Return the bytes of ordinary tokens by their texts."""
    known: dict[str, bytes] = {}
    for text, token_id in vocab.items():
        if text in specials:
            continue
        if type(token_id) is not int or token_id < 0:
            _id(token_id, f"model.vocab[{text[:40]!r}]", path)
        try:
            known[text] = from_characters(text)
        except ValueError:
            raise NotNativeError(f"its token {text[:40]!r} is not spelled in bytes") from None
    n_missing = len(_missing_bytes(known))
    if n_missing and not _missing_bytes(known) <= {*NEVER_IN_UTF8}:
        raise NotNativeError(f"{n_missing} of the 256 single bytes have no token in it")
    return known


def _missing_bytes(known: dict[str, bytes]) -> set[int]:
    """Return the single bytes that are not tokens."""
    return set(range(256)) - {token[0] for token in known.values() if len(token) == 1}


def _id(value: object, place: str, path: StrPath) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        wrong = f"{value!r:.40} is not a token id" if value is not None else "it has no `id`"
        raise InputFileError(path, f"{place}: {wrong}: write 0, 1, 2 …")
    return value


def _merges(merges: list[Any], known: dict[str, bytes], path: StrPath) -> list[Merge]:
    """Read the merges, which are texts with a space or pairs of texts.

    Args:
        merges: The merges.
        known: The bytes of ordinary tokens by their texts.
        path: The file, for messages.
    """
    read: list[Merge] = []
    for number, merge in enumerate(merges):
        try:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            # Equal tokens are the same object, because copies would take much memory.
            sides = [known.get(side) or from_characters(side) for side in (left, right)]
            read.append((sides[0], sides[1]))
        except (ValueError, TypeError, AttributeError):
            shown = repr(merge)[:60]
            reason = f'model.merges[{number}]: {shown} is not a merge: write "a b" or ["a", "b"]'
            raise InputFileError(path, reason) from None
    if len(set(read)) < len(read):
        # Of a pair that is listed twice the library takes the last place, minbpe the first.
        raise NotNativeError("one of its merges is listed twice")
    return read


def notes_of(content: Json, non_special: list[str]) -> Iterator[FileFinding]:
    """Yield notes on features of the file that tokviz ignores or handles differently."""
    for guess in content.get("guesses") or ():
        yield FileFinding("note", "guess", "", guess, "choose another file if tokens look wrong")
    post = read_post_processor(content)
    if post.problem or post.json:
        adds = f"its post-processor adds {len(post.before)} tokens before a text, {len(post.after)}"
        message = post.problem or f"{adds} after it: tokviz does so only with add_special_tokens"
        yield FileFinding("note", "post-processor", "post_processor", message)
    for key, verb in (("truncation", "truncate"), ("padding", "pad")):
        if content.get(key) is not None:
            message = f"the file asks to {verb} texts ({json.dumps(content[key]):.200})"
            yield FileFinding("note", key, key, message, f"tokviz does not {verb}")
    named = [text for text in non_special if not text.isspace()]
    if named:
        shown = ", ".join(named[:4]) + (", …" if len(named) > 4 else "")
        message = f"added tokens that are not called special are taken for special: {shown}"
        yield FileFinding("note", "added-tokens", "added_tokens", message)
