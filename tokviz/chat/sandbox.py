"""Rendering somebody's Jinja chat template. Imported in the child process only.

The environment is that of Hugging Face transformers (`utils/chat_template_utils.py`): an immutable
sandbox, `trim_blocks` and `lstrip_blocks`, `{% generation %}`, loop controls, `tojson`,
`raise_exception` and `strftime_now`. Time and memory are limited from outside.

To know where the contents of the messages end up, the template is rendered twice: as it is, and
with private marks around the contents. If the second result without its marks is the first one, the
marks are right; where a template looks into the contents, they are searched in the text instead.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tokviz.chat.jinja_spans import MarkedText

MAX_OUTPUT_CHARS = 10_000_000
"""A longer rendering is refused."""

_MARK_GROUPS = ["".join(map(chr, range(first, first + 5))) for first in range(0xFDD0, 0xFDEE, 5)]
"""Noncharacters, which stand in no text; in groups of five, should one stand there all the same."""

_FILE = "<chat template>"
_MAX_PREFIXES = 64

Json = dict[str, Any]


class TemplateFailure(Exception):
    """A template that does not compile or does not render.

    Attributes:
        reason: What is wrong.
        line: The line of the template, if known.
    """

    def __init__(self, reason: str, line: int | None) -> None:
        """Take the reason in words and the line."""
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Sandbox:
    """A compiled template."""

    def __init__(self, source: str) -> None:
        """Compile a template.

        Raises:
            TemplateFailure: If it is no valid template.
        """
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, jinja2.ext.loopcontrols],
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        generation = environment.extensions[_Generation.identifier]
        assert isinstance(generation, _Generation)
        self._generation = generation
        self._template = _guarded(lambda: _compile(environment, source))

    def render_marked(self, messages: list[Json], variables: Mapping[str, Any]) -> MarkedText:
        """Render messages and find where their contents are.

        Raises:
            TemplateFailure: If the template fails or writes too much.
        """
        text = self._render(messages, variables)
        group = next((group for group in _MARK_GROUPS if set(group).isdisjoint(text)), None)
        contents: list[tuple[int, int, int, int]] | None = None
        generation: list[tuple[int, int]] = []
        if group is not None:
            contents, generation = self._find(text, messages, variables, _Marks(group))
        if contents is None:
            contents = _locate(text, messages)
        n_wanted = sum(1 for given, *_ in _contents_of(messages) if given.strip())
        n_found = len({place[2:] for place in contents})
        return MarkedText(
            text,
            contents,
            n_wanted - n_found,
            generation if self._generation.seen else None,
            self._turns(text, messages, variables),
        )

    def _find(
        self, text: str, messages: list[Json], variables: Mapping[str, Any], marks: _Marks
    ) -> tuple[list[tuple[int, int, int, int]] | None, list[tuple[int, int]]]:
        """Find contents (None if marks in them change the text) and generation by marks."""
        for cut in (_whole, _core):
            places: list[tuple[int, int]] = []
            wrapped = _with_marks(messages, marks, cut, places)
            read = self._read_marks(text, wrapped, variables, marks)
            if read is not None:
                return [(start, end, *places[n]) for start, end, n in read[0]], read[1]
        read = self._read_marks(text, messages, variables, marks)
        return None, [] if read is None else read[1]

    def blame(self, messages: list[Json], variables: Mapping[str, Any]) -> int | None:
        """Find the message with which the template begins to fail; None if it does without any."""
        for n in range(min(len(messages), _MAX_PREFIXES) + 1):
            try:
                self._render(messages[:n], variables)
            except TemplateFailure:
                return n - 1 if n else None
        return None

    def _render(
        self, messages: list[Json], variables: Mapping[str, Any], marks: _Marks | None = None
    ) -> str:
        given = {"add_generation_prompt": False, **variables, "messages": messages}
        self._generation.marks = marks
        rendered: str = _guarded(lambda: _joined(self._template.generate(given)))
        return rendered

    def _read_marks(
        self, text: str, messages: list[Json], variables: Mapping[str, Any], marks: _Marks
    ) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]] | None:
        """Render with marks and read them; None if they change what is rendered."""
        try:
            marked = self._render(messages, variables, marks)
        except TemplateFailure:
            return None
        return marks.read(marked, text)

    def _turns(
        self, text: str, messages: list[Json], variables: Mapping[str, Any]
    ) -> list[tuple[int, int, int]]:
        """Find what the assistant writes with its tool calls, which are no plain content.

        It is what a message adds to the text before it with the prompt for the assistant.
        """
        calls = [i for i, m in enumerate(messages) if m.get("tool_calls") or m.get("function_call")]
        turns = []
        for index in calls[:_MAX_PREFIXES]:
            try:
                prompted = {**variables, "add_generation_prompt": True}
                before = self._render(messages[:index], prompted)
                after = self._render(messages[: index + 1], variables)
            except TemplateFailure:
                continue
            if after.startswith(before) and text.startswith(after):
                turns.append((len(before), len(after), index))
        return turns


class _Marks:
    """Private characters for the beginnings and ends of contents and generation marks."""

    def __init__(self, group: str) -> None:
        self.begin, self.number_end, self.end, self.generation, self.generation_end = [*group]
        self._any = re.compile(f"{self.begin}([0-9]+){self.number_end}|[{group[2:]}]")

    def read(
        self, marked: str, text: str
    ) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]] | None:
        """Take the marks out; None if what is left is not the text, or they do not pair up."""
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
    """`{% generation %}…{% endgeneration %}`: what stands between is written by the assistant.

    Source: `AssistantTracker` in transformers.
    """

    tags = {"generation"}  # noqa: RUF012  Jinja's own interface

    def __init__(self, environment: jinja2.Environment) -> None:
        super().__init__(environment)
        self.seen = False
        self.marks: _Marks | None = None

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        self.seen = True
        call = self.call_method("_surround")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _surround(self, caller: Callable[[], str]) -> str:
        written = caller()
        marks = self.marks
        if marks is None:
            return written
        return f"{marks.generation}{written}{marks.generation_end}"


def _compile(environment: jinja2.Environment, source: str) -> jinja2.Template:
    code = environment.compile(source, filename=_FILE)
    return environment.template_class.from_code(environment, code, environment.globals)


def _joined(chunks: Any) -> str:
    parts: list[str] = []
    n_chars = 0
    for chunk in chunks:
        parts.append(chunk)
        n_chars += len(chunk)
        if n_chars > MAX_OUTPUT_CHARS:
            raise TemplateFailure(f"it writes more than {MAX_OUTPUT_CHARS:,} characters", None)
    return "".join(parts)


def _guarded(work: Callable[[], Any]) -> Any:
    """Do what may fail in any way, and say how; out of memory ends the process."""
    try:
        return work()
    except (TemplateFailure, MemoryError):
        raise
    except jinja2.TemplateSyntaxError as error:
        raise TemplateFailure(error.message or "it is no valid template", error.lineno) from None
    except RecursionError as error:
        raise TemplateFailure("it calls itself, or nests, too deeply", _line_of(error)) from None
    except jinja2.TemplateError as error:
        raise TemplateFailure(error.message or type(error).__name__, _line_of(error)) from None
    except Exception as error:
        # Whatever Python raises while somebody's template runs.
        reason = f"{type(error).__name__}: {error}"[:500]
        raise TemplateFailure(reason, _line_of(error)) from None


def _line_of(error: BaseException) -> int | None:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == _FILE]
    return lines[-1] if lines else None


def _raise_exception(reason: object) -> None:
    raise jinja2.TemplateError(f"it raises: {str(reason)[:500]}")


def _to_json(value: Any, **options: Any) -> str:
    allowed = {"ensure_ascii", "indent", "separators", "sort_keys"}
    chosen = {name: option for name, option in options.items() if name in allowed}
    return json.dumps(value, **{"ensure_ascii": False, **chosen})


def _contents_of(messages: list[Json]) -> Iterator[tuple[str, int, int]]:
    """List the contents with their places: (text, message, part)."""
    for index, message in enumerate(messages):
        content = message.get("content")
        if isinstance(content, str):
            yield content, index, 0
        elif isinstance(content, list):
            for number, part in enumerate(content):
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    yield part["text"], index, number


Cut = Callable[[str], tuple[int, int]]
"""Gives the stretch of a content to put marks around."""


def _whole(text: str) -> tuple[int, int]:
    return 0, len(text)


def _core(text: str) -> tuple[int, int]:
    return len(text) - len(text.lstrip()), len(text.rstrip())


def _with_marks(
    messages: list[Json], marks: _Marks, cut: Cut, places: list[tuple[int, int]]
) -> list[Json]:
    """Put marks into the contents and note whose they are; blank ones stay without."""
    wrapped = [dict(message) for message in messages]
    for message in wrapped:
        if isinstance(message.get("content"), list):
            message["content"] = list(message["content"])
    for text, index, number in _contents_of(messages):
        if not text.strip():
            continue
        start, end = cut(text)
        begin = f"{marks.begin}{len(places)}{marks.number_end}"
        places.append((index, number))
        marked = f"{text[:start]}{begin}{text[start:end]}{marks.end}{text[end:]}"
        content = wrapped[index]["content"]
        if isinstance(content, str):
            wrapped[index]["content"] = marked
        else:
            content[number] = {**content[number], "text": marked}
    return wrapped


def _locate(text: str, messages: list[Json]) -> list[tuple[int, int, int, int]]:
    """Search the contents in the text, one after another: whole, trimmed, or without thoughts."""
    found = []
    position = 0
    for content, message, part in _contents_of(messages):
        for candidate in (content.strip(), content.rpartition("</think>")[2].strip()):
            start = text.find(candidate, position) if candidate else -1
            if start >= 0:
                found.append((start, start + len(candidate), message, part))
                position = start + len(candidate)
                break
    return found
