"""Known mistakes in BPE trainers.

To add one, add it to `assets/words/mistakes.toml`, and rules that are code to `_VARIANTS`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, product
from typing import Any, NamedTuple

from tokviz.compare.check_bpe.trainer import Setup
from tokviz.formats.byte_level import to_characters
from tokviz.storage.assets import asset_path
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern
from tokviz.training.ties import TIE_BREAKS, Pair, TieBreak

Variants = Callable[[Setup], Iterable[Setup]]
"""Returns a trainer's rules with a mistake; several if there are several ways to make it."""

COMBINABLE = ("reading", "counts")
"""The topics of which two mistakes can be combined."""


class Mistake(NamedTuple):
    """A mistake in a trainer.

    Attributes:
        name: Its name.
        topic: The part of the trainer.
        sentence: What the trainer does, and the correction.
        corpus: A smallest corpus on which the merges differ, with the split pattern of GPT-2 and
            the special token `<|endoftext|>`; empty if the vocabulary size shows the mistake.
        source: The text that describes the correct step.
        variants: The rules with the mistake.
    """

    name: str
    topic: str
    sentence: str
    corpus: bytes
    source: str
    variants: Variants

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling by name."""
        return get_mistake, (self.name,)


def get_mistake(name: str) -> Mistake:
    """Return the mistake with this name."""
    return MISTAKES[name]


def _with(**rules: Any) -> Variants:
    """Return all combinations of the rules; a list holds alternatives."""
    listed = [value if isinstance(value, list) else [value] for value in rules.values()]
    return lambda setup: (
        setup._replace(**dict(zip(rules, values, strict=True))) for values in product(*listed)
    )


def _reading(*changes: Callable[[bytes], bytes]) -> Variants:
    return lambda setup: (setup._replace(read=(*setup.read, change)) for change in changes)


def _decoded(change: Callable[[str], str], errors: str = "surrogateescape") -> Any:
    return lambda data: change(data.decode("utf-8", errors)).encode("utf-8", "surrogateescape")


def _strip(setup: Setup) -> Iterable[Setup]:
    special = b"|".join(map(re.escape, setup.specials))
    strip = _decoded(str.strip)

    def documents(data: bytes) -> bytes:
        parts = re.split(b"(" + special + b")", data) if special else [data]
        return b"".join(map(strip, parts))

    lines = _decoded(lambda text: "\n".join(map(str.strip, text.split("\n"))))
    return _reading(strip, documents, lines)(setup)


def _standard_re(setup: Setup) -> Iterator[Setup]:
    """Yield the pattern with classes that the module `re` has; in version 1, classes nest."""
    for letters, digits in (("[a-zA-Z]", "[0-9]"), (r"[^\W\d_]", r"\d"), (r"\w", r"\d")):
        regex = setup.pattern.regex.replace(r"\p{L}", letters).replace(r"\p{N}", digits)
        if regex != setup.pattern.regex:
            yield setup._replace(pattern=SplitPattern("re", f"(?V1){regex}", "re"))


_SIZES = [-2, -3, -4, -6, -8, -12, -16, *(1 << k for k in range(6, 21)), 1000, 10**4, 10**5, 10**6]


def _as_regex(setup: Setup) -> Iterator[Setup]:
    with suppress(re.error):
        if not re.compile(b"|".join(setup.specials)).groups:
            yield setup._replace(special_use="regex")


def _chunks(*kinds: str) -> Variants:
    return _with(chunks=[*product(kinds, _SIZES)])


def _prefer(key: Callable[[bytes, bytes, int, int], Any]) -> Variants:
    """Return rules that merge the pair with the lowest key of its tokens and ids."""

    def order(pair: Pair, tokens: Sequence[bytes], _: object) -> Any:
        return key(tokens[pair[0]], tokens[pair[1]], *pair)

    return _with(tie_break=TieBreak("", "", "", order, lambda pair, second: ()))


def _greatest(*texts: str) -> list[list[float]]:
    """Return a key that sorts texts in descending order, a prefix after longer texts."""
    return [[*(-ord(character) for character in text), 1] for text in texts]


_FIRST = TIE_BREAKS["first"]
_VARIANTS: dict[str, Variants] = {
    **{
        f"ties-{rule.name.replace('_', '-')}": _with(tie_break=rule) for rule in TIE_BREAKS.values()
    },
    "other-pattern": _with(
        pattern=[
            *(it for it in SPLIT_PATTERNS.values() if it.name != "none"),
            SplitPattern("words", r" ?\S+", "text.split(' ')"),
        ]
    ),
    "re-instead-of-regex": _standard_re,
    "specials-as-regex": _as_regex,
    "newline-translation": _reading(_decoded(lambda text: re.sub("\r\n?", "\n", text))),
    "errors-ignored": _reading(_decoded(str, "ignore"), _decoded(str, "replace")),
    "lowercase": _reading(_decoded(str.lower)),
    "strip": _strip,
    "ties-smallest-bytes": _prefer(lambda left, right, *_: (left, right)),
    "ties-largest-ids": _prefer(lambda _, __, *ids: [-token_id for token_id in ids]),
    "ties-merged-bytes": _prefer(lambda one, two, *_: _greatest((one + two).decode("latin-1"))),
    "ties-characters": _prefer(
        lambda left, right, *_: _greatest(to_characters(left), to_characters(right))
    ),
    "ties-insertion": _with(tie_break=_FIRST, by_insertion=True),
    "ties-last": _with(tie_break=_FIRST, last_of_ties=True, by_insertion=[False, True]),
    "no-pre-tokenization": _with(pattern=SPLIT_PATTERNS["none"]),
    "chunk-in-pre-token": lambda setup: chain(
        _with(chunks=("lines", 0))(setup), _chunks("specials")(setup)
    ),
    "chunk-in-special": _chunks("characters"),
    "chunk-in-character": _chunks("ignore", "replace", "bytes"),
}


def _mistake(name: str, corpus: str, rules: dict[str, Any] | None = None, **words: str) -> Mistake:
    variants = _with(**rules) if rules else _VARIANTS.get(name, lambda setup: ())
    return Mistake(name, corpus=corpus.encode("latin-1"), variants=variants, **words)


_WORDS = tomllib.loads(asset_path("words/mistakes.toml").read_text("utf-8"))

MISTAKES: dict[str, Mistake] = {name: _mistake(name, **entry) for name, entry in _WORDS.items()}
"""The mistakes by name, quickly checked ones first."""
