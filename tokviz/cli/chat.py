"""See which tokens of conversations a model learns from, and check training data.

FILE holds conversations: JSON Lines, JSON or parquet, in the shapes of nanochat, Hugging Face,
OpenAI or ShareGPT:
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
  or {"file", "row", "place", "error"}. "row" counts from 0; "messages" are the tokens' messages.
--lint checks every row and prints its findings; the exit code is 1 if there are any.
  With --json, one object per finding:
  {"file", "row", "place", "code", "severity", "message", "message_index", "token_index"}
$rules
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import count, islice, takewhile
from textwrap import fill
from typing import TYPE_CHECKING

from tokviz.chat.conversation import ConversationError, describe_shapes
from tokviz.chat.lint import RULES, Finding
from tokviz.chat.templates import TEMPLATES
from tokviz.cli import options
from tokviz.cli.inputs import STDIN, display_name, for_each_input, read_blocks, read_whole
from tokviz.cli.output import FigureOutput, print_json, report
from tokviz.cli.progress import StatusLine
from tokviz.cli.train import positive
from tokviz.errors import TokvizError
from tokviz.files import is_pipe
from tokviz.glyphs import safe
from tokviz.sentences import counted

if TYPE_CHECKING:
    from tokviz.chat.dataset import Dataset
    from tokviz.chat.jinja_template import JinjaTemplate
    from tokviz.chat.render import Rendering
    from tokviz.chat.templates import ChatTemplate
    from tokviz.tokenizer import Tokenizer


_FINDINGS = 1


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
    parser.add_argument(
        "--max-tokens",
        type=positive,
        default=2048,
        metavar="N",
        help="cut renderings off after so many tokens (default: %(default)s)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--mask", action="store_true", help="show which tokens are learned")
    form.add_argument("--json", action="store_true", help="print one JSON object per row")
    options.add_forms(parser, form)
    parser.add_argument(
        "--lint",
        action="store_true",
        help="check the rows; the exit code is 1 if anything is found",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="RULE",
        help="leave out a rule of --lint; may be given several times",
    )
    parser.add_argument("--row", type=positive, metavar="N", help="only this row, from 1")


def run(arguments: argparse.Namespace) -> int:
    """Show, check or open conversations."""
    names = options.input_names(arguments.files)
    if _opens_app(arguments, names):
        return _open_app(arguments, names[0])
    from tokviz.chat.template_files import load_template

    unknown = [code for code in arguments.ignore if code not in RULES]
    if unknown:
        raise TokvizError(f"--ignore: no rule is called {unknown[0]!r}; see tokviz chat --help")
    work = _Work(arguments, options.load_tokenizer(arguments), load_template(arguments.template))
    failed = for_each_input(names, work.on_file)
    if work.figures is not None:
        work.figures.end()
    return failed or (_FINDINGS if work.n_findings or work.n_errors else 0)


def _opens_app(arguments: argparse.Namespace, names: list[str]) -> bool:
    asked = arguments.mask or arguments.json or arguments.lint or arguments.row
    asked = asked or options.asked_form(arguments)
    return not asked and len(names) == 1 and names[0] != STDIN and sys.stdout.isatty()


def _open_app(arguments: argparse.Namespace, path: str) -> int:
    from tokviz.chat.request import ChatRequest
    from tokviz.tui.run import run as run_app

    request = ChatRequest(path, arguments.template, arguments.max_tokens)
    tokenizer = options.asked_tokenizer(arguments)
    return run_app(tokenizer=tokenizer, first=request)


class _Work:
    """What is done with each file.

    Attributes:
        n_findings: Findings printed so far.
        n_errors: Rows that could not be shown.
        figures: Writes what is shown, where it is to be a web page, a picture or the like.
    """

    def __init__(
        self,
        arguments: argparse.Namespace,
        tokenizer: Tokenizer,
        template: ChatTemplate | JinjaTemplate,
    ) -> None:
        self._arguments = arguments
        self._tokenizer = tokenizer
        self._template = template
        self._most_rows = None if arguments.row is None else 1
        form = options.asked_form(arguments)
        self.figures = FigureOutput(form, arguments.output) if form else None
        self.n_findings = 0
        self.n_errors = 0

    def on_file(self, name: str) -> None:
        """Do it with one file."""
        dataset = _open(name)
        first = 0 if self._arguments.row is None else self._arguments.row - 1
        if self._arguments.row is not None and not dataset.has_row(first):
            raise TokvizError(
                f"there is no row {first + 1:,}; it has {counted(dataset.n_rows, 'row')}"
            )
        if self._arguments.lint and not self._arguments.mask:
            self._lint(name, dataset, first)
        else:
            self._show_rows(name, dataset, first)

    # -- --lint

    def _lint(self, name: str, dataset: Dataset, first: int) -> None:
        from tokviz.chat.dataset_lint import DatasetLinter

        linter = DatasetLinter(self._tokenizer, self._template, self._arguments.max_tokens)
        n_rows, n_wrong, n_before = 0, 0, self.n_findings
        with StatusLine() as status:
            for checked in islice(linter.reports(dataset, first), self._most_rows):
                n_rows += 1
                if status.is_due:
                    n_found = self.n_findings - n_before
                    status.draw(f"{counted(n_rows, 'row')}, {counted(n_found, 'finding')}")
                findings = self._wanted(checked.findings)
                if findings:
                    status.clear()
                    n_wrong += 1
                for finding in findings:
                    if self._arguments.json:
                        _print_record(name, dataset, checked.row, asdict(finding))
                    else:
                        shown = safe(_located(name, dataset, checked.row, finding.message))
                        print(f"{shown} [{finding.severity}: {finding.code}]")
        if not self._arguments.json:
            print(_summary(display_name(name), n_rows, n_wrong, self.n_findings - n_before))

    def _wanted(self, findings: Iterable[Finding]) -> list[Finding]:
        """Leave out what is to be ignored, and count the rest."""
        wanted = [finding for finding in findings if finding.code not in self._arguments.ignore]
        self.n_findings += len(wanted)
        return wanted

    # -- --mask, --json

    def _show_rows(self, name: str, dataset: Dataset, first: int) -> None:
        from tokviz.chat.lint import NOT_RENDERED, UNREADABLE, error_finding, lint
        from tokviz.chat.render import render

        for row in islice(takewhile(dataset.has_row, count(first)), self._most_rows):
            conversation = None
            try:
                conversation = dataset.row(row)
                rendering = render(
                    self._tokenizer, conversation, self._template, self._arguments.max_tokens
                )
                self._show(name, dataset, row, rendering)
            except ConversationError as error:
                self._show_error(name, dataset, row, error)
                code = UNREADABLE if conversation is None else NOT_RENDERED
                findings: Iterable[Finding] = [error_finding(code, error)]
            else:
                findings = lint(conversation, rendering) if self._arguments.lint else ()
            if self._arguments.lint:
                for finding in self._wanted(findings):
                    print(f"  ! {safe(finding.message)}")

    def _show(self, name: str, dataset: Dataset, row: int, rendering: Rendering) -> None:
        from tokviz.chat.mask import mask_lines
        from tokviz.chat.render import rendering_to_json
        from tokviz.share.figure import mask_figure

        if self.figures is not None:
            place = f"{display_name(name)} {dataset.place(row)}"
            self.figures.write(mask_figure(place, rendering))
            return
        if self._arguments.json:
            _print_record(name, dataset, row, rendering_to_json(rendering))
            return
        print(safe(_headline(dataset, row, rendering)))
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        for line in mask_lines(rendering, safe, colour=colour):
            print(line)

    def _show_error(self, name: str, dataset: Dataset, row: int, error: TokvizError) -> None:
        self.n_errors += 1
        if self._arguments.json:
            _print_record(name, dataset, row, {"error": str(error)})
            return
        sys.stdout.flush()
        report(_located(name, dataset, row, str(error)))


def _print_record(name: str, dataset: Dataset, row: int, fields: Mapping[str, object]) -> None:
    print_json({"file": name, "row": row, "place": dataset.place(row), **fields})


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


def _headline(dataset: Dataset, row: int, rendering: Rendering) -> str:
    facts = [
        dataset.place(row),
        counted(rendering.n_kept, "token"),
        f"{rendering.n_learned:,} learned ({rendering.supervised_share:.0%})",
    ]
    cut = len(rendering) - rendering.n_kept
    if cut:
        facts.append(f"{cut:,} cut off")
    if rendering.virtual_specials:
        lacking = counted(len(rendering.virtual_specials), "special token")
        facts.append(f"{lacking} not in the vocabulary")
    if rendering.mask_source != "template":
        facts.append(f"mask from {rendering.mask_source}")
    return " ".join(["#", ", ".join(facts) + "." * bool(rendering.notes), *rendering.notes])


def _summary(name: str, n_rows: int, n_wrong: int, n_findings: int) -> str:
    rows = counted(n_rows, "row")
    if not n_findings:
        return f"{safe(name)}: {rows}, nothing found"
    findings = counted(n_findings, "finding")
    return f"{safe(name)}: {rows}, {findings} in {counted(n_wrong, 'row')}"
