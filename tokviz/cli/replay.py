"""Step through a training or any vocabulary, merge by merge.

examples:
  tokviz replay RUN                       step through a training of `tokviz train`
  tokviz replay cl100k_base --at 5000     merges recovered from ranks, without counts
  tokviz replay gpt2 --print --at 300 --text "the theory of everything"
  tokviz replay RUN --print --steps 3     the first three merges, as text
  tokviz replay RUN --json > steps.jsonl  all merges
  tokviz replay RUN --at 3 --svg -o 3.svg a picture of the third merge
  tokviz replay gpt2 --text "the theory" --animate theory.svg
  tokviz replay RUN --diff my_merges.txt --print
  printf abababcb | tokviz train - -o /tmp/tiny --vocab-size 258 --pattern none
  tokviz replay /tmp/tiny --print

--print: every merge with its count and runners-up, and the tokens before it (the pair in brackets)
and after it. Without --at and --steps: all merges of a tiny corpus, otherwise the first 10.

--json, one object per line and merge (all merges, or those of --at and --steps):
  {"k", "left_id", "right_id", "new_id", "left", "right", "text", "count", "n_tied", "runner_up",
   "runner_up_count", "n_tokens_before", "n_tokens_after", "why"}
  "left" and "right" are hexadecimal bytes. Values that only the history of a training has are null
  for other vocabularies. --text adds "ids": the tokens of the text after the merge. A training on
  several files adds "files": [name, occurrences replaced in it]; null stands for all small files.

--diff OTHER: a run folder, a name, a tokenizer file, or a list of merges in the format of CS336,
GPT-2 or tiktoken. The exit code is 1 if a merge differs. With --json, one object:
  {"a", "b", "n_merges", "n_equal", "settings", "first_difference", "n_shared", "only_in_a",
   "only_in_b"}; --text adds "text"; two others add "more": the first one compared with them.
"""  # noqa: D405

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokviz.cli import options
from tokviz.cli.inputs import read_blocks, read_whole
from tokviz.cli.options import positive, whole
from tokviz.cli.output import FINDINGS, FigureOutput, print_json
from tokviz.cli.replay_frames import start_lines, step_lines
from tokviz.errors import TokvizError
from tokviz.formats.registry import is_builtin, is_path_of_file, resolve_name
from tokviz.share.animation import SECONDS, animation
from tokviz.share.replayed import replay_figure
from tokviz.storage.files import reading, write_file
from tokviz.text import bytetext
from tokviz.text.sentences import pluralize

if TYPE_CHECKING:
    from tokviz.training.replay.replay import Replay
    from tokviz.training.replay.text import ReplayText

_N_STEPS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz replay`."""
    parser.add_argument(
        "source",
        nargs="?",
        metavar="RUN",
        help="the folder of a training, a name from `tokviz tokenizers`, or a file that contains a "
        "tokenizer or merges; the same as -t",
    )
    options.add_tokenizer(parser)
    parser.add_argument("--at", type=whole, metavar="K", help="the merge to start with")
    parser.add_argument(
        "--text",
        metavar="TEXT",
        help="a text to tokenize at every step; @FILE reads a file, @- standard input",
    )
    parser.add_argument(
        "--diff",
        action="append",
        default=[],
        metavar="OTHER",
        help="compare with another training, vocabulary or merges file; may be given twice",
    )
    options.add_flag(parser, "--print", "print instead of opening the app")
    options.add_number(parser, "--steps", "print N merges, from merge K on; implies --print")
    form = parser.add_mutually_exclusive_group()
    options.add_flag(form, "--json", "print JSON objects, one per line")
    options.add_forms(parser, form)
    form.add_argument(
        "--animate",
        metavar="FILE",
        help="write the merges (from --at on, --steps of them) as an animated SVG for a slide",
    )
    parser.add_argument(
        "--seconds",
        type=positive,
        metavar="S",
        help="seconds that the animation shows each merge (default: 2)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Open the Replay screen of the app, or print."""
    _check(arguments)
    name: str | None = arguments.source
    source = options.tokenizer_name(arguments) if name is None else options.resolve_tokenizer(name)
    others = tuple(map(options.resolve_tokenizer, arguments.diff))
    if len(others) > 2:
        raise TokvizError("--diff can be given at most twice")
    text = _read_text(arguments.text)
    form = options.requested_form(arguments)
    animate: str | None = arguments.animate
    options.refuse_input(arguments, animate)
    if not (arguments.print or arguments.json or arguments.steps or form or animate is not None):
        return _open_app(source, arguments.at, text, others)
    if others:
        return _print_diff(source, others, text, as_json=arguments.json)
    from tokviz.compare.trainings import open_merges  # imports NumPy

    replay = open_merges(source)
    replay_text = None if text is None else replay.text(text)
    numbers = _numbers(replay, arguments.at, arguments.steps, arguments.json)
    if animate is not None:
        first = arguments.at or 1
        last = first + arguments.steps - 1 if arguments.steps else replay.n_merges
        seconds = arguments.seconds or SECONDS
        write_file(animate, animation(replay, first, last, replay_text, seconds=seconds))
        return 0
    if form:
        figures = FigureOutput(form, arguments.output, "select a merge with --at")
        for k in numbers:
            figures.write(replay_figure(replay, k, replay_text))
        figures.end()
    elif arguments.json:
        _print_records(replay, numbers, replay_text)
    else:
        _print_frames(replay, numbers, replay_text)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse contradictory options and options without effect."""
    if arguments.source is not None and arguments.tokenizer is not None:
        raise TokvizError("RUN and -t are the same: leave out one of them")
    if arguments.seconds is not None and arguments.animate is None:
        raise TokvizError("--seconds needs --animate: add it, or leave out --seconds")
    ignored = ("at",) if arguments.print or arguments.json else ()
    for name in ("steps", "form", "output", "animate", *ignored) if arguments.diff else ():
        if getattr(arguments, name) is not None:
            option = f"--{arguments.form}" if name == "form" else f"--{name}"
            raise TokvizError(f"--diff prints the first difference as text: leave out {option}")


def _read_text(text: str | None) -> str | None:
    if text is None or not text.startswith("@"):
        return None if text is None else bytetext.as_byte_text(text)
    name = text.removeprefix("@")
    data = read_whole(read_blocks(name), ": use a shorter text")
    return bytetext.from_bytes(data)


def _open_app(source: str, at: int | None, text: str | None, others: tuple[str, ...]) -> int:
    from tokviz.tui.run import run as run_app  # printing does not need the app
    from tokviz.workspace.session import ReplayRequest

    for name in (source, *others):
        if is_path_of_file(name):
            with reading(name):
                os.stat(name)
        elif not is_builtin(name):
            resolve_name(name)  # raises an error that suggests similar names
    run_app(first=ReplayRequest(source, at, text, others))


def _numbers(replay: Replay, at: int | None, n_steps: int | None, as_json: bool) -> range:
    """Return the merges to print; 0 is the state before the first merge."""
    last = replay.n_merges
    if at is not None and at > last:
        raise TokvizError(f"--at {at:,}: there are only {last:,} merges")
    first = (
        (0 if n_steps is None and replay.has_counts and not as_json else 1) if at is None else at
    )
    if n_steps is None:
        is_short = as_json or replay.is_tiny or last <= _N_STEPS
        n_steps = 1 if at is not None else last - first + 1 if is_short else _N_STEPS + (not first)
    return range(first, min(first + n_steps, last + 1))


def _print_frames(replay: Replay, numbers: Iterable[int], text: ReplayText | None) -> None:
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    k = 0
    for k in numbers:
        lines = step_lines(replay, k, text, color) if k else start_lines(replay, text)
        print("\n".join(lines))
    if k < replay.n_merges:
        print(f"… {pluralize(replay.n_merges - k, 'more merge')}: use --at K or --steps N")


def _print_records(replay: Replay, numbers: Iterable[int], text: ReplayText | None) -> None:
    from tokviz.cli.replay_diff import step_record  # imports NumPy

    for k in numbers:
        if k:
            record = step_record(replay.step(k)) | {"why": str(replay.why(k))}
            attribution = None if replay.run is None else replay.run.attribution
            if attribution is not None and (parts := attribution.of(k)):
                record["files"] = [[part.file, part.n] for part in parts]
            if text is not None:
                record["ids"] = text.at(k).ids.tolist()
            print_json(record)


def _print_diff(source: str, others: tuple[str, ...], text: str | None, *, as_json: bool) -> int:
    from tokviz.cli.replay_diff import diff_lines, diff_record  # both import NumPy
    from tokviz.compare.trainings import diff_merges

    diff = diff_merges(source, *others)
    effect = None if text is None else diff.effect(text)
    if as_json:
        print_json(diff_record(diff, effect))
    else:
        print("\n".join(diff_lines(diff, effect)))
    return 0 if diff.first_number is None else FINDINGS
