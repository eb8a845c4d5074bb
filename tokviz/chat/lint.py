"""Rules that find what is wrong with a conversation as training data.

To add a rule, write a function with the decorator `_of_messages` or `_of_tokens`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError
from tokviz.chat.rendering import ROLE_SPANS, Rendering, leaves_out
from tokviz.chat.spans import Reason
from tokviz.storage.listing import common_beginning
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import pattern_of_specials
from tokviz.tokenizer.report import SEVERITIES, Severity

UNREADABLE = "unreadable"
NOT_RENDERED = "not-rendered"


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
    """

    code: str
    severity: Severity
    message: str
    message_index: int | None = None
    token_index: int | None = None


class Problem(NamedTuple):
    """A problem in words, its message and its token."""

    text: str
    message_index: int | None = None
    token_index: int | None = None


OfMessages = Callable[[Conversation, frozenset[str]], Iterable[Problem]]
OfTokens = Callable[[Conversation, Rendering], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        code: Its name, in messages and for `--ignore`.
        title: The problem that it finds, in a few words.
        severity: The severity of its findings.
        of_messages: Checks the messages, given all special tokens; needs no rendering.
        of_tokens: Checks the rendering.
    """

    code: str
    title: str
    severity: Severity
    of_messages: OfMessages | None = None
    of_tokens: OfTokens | None = None

    def findings(self, breaches: Iterable[Problem]) -> list[Finding]:
        """Return the problems as findings."""
        return [Finding(self.code, self.severity, *breach) for breach in breaches]


def lint(
    conversation: Conversation,
    rendering: Rendering | None,
    error: ConversationError | None = None,
    specials: frozenset[str] = frozenset(),
) -> list[Finding]:
    """Check a conversation with every rule.

    Args:
        conversation: The conversation.
        rendering: Its tokens; None if it could not be rendered.
        error: The reason, if it could not be rendered.
        specials: Special tokens to look for in the contents, if it could not be rendered.

    Returns:
        The findings, the worst first, then in the order of the messages.
    """
    if rendering is not None:
        specials = special_texts(rendering.tokenizer.special_tokens, rendering.virtual_specials)
    findings = lint_messages(conversation, specials)
    if rendering is not None:
        findings = [_with_token(finding, conversation, rendering) for finding in findings]
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


def lint_messages(conversation: Conversation, specials: frozenset[str]) -> list[Finding]:
    """Check the rules that need no rendering; `specials` are all special tokens to look for."""
    findings: list[Finding] = []
    for rule in RULES.values():
        if rule.of_messages is not None:
            findings += rule.findings(rule.of_messages(conversation, specials))
    return findings


def error_finding(code: str, error: ConversationError) -> Finding:
    """Return a finding for a conversation that cannot be read or rendered."""
    return Finding(code, RULES[code].severity, str(error), error.message_index)


def special_texts(*tables: Iterable[str]) -> frozenset[str]:
    """Return all special tokens, except white space that a file adds to its vocabulary."""
    return frozenset(text for table in tables for text in table if not text.isspace())


RULES: dict[str, Rule] = {
    UNREADABLE: Rule(UNREADABLE, "no conversation can be read", "error"),
    NOT_RENDERED: Rule(NOT_RENDERED, "it cannot be rendered", "error"),
}
"""Every rule by its code."""


def _of_messages(code: str, title: str, severity: Severity) -> Callable[[OfMessages], OfMessages]:
    """Declare a function a rule for messages."""

    def add(find: OfMessages) -> OfMessages:
        RULES[code] = Rule(code, title, severity, of_messages=find)
        return find

    return add


def _of_tokens(code: str, title: str, severity: Severity) -> Callable[[OfTokens], OfTokens]:
    """Declare a function a rule for renderings."""

    def add(find: OfTokens) -> OfTokens:
        RULES[code] = Rule(code, title, severity, of_tokens=find)
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
    if kept and rendering.n_learned == kept:
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
    with_end = set()
    for token, _, index, _, reason, _ in rendering.runs:
        if reason is not Reason.END or token >= rendering.n_kept:
            continue
        if index in rendering.untrained:
            with_end.add(index)
            continue
        with_end.add(index)
        if not rendering.mask[token]:
            yield Problem(
                f"message {index + 1}: token #{token} ends the assistant's turn and is not "
                "learned: the model does not learn to stop",
                index,
                token,
            )
    for index, (first, last) in enumerate(rendering.message_spans):
        is_assistant = conversation.messages[index].role == "assistant"
        if is_assistant and index not in with_end and first < last <= rendering.n_kept:
            yield Problem(
                f"message {index + 1}: no token ends the assistant's turn after token #{last - 1}",
                index,
                last - 1,
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
def _roles_out_of_order(conversation: Conversation, specials: frozenset[str]) -> Iterator[Problem]:
    before = ""
    for index, message in enumerate(conversation.messages):
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
def _empty_turns(conversation: Conversation, specials: frozenset[str]) -> Iterator[Problem]:
    for index, message in enumerate(conversation.messages):
        if not message.text or message.text.isspace():
            what = "blank" if message.text else "empty"
            yield Problem(f"message {index + 1} ({message.role}) is {what}", index)
    if not conversation.messages:
        yield Problem("there is no message")


@_of_messages("special-in-content", "special-token text in the content", "warning")
def _special_in_content(conversation: Conversation, specials: frozenset[str]) -> Iterator[Problem]:
    search = _search_of(specials)
    for index, message in enumerate(conversation.messages):
        found = [*dict.fromkeys(text for part in message.parts for text in search(part.text))]
        if found:
            more = f" and {len(found) - _MOST_NAMED:,} more" * (len(found) > _MOST_NAMED)
            named = f"{', '.join(map(repr, found[:_MOST_NAMED]))}{more}"
            words = (
                "a special token's text; tokviz encodes it as plain text, transformers encodes it "
                "as the special token"
                if len(found) == 1
                else "texts of special tokens; tokviz encodes them as plain text, transformers "
                "encodes them as the special tokens"
            )
            role = message.role
            yield Problem(
                f"message {index + 1} ({role}): the content holds {named}, {words}", index
            )


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


def _with_token(finding: Finding, conversation: Conversation, rendering: Rendering) -> Finding:
    """Find the token at which a special token's text starts in the content."""
    if finding.code != "special-in-content" or finding.message_index is None:
        return finding
    index = finding.message_index
    specials = special_texts(rendering.tokenizer.special_tokens, rendering.virtual_specials)
    found = next(_search_of(specials)(conversation.messages[index].text), None)
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
def _not_utf8(conversation: Conversation, specials: frozenset[str]) -> Iterator[Problem]:
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


@_of_tokens("no-generation-marks", "the template has no generation marks", "note")
def _no_generation_marks(conversation: Conversation, rendering: Rendering) -> Iterator[Problem]:
    if rendering.mask_source == ROLE_SPANS:
        yield Problem(
            f"the template {rendering.template} has no {{% generation %}} marks: transformers "
            "returns an all-zero mask; tokviz infers one from the roles"
        )
