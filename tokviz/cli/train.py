"""Learn a byte-level BPE tokenizer from texts.

PATH is a file, a folder (all files in it that are not hidden), a pattern like 'data/**/*.txt', or
`-` for standard input. Files may be plain text, .jsonl (--field says where the text is), .parquet,
and compressed: .gz, .zst. URLs like 's3://bucket/data/*.jsonl' are read where they are, by fsspec.

output: the folder RUN. `tokviz encode -t RUN FILE` uses it, and so does every -t;
Hugging Face's tokenizers loads RUN/tokenizer.json; RUN/history.npz tells what happened at every
merge. A run that is there is replaced only with --force; any other folder with content is left
alone.

Ctrl+C ends the training and saves what was learned until then; the exit code is then 130. During
the comparison, after the result is saved and printed, it only skips the comparison. With
--workers or --scheduler, what was counted until then is kept in RUN.counting, and the same command
goes on from there.

--json, one object a line while it goes on:
  {"phase", "fraction", "seconds", "eta_seconds", "n_bytes", "n_pre_tokens", "n_merges",
   "n_merges_wanted", "tokens_now", "newest", "memory_bytes", "peak_memory_bytes",
   "cluster"}
  "newest" holds the last merges: [bytes of the left token, bytes of the right one, count];
  "cluster" is null or [workers, tasks, bytes of their memory, address of the dashboard, bytes
  read a second].
and at the end, with "phase": "done":
  {"phase", "seconds", "run_folder", "n_vocab", "n_merges", "n_merges_wanted", "stopped_early",
   "seconds_by_phase", "n_bytes", "n_chars", "n_documents", "n_invalid", "n_pre_tokens", "n_tokens",
   "longest_token", "peak_memory_bytes", "held_out", "left_out", "files"}
  "files" holds those that paid for most merges: [name, merges from it alone, mean share of all].
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, get_args

from tokviz.cli import workers
from tokviz.cli.inputs import WAITING
from tokviz.cli.options import add_flag, add_number, positive
from tokviz.cli.output import print_json, report
from tokviz.cli.progress import ProgressLine
from tokviz.errors import InputFileError, OutputFileError, TokvizError
from tokviz.process.jobs.train_messages import TrainRequest, TrainSummary
from tokviz.storage.files import is_pipe
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import pluralize
from tokviz.training.corpus.storage import is_url
from tokviz.training.progress import TrainProgress
from tokviz.training.settings import SpecialIds
from tokviz.training.ties import TIE_BREAKS

if TYPE_CHECKING:
    from tokviz.process.jobs.training import Training

_INTERRUPTED = 130
_LONGEST_SHOWN = 48
_LOOKED_AT = 4_000_000
"""Bytes of the sources that are looked through beforehand; the summary tells of all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz train`."""
    parser.add_argument("sources", nargs="+", metavar="PATH", help="what to learn from")
    parser.add_argument(
        "-o",
        "--output",
        dest="run_folder",
        required=True,
        metavar="RUN",
        help="the folder to save the result in",
    )
    add_flag(parser, "--force", "replace the training that is in RUN already")
    parser.add_argument(
        "--vocab-size",
        required=True,
        type=positive,
        metavar="N",
        help="how many tokens to have: 256 bytes, merged tokens and special tokens together",
    )
    _add_rules(parser)
    _add_reading(parser)
    workers.add_arguments(parser, "count", "its workers must see RUN's folder and the files")
    add_flag(
        parser,
        "--skip-unreadable",
        "leave out files that are not there and, with workers, those that cannot be read to "
        "their end, and name them",
    )
    add_flag(
        parser,
        "--compare",
        "keep a hundredth of the text out of the training, at most 1 MB, and compare the "
        "compression of it with GPT-2's and GPT-4's",
    )
    parser.add_argument(
        "--advise",
        type=positive,
        nargs="?",
        const=768,
        metavar="WIDTH",
        help="say what smaller vocabularies would mean for the text that --compare keeps out, and "
        "for an embedding of this width (default: %(const)s); the largest one is --vocab-size",
    )
    add_flag(parser, "--json", "print JSON objects, one a line")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS

    parser.add_argument(
        "--pattern",
        dest="split_pattern",
        default="gpt4",
        metavar="PATTERN",
        help=f"how to cut text into pre-tokens: {', '.join(SPLIT_PATTERNS)}, or a regex "
        "(default: %(default)s)",
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
        help="where the ids of special tokens are: after all others, before them, or after the "
        "256 bytes and before the merged tokens (default: %(default)s)",
    )
    parser.add_argument(
        "--ties",
        dest="tie_break",
        choices=tuple(TIE_BREAKS),
        default="first",
        help="which of the pairs with equal counts to merge: "
        + "; ".join(f"{rule.title} (as {rule.source})" for rule in TIE_BREAKS.values())
        + " (default: %(default)s)",
    )
    add_number(parser, "--min-count", "merge no pair that occurs less often", default=1)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="FILE",
        help="leave a file out: its path, the end of it, or a pattern like '*.min.js'; repeat it "
        "for several",
    )
    parser.add_argument(
        "--delimiter",
        default="<|endoftext|>",
        metavar="TEXT",
        help="what stands between documents, cut out (default: %(default)s; '' for nothing)",
    )
    parser.add_argument(
        "--field",
        default="text",
        metavar="NAME",
        help="the field of .jsonl or column of .parquet that holds the text (default: %(default)s)",
    )
    add_number(parser, "--max-chars", "stop reading after so many characters; not with workers")
    add_number(parser, "--max-doc-chars", "take at most so many characters of each document")


def run(arguments: argparse.Namespace) -> int:
    """Train, save and say what came of it."""
    from tokviz.formats.run import is_run
    from tokviz.tokenizer.pretokenize.patterns import get_split_pattern

    if is_run(arguments.run_folder) and not arguments.force:
        reason = "holds a training already: choose another folder, or add --force to replace it"
        raise OutputFileError(arguments.run_folder, reason)
    # The arguments are called like the fields.
    arguments.compare = arguments.compare or arguments.advise is not None
    request = TrainRequest.from_json(
        {field: getattr(arguments, field) for field in TrainRequest._fields}
    )
    if not (pattern := get_split_pattern(request.split_pattern)).gapless:
        from tokviz.tokenizer.pretokenize.split import gap_warning

        if warning := gap_warning(pattern):
            report(f"note: {warning}")
    if "" in arguments.sources:
        # Of a variable that is not set; as a path it would be this folder.
        raise InputFileError("", "there is no such file")
    for source in filter(is_pipe, arguments.sources):
        report(WAITING.format(source))
    line = ProgressLine()
    # The collector would look through all tokens again and again, and find nothing.
    gc.disable()
    try:
        with _first_ctrl_c() as interrupted:
            on_report = _print_report if arguments.json else line.show
            training = _train(request, on_report, interrupted)
        if training is None:
            report("interrupted before the first merge: nothing is saved")
            return _INTERRUPTED
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
            lacking = "comparison" if request.advise is None else "advice"
            reason = "the corpus is too small to keep text out of it"
            report(f"no {lacking}: {'interrupted' if interrupted.is_set() else reason}")
        if arguments.json:
            print_json({"phase": "done", "seconds": summary.seconds, **summary.to_json()})
        else:
            print("".join(f"{line}\n" for line in comparison_lines(summary)), end="")
        return _INTERRUPTED if interrupted.is_set() else 0
    finally:
        line.clear()
        gc.freeze()
        gc.enable()


@contextmanager
def _first_ctrl_c() -> Iterator[Event]:
    """While it is open, the first Ctrl+C sets the event; the second is a `KeyboardInterrupt`."""
    interrupted = Event()

    def take(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    previous = signal.signal(signal.SIGINT, take)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)


def _train(
    request: TrainRequest, on_report: Callable[[TrainProgress], object], interrupted: Event
) -> Training | None:
    from tokviz.process.jobs.training import Training

    training = Training(request, on_report, interrupted.is_set)
    from tokviz.training.corpus.entries import inspect_sources, remarks, table_problems

    files = [source for source in request.sources if not is_pipe(source) and not is_url(source)]
    entries = [*inspect_sources(files, interrupted.is_set, _LOOKED_AT)]
    for problem in table_problems(entries, request.field):
        raise TokvizError(problem.removesuffix("."))
    for remark in remarks(entries, request.field):
        report(f"note: {remark}")
    try:
        training.learn()
    except TokvizError:
        _say_what_is_kept(training)
        raise
    if interrupted.is_set() and not len(training.learned.history):
        _say_what_is_kept(training)
        return None
    training.save()
    return training


def _say_what_is_kept(training: Training) -> None:
    if folder := training.counted_so_far:
        report(f"what was counted is kept in {folder}: the same command goes on from there")


def _print_report(report: TrainProgress) -> None:
    print_json(report.to_json())
    sys.stdout.flush()


def comparison_lines(summary: TrainSummary) -> list[str]:
    """Describe the comparison on held-out text; empty if there was none."""
    held_out = summary.held_out
    if held_out is None:
        return []
    ratios = (f"{name} {ratio:.2f}" for name, ratio in held_out.bytes_per_token.items())
    line = f"bytes/token of {held_out.n_bytes:,} bytes held out: {', '.join(ratios)}"
    advice = held_out.advice.lines() if held_out.advice is not None else ()
    return [line, *advice]


def summary_lines(summary: TrainSummary) -> list[str]:
    """Describe a training, without the comparison on held-out text."""
    seconds = ", ".join(
        f"{phase} {value:.2f}"
        for phase, value in summary.seconds_by_phase.items()
        if value >= 0.005
    )
    folder = safe(str(Path(summary.run_folder)))
    lines = [f"{folder}: {summary.n_vocab:,} tokens, {summary.n_merges:,} of them merged"]
    if summary.stopped_early:
        lines.append(f"ended early: {summary.stopped_early}")
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
    shown = token_label(summary.longest_token[:_LONGEST_SHOWN])
    more = "…" if len(summary.longest_token) > _LONGEST_SHOWN else ""
    lines.append(f"longest token: {shown}{more} ({pluralize(len(summary.longest_token), 'byte')})")
    memory = summary.peak_memory_bytes
    peak = "" if memory is None else f", at most {memory / 1e6:,.0f} MB of memory"
    lines.append(f"seconds: {summary.seconds:.2f} ({seconds}){peak}")
    return lines
