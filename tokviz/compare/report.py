"""Compression report: the number of tokens for texts of many kinds and languages.

>>> import tokviz
>>> gpt2, gpt4 = tokviz.load("gpt2"), tokviz.load("gpt-4")
>>> for row in compression_report([gpt2, gpt4], {"greeting": "hello   world"}):
...     print(row.text, row.tokenizer, row.n_bytes, row.n_tokens, row.bytes_per_token)
greeting gpt2 13 4 3.25
greeting cl100k_base 13 3 4.333333333333333
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tokviz.errors import VocabularyError
from tokviz.formats.loader import AnyTokenizer, as_tokenizers
from tokviz.storage.assets import asset_path
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import AllowedSpecial
from tokviz.tokenizer.tokenizer import Tokenizer

SAMPLES = {
    "news, English": "news_english.txt",
    "news, Korean": "news_korean.txt",
    "news, Japanese": "news_japanese.txt",
    "news, Chinese": "news_chinese.txt",
    "news, Arabic": "news_arabic.txt",
    "news, Hindi": "news_hindi.txt",
    "code, Python": "code_python.txt",
    "code, Rust": "code_rust.txt",
    "code, JavaScript": "code_javascript.txt",
    "LaTeX": "latex.txt",
    "science": "science.txt",
    "chat with emoji": "chat_emoji.txt",
    "log": "log.txt",
    "JSON": "data.json",
}
"""Texts that ship with tokviz: name → file."""

PARALLEL_TITLE = "Universal Declaration of Human Rights, articles 1 to 6"
PARALLEL_BASE = "English"
"""The reference language for the others."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One text in one tokenizer.

    Attributes:
        text: The name of the text, or the text itself if it has no name.
        tokenizer: The tokenizer's name.
        n_bytes: Number of bytes of the text.
        n_tokens: Number of tokens of the text.
        lossless: Whether the ids decode to the text, byte for byte.
    """

    text: str
    tokenizer: str
    n_bytes: int
    n_tokens: int
    lossless: bool = True

    @property
    def bytes_per_token(self) -> float | None:
        """Average number of bytes per token; None if there is no token."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None

    def relative(self, base: ReportRow) -> float | None:
        """Return its tokens per token of another row; None if that has none."""
        return self.n_tokens / base.n_tokens if base.n_tokens else None

    def difference(self, base: ReportRow) -> float | None:
        """Return the relative difference in tokens to another row, below 0 for fewer tokens."""
        relative = self.relative(base)
        return None if relative is None else relative - 1


Group = tuple[ReportRow, ...]
"""The rows of one text, one per tokenizer."""


class Report(NamedTuple):
    """The compression of texts and languages.

    Attributes:
        texts: One group per text; the last of several is the total.
        languages: The same text in many languages, `PARALLEL_BASE` first; empty without samples.
    """

    texts: tuple[Group, ...]
    languages: tuple[Group, ...]


def report_on(
    tokenizers: Sequence[Tokenizer],
    own: Iterable[Group] = (),
    on_progress: Callable[[float], object] = lambda share: None,
    *,
    with_samples: bool = True,
) -> Report:
    """Measure the texts that ship with tokviz.

    Args:
        tokenizers: The tokenizers.
        own: Additional texts, already measured.
        on_progress: Called with the completed share after each text; an exception from it ends
            the work.
        with_samples: Whether to measure the texts that ship with tokviz at all.
    """
    items = [*sample_texts(), *parallel_texts().items()] if with_samples else []
    groups = []
    for number, (name, text) in enumerate(items, 1):
        groups.append(measured(tokenizers, name, text, False))
        on_progress(number / len(items))
    texts = [*groups[: len(SAMPLES)], *own]
    total = [totals(texts, "all texts")] if len(texts) > 1 else []
    return Report((*texts, *total), tuple(groups[len(SAMPLES) :]))


def compression_report(
    tokenizers: Sequence[AnyTokenizer],
    texts: Mapping[str, str] | Iterable[str | tuple[str, str]] | None = None,
) -> tuple[ReportRow, ...]:
    """Measure how many tokens texts take in several tokenizers.

    Args:
        tokenizers: The tokenizers, or names or paths as for `tokviz.load`.
        texts: Texts by name, texts, or pairs of both; those of `sample_texts` if not given.
            Special tokens in them are plain text.

    Returns:
        The rows, text by text, one per tokenizer in the given order.

    Raises:
        VocabularyError: If the ids of a text do not decode to it although the tokenizer should
            not change any text. If it is known to (`Tokenizer.lossy`), the row notes it.
        TokvizError: If a tokenizer cannot be loaded.
    """
    loaded = as_tokenizers(tokenizers)
    if texts is None:
        texts = sample_texts()
    elif isinstance(texts, str):
        texts = [texts]
    named = texts.items() if isinstance(texts, Mapping) else map(_named, texts)
    rows = (
        measured(loaded, name, bytetext.replace_surrogates(text)[0], False) for name, text in named
    )
    return tuple(row for group in rows for row in group)


def _named(text: str | tuple[str, str]) -> tuple[str, str]:
    return (text, text) if isinstance(text, str) else text


def measured(
    tokenizers: Sequence[Tokenizer], name: str, text: str, allowed: AllowedSpecial | bool
) -> tuple[ReportRow, ...]:
    """Measure byte text in each tokenizer; see `compression_report`."""
    data = bytetext.to_bytes(text)
    return tuple(_row(tokenizer, name, text, data, allowed) for tokenizer in tokenizers)


def _row(
    tokenizer: Tokenizer, name: str, text: str, data: bytes, allowed: AllowedSpecial | bool
) -> ReportRow:
    ids = tokenizer.byte_text.encode(text, allowed).tolist()
    lossless = tokenizer.decode_bytes(ids) == data
    if not lossless and not (tokenizer.lossy or tokenizer.remote):
        raise VocabularyError(
            f"{tokenizer.name} encodes the text {name[:60]!r} as ids that decode to another text"
        )
    return ReportRow(name, tokenizer.name, len(data), len(ids), lossless)


def best_of(rows: Sequence[ReportRow]) -> list[ReportRow]:
    """Return the rows of one text with the fewest tokens; none if all have the same number.

    A tokenizer that changes the text is excluded.
    """
    counts = [row.n_tokens for row in rows if row.lossless]
    if not counts or min(counts) == max(row.n_tokens for row in rows):
        return []
    return [row for row in rows if row.lossless and row.n_tokens == min(counts)]


def totals(groups: Sequence[Sequence[ReportRow]], name: str) -> tuple[ReportRow, ...]:
    """Sum the rows of several texts by tokenizer."""
    return tuple(
        ReportRow(
            name,
            rows[0].tokenizer,
            sum(row.n_bytes for row in rows),
            sum(row.n_tokens for row in rows),
            all(row.lossless for row in rows),
        )
        for rows in zip(*groups, strict=True)
    )


def sample_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts that ship with tokviz, each with its name."""
    for name, file in SAMPLES.items():
        yield name, asset_path(f"evaluation/{file}").read_text(encoding="utf-8")


def parallel_texts() -> dict[str, str]:
    """Return the same text in many languages, `PARALLEL_BASE` first; see assets/evaluation."""
    content = asset_path("evaluation/declaration.json").read_text(encoding="utf-8")
    texts: dict[str, str] = json.loads(content)
    return texts
