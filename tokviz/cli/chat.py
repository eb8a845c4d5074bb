"""See which tokens of conversations a model learns from, and check training data.

FILE holds conversations: JSON Lines, JSON or parquet, in the shapes of nanochat, Hugging Face,
OpenAI, ShareGPT or Alpaca, or with a prompt and a completion:
$shapes
On a terminal, `tokviz chat FILE` opens the app. Into a pipe it is --mask.

templates: $templates (default: nanochat);
or a file: tokenizer_config.json, chat_template.jinja. A tokenizer that lacks a template's special
tokens is lent them, with the ids after its last ("virtual_specials").

--mask shows the tokens, learned ones in [brackets] and, on a terminal, in green. Of a web page or a
  picture there is one for each row: --row says which.
--json, one object per row:
  {"file", "row", "place", "tokenizer", "template", "mask_source", "max_tokens", "n_tokens",
   "n_kept", "n_learned", "virtual_specials", "notes", "ids", "mask", "reasons", "messages"}
  or {"file", "row", "place", "error"}. "row" counts from 1, as --row does; "messages" are the
  tokens' messages.
--lint checks every row and prints its findings; the exit code is 1 if there are any.
  With --mask they follow the tokens of each row.
  With --json, one object per finding:
  {"file", "row", "place", "code", "severity", "message", "message_index", "token_index"}
$rules
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache, partial
from itertools import count, islice, takewhile
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from tokviz.chat.dataset_shapes import describe_shapes
from tokviz.chat.lint import RULES, Finding
from tokviz.chat.messages import ConversationError
from tokviz.chat.templates import TEMPLATES
from tokviz.cli import options, workers
from tokviz.cli.inputs import STDIN, display_name, for_each_input, read_blocks, read_whole
from tokviz.cli.output import FigureOutput, json_line, report
from tokviz.cli.progress import StatusLine
from tokviz.errors import TokvizError
from tokviz.storage.files import is_pipe
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize

if TYPE_CHECKING:
    from tokviz.chat.dataset import Dataset
    from tokviz.chat.jinja_template import JinjaTemplate
    from tokviz.chat.rendering import Rendering
    from tokviz.chat.templates import ChatTemplate
    from tokviz.tokenizer.tokenizer import Tokenizer


_FINDINGS = 1
_ROWS_AT_ONCE = 1000
"""How many rows a worker looks at before it takes others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz chat`."""
    rules = "rules: " + ", ".join(RULES)
    rules = fill(rules, 98, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    words = {"$shapes": describe_shapes(), "$templates": ", ".join(TEMPLATES), "$rules": rules}
    for word, meaning in words.items():
        parser.epilog = (parser.epilog or "").replace(word, meaning)
    options.add_files(parser, "conversations")
    options.add_tokenizer(parser)
    options.add_split_pattern(parser)
    parser.add_argument(
        "--template",
        default="nanochat",
        metavar="NAME",
        help="a chat template's name or file (default: %(default)s)",
    )
    options.add_number(
        parser, "--max-tokens", "cut renderings off after so many tokens", default=2048
    )
    form = parser.add_mutually_exclusive_group()
    options.add_flag(form, "--mask", "show which tokens are learned")
    options.add_flag(form, "--json", "print one JSON object per row")
    options.add_forms(parser, form)
    options.add_flag(parser, "--lint", "check the rows; the exit code is 1 if anything is found")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="RULE",
        help="leave out a rule of --lint; may be given several times",
    )
    workers.add_arguments(parser, "work on files")
    options.add_number(parser, "--row", "only this row, from 1")


def run(arguments: argparse.Namespace) -> int:
    """Show, check or open conversations."""
    names = options.input_names(arguments.files)
    if arguments.ignore and not arguments.lint:
        raise TokvizError("--ignore leaves rules of --lint out: add --lint")
    if _opens_app(arguments, names):
        if arguments.split_pattern is not None:
            raise TokvizError("--split-pattern is for what is printed: add --mask")
        return _open_app(arguments, names[0])
    from tokviz.chat.template_files import load_template

    unknown = [code for code in arguments.ignore if code not in RULES]
    if unknown:
        raise TokvizError(f"--ignore: no rule is called {unknown[0]!r}; see tokviz chat --help")
    form = options.asked_form(arguments)
    if form and arguments.lint:
        raise TokvizError("--lint prints what it finds: leave the other form and -o out")
    by_row = "say which row by --row"
    figures = FigureOutput(form, arguments.output, by_row) if form else None
    tokenizer = options.load_tokenizer(arguments)
    look = _Look(arguments, tokenizer, load_template(arguments.template), figures)
    arguments.colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    with workers.answers(arguments) as answer:
        work = _Work(arguments, look, answer)
        failed = for_each_input(names, work.on_file)
    if figures is not None:
        figures.end(has_failed=bool(failed or work.n_errors))
    return failed or (_FINDINGS if work.n_findings or work.n_errors else 0)


def _opens_app(arguments: argparse.Namespace, names: list[str]) -> bool:
    asked = arguments.mask or arguments.json or arguments.lint or arguments.row
    asked = asked or options.asked_form(arguments)
    return not asked and len(names) == 1 and names[0] != STDIN and sys.stdout.isatty()


def _open_app(arguments: argparse.Namespace, path: str) -> int:
    from tokviz.chat.dataset import ChatRequest
    from tokviz.tui.run import run as run_app

    request = ChatRequest(path, arguments.template, arguments.max_tokens)
    tokenizer = options.asked_tokenizer(arguments)
    return run_app(tokenizer=tokenizer, first=request)


class _Shown(NamedTuple):
    """What there is to say about a row.

    Attributes:
        lines: For standard output.
        error: Why it cannot be shown, for standard error.
        has_failed: Whether that is so.
        n_findings: How much was found.
    """

    lines: list[str]
    error: str = ""
    has_failed: bool = False
    n_findings: int = 0


class _Work:
    """What is done with each file.

    Attributes:
        n_findings: Findings printed so far.
        n_errors: Rows that could not be shown.
    """

    def __init__(
        self, arguments: argparse.Namespace, look: _Look, answer: workers.Answers[list[_Shown]]
    ) -> None:
        self._arguments = arguments
        self._look = look
        self._answer = answer
        self._only_lints = arguments.lint and not arguments.mask
        self.n_findings = 0
        self.n_errors = 0

    def on_file(self, name: str) -> None:
        """Do it with one file."""
        dataset = _open(name)
        first = 0 if self._arguments.row is None else self._arguments.row - 1
        if self._arguments.row is not None and not dataset.has_row(first):
            raise TokvizError(
                f"there is no row {first + 1:,}; it has {pluralize(dataset.n_rows, 'row')}"
            )
        n_rows, n_wrong, n_before = 0, 0, self.n_findings
        with StatusLine() as status:
            for shown in self._rows(name, dataset, first):
                n_rows += 1
                if self._only_lints and status.is_due:
                    n_found = self.n_findings - n_before
                    status.draw(f"{pluralize(n_rows, 'row')}, {pluralize(n_found, 'finding')}")
                if shown.error:
                    sys.stdout.flush()
                    report(shown.error)
                if shown.lines:
                    status.clear()
                    print(*shown.lines, sep="\n")
                n_wrong += shown.n_findings > 0
                self.n_findings += shown.n_findings
                self.n_errors += shown.has_failed
        if self._only_lints and not self._arguments.json:
            print(_summary(display_name(name), n_rows, n_wrong, self.n_findings - n_before))

    def _rows(self, name: str, dataset: Dataset, first: int) -> Iterator[_Shown]:
        is_here = not workers.is_asked(self._arguments) or name == STDIN or is_pipe(name)
        is_here = is_here or options.asked_form(self._arguments) is not None
        if is_here or self._arguments.row is not None:
            n_rows = None if self._arguments.row is None else 1
            yield from islice(self._look.at(name, dataset, first), n_rows)
            return
        dataset.index_all()
        spans = [(first, _ROWS_AT_ONCE) for first in range(0, dataset.n_rows, _ROWS_AT_ONCE)]
        results = deque(self._answer(partial(_some_rows, self._arguments, name), spans))
        while results:  # what is printed is kept nowhere
            yield from results.popleft()()


def _some_rows(arguments: argparse.Namespace, name: str, span: tuple[int, int]) -> list[_Shown]:
    from tokviz.chat.template_files import load_template

    tokenizer = workers.tokenizer_of(options.tokenizer_name(arguments), arguments.split_pattern)
    look = _Look(arguments, tokenizer, load_template(arguments.template))
    first, n_rows = span
    return [*islice(look.at(name, _opened(name), first), n_rows)]


class _Look:
    """Looks at rows, as the arguments say; figures are written where it is given how."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        tokenizer: Tokenizer,
        template: ChatTemplate | JinjaTemplate,
        figures: FigureOutput | None = None,
    ) -> None:
        self._arguments = arguments
        self._tokenizer = tokenizer
        self._template = template
        self._figures = figures

    def at(self, name: str, dataset: Dataset, first: int) -> Iterator[_Shown]:
        """Look at rows from a first one on."""
        if self._arguments.lint and not self._arguments.mask:
            return self._linted(name, dataset, first)
        return self._rendered(name, dataset, first)

    # -- --lint

    def _linted(self, name: str, dataset: Dataset, first: int) -> Iterator[_Shown]:
        from tokviz.chat.dataset_lint import DatasetLinter

        linter = DatasetLinter(self._tokenizer, self._template, self._arguments.max_tokens)
        for checked in linter.reports(dataset, first):
            lines = []
            findings = self._wanted(checked.findings)
            for finding in findings:
                if self._arguments.json:
                    lines.append(_record(name, dataset, checked.row, asdict(finding)))
                else:
                    shown = safe(_located(name, dataset, checked.row, finding.message))
                    lines.append(f"{shown} [{finding.severity}: {finding.code}]")
            yield _Shown(lines, n_findings=len(findings))

    def _wanted(self, findings: Iterable[Finding]) -> list[Finding]:
        """Leave out what is to be ignored."""
        return [finding for finding in findings if finding.code not in self._arguments.ignore]

    # -- --mask, --json

    def _rendered(self, name: str, dataset: Dataset, first: int) -> Iterator[_Shown]:
        from tokviz.chat.lint import NOT_RENDERED, UNREADABLE, error_finding, lint
        from tokviz.chat.render import render

        for row in takewhile(dataset.has_row, count(first)):
            conversation, error_text = None, ""
            try:
                conversation = dataset.row(row)
                rendering = render(
                    self._tokenizer, conversation, self._template, self._arguments.max_tokens
                )
            except ConversationError as error:
                lines = []
                if self._arguments.json:
                    lines = [_record(name, dataset, row, {"error": str(error)})]
                else:
                    error_text = _located(name, dataset, row, str(error))
                code = UNREADABLE if conversation is None else NOT_RENDERED
                findings: Iterable[Finding] = [error_finding(code, error)]
                has_failed = True
            else:
                lines = self._lines(name, dataset, row, rendering)
                findings = lint(conversation, rendering) if self._arguments.lint else ()
                has_failed = False
            found = self._wanted(findings) if self._arguments.lint else []
            lines += [f"  ! {safe(finding.message)}" for finding in found]
            yield _Shown(lines, error_text, has_failed, len(found))

    def _lines(self, name: str, dataset: Dataset, row: int, rendering: Rendering) -> list[str]:
        from tokviz.chat.mask import mask_lines
        from tokviz.chat.rendering import rendering_to_json
        from tokviz.share.figure import mask_figure

        if self._figures is not None:
            place = f"{display_name(name)} {dataset.place(row)}"
            self._figures.write(mask_figure(place, rendering))
            return []
        if self._arguments.json:
            return [_record(name, dataset, row, rendering_to_json(rendering))]
        lines = mask_lines(rendering, safe, colour=self._arguments.colour)
        return [safe(_headline(dataset, row, rendering)), *lines]


def _record(name: str, dataset: Dataset, row: int, fields: Mapping[str, object]) -> str:
    return json_line({"file": name, "row": row + 1, "place": dataset.place(row), **fields})


def _located(name: str, dataset: Dataset, row: int, text: str) -> str:
    """Say of which file and row a text is about, as far as it does not say so itself."""
    place = dataset.place(row)
    where = "" if text.startswith(place) else f"{place}: "
    return f"{display_name(name)}: {where}{text}"


def _open(name: str) -> Dataset:
    from tokviz.chat.dataset import Dataset

    if name != STDIN and not is_pipe(name):
        return Dataset.open(name)
    return Dataset.from_bytes(name, read_whole(read_blocks(name), "; give a file"))


_opened = lru_cache(1)(_open)


def _headline(dataset: Dataset, row: int, rendering: Rendering) -> str:
    facts = [
        dataset.place(row),
        pluralize(rendering.n_kept, "token"),
        f"{rendering.n_learned:,} learned ({rendering.supervised_share:.0%})",
    ]
    cut = len(rendering) - rendering.n_kept
    if cut:
        facts.append(f"{cut:,} cut off")
    if rendering.virtual_specials:
        lacking = pluralize(len(rendering.virtual_specials), "special token")
        facts.append(f"{lacking} not in the vocabulary")
    if rendering.mask_source != "template":
        facts.append(f"mask from {rendering.mask_source}")
    return " ".join(["#", ", ".join(facts) + "." * bool(rendering.notes), *rendering.notes])


def _summary(name: str, n_rows: int, n_wrong: int, n_findings: int) -> str:
    rows = pluralize(n_rows, "row")
    if not n_findings:
        return f"{safe(name)}: {rows}, nothing found"
    findings = pluralize(n_findings, "finding")
    return f"{safe(name)}: {rows}, {findings} in {pluralize(n_wrong, 'row')}"
