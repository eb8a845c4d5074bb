"""Train a byte-level BPE tokenizer on texts.

PATH is a file, a folder (all files in it that are not hidden), a pattern like 'data/**/*.txt', or
`-` for standard input. Files may be plain text, .jsonl (--field names the field), .parquet, and
compressed: .gz, .zst. URLs like 's3://bucket/data/*.jsonl' are read with fsspec.

output: the folder RUN. `tokviz encode -t RUN FILE` uses it, and so does every -t; Hugging Face
tokenizers loads RUN/tokenizer.json; RUN/history.npz has the history of every merge. An existing run
is replaced only with --force; other folders that are not empty are never changed.

Ctrl+C stops the training and saves the merges learned so far; the exit code is then 130. During the
final comparison, Ctrl+C skips only the comparison. With --workers or --scheduler, the counts so far
are kept in RUN.counting, and the same command continues from there.

--json, one object per line during the training:
  {"phase", "fraction", "seconds", "eta_seconds", "n_bytes", "n_pre_tokens", "n_merges",
   "n_merges_wanted", "tokens_now", "newest", "memory_bytes", "peak_memory_bytes",
   "cluster"}
  "newest" has the last merges: [bytes of the left token, bytes of the right one, count];
  "cluster" is null or [workers, tasks, bytes of their memory, address of the dashboard, bytes
  read per second].
and at the end, with "phase": "done":
  {"phase", "seconds", "run_folder", "n_vocab", "n_merges", "n_merges_wanted", "stopped_early",
   "seconds_by_phase", "n_bytes", "n_chars", "n_documents", "n_invalid", "n_pre_tokens", "n_tokens",
   "longest_token", "peak_memory_bytes", "held_out", "left_out", "files"}
  "files" has the files that most merges came from: [name, merges from it alone, mean share of all].
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import get_args

from tokviz.cli import workers
from tokviz.cli.inputs import WAITING
from tokviz.cli.options import add_exclude, add_flag, add_number, positive
from tokviz.cli.output import INTERRUPTED, print_json, report
from tokviz.cli.progress import ProgressLine, first_ctrl_c
from tokviz.errors import InputFileError, OutputFileError, TokvizError
from tokviz.formats.run import is_run
from tokviz.process.jobs.train_messages import TrainRequest, TrainSummary
from tokviz.process.jobs.training import Training
from tokviz.storage.files import is_pipe
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, get_split_pattern
from tokviz.tokenizer.pretokenize.split import gap_warning
from tokviz.training.corpus.entries import inspect_sources, remarks, table_problems
from tokviz.training.corpus.storage import is_url
from tokviz.training.progress import TrainProgress
from tokviz.training.settings import SpecialIds
from tokviz.training.ties import TIE_BREAKS

_MAX_LABEL_BYTES = 48
_INSPECTED_BYTES = 4_000_000
"""Number of bytes inspected before the training; the summary covers all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz train`."""
    parser.add_argument("sources", nargs="+", metavar="PATH", help="the texts to train on")
    parser.add_argument(
        "-o",
        "--output",
        dest="run_folder",
        required=True,
        metavar="RUN",
        help="the folder to save the result in",
    )
    add_flag(parser, "--force", "replace an existing training in RUN")
    parser.add_argument(
        "--vocab-size",
        required=True,
        type=positive,
        metavar="N",
        help="the number of tokens: 256 bytes, merged tokens and special tokens",
    )
    _add_rules(parser)
    _add_reading(parser)
    workers.add_arguments(parser, "count", "its workers must see RUN's folder and the files")
    add_flag(
        parser,
        "--skip-unreadable",
        "skip and list files that do not exist and, with workers, files that cannot be read "
        "completely",
    )
    add_flag(
        parser,
        "--compare",
        "hold out 1%% of the text, at most 1 MB, and compare its compression with that of GPT-2 "
        "and GPT-4",
    )
    parser.add_argument(
        "--advise",
        type=positive,
        nargs="?",
        const=768,
        metavar="WIDTH",
        help="compare smaller vocabularies, up to --vocab-size, on the held-out text of --compare "
        "and for an embedding of this width (default: %(const)s)",
    )
    add_flag(parser, "--json", "print JSON objects, one per line")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pattern",
        dest="split_pattern",
        default="gpt4",
        metavar="PATTERN",
        help=f"the split pattern: {', '.join(SPLIT_PATTERNS)}, or a regex (default: %(default)s)",
    )
    parser.add_argument(
        "--special",
        dest="special_tokens",
        action="append",
        default=[],
        metavar="TEXT",
        help="a special token; repeat it for several",
    )
    parser.add_argument(
        "--special-ids",
        choices=get_args(SpecialIds),
        default="last",
        help="the position of the ids of special tokens: after all others, before them, or between "
        "the 256 bytes and the merged tokens (default: %(default)s)",
    )
    parser.add_argument(
        "--ties",
        dest="tie_break",
        choices=tuple(TIE_BREAKS),
        default="first",
        help="the tie-breaking rule for pairs with equal counts: "
        + "; ".join(f"{rule.title} (as {rule.source})" for rule in TIE_BREAKS.values())
        + " (default: %(default)s)",
    )
    add_number(parser, "--min-count", "merge only pairs that occur at least N times", default=1)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_exclude(parser)
    parser.add_argument(
        "--delimiter",
        default="<|endoftext|>",
        metavar="TEXT",
        help="the separator between documents (default: %(default)s; '' for none)",
    )
    parser.add_argument(
        "--field",
        default="text",
        metavar="NAME",
        help="the field of .jsonl or column of .parquet that holds the text (default: %(default)s)",
    )
    add_number(parser, "--max-chars", "stop reading after N characters; not with workers")
    add_number(parser, "--max-doc-chars", "use at most N characters of each document")


def run(arguments: argparse.Namespace) -> int:
    """Train, save and print a summary."""
    if is_run(arguments.run_folder) and not arguments.force:
        reason = "already has a training: choose another folder, or add --force to replace it"
        raise OutputFileError(arguments.run_folder, reason)
    # The arguments have the names of the fields.
    arguments.compare = arguments.compare or arguments.advise is not None
    request = TrainRequest.from_json(
        {field: getattr(arguments, field) for field in TrainRequest._fields}
    )
    pattern = get_split_pattern(request.split_pattern)
    if not pattern.gapless and (warning := gap_warning(pattern)):
        report(f"note: {warning}")
    if "" in arguments.sources:
        # From a variable that is not set; as a path it would be the current folder.
        raise InputFileError("", "there is no such file")
    for source in filter(is_pipe, arguments.sources):
        report(WAITING.format(source))
    line = ProgressLine()
    # The garbage collector would scan all tokens again and again and find nothing.
    gc.disable()
    try:
        with first_ctrl_c() as interrupted:
            on_report = _print_report if arguments.json else line.show
            training = _train(request, on_report, interrupted)
        if training is None:
            report("interrupted before the first merge: nothing was saved")
            return INTERRUPTED
        line.clear()
        summary = training.summary()
        if not arguments.json:
            print("\n".join(summary_lines(summary)), flush=True)
        if not interrupted.is_set():
            try:
                training.compare()
            except KeyboardInterrupt:
                interrupted.set()
            line.clear()
            summary = training.summary()
        if request.compare and summary.held_out is None:
            missing = "comparison" if request.advise is None else "advice"
            reason = "the corpus is too small to hold out text"
            report(f"no {missing}: {'interrupted' if interrupted.is_set() else reason}")
        if arguments.json:
            print_json({"phase": "done", "seconds": summary.seconds, **summary.to_json()})
        else:
            print("".join(f"{line}\n" for line in comparison_lines(summary)), end="")
        return INTERRUPTED if interrupted.is_set() else 0
    finally:
        line.clear()
        gc.freeze()
        gc.enable()


def _train(
    request: TrainRequest, on_report: Callable[[TrainProgress], object], interrupted: Event
) -> Training | None:
    training = Training(request, on_report, interrupted.is_set)
    files = [source for source in request.sources if not is_pipe(source) and not is_url(source)]
    entries = [*inspect_sources(files, interrupted.is_set, _INSPECTED_BYTES)]
    for problem in table_problems(entries, request.field):
        raise TokvizError(problem.removesuffix("."))
    for remark in remarks(entries, request.field):
        report(f"note: {remark}")
    try:
        training.learn()
    except TokvizError:
        _report_kept_counts(training)
        raise
    if interrupted.is_set() and not len(training.learned.history):
        _report_kept_counts(training)
        return None
    training.save()
    return training


def _report_kept_counts(training: Training) -> None:
    if folder := training.counted_so_far:
        report(f"the counts so far are kept in {folder}: the same command continues from there")


def _print_report(report: TrainProgress) -> None:
    print_json(report.to_json())
    sys.stdout.flush()


def comparison_lines(summary: TrainSummary) -> list[str]:
    """Return the comparison on held-out text; empty if there was none."""
    held_out = summary.held_out
    if held_out is None:
        return []
    ratios = (f"{name} {ratio:.2f}" for name, ratio in held_out.bytes_per_token.items())
    line = f"bytes/token of {held_out.n_bytes:,} held-out bytes: {', '.join(ratios)}"
    advice = held_out.advice.lines() if held_out.advice is not None else ()
    return [line, *advice]


def summary_lines(summary: TrainSummary) -> list[str]:
    """Return the summary of a training, without the comparison on held-out text."""
    seconds = ", ".join(
        f"{phase} {value:.2f}"
        for phase, value in summary.seconds_by_phase.items()
        if value >= 0.005
    )
    folder = safe(str(Path(summary.run_folder)))
    lines = [f"{folder}: {summary.n_vocab:,} tokens, {summary.n_merges:,} of them merged"]
    if summary.stopped_early:
        lines.append(f"stopped early: {summary.stopped_early}")
    lines.append(
        f"corpus: {pluralize(summary.n_bytes, 'byte')}, "
        f"{pluralize(summary.n_documents, 'document')}, "
        f"{pluralize(summary.n_pre_tokens, 'distinct pre-token')}"
    )
    for file, reason in summary.left_out:
        lines.append(f"left out: {safe(file)}: {reason}")
    if summary.n_invalid:
        lines.append(f"not valid UTF-8: {pluralize(summary.n_invalid, 'byte')}")
    if summary.bytes_per_token is not None:
        n_tokens = pluralize(summary.n_tokens, "token")
        lines.append(f"compression: {n_tokens}, {summary.bytes_per_token:.2f} bytes/token")
    lines += summary.file_lines()
    shown = token_label(summary.longest_token[:_MAX_LABEL_BYTES])
    more = "…" if len(summary.longest_token) > _MAX_LABEL_BYTES else ""
    lines.append(f"longest token: {shown}{more} ({pluralize(len(summary.longest_token), 'byte')})")
    memory = summary.peak_memory_bytes
    peak = "" if memory is None else f", at most {memory / 1e6:,.0f} MB of memory"
    lines.append(f"seconds: {summary.seconds:.2f} ({seconds}){peak}")
    return lines
