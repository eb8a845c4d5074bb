"""Show which tokens of conversations are in the loss, and check training data.

FILE contains conversations: JSON Lines, JSON or parquet, in the shapes of nanochat, Hugging Face,
OpenAI, ShareGPT or Alpaca, or with a prompt and a completion:
$shapes
On a terminal, `tokviz chat FILE` opens the app. In a pipe, it prints the tokens like --mask.

templates: $templates;
or a file: tokenizer_config.json, chat_template.jinja; or the name of one of the tokenizer's own.
Special tokens of the template that the vocabulary lacks are encoded as text ("missing_specials");
those of nanochat get made-up ids after its last one ("virtual_specials").

tokenized files: JSON Lines, parquet or Arrow with a column input_ids and perhaps attention_mask,
labels, position_ids or assistant_masks; .npy; the .npz of --export; .bin with Megatron's .idx; raw
ids in .bin, in rows of --max-tokens. The template is not used. --json, one object per row:
  {"file", "row", "place", "tokenizer", "mask_source", "n_tokens", "n_learned", "documents",
   "notes", "text", "ids", "mask"}; "documents" has the first token of each document, from 0.
--lint finds $token_rules.

--mask shows the tokens; those in the loss are in [brackets] and, on a terminal, in green. A web
  page or a picture holds one row: select it with --row.
--json, one object per row:
  {"file", "row", "place", "tokenizer", "template", "mask_source", "max_tokens", "n_tokens",
   "n_kept", "n_learned", "specials", "virtual_specials", "missing_specials", "notes",
   "ids", "mask", "reasons", "messages"}
  or {"file", "row", "place", "error"}. "row" counts from 1, like --row; "messages" has the message
  of each token.
--lint checks every row and prints its findings; the exit code is 1 if there are errors among them,
  or findings of the severity given by --fail-on.
  With --mask, the findings follow the tokens of each row.
  With --json, one object per finding:
  {"file", "row", "place", "code", "severity", "message", "message_index", "token_index"}
--write-generation-marks adds {% generation %} to a template without changing the text that it
  writes: the rows of FILE, or sample conversations, are rendered with both.
--stability shows where the tokens of a conversation change when a message is added, with the line
  of the template that does it. With --json, one object per row:
  {"file", "row", "place", "unstable": [{"n_messages", "token_index", "n_lost", "before", "after",
   "cause", "lines"}]}
--matrix renders each row with every combination of the template's boolean variables and shows the
  findings that only some have. With --json, one object per row:
  {"file", "row", "place", "matrix": [{"variables", "n_tokens", "n_learned", "problems"}]}
--trainers compares the mask with those that trainers make; see `tokviz help chat`.
  With --json, one object per row and trainer:
  {"file", "row", "place", "trainer", "n_learned", "mask"}
  or {"file", "row", "place", "trainer", "error"}
--injection puts all control tokens, spelled out, in each field of a conversation; the exit code is
  1 if some become control tokens. With --json, one object per field and policy (--specials):
  {"field", "specials", "injected", "n_tried", "error", "in_force"}
--prefix compares the prompts of requests in the format of OpenAI or Anthropic: the first row, or
  row N, of several files, or each row of one file with the next. It finds the first token that
  differs, its cause (tool order, tools, documents, variables, date, history, template or
  tokenization), and the number of tokens that a server cannot take from its cache. The exit code
  is 1 if the shorter prompt is not a prefix of the longer one.
  {"requests": [{"file", "row", "n_tokens", "text"}], "n_common", "n_lost", "message_index",
   "cause", "explanation", "costs"}
--cost counts the tokens of each part in all rows: system messages, each tool with its description
  and parameters, messages by role, template text. Tools are found as JSON in the rendered text.
  {"file", "tokenizer", "parts": [{"path", "n_tokens", "share", "costs"}]}
  The costs of these two are those of tokviz count --cost; they need your price table.
--packing compares ways to put rows into windows of N tokens, 1,000 rows at a time: none, greedy
  (first fit), and TRL's bfd (best fit decreasing) and wrapped. An answer is cut if it is not whole
  in one window. On a terminal, the first windows of each way are drawn.
  {"file", "tokenizer", "context", "n_rows", "n_answers", "strategies": [{"strategy", "n_windows",
   "padding", "n_cut_answers", "n_lost_tokens", "n_shared_windows"}]}
--stats counts the tokens in the loss by source (the key "source" or "dataset" of a row), role and
  kind, and the rows by length. The last bin holds the outliers.
  {"file", "tokenizer", "n_rows", "n_tokens", "n_learned", "learned", "lengths", "histogram"}
$rules
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import count, islice, takewhile
from operator import itemgetter
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.chat.dataset_shapes import describe_shapes
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import (
    NOT_RENDERED,
    RULES,
    TOKEN_RULES,
    UNREADABLE,
    Finding,
    error_finding,
    lint,
)
from tokviz.chat.mask import mask_lines
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering, rendering_to_json
from tokviz.chat.stability import instabilities
from tokviz.chat.template_files import load_template
from tokviz.chat.templates import TEMPLATES, ChatTemplate
from tokviz.chat.trainers import Example
from tokviz.cli import (
    chat_export,
    chat_marks,
    chat_stability,
    chat_tokens,
    chat_trainers,
    chat_variables,
    options,
    workers,
)
from tokviz.cli.inputs import STDIN, display_name, for_each_input, open_dataset
from tokviz.cli.output import ERROR, FINDINGS, FigureOutput, report
from tokviz.cli.progress import StatusLine
from tokviz.errors import TokvizError
from tokviz.share.figure import mask_figure
from tokviz.storage.files import is_pipe
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.report import SEVERITIES, Severity
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.chat.conversation import Conversation
    from tokviz.chat.dataset import Dataset

ROWS_PER_TASK = 1000
"""Number of rows that a worker processes at a time."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz chat`."""
    rules = "rules: " + ", ".join(RULES)
    rules = fill(rules, 98, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    words = {"$shapes": describe_shapes(), "$templates": ", ".join(TEMPLATES), "$rules": rules}
    words["$token_rules"] = fill(", ".join(TOKEN_RULES), 85, break_on_hyphens=False)
    for word, meaning in words.items():
        parser.epilog = (parser.epilog or "").replace(word, meaning)
    options.add_files(parser, "conversations")
    options.add_tokenizer(parser)
    options.add_split_pattern(parser)
    parser.add_argument(
        "--template",
        metavar="NAME",
        help="the name or the file of a chat template (default: the tokenizer's own, or nanochat)",
    )
    chat_variables.add_arguments(parser)
    options.add_number(
        parser, "--max-tokens", "cut off each rendering after N tokens", default=2048
    )
    form = parser.add_mutually_exclusive_group()
    options.add_flag(form, "--mask", "show which tokens are in the loss")
    options.add_flag(form, "--json", "print one JSON object per row")
    options.add_forms(parser, form)
    reports = parser.add_mutually_exclusive_group()
    options.add_flag(reports, "--lint", "check the rows; the exit code is 1 if there are errors")
    chat_stability.add_arguments(reports)
    chat_trainers.add_arguments(reports)
    of_data = parser.add_mutually_exclusive_group()  # one group would be a long line of usage
    options.add_flag(of_data, "--prefix", "find the first token that differs between requests")
    options.add_flag(of_data, "--cost", "count the tokens of each part, such as a tool")
    options.add_number(of_data, "--packing", "pack the rows into windows of N tokens")
    options.add_flag(of_data, "--stats", "count the tokens in the loss, and the rows by length")
    parser.add_argument(
        "--fail-on",
        choices=SEVERITIES,
        help="the lowest severity of findings for which --lint exits with 1 (default: error)",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="RULE",
        help="ignore a rule of --lint; repeat it for several",
    )
    chat_tokens.add_arguments(parser)
    chat_export.add_arguments(parser)
    chat_marks.add_arguments(parser)
    workers.add_arguments(parser, "process files")
    row_help = "process only row N, counted from 1; reports take it several times"
    parser.add_argument(
        "--row", type=options.positive, action="append", default=[], dest="rows", metavar="N",
        help=row_help,
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Show, check or open conversations."""
    names = options.input_names(arguments.files)
    arguments.row = arguments.rows[0] if arguments.rows else None
    if arguments.write_generation_marks is not None:
        return chat_marks.run(arguments)
    if arguments.prefix or arguments.cost or arguments.packing or arguments.stats:
        from tokviz.cli import chat_reports  # imports NumPy

        others = "mask", "lint", "stability", "matrix", "trainers", "injection"
        if any(getattr(arguments, name) for name in others) or options.requested_form(arguments):
            raise TokvizError("print one report at a time, as text or JSON")
        return chat_reports.run(arguments, names, ROWS_PER_TASK)
    if len(arguments.rows) > 1:
        raise TokvizError("--row is given twice")
    for option in ("ignore", "fail_on") if not arguments.lint else ():
        if getattr(arguments, option):
            name = f"--{option.replace('_', '-')}"
            raise TokvizError(f"{name} needs --lint: add it, or leave out {name}")
    if _opens_app(arguments, names):
        if arguments.split_pattern is not None:
            raise TokvizError(
                "the app does not use --split-pattern: add --mask to print the tokens"
            )
        return _open_app(arguments, names[0])
    unknown = [code for code in arguments.ignore if code not in {*RULES, *TOKEN_RULES}]
    if unknown:
        raise TokvizError(f"--ignore: there is no rule {unknown[0]!r} (see tokviz chat --help)")
    form = options.requested_form(arguments)
    if form and arguments.lint:
        raise TokvizError("--lint prints its findings as text: leave out the other form and -o")
    if form and (arguments.stability or arguments.matrix or arguments.trainers):
        raise TokvizError("a report prints lines: leave out the other form and -o")
    if arguments.injection and (arguments.files or form):
        raise TokvizError("--injection makes its own conversations: leave out FILE, the form, -o")
    figures = FigureOutput(form, arguments.output, "select a row with --row") if form else None
    tokenizer = options.load_tokenizer(arguments)
    template = load_template(arguments.template, tokenizer)
    arguments.template_variables = chat_variables.variables_of(arguments, template)
    if arguments.export is not None:
        return chat_export.run(arguments, names, tokenizer, template)
    if arguments.injection:
        return chat_trainers.run_injection(arguments, tokenizer, template)
    formatter = _RowFormatter(arguments, tokenizer, template, figures)
    arguments.colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    with workers.submitter(arguments) as submit:
        printer = _FilePrinter(arguments, formatter, submit)
        failed = for_each_input(names, printer.print_file)
    if figures is not None:
        figures.end(has_failed=bool(failed or printer.n_errors))
    if failed or (printer.n_errors and not arguments.lint):
        return ERROR
    return FINDINGS if printer.n_failing else 0


def _opens_app(arguments: argparse.Namespace, names: list[str]) -> bool:
    prints = arguments.mask or arguments.json or arguments.lint or arguments.row
    prints = prints or arguments.stability or arguments.matrix or arguments.trainers
    prints = prints or arguments.dtype or arguments.export
    prints = prints or options.requested_form(arguments)
    return not prints and len(names) == 1 and names[0] != STDIN and sys.stdout.isatty()


def _open_app(arguments: argparse.Namespace, path: str) -> int:
    # Only the app needs these, and the manual page is built without dependencies.
    from tokviz.chat.dataset import ChatRequest
    from tokviz.tui.run import run as run_app

    variables = {}
    if arguments.set or arguments.variables:
        template = load_template(arguments.template, options.load_tokenizer(arguments))
        variables = chat_variables.variables_of(arguments, template)
    given = arguments.max_tokens, variables, chat_variables.specials_of(arguments)
    request = ChatRequest(path, arguments.template or "", *given)
    tokenizer = options.requested_tokenizer(arguments)
    return run_app(tokenizer=tokenizer, first=request)


class _RowOutput(NamedTuple):
    """The output for a row.

    Attributes:
        lines: Lines for standard output.
        error: An error message for standard error; may be empty.
        has_failed: Whether the row cannot be read or rendered.
        severities: The severity of each finding.
        causes: Of each line that is a finding, its cause; see `Finding`.
    """

    lines: list[str]
    error: str = ""
    has_failed: bool = False
    severities: Sequence[Severity] = ()
    causes: Sequence[str] = ()


@dataclass
class _FilePrinter:
    """Prints the output for the rows of files.

    Attributes:
        arguments: The arguments of the command.
        formatter: Formats rows in this process.
        submit: Submits rows to workers.
        n_findings: Number of findings so far.
        n_failing: Number of those for which the command fails.
        n_errors: Number of rows so far that cannot be read or rendered.
    """

    arguments: argparse.Namespace
    formatter: _RowFormatter
    submit: workers.Submit[list[_RowOutput]]
    n_findings: int = 0
    n_failing: int = 0
    n_errors: int = 0

    def print_file(self, name: str) -> None:
        """Print the output for the rows of a file."""
        dataset = _open(name, self.arguments.dtype, self.arguments.max_tokens)
        if not dataset.has_row(0):
            raise TokvizError("there are no rows in it, so there is nothing to show or check")
        first = 0 if self.arguments.row is None else self.arguments.row - 1
        if self.arguments.row is not None and not dataset.has_row(first):
            raise TokvizError(
                f"there is no row {first + 1:,}; it has {pluralize(dataset.n_rows, 'row')}"
            )
        failing = SEVERITIES[: SEVERITIES.index(self.arguments.fail_on or "error") + 1]
        only_lints = self.arguments.lint and not self.arguments.mask
        for note in dataset.notes if only_lints else ():
            report(f"{display_name(name)}: {note}")
        n_rows, n_wrong, n_before = 0, 0, self.n_findings
        repeats: dict[str, tuple[int, str]] = {}
        with StatusLine() as status:
            for output in self._rows(name, dataset, first):
                n_rows += 1
                if only_lints and status.is_due:
                    n_found = self.n_findings - n_before
                    status.draw(f"{pluralize(n_rows, 'row')}, {pluralize(n_found, 'finding')}")
                if output.error:
                    sys.stdout.flush()
                    report(output.error)
                lines = _of_new_causes(output, repeats)
                if lines:
                    status.clear()
                    print(*lines, sep="\n")
                n_wrong += bool(output.severities)
                self.n_findings += len(output.severities)
                self.n_failing += sum(severity in failing for severity in output.severities)
                self.n_errors += output.has_failed
        if only_lints and not self.arguments.json:
            for number, last in filter(itemgetter(0), repeats.values()):
                print(f"{pluralize(number, 'more finding')} like this, the last: {last}")
            print(_summary(display_name(name), n_rows, n_wrong, self.n_findings - n_before))

    def _rows(self, name: str, dataset: Dataset, first: int) -> Iterator[_RowOutput]:
        is_local = not workers.uses_cluster(self.arguments) or name == STDIN or is_pipe(name)
        is_local = is_local or options.requested_form(self.arguments) is not None
        if is_local or self.arguments.row is not None:
            n_rows = None if self.arguments.row is None else 1
            yield from islice(self.formatter.outputs(name, dataset, first), n_rows)
            return
        dataset.index_all()
        spans = [(first, ROWS_PER_TASK) for first in range(0, dataset.n_rows, ROWS_PER_TASK)]
        results = deque(self.submit(partial(_some_rows, self.arguments, name), spans))
        while results:  # do not keep printed results in memory
            yield from results.popleft()()


def _of_new_causes(output: _RowOutput, repeats: dict[str, tuple[int, str]]) -> list[str]:
    """Return the lines of causes that earlier rows do not have.

    Args:
        output: The output for a row.
        repeats: Of each cause so far, how many lines were left out, and the last of these.
    """
    if not output.causes:
        return output.lines
    earlier, lines = {*repeats}, []
    for line, cause in zip(output.lines, output.causes, strict=True):
        if cause in earlier:
            repeats[cause] = repeats[cause][0] + 1, line
            continue
        if cause:
            repeats[cause] = 0, ""
        lines.append(line)
    return lines


def _some_rows(arguments: argparse.Namespace, name: str, span: tuple[int, int]) -> list[_RowOutput]:
    tokenizer = workers.cached_tokenizer(options.tokenizer_name(arguments), arguments.split_pattern)
    formatter = _RowFormatter(arguments, tokenizer, load_template(arguments.template, tokenizer))
    first, n_rows = span
    dataset = _cached_dataset(name, arguments.dtype, arguments.max_tokens)
    return [*islice(formatter.outputs(name, dataset, first), n_rows)]


class _RowFormatter(NamedTuple):
    """Formats the output for rows; if `figures` is given, it writes them there."""

    arguments: argparse.Namespace
    tokenizer: Tokenizer
    template: ChatTemplate | JinjaTemplate
    figures: FigureOutput | None = None

    def outputs(self, name: str, dataset: Dataset, first: int) -> Iterator[_RowOutput]:
        """Yield the output for each row from `first` on."""
        if self.arguments.lint and not self.arguments.mask:
            return self._linted(name, dataset, first)
        if self.arguments.stability or self.arguments.matrix:
            return self._reported(name, dataset, first)
        return self._rendered(name, dataset, first)

    def _options(self) -> dict[str, Any]:
        return {
            "variables": self.arguments.template_variables,
            "specials": chat_variables.specials_of(self.arguments),
        }

    # -- --lint

    def _linted(self, name: str, dataset: Dataset, first: int) -> Iterator[_RowOutput]:
        from tokviz.chat.dataset_lint import DatasetLinter  # imports NumPy

        linter = chat_tokens.reader_of(self.tokenizer, dataset) or DatasetLinter(
            self.tokenizer, self.template, self.arguments.max_tokens, **self._options()
        )
        for checked in linter.reports(dataset, first):
            findings = self._wanted(checked.findings)
            severities = [finding.severity for finding in findings]
            if self.arguments.json:
                records = [asdict(finding) for finding in findings]
                for record in records:
                    del record["cause"]
                lines = [_record(name, dataset, checked.row, record) for record in records]
                yield _RowOutput(lines, severities=severities)
                continue
            lines = []
            for finding in findings:
                shown = safe(_located(name, dataset, checked.row, finding.message))
                lines.append(f"{shown} [{finding.severity}: {finding.code}]")
            causes = [finding.cause for finding in findings]
            yield _RowOutput(lines, severities=severities, causes=causes)

    def _wanted(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that are not ignored."""
        return [finding for finding in findings if finding.code not in self.arguments.ignore]

    # -- --stability, --matrix

    def _reported(self, name: str, dataset: Dataset, first: int) -> Iterator[_RowOutput]:
        for row in takewhile(dataset.has_row, count(first)):
            try:
                conversation = dataset.row(row).with_variables(self._options()["variables"])
                key, records, lines = self._report(conversation)
            except ConversationError as error:
                yield _RowOutput([], _located(name, dataset, row, str(error)), has_failed=True)
                continue
            if self.arguments.json:
                lines = [_record(name, dataset, row, {key: records})]
            else:
                lines = [
                    safe(line if line.startswith(" ") else _located(name, dataset, row, line))
                    for line in lines
                ]
            n_findings = sum(len(record.get("problems", [0])) for record in records)
            has_failed = bool(records) and all("error" in record for record in records)
            yield _RowOutput(lines, severities=["error"] * n_findings, has_failed=has_failed)

    def _report(
        self, conversation: Conversation
    ) -> tuple[str, Sequence[Mapping[str, Any]], Sequence[str]]:
        """Return the key of a report in JSON, its records and its lines."""
        if self.arguments.matrix:
            rows = chat_stability.matrix(
                self.tokenizer, conversation, self.template, **self._options()
            )
            return "matrix", rows, [*chat_stability.matrix_lines(rows)]
        found = instabilities(self.tokenizer, conversation, self.template)
        return "unstable", [*map(asdict, found)], [*chat_stability.stability_lines(found)]

    # -- --mask, --json

    def _rendered(self, name: str, dataset: Dataset, first: int) -> Iterator[_RowOutput]:
        reader = chat_tokens.reader_of(self.tokenizer, dataset)
        for row in takewhile(dataset.has_row, count(first)):
            conversation, error_text = None, ""
            try:
                if reader is None:
                    conversation = dataset.row(row)
                    rendering = render(
                        self.tokenizer,
                        conversation,
                        self.template,
                        self.arguments.max_tokens,
                        **self._options(),
                    )
                    lines_of = self._compared if self.arguments.trainers else self._lines
                    lines = lines_of(name, dataset, row, rendering)
                    findings = lint(conversation, rendering) if self.arguments.lint else []
                else:
                    lines, findings = chat_tokens.show_row(
                        self.arguments, reader, name, dataset, row
                    )
                has_failed = False
            except ConversationError as error:
                lines = []
                if self.arguments.json:
                    lines = [_record(name, dataset, row, {"error": str(error)})]
                else:
                    error_text = _located(name, dataset, row, str(error))
                code = UNREADABLE if conversation is None else NOT_RENDERED
                findings, has_failed = [error_finding(code, error)], True
            shown = self._wanted(findings) if self.arguments.lint else []
            lines += [f"  ! {safe(finding.message)}" for finding in shown]
            severities = [finding.severity for finding in shown]
            yield _RowOutput(lines, error_text, has_failed, severities)

    def _lines(self, name: str, dataset: Dataset, row: int, rendering: Rendering) -> list[str]:
        if self.figures is not None:
            place = f"{display_name(name)} {dataset.place(row)}"
            self.figures.write(mask_figure(place, rendering))
            return []
        if self.arguments.json:
            return [_record(name, dataset, row, rendering_to_json(rendering))]
        lines = mask_lines(rendering, safe, colour=self.arguments.colored)
        return [safe(_headline(dataset, row, rendering)), *lines]

    def _compared(self, name: str, dataset: Dataset, row: int, rendering: Rendering) -> list[str]:
        conversation = dataset.row(row).with_variables(self.arguments.template_variables)
        whole = render(self.tokenizer, conversation, self.template, specials=rendering.specials)
        example = Example(conversation, self.template, whole)
        if self.arguments.json:
            records = chat_trainers.trainer_records(example, rendering.n_kept)
            return [_record(name, dataset, row, record) for record in records]
        lines = chat_trainers.trainer_lines(example, rendering)
        return [safe(_headline(dataset, row, rendering)), *lines]


def _record(name: str, dataset: Dataset, row: int, fields: Mapping[str, object]) -> str:
    return json.dumps({"file": name, "row": row + 1, "place": dataset.place(row), **fields})


def _located(name: str, dataset: Dataset, row: int, text: str) -> str:
    """Prefix a message with its file and row, unless it starts with the row."""
    place = dataset.place(row)
    where = "" if text.startswith(place) else f"{place}: "
    return f"{display_name(name)}: {where}{text}"


def _open(name: str, dtype: str | None, window: int) -> Dataset:
    from tokviz.chat.token_files import open_rows  # imports NumPy

    is_stream = name == STDIN or is_pipe(name)
    return open_dataset(name) if is_stream else open_rows(name, dtype, window)


_cached_dataset = lru_cache(1)(_open)


def _headline(dataset: Dataset, row: int, rendering: Rendering) -> str:
    facts = [
        dataset.place(row),
        pluralize(rendering.n_kept, "token"),
        f"{rendering.n_learned:,} in the loss ({rendering.supervised_share:.0%})",
    ]
    cut = len(rendering) - rendering.n_kept
    if cut:
        facts.append(f"{cut:,} cut off")
    missing = len(rendering.virtual_specials) + len(rendering.missing_specials)
    if missing:
        facts.append(pluralize(missing, "missing special token"))
    if rendering.mask_source != "template":
        facts.append(f"mask from {rendering.mask_source}")
    return " ".join(["#", ", ".join(facts) + "." * bool(rendering.notes), *rendering.notes])


def _summary(name: str, n_rows: int, n_wrong: int, n_findings: int) -> str:
    rows = pluralize(n_rows, "row")
    if not n_findings:
        return f"{safe(name)}: {rows}, no findings"
    findings = pluralize(n_findings, "finding")
    return f"{safe(name)}: {rows}, {findings} in {pluralize(n_wrong, 'row')}"
