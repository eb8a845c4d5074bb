"""Rules that find what is wrong with a conversation as training data.

To add a rule, write a function with the decorator `_of_messages` or `_of_tokens`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, islice
from typing import NamedTuple

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError
from tokviz.chat.model_files import model_files_of
from tokviz.chat.rendering import (
    GENERATION_MARKS,
    ROLE_SPANS,
    TEMPLATE_MASK,
    Rendering,
    leaves_out,
)
from tokviz.chat.spans import TRANSFORMERS, Reason
from tokviz.storage.listing import common_beginning
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import pattern_of_specials
from tokviz.tokenizer.report import SEVERITIES, Severity
from tokviz.tokenizer.tokenizer import Tokenizer

UNREADABLE = "unreadable"
NOT_RENDERED = "not-rendered"
UNSTABLE = "turns-unstable"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a conversation.

    Attributes:
        code: The rule, a key of `RULES`.
        severity: "error" if training would go wrong, "warning" if it may, else "note".
        message: The problem in a sentence that names the message (from 1) and the token (from 0,
            as `#0`).
        message_index: The message, counted from 0; None for the whole conversation.
        token_index: The token, counted from 0; None if the problem has no token.
        cause: Findings of a dataset with the same cause are reported once; "" to report each.
    """

    code: str
    severity: Severity
    message: str
    message_index: int | None = None
    token_index: int | None = None
    cause: str = ""


class Problem(NamedTuple):
    """A problem in words, its message, its token and its cause."""

    text: str
    message_index: int | None = None
    token_index: int | None = None
    cause: str = ""


class ControlTokens(NamedTuple):
    """The special tokens to look for in contents.

    Attributes:
        texts: Their texts.
        policy: A key of `SPECIALS`.
    """

    texts: frozenset[str] = frozenset()
    policy: str = TRANSFORMERS


OfMessages = Callable[[Conversation, ControlTokens], Iterable[Problem]]
OfTokens = Callable[[Conversation, Rendering], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        code: Its name, in messages and for `--ignore`.
        title: The problem that it finds, in a few words.
        severity: The severity of its findings.
        of_messages: Checks the messages; needs no rendering.
        of_tokens: Checks the rendering.
        is_of_template: Whether a dataset has the problem in all rows alike, so that it is reported
            once.
    """

    code: str
    title: str
    severity: Severity
    of_messages: OfMessages | None = None
    of_tokens: OfTokens | None = None
    is_of_template: bool = False

    def findings(self, breaches: Iterable[Problem]) -> list[Finding]:
        """Return the problems as findings."""
        found = [Finding(self.code, self.severity, *breach) for breach in breaches]
        if not self.is_of_template:
            return found
        return [replace(finding, cause=finding.cause or self.code) for finding in found]


def lint(
    conversation: Conversation,
    rendering: Rendering | None,
    error: ConversationError | None = None,
    control: ControlTokens | None = None,
) -> list[Finding]:
    """Check a conversation with every rule.

    Args:
        conversation: The conversation.
        rendering: Its tokens; None if it could not be rendered.
        error: The reason, if it could not be rendered.
        control: Special tokens to look for in the contents, if it could not be rendered.

    Returns:
        The findings, the worst first, then in the order of the messages.
    """
    if rendering is not None:
        needed = rendering.virtual_specials.keys() | rendering.missing_specials.keys()
        control = control_tokens(rendering.tokenizer, needed, rendering.specials)
    findings = lint_messages(conversation, control or ControlTokens())
    if rendering is not None:
        if control is not None:
            findings = [_with_token(it, conversation, rendering, control) for it in findings]
        for rule in RULES.values():
            if rule.of_tokens is not None:
                findings += rule.findings(rule.of_tokens(conversation, rendering))
    if error is not None:
        findings.append(error_finding(NOT_RENDERED, error))
    return in_order(findings)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings: the worst first, then in the order of the messages."""
    return sorted(
        findings,
        key=lambda finding: (
            SEVERITIES.index(finding.severity),
            -1 if finding.message_index is None else finding.message_index,
            -1 if finding.token_index is None else finding.token_index,
        ),
    )


def lint_messages(conversation: Conversation, control: ControlTokens) -> list[Finding]:
    """Check the rules that need no rendering."""
    findings: list[Finding] = []
    for rule in RULES.values():
        if rule.of_messages is not None:
            findings += rule.findings(rule.of_messages(conversation, control))
    return findings


def error_finding(code: str, error: ConversationError) -> Finding:
    """Return a finding for a conversation that cannot be read or rendered."""
    return Finding(code, RULES[code].severity, str(error), error.message_index)


def control_tokens(tokenizer: Tokenizer, needed: Iterable[str], policy: str) -> ControlTokens:
    """Return the special tokens to look for in contents.

    Added tokens that are not flagged as special, such as Qwen3's `<think>`, belong in contents.

    Args:
        tokenizer: The tokenizer.
        needed: Further special tokens, of the template.
        policy: A key of `SPECIALS`.
    """
    texts = tokenizer.specials.ids.keys() - tokenizer.specials.non_special
    return ControlTokens(frozenset(it for it in texts.union(needed) if not it.isspace()), policy)


RULES: dict[str, Rule] = {
    UNREADABLE: Rule(UNREADABLE, "no conversation can be read", "error"),
    NOT_RENDERED: Rule(NOT_RENDERED, "it cannot be rendered", "error"),
    UNSTABLE: Rule(UNSTABLE, "earlier tokens change when a message is added", "warning"),
}
"""Every rule by its code."""


def _of_messages(code: str, title: str, severity: Severity) -> Callable[[OfMessages], OfMessages]:
    """Declare a function a rule for messages."""

    def add(find: OfMessages) -> OfMessages:
        RULES[code] = Rule(code, title, severity, of_messages=find)
        return find

    return add


def _of_tokens(
    code: str, title: str, severity: Severity, *, is_of_template: bool = False
) -> Callable[[OfTokens], OfTokens]:
    """Declare a function a rule for renderings."""

    def add(find: OfTokens) -> OfTokens:
        rule = Rule(code, title, severity, of_tokens=find, is_of_template=is_of_template)
        RULES[code] = rule
        return find

    return add


@_of_tokens("nothing-supervised", "nothing is learned", "error")
def _nothing_supervised(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    if rendering.n_learned == 0:
        cut = rendering.n_kept < len(rendering)
        why = f" in the first {rendering.n_kept:,} tokens" if cut else ""
        yield Problem(f"no token is learned{why}: the mask is 0 everywhere")


@_of_tokens("everything-supervised", "everything is learned", "error")
def _everything_supervised(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    kept = rendering.n_kept
    if kept and rendering.n_learned == kept and not conversation.is_plain:
        yield Problem("every token is learned, even the user's messages", None, 0)
        return
    input_runs = [run for run in rendering.runs if run.reason in _INPUT and run.first < kept]
    mask = rendering.mask
    if input_runs and not any(mask.count(0, run.first, min(run.last, kept)) for run in input_runs):
        yield Problem(
            f"message {input_runs[0].message + 1}: the whole input is learned too, from "
            f"token #{input_runs[0].first} on",
            input_runs[0].message,
            input_runs[0].first,
        )


_INPUT = frozenset({Reason.SYSTEM_TEXT, Reason.USER_TEXT, Reason.TOOL_OUTPUT})


@_of_tokens("end-unsupervised", "the end of a turn is not learned", "error")
def _end_unsupervised(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    if rendering.n_learned == 0:
        return  # already reported
    ends = {run.message: run.first for run in rendering.runs if run.reason is Reason.END}
    for index, (first, last) in enumerate(rendering.message_spans):
        is_assistant = conversation.messages[index].role == "assistant"
        if not is_assistant or index in rendering.untrained or not first < last <= rendering.n_kept:
            continue
        is_written = any(part.text.strip() for part in conversation.messages[index].parts)
        is_left_out = is_written and 1 not in rendering.mask[first:last]
        end = ends.get(index)
        if is_left_out and (end is not None or rendering.mask_source == GENERATION_MARKS):
            continue  # such as all turns but the last
        if end is None:
            yield Problem(
                f"message {index + 1}: no token ends the assistant's turn after token #{last - 1}",
                index,
                last - 1,
            )
        elif not rendering.mask[end]:
            yield Problem(
                f"message {index + 1}: token #{end} ends the assistant's turn and is not learned: "
                "the model does not learn to stop",
                index,
                end,
            )


@_of_tokens("answer-cut", "an answer is cut off", "warning")
def _answer_cut(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    kept = rendering.n_kept
    if kept == len(rendering):
        return
    lost = []
    for index, (first, last) in enumerate(rendering.message_spans):
        if conversation.messages[index].role != "assistant" or last <= kept:
            continue
        # Losing the newline that the template writes after the end token does no harm.
        if Reason.END in rendering.reasons[first:kept] and all(rendering.from_structure[kept:last]):
            continue
        if first < kept:
            yield Problem(
                f"message {index + 1}: the answer is truncated after token #{kept - 1}; "
                f"{last - kept:,} of its {last - first:,} tokens are lost",
                index,
                kept - 1,
            )
        else:
            lost.append(index)
    if lost:
        more = len(lost) - 1
        others = f"; so {'is' if more == 1 else 'are'} {more:,} more after it" if more else ""
        yield Problem(
            f"message {lost[0] + 1}: the answer starts after token #{kept - 1}, the last one kept, "
            f"and is lost{others}",
            lost[0],
        )


@_of_messages("roles-out-of-order", "the roles are out of order", "warning")
def _roles_out_of_order(conversation: Conversation, control: ControlTokens) -> Iterator[Problem]:
    before = ""
    for index, message in enumerate(conversation.messages if not conversation.is_plain else ()):
        role = message.role
        problem = _wrong_place(role, before)
        if problem:
            yield Problem(f"message {index + 1}: {problem}", index)
        if not problem or role not in ("system", "developer"):
            before = role


def _wrong_place(role: str, before: str) -> str | None:
    first = before in ("", "system", "developer")
    if role in ("system", "developer"):
        return None if first else f"{role!r} is not at the start"
    if role == "user":
        return "two user messages in a row" if before == "user" else None
    if first:
        return f"the conversation starts with {role!r}, not with 'user'"
    if role == "assistant":
        return "two assistant messages in a row" if before == "assistant" else None
    return "a tool answers the user" if before == "user" else None


@_of_messages("empty-turn", "a message is empty", "warning")
def _empty_turns(conversation: Conversation, control: ControlTokens) -> Iterator[Problem]:
    for index, message in enumerate(conversation.messages):
        if not message.text or message.text.isspace():
            what = "blank" if message.text else "empty"
            yield Problem(f"message {index + 1} ({message.role}) is {what}", index)
    if not conversation.messages:
        yield Problem("there is no message")


@_of_messages("special-in-content", "special-token text in the content", "warning")
def _special_in_content(conversation: Conversation, control: ControlTokens) -> Iterator[Problem]:
    search = _search_of(control.texts)
    for index, message in enumerate(conversation.messages):
        texts = [*(part.text for part in message.parts), *message.reasoning]
        found = dict.fromkeys(match for text in texts for match in search(text))
        if message.role == "assistant":
            found = {text: None for text in found if text not in _REASONING_MARKS}
        if found:
            named = ", ".join(map(repr, islice(found, _MOST_NAMED)))
            named += f" and {len(found) - _MOST_NAMED:,} more" * (len(found) > _MOST_NAMED)
            effect = "encoded as text here, and by transformers as a special token"
            if control.policy == TRANSFORMERS:
                is_one = len(found) == 1
                effect = f"which become{'s the special token' if is_one else ' special tokens'}"
            yield Problem(
                f"message {index + 1} ({message.role}): the content holds {named}, {effect}",
                index,
                cause=f"special-in-content: {named}",
            )


_REASONING_MARKS = frozenset({"<think>", "</think>"})
"""Many templates move what an assistant's content has between these out of the content."""

_MOST_NAMED = 8


@lru_cache(maxsize=32)
def _search_of(specials: frozenset[str]) -> Callable[[str], Iterator[str]]:
    """Compile a search for all special tokens: leftmost first, then longest."""
    pattern = pattern_of_specials(specials)
    if pattern is None:
        return lambda text: iter(())
    # Searching for their common first characters is a hundred times as fast.
    prefix = common_beginning(specials)

    def search(text: str) -> Iterator[str]:
        for match in pattern.finditer(text) if prefix in text else ():
            yield match.group()

    return search


def _with_token(
    finding: Finding, conversation: Conversation, rendering: Rendering, control: ControlTokens
) -> Finding:
    """Find the token at which a special token's text starts in the content."""
    if finding.code != "special-in-content" or finding.message_index is None:
        return finding
    index = finding.message_index
    found = next(_search_of(control.texts)(conversation.messages[index].text), None)
    first, last = rendering.message_spans[index] if index < len(rendering.message_spans) else (0, 0)
    tokens = [
        token
        for token in range(first, last)
        if rendering.message_of[token] == index and not rendering.from_structure[token]
    ]
    parts = [rendering.token_bytes(token) for token in tokens]
    if found is None or not any(parts):
        return finding
    offset = max(b"".join(parts).find(bytetext.to_bytes(found)), 0)
    token = tokens[bisect_right(list(accumulate(map(len, parts))), offset)]
    text = f"{finding.message} (from token #{token})"
    return replace(finding, message=text, token_index=token)


@_of_messages("not-utf8", "bytes that are not UTF-8", "warning")
def _not_utf8(conversation: Conversation, control: ControlTokens) -> Iterator[Problem]:
    for index, message in enumerate(conversation.messages):
        if bytetext.has_raw_bytes(message.text):
            yield Problem(
                f"message {index + 1} ({message.role}) holds bytes that are not UTF-8: other "
                "programs cannot read this row",
                index,
            )


@_of_tokens("left-out", "something is not rendered", "warning")
def _left_out(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    verb = leaves_out(rendering.mask_source)
    for aside in rendering.left_out:
        where = "" if aside.message is None else f"message {aside.message + 1}: "
        yield Problem(f"{where}{rendering.template} {verb} {aside.key!r}", aside.message)


@_of_tokens("missing-special", "a special token is missing", "error", is_of_template=True)
def _missing_special(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    name = rendering.tokenizer.name
    for text, n_tokens in rendering.missing_specials.items():
        problem = f"{text!r} is not a token of {name}: it is split into {n_tokens} tokens"
        yield Problem(problem, cause=problem)


@_of_tokens("bos-missing", "the first token is not BOS", "warning", is_of_template=True)
def _bos_missing(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    bos = _token_of_config(rendering, "bos_token")
    if bos and not rendering.text.startswith(bos):
        yield Problem(f"the config names {bos!r} as BOS, and the text does not start with it")


@_of_tokens("bos-doubled", "BOS is there twice", "error", is_of_template=True)
def _bos_doubled(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    bos = _token_of_config(rendering, "bos_token")
    if bos and rendering.text.removeprefix(bos).startswith(bos):
        yield Problem(f"the text starts with {bos!r} twice", None, 1)


@_of_tokens("eos-missing", "the template never writes EOS", "warning", is_of_template=True)
def _eos_missing(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    eos = _token_of_config(rendering, "eos_token")
    has_answer = any(message.role == "assistant" for message in conversation.messages)
    if eos and has_answer and eos not in rendering.text:
        yield Problem(
            f"the config names {eos!r} as EOS, and the template does not write it: the model does "
            "not learn to write the token at which generation stops"
        )


def _token_of_config(rendering: Rendering, key: str) -> str | None:
    """Return a special token that the files beside the tokenizer name, if the template is Jinja."""
    files = model_files_of(rendering.tokenizer)
    is_jinja = rendering.mask_source != TEMPLATE_MASK
    return files.variables.get(key) if files is not None and is_jinja else None


@_of_tokens("header-supervised", "the header of an answer is learned", "error", is_of_template=True)
def _header_supervised(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    header = bytetext.to_bytes(rendering.generation_header)
    for index, (first, last) in enumerate(rendering.message_spans):
        if not header or conversation.messages[index].role != "assistant":
            continue
        ends = [*accumulate(len(rendering.token_bytes(token)) for token in range(first, last))]
        text = b"".join(rendering.token_bytes(token) for token in range(first, last))
        within = range(first, first + bisect_right(ends, len(header)))
        learned = next((token for token in within if rendering.mask[token]), None)
        if text.startswith(header) and learned is not None:
            yield Problem(
                f"message {index + 1}: the text that starts the assistant's turn is learned from "
                f"token #{learned} on, but generation starts after this text",
                index,
                learned,
            )
            return


@_of_tokens(
    "generation-miscounted", "transformers miscounts the marks", "error", is_of_template=True
)
def _generation_miscounted(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    if rendering.miscounted is not None:
        is_in = "is" if rendering.miscounted in rendering.text else "are"
        yield Problem(
            "the template collects the text of its {% generation %} marks before it writes it, as "
            "in {% set %} or a macro, and transformers counts their place wrongly: the mask is the "
            f"one that your trainer sees; {rendering.miscounted!r} {is_in} meant"
        )


@_of_tokens("weight-ignored", "a weight has no effect", "warning", is_of_template=True)
def _weight_ignored(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    excluded = conversation.untrained()
    if excluded and rendering.mask_source == GENERATION_MARKS:
        index, key = next(iter(excluded.items()))
        yield Problem(
            f"message {index + 1}: {key!r} excludes it from the loss, but a trainer that takes its "
            "mask from the template's marks ignores this key",
            index,
        )


@_of_tokens(
    "no-generation-marks", "the template has no generation marks", "note", is_of_template=True
)
def _no_generation_marks(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    if rendering.mask_source == ROLE_SPANS:
        yield Problem(
            f"the template {rendering.template} has no {{% generation %}} marks: transformers "
            "returns an all-zero mask; tokviz infers one from the roles"
        )


TOKEN_RULES = {
    "lengths-differ": "a column has another length than input_ids",
    "ids-outside-vocabulary": "ids that the tokenizer lacks",
    "labels-differ": "labels that are neither -100 nor the id",
    "all-masked": "no token in the loss",
    "labels-everywhere": "labels that train on the prompt too",
    "truncated-end": "the last token does not end a turn or a document",
}
"""The rules for rows that are tokenized already (`tokviz.chat.token_files`), and their titles."""
