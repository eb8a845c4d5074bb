"""Thorough checks of a tokenizer, with a report."""

from __future__ import annotations

from contextlib import closing
from os import fspath
from os.path import expanduser

from tokviz.errors import PatternError, TokvizError, UnknownTokenizerError
from tokviz.formats.draft import Draft, inspect
from tokviz.formats.files import read_draft
from tokviz.formats.library import LibraryTokenizer
from tokviz.formats.rank_order import unmerged
from tokviz.formats.recognize import RecognizedFile, find
from tokviz.formats.registry import HUB_PREFIX, is_builtin
from tokviz.formats.self_check import SAMPLES, self_check
from tokviz.formats.subprocess_loader import load
from tokviz.storage.files import StrPath
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.report import FileFinding, Report
from tokviz.tokenizer.tokenizer import Tokenizer


def validate(
    source: StrPath | Tokenizer, *, split_pattern: str | SplitPattern | None = None
) -> Report:
    """Check a tokenizer and its file thoroughly; takes seconds for a large vocabulary.

    It finds bytes without a token, duplicate and missing ids, special tokens that collide, merges
    whose sides or product are missing or that never apply, tokens that no merge makes, sizes beyond
    limits, and texts that do not round-trip. A `tokenizer.json` that tokviz encodes itself is
    compared with Hugging Face's library.

    Args:
        source: A path, a built-in name, an address on the Hub, or a tokenizer.
        split_pattern: See `tokviz.load`.

    Returns:
        The report. A tokenizer that cannot be loaded is an error in it, not an exception.

    Raises:
        UnknownTokenizerError: If the name is unknown.
    """
    if isinstance(source, Tokenizer):
        return _of_tokenizer(source, source.load_report or Report(source.name), again=True)
    subject = fspath(source)
    try:
        tokenizer = load(source, split_pattern=split_pattern)
    except UnknownTokenizerError:
        raise
    except TokvizError as error:
        return Report(subject).joined(_of_broken(source, error, split_pattern))
    with closing(tokenizer):
        report = tokenizer.load_report
        checked = _of_tokenizer(tokenizer, report or Report(subject), again=report is None)
        builtin = isinstance(source, str) and (is_builtin(source) or source.startswith(HUB_PREFIX))
        return checked if builtin else _compared(tokenizer, find(expanduser(source)), checked)


def _of_tokenizer(tokenizer: Tokenizer, report: Report, *, again: bool) -> Report:
    if again and not tokenizer.remote:
        report = Report(report.subject).joined(inspect(_as_draft(tokenizer)))
    if again:
        report = report.joined(*self_check(tokenizer))
    if tokenizer.remote:
        return report
    tokens = list(unmerged(tokenizer))
    if not tokens:
        return report.joined([], ("every token of several bytes is made by merges",))
    shown = ", ".join(f"{tokenizer.token_id(token)} {token[:20]!r}" for token in tokens[:3])
    are = "tokens are" if len(tokens) > 1 else "token is"
    message = f"{len(tokens):,} {are} made by no merge of their bytes: {shown}"
    whole = tokenizer.by_ranks or tokenizer.ignore_merges
    remedy = (
        "each occurs only as a whole pre-token" if whole else "they never occur; the ids are wasted"
    )
    return report.joined([FileFinding("warning", "unmerged", "", message, remedy)])


def _as_draft(tokenizer: Tokenizer) -> Draft:
    tokens = [*zip(tokenizer.tables.ids(), tokenizer.tables.tokens(), strict=True)]
    return Draft(
        "tokenizer",
        tokenizer.name,
        tokens,
        None if tokenizer.by_ranks else tokenizer.merges,
        list(tokenizer.special_tokens.items()),
        tokenizer.split_pattern,
        place_of_token=lambda number: f"token {tokens[number][0]}",
    )


def _of_broken(
    source: StrPath, error: TokvizError, split_pattern: str | SplitPattern | None
) -> list[FileFinding]:
    """List all problems of a file that cannot be loaded, if it can be parsed."""
    try:
        draft = read_draft(find(expanduser(source)), split_pattern)
        findings = [*draft.notes, *inspect(draft)] if draft is not None else []
    except TokvizError:
        findings = []
    if any(finding.severity == "error" for finding in findings):
        return findings
    code = "pattern" if isinstance(error, PatternError) else "unreadable"
    return [*findings, FileFinding("error", code, "", str(error))]


def _compared(tokenizer: Tokenizer, found: RecognizedFile, report: Report) -> Report:
    """Compare the ids of a `tokenizer.json` with those of Hugging Face's library."""
    path = found.path / "tokenizer.json" if found.kind == "run" else found.path
    if tokenizer.remote or found.kind not in ("huggingface", "run"):
        return report
    texts = [text for sample in SAMPLES if (text := sample.decode("utf-8", "replace"))]
    texts.append("".join(f"a {text}b" for text in list(tokenizer.special_tokens)[:50]))
    library = LibraryTokenizer(path)
    try:
        for text in texts:
            theirs = library.encode(text).ids.tolist()
            if theirs != tokenizer.encode(text):
                message = f"Hugging Face's library gives other ids for {text[:30]!r}"
                finding = FileFinding("error", "library-differs", "", message, "trust the library")
                return report.joined([finding])
    except TokvizError as error:
        message = f"it could not be compared with Hugging Face's library: {error}"
        return report.joined([FileFinding("note", "not-compared", "", message)])
    finally:
        library.close()
    return report.joined([], (f"Hugging Face's library gives the same ids for {len(texts)} texts",))
