"""The plan of a training: values of the form, problems and cost."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from glob import has_magic
from itertools import count, filterfalse
from pathlib import Path
from typing import NamedTuple, cast

from textual.content import Content

from tokviz.errors import PatternError
from tokviz.process.jobs.train_messages import TrainRequest
from tokviz.storage.listing import home_label, size_label
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize, sentence
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, get_split_pattern
from tokviz.tokenizer.pretokenize.split import gap_warning, split
from tokviz.training.corpus.entries import (
    EXCLUDE,
    CorpusEntry,
    remarks,
    repeated_sizes,
    table_problems,
)
from tokviz.training.progress import (
    expected_cells,
    merging_seconds,
    reading_seconds,
    saving_seconds,
)
from tokviz.training.settings import N_BYTES, SpecialIds, why_no_workers

LARGEST_VOCABULARY = 1_000_000
MOST_WORKERS = 256
_WITH_WORKERS = (
    "Workers read the whole corpus, so no held-out text remains to compare tokenizers on."
)
CUSTOM = "custom"
"""Name of a split pattern typed by the user."""
EMBEDDING_WIDTH = 768
"""Width of GPT-2, to count the weights of an embedding."""

_LABEL = 8
_MOST_REGEX_CHARS = 1_000
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)")
_WORD_ENDS = re.compile(r"(\s+|[^\s/]*/)")
_UNITS = {"": 1, "k": 1000, "m": 1_000_000, "g": 1_000_000_000}

_START_SECONDS = 0.8  # start of a child process, and the comparison at the end
_COMPRESSED_RATIO = 3.5
_SENTENCE = "It was the best of times, it was the worst of times."
_LONGEST_WORD = 16


@dataclass(frozen=True, slots=True)
class FormValues:
    """Values of the form, as typed.

    Attributes:
        corpus: The files, folders and globs.
        vocab_size: The size of the vocabulary.
        pattern: The name of a split pattern, or `CUSTOM`.
        regex: The regex for `CUSTOM`.
        specials: Special tokens, separated by white space.
        special_ids: The position of the ids of special tokens; see `TrainSettings`.
        tie_break: The name of a tie-breaking rule.
        delimiter: The text between two documents.
        field: The field of JSON lines, or column of tables, with the text.
        min_count: The lowest count at which a pair is merged.
        max_chars: The most characters of everything, empty for all.
        max_doc_chars: The most characters of a document, empty for all.
        workers: The number of processes, or the address of a cluster; empty for none.
    """

    corpus: tuple[CorpusEntry, ...] = ()
    vocab_size: str = "10,000"
    pattern: str = "gpt4"
    regex: str = ""
    specials: str = "<|endoftext|>"
    special_ids: str = "last"
    tie_break: str = "first"
    delimiter: str = "<|endoftext|>"
    field: str = "text"
    min_count: str = "1"
    max_chars: str = ""
    max_doc_chars: str = ""
    workers: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a training.

    Attributes:
        n_files: The files to read.
        n_bytes: Their size in bytes, at most the cap.
        is_compressed: Whether some are compressed, so that the text is longer.
        n_merges: The maximum number of merges that the text allows.
        n_merges_wanted: The requested number of merges.
        seconds: A rough estimate of the time.
        folder: The run folder.
        problems: Errors that prevent the start, the most important first.
        notes: Remarks for the user.
        is_counting: Whether files are still being counted.
    """

    n_files: int
    n_bytes: int
    is_compressed: bool
    n_merges: int
    n_merges_wanted: int
    seconds: float
    folder: Path
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    is_counting: bool = False


def parse_count(text: str) -> int | None:
    """Read a number as people write it.

    >>> parse_count("32,000"), parse_count("2.5k"), parse_count("1_000"), parse_count("300.5")
    (32000, 2500, 1000, None)
    """
    match = _NUMBER.fullmatch(re.sub(r"[,_'\s]", "", text.strip().lower()))
    if match is None or len(match[1]) > 15:
        return None
    number = Decimal(match[1]) * _UNITS[match[2]]
    return int(number) if number == int(number) else None


class RegexVerdict(NamedTuple):
    """Result of trying a custom regex.

    Attributes:
        problem: The reason why it cannot be used, or empty.
        note: A warning, or empty.
        repeats: Whether its pre-tokens are as short as words, so that most of them recur.
    """

    problem: str = ""
    note: str = ""
    repeats: bool = True


def judge(regex: str) -> RegexVerdict:
    """Try a regex, which may take seconds, so call this in a thread."""
    if not regex:
        return RegexVerdict("Type the regex to split by.")
    if regex in SPLIT_PATTERNS or len(regex) > _MOST_REGEX_CHARS:
        # A long regex can take seconds to compile. The child process reports its errors.
        return RegexVerdict()
    try:
        pattern = get_split_pattern(regex)
        if gap := gap_warning(pattern):
            return RegexVerdict(note=sentence(gap))
        longest = max(end - start for start, end in split(pattern, _SENTENCE).spans())
    except PatternError as error:
        return RegexVerdict(f"The regex is invalid: {error.trouble}.")
    return RegexVerdict(repeats=longest <= _LONGEST_WORD)


def make_plan(
    values: FormValues,
    folder: Path,
    problem: str = "",
    verdict_of: Callable[[str], RegexVerdict] = judge,
) -> Plan:
    """Return the plan of a training, with its problems.

    Args:
        values: The form.
        folder: The run folder.
        problem: The reason why it cannot be written, or empty.
        verdict_of: Returns the current result for a custom regex.
    """
    verdict = verdict_of(values.regex) if values.pattern == CUSTOM else RegexVerdict()
    fine = [entry for entry in values.corpus if not entry.error]
    repeated = repeated_sizes(fine)
    n_bytes = all_bytes = sum(entry.n_bytes for entry in fine) - sum(repeated)
    cap = parse_count(values.max_chars)
    n_bytes = min(n_bytes, cap) if cap else n_bytes
    wanted = (parse_count(values.vocab_size) or 0) - N_BYTES
    wanted = max(0, wanted - len(set(values.specials.split())))
    is_compressed = any(entry.is_compressed for entry in fine)
    is_counting = any(entry.n_files is None for entry in values.corpus)
    n_merges = wanted
    if not is_compressed and not is_counting:
        # Every merge joins two tokens, and a character has at most four bytes.
        text_bytes_at_most = min(all_bytes, 4 * cap) if cap else all_bytes
        n_merges = min(wanted, max(0, text_bytes_at_most - 1))
    problems = tuple(filter(None, [*_problems(values, verdict), problem]))
    text_bytes = n_bytes * (_COMPRESSED_RATIO if is_compressed else 1.0)
    told = _WITH_WORKERS if values.workers.strip() else ""
    notes = verdict.note, told, *remarks(values.corpus, _column(values))
    return Plan(
        n_files=sum(entry.n_files or 0 for entry in fine) - len(repeated),
        n_bytes=n_bytes,
        is_compressed=is_compressed,
        n_merges=n_merges,
        n_merges_wanted=wanted,
        seconds=expected_seconds(
            text_bytes,
            n_merges,
            is_custom=values.pattern == CUSTOM,
            repeats=values.pattern != "none" and verdict.repeats,
        ),
        folder=folder,
        problems=problems,
        notes=() if problems else tuple(filter(None, notes)),
        is_counting=is_counting,
    )


def expected_seconds(n_bytes: float, n_merges: int, *, is_custom: bool, repeats: bool) -> float:
    """Estimate the seconds of a training, from measurements.

    Args:
        n_bytes: The bytes of the text.
        n_merges: The merges to learn.
        is_custom: Whether the text is split by a regex without a kernel.
        repeats: Whether pre-tokens recur, so that each distinct one is merged once.
    """
    reading = reading_seconds(n_bytes, is_regex=is_custom)
    merging = merging_seconds(expected_cells(n_bytes, is_split=repeats), n_merges)
    return _START_SECONDS + reading + merging + saving_seconds(n_merges)


def make_request(values: FormValues, plan: Plan) -> TrainRequest:
    """Return the request for a plan without problems."""
    sources = [entry.source for entry in values.corpus]
    workers = values.workers.strip()
    return TrainRequest(
        sources=tuple(filterfalse(_is_left_out, sources)),
        exclude=tuple(source.removeprefix(EXCLUDE) for source in filter(_is_left_out, sources)),
        run_folder=str(plan.folder),
        vocab_size=parse_count(values.vocab_size) or 0,
        split_pattern=values.regex if values.pattern == CUSTOM else values.pattern,
        special_tokens=tuple(values.specials.split()),
        special_ids=cast(SpecialIds, values.special_ids),
        tie_break=values.tie_break,
        min_count=parse_count(values.min_count) or 1,
        delimiter=values.delimiter,
        field=_column(values),
        max_chars=parse_count(values.max_chars),
        max_doc_chars=parse_count(values.max_doc_chars),
        # Only a training without workers can hold out text.
        compare=not workers,
        advise=None if workers else EMBEDDING_WIDTH,
        workers=None if _is_address(workers) else parse_count(workers),
        scheduler=workers if _is_address(workers) else None,
    )


def _is_address(workers: str) -> bool:
    return "://" in workers


def _is_left_out(source: str) -> bool:
    return source.startswith(EXCLUDE)


def _problems(values: FormValues, verdict: RegexVerdict) -> list[str]:
    found = []
    if all(_is_left_out(entry.source) for entry in values.corpus):
        found.append("Add files, folders or globs to train on.")
    found += [f"{_name(entry.source)}: {entry.error}." for entry in values.corpus if entry.error]
    found += table_problems(values.corpus, _column(values))
    found += _vocabulary_problems(values)
    found += filter(None, [verdict.problem])
    found += _cap_problems(values)
    found += _worker_problems(values)
    return found


def _vocabulary_problems(values: FormValues) -> list[str]:
    specials = values.specials.split()
    found = []
    repeated = next((text for text in specials if specials.count(text) > 1), None)
    if repeated is not None:
        found.append(f"The special token {repeated} is listed twice.")
    size = parse_count(values.vocab_size)
    needed = N_BYTES + len(set(specials))
    if size is None:
        found.append("The vocabulary size must be a whole number.")
    elif size < needed:
        and_specials = f" and {pluralize(len(set(specials)), 'special token')}" if specials else ""
        those = f"256 bytes{and_specials}"
        found.append(f"The vocabulary must hold {those}: {needed:,} tokens or more.")
    elif size > LARGEST_VOCABULARY:
        found.append(f"The vocabulary is too large: {LARGEST_VOCABULARY:,} tokens at most.")
    return found


def _cap_problems(values: FormValues) -> list[str]:
    found = []
    for text, what in [
        (values.max_chars, "The maximum number of characters"),
        (values.max_doc_chars, "The maximum length of a document"),
    ]:
        if text.strip() and not parse_count(text):
            found.append(f"{what} must be a whole number above 0. Leave it empty for no limit.")
    if not parse_count(values.min_count):
        found.append("The minimum count of a merge must be a whole number above 0.")
    return found


def _worker_problems(values: FormValues) -> list[str]:
    workers = values.workers.strip()
    if not workers:
        return []
    if reason := why_no_workers():
        return [sentence(reason)]
    if not _is_address(workers) and not 0 < (parse_count(workers) or 0) <= MOST_WORKERS:
        return [
            f"The workers are neither a number from 1 to {MOST_WORKERS} nor an address like "
            "tcp://host:8786. Leave it empty for none."
        ]
    if values.max_chars.strip():
        return ["Workers read the whole corpus: leave the limit of all characters empty."]
    return []


def _column(values: FormValues) -> str:
    return values.field.strip() or "text"


def _name(source: str) -> str:
    return Path(source).name or source


def new_run_folder(runs: Path, values: FormValues, is_taken: Callable[[Path], bool]) -> Path:
    """Return a new folder, named after corpus and size, with a number if it exists."""
    first = values.corpus[0].source if values.corpus else "run"
    named = next((part for part in reversed(Path(first).parts) if not has_magic(part)), "")
    stem = re.sub(r"[^\w.-]+", "-", named.lstrip(".").partition(".")[0])[:16].strip("-.")
    name = re.sub("000$", "k", f"{stem or 'corpus'}-{parse_count(values.vocab_size) or 0}")
    folders = (runs / name if n == 1 else runs / f"{name}-{n}" for n in count(1))
    return next(filterfalse(is_taken, folders))


def plan_content(plan: Plan, width: int, *, is_low: bool) -> Content:
    """Draw a plan in a few lines, or in two lines in a low terminal."""
    if plan.problems:
        most = 2 if is_low else 4
        return Content("\n").join(
            Content.assemble(("! ", "$text-warning bold"), safe(text))
            for text in plan.problems[:most]
        )
    compressed = " compressed" if plan.is_compressed else ""
    counting = "…" if plan.is_counting else ""
    reads = f"{pluralize(plan.n_files, 'file')}, {size_label(plan.n_bytes)}{compressed}{counting}"
    learns = f"at most {pluralize(plan.n_merges, 'merge')}"
    takes = f"{_rough(plan.seconds)}, in the background"
    too_short = f": the text is too short for {plan.n_merges_wanted:,}"
    too_short = too_short if plan.n_merges < plan.n_merges_wanted else ""
    facts = [("Reads", reads), ("Learns", learns + too_short), ("Takes", takes)]
    if is_low:
        facts = [("Reads", f"{reads} · {learns} · {_rough(plan.seconds)}")]
    if is_low and plan.notes:
        facts = []
    labels = ["Note", *[""] * (len(plan.notes) - 1)]
    facts += [("Writes", home_label(plan.folder)), *zip(labels, plan.notes, strict=False)]
    lines = [line for label, text in facts for line in labelled(label, text, width, _LABEL)]
    return Content("\n").join(lines)


def labelled(label: str, text: str, width: int, label_width: int) -> list[Content]:
    """Draw a text of one or more lines after a dim label.

    A path is wrapped after a slash.
    """
    wrapper = textwrap.TextWrapper(max(width - label_width, 8))
    wrapper.wordsep_re = _WORD_ENDS
    lines = wrapper.wrap(safe(text)) or [""]
    labels = [label, *[""] * (len(lines) - 1)]
    return [
        Content.assemble((f"{word:<{label_width}}", "$text-muted"), line)
        for word, line in zip(labels, lines, strict=True)
    ]


def _rough(seconds: float) -> str:
    """Format an estimated time.

    >>> _rough(0.8), _rough(7.3), _rough(312)
    ('a moment', 'about 8 s', 'about 6 min')
    """
    if seconds < 2:
        return "a moment"
    if seconds < 90:
        step = 1 if seconds < 10 else 5
        return f"about {-(-int(seconds + 0.99) // step) * step} s"
    if seconds < 5400:
        return f"about {-(-int(seconds) // 60)} min"
    return f"about {seconds / 3600:.1f} hours"
