"""A quick consistency check of a tokenizer that was just loaded."""

from __future__ import annotations

from collections.abc import Iterator

from tokviz.errors import PatternError, TokvizError
from tokviz.text import bytetext
from tokviz.tokenizer.report import FileFinding
from tokviz.tokenizer.tokenizer import Tokenizer

SAMPLES: tuple[bytes, ...] = (
    b"Hello world! It's 12345 o'clock, isn't it? I'LL say so.",
    "naïve café ﬁancé Å e\u0301 \u0130stanbul ſ".encode(),
    "你好，世界。こんにちは 한국어 עברית مرحبا ไทย".encode(),
    "👩‍👩‍👧‍👦 👍🏽 1️⃣ 🇩🇪 \U0001f9ff".encode(),
    b"  two  spaces\t\ttabs \r\n\r\n mixed\n\n\nlines   ",
    b"def f(x):\n    return {'a': [x ** 2, 0xff]}  # <b>&amp;</b>\n",
    b"\x00\x01\x1b[31m\x7f\x0b\x0c",
    "\ufeff\u200b\u00a0\u2028\u2029\u3000\u0085\ufffd".encode(),
    b"valid \xc3\xa9, broken \xe9 \xf0\x9f\x99 \xff\x80\xc0",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + b" " * 40,
    "ʼn Ǆ ǆ ﷺ Ⅷ ½ ² 𝒜 \U000e0041 \u0558 \u1e9e".encode(),
    b"",
)
"""Texts on which tokenizers have failed; one is not valid UTF-8."""

_MOST_SPECIALS = 300


def check(tokenizer: Tokenizer) -> None:
    """Check a tokenizer, and add the findings to its report."""
    findings, checks = self_check(tokenizer)
    if tokenizer.load_report is not None:
        tokenizer.load_report = tokenizer.load_report.joined(findings, checks)
    tokenizer.lossy |= any(finding.code == "lossy" for finding in findings)


def self_check(tokenizer: Tokenizer) -> tuple[list[FileFinding], tuple[str, ...]]:
    """Encode and decode tricky texts, and compare.

    Returns:
        Findings for failed checks, and sentences about passed ones.
    """
    try:
        findings = [*_texts(tokenizer), *_specials(tokenizer)]
    except TokvizError as error:
        finding = FileFinding("error", "self-check", "self-check", f"encoding fails: {error}")
        return [finding], ()
    checks = []
    codes = {finding.code for finding in findings}
    if not codes & {"lossy", "round-trip", "slow-pattern"}:
        checks.append(f"{len(SAMPLES)} tricky texts decode to what they were, byte for byte")
    if not codes & {"spans", "slow-pattern"}:
        checks.append("the spans of tokens and pre-tokens tile these texts")
    if tokenizer.special_tokens and "special" not in codes:
        checks.append("special tokens are recognized, each as its id")
    return findings, tuple(checks)


def _texts(tokenizer: Tokenizer) -> Iterator[FileFinding]:
    changed: list[bytes] = []
    for data in SAMPLES:
        text = bytetext.from_bytes(data)
        try:
            tokenization = tokenizer.byte_text.tokenize(text, allowed_special=False)
        except PatternError as error:
            remedy = "texts with such pre-tokens are not tokenized, and not all is checked"
            yield FileFinding("warning", "slow-pattern", "self-check", str(error), remedy)
            return
        if tokenizer.remote and bytetext.has_raw_bytes(text):
            continue  # the library gets U+FFFD for these bytes
        if tokenizer.decode_bytes(tokenization.ids) != data:
            changed.append(data)
        spans = tokenization.byte_spans.tolist(), tokenization.pre_tokens.tolist()
        dropped = tokenizer.remote and not tokenization.ids
        if not dropped and not all(_tile(side, len(data)) for side in spans):
            message = f"the spans of its tokens leave a gap in {data[:30]!r}"
            yield FileFinding("error", "spans", "self-check", message)
    if not changed:
        return
    message = f"{len(changed)} of {len(SAMPLES)} tricky texts decode to a different text"
    first = f"{message}, first {changed[0][:40]!r}"
    if tokenizer.remote or tokenizer.normalizer:
        yield FileFinding("note", "lossy", "self-check", first, "it is marked lossy")
    else:
        yield FileFinding("error", "round-trip", "self-check", first, "do not trust its tokens")


def _tile(spans: list[list[int]], n_bytes: int) -> bool:
    """Return whether spans cover everything from 0 to the end without gaps or overlaps."""
    ends = [0, *(end for _, end in spans)]
    return [start for start, _ in spans] == ends[:-1] and ends[-1] == n_bytes


def _specials(tokenizer: Tokenizer) -> Iterator[FileFinding]:
    texts = list(tokenizer.special_tokens)[:_MOST_SPECIALS]
    if tokenizer.remote:
        texts = texts[:16]
    wrong = [
        text
        for text in texts
        if tokenizer.byte_text.encode(bytetext.as_byte_text(text)).tolist()
        != [tokenizer.special_tokens[text]]
    ]
    if wrong:
        message = f"the special token {wrong[0][:40]!r} is not recognized as its id"
        yield FileFinding("warning", "special", "self-check", message)
