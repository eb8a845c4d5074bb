"""Rendering an untrusted Jinja chat template. Imported in the child process only.

The environment is that of Hugging Face transformers (`utils/chat_template_utils.py`): an immutable
sandbox, `trim_blocks` and `lstrip_blocks`, `{% generation %}`, loop controls, `tojson`,
`raise_exception`, `strftime_now`, and a `namespace` without private attributes. The parent process
limits time and memory.

To locate the messages' contents and reasoning in the output, the template is rendered twice: as it
is, and with private marks around these texts. If removing the marks from the second output gives
the first, the marks are right. If not, because the template inspects the texts, the texts are
searched for in the output.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from functools import cached_property, partial
from typing import Any, NamedTuple

import jinja2
import jinja2.ext
import jinja2.meta
import jinja2.nodes
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tokviz.chat.jinja_spans import GIVEN_BESIDE, MOST_TURNS, MarkedText
from tokviz.chat.messages import ADDRESS_KEYS, MESSAGE_EXTRA_FIELDS
from tokviz.chat.spans import TextPiece
from tokviz.chat.template_lines import OutputLines, condition_of, line_of, writer_of
from tokviz.chat.template_loops import message_loops
from tokviz.text.common_prefix import n_common

MAX_OUTPUT_CHARS = 10_000_000
"""The most characters that a template may write."""

_MARK_GROUPS = ["".join(map(chr, range(first, first + 5))) for first in range(0xFDD0, 0xFDEE, 5)]
"""Unicode noncharacters, which text should not contain; five per mark, in case a text does."""

_FILE = "<chat template>"
_MAX_PREFIXES = 64

Json = dict[str, Any]


class TemplateFailure(Exception):
    """A template that does not compile or does not render.

    Attributes:
        reason: The reason in words.
        line: The line of the template, if known.
    """

    def __init__(self, reason: str, line: int | None) -> None:
        """Create the error from a reason and a line."""
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Sandbox:
    """A compiled template."""

    def __init__(self, source: str) -> None:
        """Compile a template.

        Raises:
            TemplateFailure: If it is not a valid template.
        """
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, jinja2.ext.loopcontrols],
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        environment.globals["dict"] = _Dict()
        environment.globals["namespace"] = _Namespace
        generation = environment.extensions[_Generation.identifier]
        assert isinstance(generation, _Generation)
        self._generation = generation
        self._control: _ControlMarks | None = None
        self._header: tuple[Mapping[str, Any], str] | None = None
        self._environment, self._source = environment, source
        self._template = _guarded(lambda: _compile(environment, source))

    def render_marked(
        self,
        messages: list[Json],
        variables: Mapping[str, Any],
        control_tokens: Sequence[str] | None = None,
    ) -> MarkedText:
        """Render messages and locate their contents in the output.

        Args:
            messages: The messages.
            variables: The template's other variables.
            control_tokens: Tokens to treat as text where the messages and variables contain them;
                None to leave them alone.

        Raises:
            TemplateFailure: If the template fails or its output is too long.
        """
        messages = [_with_reasoning(message) for message in messages]
        self._control = None if control_tokens is None else _ControlMarks(control_tokens)
        text = self._render(messages, variables)
        pieces = [] if self._control is None else list(self._control.pieces)
        counted = list(self._generation.counted)
        given = [item for item in _texts_of(messages) if item.text.strip()]
        group = next((group for group in _MARK_GROUPS if set(group).isdisjoint(text)), None)
        generation: list[tuple[int, int]] = []
        found: list[_Found] = []
        doubtful = list(range(len(given)))
        if group is not None:
            found, doubtful, generation = self._find(
                text, given, messages, variables, _Marks(group)
            )
        found = sorted([*found, *_search(text, given, doubtful, found)])
        assistants = {i for i, it in enumerate(messages) if it.get("role") == "assistant"}
        located = {given[n].message for *_, n in found if not given[n].is_beside}
        beside = {given[n].message for *_, n in found if given[n].is_beside}
        speaking = (beside & assistants) | (assistants - located)
        header = self._header_for(variables)
        contents = [(start, end, given[n].message) for start, end, n in found]
        turns = self._turns(text, messages, variables, speaking, contents)
        return MarkedText(
            text,
            [
                (start, end, given[n].message, given[n].part)
                for start, end, n in found
                if given[n].key not in ADDRESS_KEYS
            ],
            [*_lost(text, given, found), *_lost_calls(text, messages, turns)],
            generation if self._generation.seen else None,
            counted if self._control is None else generation,  # transformers makes no mask
            turns,
            pieces,
            header,
        )

    def literals(self) -> list[str]:
        """List the texts in the template: those outside of Jinja's tags, and the string constants.

        Source: `_get_template_literal_text` in transformers.
        """
        tree = self._environment.parse(self._source)
        constants = (node.value for node in tree.find_all(jinja2.nodes.Const))
        outside = (node.data for node in tree.find_all(jinja2.nodes.TemplateData))
        return [*outside, *(value for value in constants if isinstance(value, str))]

    def loops(self) -> list[Json]:
        """List the loops over the messages; see `message_loops`."""
        return message_loops(self._environment, self._source)

    def variables(self) -> list[Json]:
        """List the variables that the template reads, except the messages, in order of use.

        Each has the fields of `tokviz.chat.variables.TemplateVariable`.
        """
        tree = self._environment.parse(self._source)
        names = jinja2.meta.find_undeclared_variables(tree) - self._environment.globals.keys()
        found = {name: _Usage() for name in names - {"messages"}}
        first_use: dict[str, int] = {}
        for node in _as_evaluated(tree):
            if isinstance(node, jinja2.nodes.Name) and node.name in found:
                if node.name not in first_use and node.ctx == "store":
                    # Set in a condition before it is read.
                    del found[node.name]
                    continue
                first_use.setdefault(node.name, len(first_use))
            _note_usage(node, found)
        ordered = sorted(found, key=lambda name: first_use.get(name, len(found)))
        return [found[name].described(name) for name in ordered]

    def _find(
        self,
        text: str,
        given: Sequence[_Given],
        messages: list[Json],
        variables: Mapping[str, Any],
        marks: _Marks,
    ) -> tuple[list[_Found], list[int], list[tuple[int, int]]]:
        """Locate texts by marks: all at once, or contents and other texts separately.

        Returns:
            The places found, the numbers of the texts whose marks change the output, and the ranges
            within generation marks.
        """

        def read(numbers: Sequence[int]) -> tuple[list[_Found], list[tuple[int, int]]] | None:
            for cut in (_whole, _core):
                wrapped = _with_marks(messages, given, numbers, marks, cut)
                result = self._read_marks(text, wrapped, variables, marks)
                if result is not None:
                    return result
            return None

        every = list(range(len(given)))
        at_once = read(every)
        if at_once is not None:
            return at_once[0], [], at_once[1]
        found: list[_Found] = []
        doubtful: list[int] = []
        for is_beside in (True, False):
            numbers = [n for n in every if given[n].is_beside == is_beside]
            apart = None if numbers == every else read(numbers)
            if apart is None:
                doubtful += numbers
            else:
                found += apart[0]
        unmarked = self._read_marks(text, messages, variables, marks)
        return found, doubtful, [] if unmarked is None else unmarked[1]

    def starts(self, messages: list[Json], variables: Mapping[str, Any]) -> list[Json]:
        """Render each start of a conversation: its first message, its first two, and so on.

        A start has the generation prompt if an answer follows. Starts that the template refuses,
        such as a system message on its own, are left out.

        Returns:
            For each start, `n_messages`, its `length` in characters and its `text`, null if it is
            the start of the next one's. If it is not, `n_prompt`, the length of its generation
            prompt, and `lines`, the lines that write the first character that differs, here and in
            the next.

        Raises:
            TemplateFailure: If the template refuses the whole conversation.
        """
        messages = [_with_reasoning(message) for message in messages]
        starts: list[Json] = []
        for n in range(1, len(messages) + 1):
            given = variables if n == len(messages) else {**variables, **_prompt(messages, n)}
            try:
                text = self._render(messages[:n], given)
            except TemplateFailure:
                if n == len(messages):
                    raise
                continue
            start = {"n_messages": n, "length": len(text), "text": text}
            if starts and text.startswith(starts[-1]["text"]):
                starts[-1]["text"] = None
            elif starts:
                self._compare(starts[-1], start, messages, variables)
            starts.append(start)
        return starts

    def _compare(
        self, start: Json, longer: Json, messages: list[Json], variables: Mapping[str, Any]
    ) -> None:
        """Note where a start differs from the next one, and the lines that write the difference."""
        position = n_common(start["text"], longer["text"])
        lines = []
        for each in (start, longer):
            n = each["n_messages"]
            given = {**variables, **_prompt(messages, n), "messages": messages[:n]}
            writer = _guarded(partial(writer_of, self._inline_template, given, position))
            lines.append(None if writer is None else self._line(*writer))
        start["lines"] = lines
        n = start["n_messages"]
        plain = self._render(messages[:n], {**variables, "add_generation_prompt": False})
        start["n_prompt"] = max(len(start["text"]) - len(plain), 0)

    @cached_property
    def _inline_template(self) -> jinja2.Template:
        """The template without its generation blocks, so that each line writes its own text."""
        environment = self._environment.overlay(extensions=[_Inline])
        environment.code_generator_class = OutputLines
        return _guarded(partial(_compile, environment, self._source))  # type: ignore[no-any-return]

    def _line(self, first: int, text: str) -> Json:
        """Return the line that writes a text, and the line of the condition that it is under."""
        lines = self._source.split("\n")
        number = line_of(self._source, first, text)
        found = condition_of(self._environment.parse(self._source), number)
        condition = "" if found is None else lines[found[0] - 1].strip()
        return {
            "number": number,
            "source": lines[number - 1].strip() if number <= len(lines) else "",
            "condition": f"{{% else %}} of {condition}" if found and found[1] else condition,
        }

    def blame(self, messages: list[Json], variables: Mapping[str, Any]) -> int | None:
        """Find the message that makes the template fail; None if it always fails.

        A failure without any messages does not count: the template may need a first one.
        """
        has_worked = False
        for n in range(min(len(messages), _MAX_PREFIXES) + 1):
            try:
                self._render(messages[:n], variables)
            except TemplateFailure:
                if has_worked:
                    return n - 1
            else:
                has_worked = True
        return None

    def _render(
        self, messages: list[Json], variables: Mapping[str, Any], marks: _Marks | None = None
    ) -> str:
        given = {"add_generation_prompt": False, **variables, "messages": messages}
        if self._control is not None:
            own = {name: value for name, value in given.items() if not name.endswith("_token")}
            given |= self._control.mark(own)
        self._generation.begin(marks)
        chunks = self._generation.chunks
        rendered: str = _guarded(lambda: _joined(self._template.generate(given), chunks))
        return rendered if self._control is None else self._control.remove(rendered)

    def _read_marks(
        self, text: str, messages: list[Json], variables: Mapping[str, Any], marks: _Marks
    ) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]] | None:
        """Render with marks and read them; return None if they change the output."""
        try:
            marked = self._render(messages, variables, marks)
        except TemplateFailure:
            return None
        return marks.read(marked, text)

    def _header_for(self, variables: Mapping[str, Any]) -> str:
        """Return the text that starts the assistant's turns; "" if it cannot be found.

        It is what `add_generation_prompt` adds after a question. If the template ignores that
        variable, it is the text between a question and its answer.
        """
        if self._header is None or self._header[0] != variables:
            self._header = variables, self._find_header(variables)
        return self._header[1]

    def _find_header(self, variables: Mapping[str, Any]) -> str:
        without = {**variables, **dict.fromkeys(GIVEN_BESIDE), "add_generation_prompt": False}
        question = {"role": "user", "content": _QUESTION}
        answer = {"role": "assistant", "content": _ANSWER}
        try:
            before = self._render([question], without)
            prompt = self._render([question], {**without, "add_generation_prompt": True})
            if prompt == before:
                prompt = self._render([question, answer], without).partition(_ANSWER)[0]
        except TemplateFailure:
            return ""
        return prompt[len(before) :] if prompt.startswith(before) else ""

    def _turns(
        self,
        text: str,
        messages: list[Json],
        variables: Mapping[str, Any],
        speaking: Set[int],
        contents: Sequence[tuple[int, int, int]],
    ) -> list[tuple[int, int, int]]:
        """Locate the assistant's turns that have more than plain content.

        A turn is the text that a message adds to the rendering of its predecessors (`_added`). If
        that rendering is not the start of the whole text (Mistral's templates move the tools to
        the last question), the turn is searched for between the contents around it.

        Args:
            text: The rendered text.
            messages: The messages.
            variables: The template's other variables.
            speaking: Further assistant messages to locate; those with tool calls always are.
            contents: Places of contents: (start, end, message).
        """
        turns = []
        header = self._header_for(variables)
        wanted = [i for i, m in enumerate(messages) if i in speaking or _calls_of(m)]
        for index in wanted[:MOST_TURNS]:
            added = self._added(messages[: index + 1], variables)
            if added is None:
                continue
            before, turn = added
            if header and turn.startswith(header):
                before, turn = before + header, turn[len(header) :]
            start = len(before)
            if not text.startswith(before + turn):
                ends = [(message, end) for _, end, message in contents if message < index]
                starts = [(message, at) for at, _, message in contents if message > index]
                last, following = max(ends, default=(0, 0)), min(starts, default=(0, len(text)))
                around = last[1], following[1]
                # Qwen3's template writes the reasoning of the last turns only.
                turn = turn if text.find(turn, *around) >= 0 else _after_reasoning(turn)
                start = text.find(turn, *around) if turn else -1
            if start >= 0:
                turns.append((start, start + len(turn), index))
        return turns

    def _added(self, messages: list[Json], variables: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the text before the last message, with the prompt, and the text that it adds.

        If the template writes the tools after the messages, it is rendered without tools.
        """
        for given in (variables, {**variables, **dict.fromkeys(GIVEN_BESIDE)}):
            try:
                before = self._render(messages[:-1], {**given, "add_generation_prompt": True})
                after = self._render(messages, {**given, "add_generation_prompt": False})
            except TemplateFailure:
                continue
            if after.startswith(before):
                return before, after[len(before) :]
        return None


def _prompt(messages: Sequence[Json], n: int) -> Json:
    """Ask for a generation prompt after n messages if an answer follows."""
    is_asked = n < len(messages) and messages[n].get("role") == "assistant"
    return {"add_generation_prompt": is_asked}


class _Marks:
    """Private characters that mark the starts and ends of contents and generation blocks."""

    def __init__(self, group: str) -> None:
        self.begin, self.number_end, self.end, self.generation, self.generation_end = [*group]
        self._any = re.compile(f"{self.begin}([0-9]+){self.number_end}|[{group[2:]}]")

    def read(
        self, marked: str, text: str
    ) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]] | None:
        """Remove the marks; return None if the rest is not the text, or marks are unpaired."""
        contents: list[tuple[int, int, int]] = []
        generation: list[tuple[int, int]] = []
        opened: tuple[int, int] | None = None
        generations: list[int] = []
        position, length = 0, 0
        left: list[str] = []
        for match in self._any.finditer(marked):
            left.append(marked[position : match.start()])
            length += match.start() - position
            position = match.end()
            mark = match.group()[0]
            if mark == self.begin:
                if opened is not None:
                    return None
                opened = (length, int(match.group(1)))
            elif mark == self.end:
                if opened is None:
                    return None
                contents.append((opened[0], length, opened[1]))
                opened = None
            elif mark == self.generation:
                generations.append(length)
            elif generations:
                generation.append((generations.pop(), length))
            else:
                return None
        left.append(marked[position:])
        if opened is not None or generations or "".join(left) != text:
            return None
        return contents, sorted(generation)


class _Generation(jinja2.ext.Extension):
    """The block `{% generation %}…{% endgeneration %}`: text that the assistant writes.

    Attributes:
        seen: Whether the template has such a block.
        chunks: The output so far.
        counted: The ranges that transformers takes for the blocks. It counts the output so far,
            which is wrong where Jinja collects output first, as in `{% set %}` and macros.

    Source: `AssistantTracker` in transformers.
    """

    tags = {"generation"}  # noqa: RUF012  Jinja's own interface

    def __init__(self, environment: jinja2.Environment) -> None:
        super().__init__(environment)
        self.seen = False
        self.begin(None)

    def begin(self, marks: _Marks | None) -> None:
        """Start a rendering, with marks around the blocks if given."""
        self._marks = marks
        self.chunks: list[str] = []
        self.counted: list[tuple[int, int]] = []

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        self.seen = True
        call = self.call_method("_surround")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _surround(self, caller: Callable[[], str]) -> str:
        written = caller()
        marks = self._marks
        if marks is None:
            start = sum(map(len, self.chunks))
            self.counted.append((start, start + len(written)))
            return written
        return f"{marks.generation}{written}{marks.generation_end}"


class _Inline(jinja2.ext.Extension):
    """The block `{% generation %}…{% endgeneration %}` as if only its content were there."""

    tags = {"generation"}  # noqa: RUF012  Jinja's own interface

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.Scope(body).set_lineno(line)


class _Usage:
    """The way in which a template uses a variable, as far as its syntax tells."""

    def __init__(self) -> None:
        self.kind = ""
        self.default: Any = None
        self.choices: list[Any] = []

    def described(self, name: str) -> Json:
        kind = "text" if name.endswith("_token") else "list" if name in GIVEN_BESIDE else self.kind
        return {"name": name, "kind": kind, "default": self.default, "choices": self.choices}


def _note_usage(node: jinja2.nodes.Node, found: Mapping[str, _Usage]) -> None:
    """Note what one node tells about the variables in it."""

    def usage(value: object) -> _Usage:
        is_found = isinstance(value, jinja2.nodes.Name) and value.name in found
        return found[value.name] if is_found else _Usage()  # type: ignore[attr-defined]

    match node:
        case jinja2.nodes.Assign(target=target, node=jinja2.nodes.Const(value=value)):
            usage(target).default = value
        case jinja2.nodes.Filter(name="default" | "d", args=[jinja2.nodes.Const(value=value), *_]):
            usage(node.node).default = value
        case jinja2.nodes.For():
            usage(node.iter).kind = "list"
        case jinja2.nodes.Filter(name="tojson"):
            usage(node.node).kind = usage(node.node).kind or "list"
        case jinja2.nodes.Test(name="true" | "false" | "boolean"):
            usage(node.node).kind = "boolean"
        case jinja2.nodes.If(test=test) | jinja2.nodes.CondExpr(test=test):
            usage(test).kind = usage(test).kind or "boolean"
        case jinja2.nodes.Not() | jinja2.nodes.And() | jinja2.nodes.Or():
            for part in node.iter_child_nodes():
                usage(part).kind = usage(part).kind or "boolean"
        case jinja2.nodes.Compare(expr=expr, ops=[jinja2.nodes.Operand(expr=value)]):
            values = (
                value.items
                if isinstance(value, jinja2.nodes.List | jinja2.nodes.Tuple)
                else [value]
            )
            constants = [item.value for item in values if isinstance(item, jinja2.nodes.Const)]
            noted = usage(expr)
            noted.choices += [item for item in constants if item not in noted.choices]
            if constants:
                noted.kind = "boolean" if isinstance(constants[0], bool) else "text"


def _as_evaluated(node: jinja2.nodes.Node) -> Iterator[jinja2.nodes.Node]:
    """Iterate over a node and all nodes in it, the value of an assignment before its target."""
    yield node
    inner = list(node.iter_child_nodes())
    if isinstance(node, jinja2.nodes.Assign | jinja2.nodes.AssignBlock):
        inner.reverse()
    for each in inner:
        yield from _as_evaluated(each)


def _compile(environment: jinja2.Environment, source: str) -> jinja2.Template:
    code = environment.compile(source, filename=_FILE)
    return environment.template_class.from_code(environment, code, environment.globals)


def _joined(chunks: Any, parts: list[str]) -> str:
    n_chars = 0
    for chunk in chunks:
        parts.append(chunk)
        n_chars += len(chunk)
        if n_chars > MAX_OUTPUT_CHARS:
            raise TemplateFailure(f"it writes more than {MAX_OUTPUT_CHARS:,} characters", None)
    return "".join(parts)


def _guarded(work: Callable[[], Any]) -> Any:
    """Turn any exception into a `TemplateFailure`, except running out of memory."""
    try:
        return work()
    except (TemplateFailure, MemoryError):
        raise
    except jinja2.TemplateSyntaxError as error:
        raise TemplateFailure(error.message or "it is not a valid template", error.lineno) from None
    except RecursionError as error:
        raise TemplateFailure("it calls itself, or nests, too deeply", _line_of(error)) from None
    except jinja2.TemplateError as error:
        raise TemplateFailure(error.message or type(error).__name__, _line_of(error)) from None
    except Exception as error:
        # A template can raise anything.
        reason = f"{type(error).__name__}: {error}"[:500]
        raise TemplateFailure(reason, _line_of(error)) from None


def _line_of(error: BaseException) -> int | None:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == _FILE]
    return lines[-1] if lines else None


def _raise_exception(reason: object) -> None:
    raise jinja2.TemplateError(f"it raises: {str(reason)[:500]}")


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


class _Dict:
    """Jinja's `dict` without access to the class. Source: `TemplateDict` in transformers."""

    def __call__(self, *items: Any, **named: Any) -> dict[Any, Any]:
        return dict(*items, **named)

    def fromkeys(self, *arguments: Any) -> dict[Any, Any]:
        return dict.fromkeys(*arguments)


class _Namespace(jinja2.utils.Namespace):
    """Jinja's `namespace` without private attributes, as `TemplateNamespace` in transformers."""

    def __init__(*arguments: Any, **named: Any) -> None:
        self, *items = arguments
        attributes = dict(*items, **named)
        for name in attributes:
            _Namespace._check(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _Namespace._check(name)
        super().__setitem__(name, value)

    @staticmethod
    def _check(name: object) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(
                f"a namespace cannot have the attribute {name!r}, which starts with an underscore"
            )


def _with_reasoning(message: Json) -> Json:
    """Return a message with its reasoning under every key that templates read.

    Source: `_alias_reasoning_fields` in transformers 5.24.
    """
    texts = (message[key] for key in _REASONING if message.get(key) is not None)
    reasoning = next(texts, None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


_REASONING = ("reasoning_content", "thinking", "reasoning")


class _ControlMarks:
    """Private characters around control tokens in messages, so that they are encoded as text.

    Source: `mark_control_tokens` and `encode_marked_chat` in transformers.

    Attributes:
        pieces: The pieces of the last output; together they are the output without marks.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        longest_first = sorted(filter(None, tokens), key=len, reverse=True)
        self._tokens = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        start, end = _CONTROL_MARKS
        self._marked = re.compile(f"{start}({self._tokens.pattern}){end}|[{start}{end}]")
        self.pieces: list[TextPiece] = []

    def mark(self, value: Any) -> Any:
        """Put marks around the control tokens in a JSON value, except in its keys."""
        if isinstance(value, str):
            start, end = _CONTROL_MARKS
            return self._tokens.sub(
                f"{start}\\g<0>{end}", value.replace(start, "").replace(end, "")
            )
        if isinstance(value, dict):
            return {key: self.mark(item) for key, item in value.items()}
        return [self.mark(item) for item in value] if isinstance(value, list) else value

    def remove(self, output: str) -> str:
        """Return an output without marks, and note its pieces."""
        self.pieces, at, texts = [], 0, self._marked.split(output)
        for number, text in enumerate(texts):
            if text:
                self.pieces.append(TextPiece(at, at + len(text), number % 2 == 1))
                at += len(text)
        return "".join(filter(None, texts))


_QUESTION, _ANSWER = "Question?", "Answer."

_CONTROL_MARKS = "\U000f0000", "\U000f0001"


class _Given(NamedTuple):
    """A text of a message.

    Attributes:
        text: The text.
        message: The message, from 0.
        part: The part of its content, -1 for a text outside the content.
        key: The key of the message that holds it.
    """

    text: str
    message: int
    part: int
    key: str

    @property
    def is_beside(self) -> bool:
        return self.part < 0


_Found = tuple[int, int, int]
"""The start and end of a text in the output, and its number."""


def _texts_of(messages: list[Json]) -> Iterator[_Given]:
    """List the texts of messages, reasoning before the content, in the order they are said."""
    for index, message in enumerate(messages):
        for key in MESSAGE_EXTRA_FIELDS:
            value = message.get(key)
            if isinstance(value, str):
                yield _Given(value, index, -1, key)
        content = message.get("content")
        if isinstance(content, str):
            yield _Given(content, index, 0, "content")
        elif isinstance(content, list):
            for number, part in enumerate(content):
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    yield _Given(part["text"], index, number, "content")


Cut = Callable[[str], tuple[int, int]]
"""Returns the range of a content to put marks around."""


def _whole(text: str) -> tuple[int, int]:
    return 0, len(text)


def _core(text: str) -> tuple[int, int]:
    return len(text) - len(text.lstrip()), len(text.rstrip())


def _with_marks(
    messages: list[Json], given: Sequence[_Given], numbers: Iterable[int], marks: _Marks, cut: Cut
) -> list[Json]:
    """Put marks with their numbers around some of the texts."""
    wrapped = [dict(message) for message in messages]
    for message in wrapped:
        if isinstance(message.get("content"), list):
            message["content"] = list(message["content"])
    for number in numbers:
        text, index, part, key = given[number]
        start, end = cut(text)
        begin = f"{marks.begin}{number}{marks.number_end}"
        marked = f"{text[:start]}{begin}{text[start:end]}{marks.end}{text[end:]}"
        value = wrapped[index][key]
        if isinstance(value, str):
            wrapped[index][key] = marked
        else:
            value[part] = {**value[part], "text": marked}
    return wrapped


def _search(
    text: str, given: Sequence[_Given], numbers: Iterable[int], taken: Sequence[_Found]
) -> Iterator[_Found]:
    """Search the output for texts, outside of the places already found.

    Contents are searched for in order: whole, trimmed, or without reasoning. A text outside the
    contents is found only if it occurs exactly once, because its position is unknown.
    """
    position, unique = 0, set[int]()
    for number in sorted(numbers):
        whole = given[number].text.strip()
        if given[number].is_beside:
            start = text.find(whole)
            if start not in unique and text.count(whole) == 1:
                unique.add(start)
                yield start, start + len(whole), number
            continue
        for candidate in (whole, _after_reasoning(whole)):
            start = text.find(candidate, position) if candidate else -1
            while start >= 0 and (end := _end_of_taken(taken, start, start + len(candidate))):
                start = text.find(candidate, end)
            if start >= 0:
                position = start + len(candidate)
                yield start, position, number
                break


def _after_reasoning(text: str) -> str:
    return text.rpartition("</think>")[2].strip()


def _end_of_taken(taken: Sequence[_Found], start: int, end: int) -> int:
    """Return the end of the last place already found in a range, 0 if there is none."""
    return next((stop for begin, stop, _ in taken if begin < end and start < stop), 0)


def _lost(text: str, given: Sequence[_Given], found: Sequence[_Found]) -> Iterator[tuple[int, str]]:
    """List the messages and keys of texts that were not found, or found only in part.

    If a message has the same text under two keys, such as reasoning, one occurrence is enough.
    """
    there = {
        (given[n].message, given[n].text.strip())
        for start, end, n in found
        if end - start >= len(given[n].text.strip())
    }
    lost = [item for item in given if (item.message, item.text.strip()) not in there]
    yield from dict.fromkeys((item.message, item.key) for item in lost)


def _calls_of(message: Json) -> list[Json]:
    """List the functions that a message calls, in any of OpenAI's formats."""
    calls = message.get("tool_calls") or [message.get("function_call")]
    return [call.get("function", call) for call in calls if call]


def _lost_calls(
    text: str, messages: list[Json], turns: Sequence[tuple[int, int, int]]
) -> Iterator[tuple[int, str]]:
    """List the messages with tool calls whose names are missing from the output."""
    written = {message: text[start:end] for start, end, message in turns}
    for index, message in enumerate(messages):
        # A call that is still being typed has no name yet.
        names = [str(call.get("name") or call.get("arguments")) for call in _calls_of(message)]
        if names and not all(name in written.get(index, "") for name in names):
            yield index, "tool_calls" if "tool_calls" in message else "function_call"
