"""The first difference between the prompts of two requests, and what causes it.

A server caches the tokens of a prompt; the next request reuses those before the first difference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tokviz.chat.conversation import Conversation
from tokviz.chat.cost import function_of
from tokviz.chat.messages import ConversationError
from tokviz.chat.rendering import Rendering
from tokviz.chat.statistics import Render
from tokviz.text.common_prefix import n_common

_VARIABLES = "chat_template_kwargs"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = re.compile(
    rf"\d{{1,4}}[-/.]\d\d?[-/.]\d{{1,4}}|\d\d?:\d\d(:\d\d)?(\.\d+)?|\b1\d{{9}}(\d{{3}})?\b"
    rf"|(\d\d?(st|nd|rd|th)? )?\b{_MONTH}( \d\d?(st|nd|rd|th)?\b)?|\b(19|20)\d\d\b|\b[ap]m\b"
    r"|\b(mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.IGNORECASE,
)


class PrefixDiff(NamedTuple):
    """The first difference between the tokens of two requests.

    Attributes:
        first: The first request.
        second: The second request.
        n_common: The number of tokens before the first difference.
        cause: "tool order", "tools", "documents", "variables", "date", "history", "template" or
            "tokenization"; "" if the shorter request is a prefix of the longer.
        explanation: The cause in a sentence.
        message: The message that differs, counted from 0; None for none.
    """

    first: Rendering
    second: Rendering
    n_common: int
    cause: str = ""
    explanation: str = "The shorter request is a prefix of the longer one."
    message: int | None = None

    @property
    def n_lost(self) -> int:
        """The number of tokens of the shorter request that cannot be reused."""
        return min(len(self.first), len(self.second)) - self.n_common

    def texts(self, n_tokens: int) -> list[bytes]:
        """Return the text of the next tokens of each request, from the first that differs."""
        ends = ((it, min(len(it), self.n_common + n_tokens)) for it in (self.first, self.second))
        return [b"".join(map(it.token_bytes, range(self.n_common, end))) for it, end in ends]


def prefix_diff(first: Conversation, second: Conversation, render: Render) -> PrefixDiff:
    """Compare two requests.

    The cause is the first difference between the conversations without which the tokens would
    differ later. If there is none, the template is the cause.

    Raises:
        ConversationError: If the template cannot write one of the requests.
    """
    a, b = render(first), render(second)
    n_shared = n_common(a.ids, b.ids)
    if n_shared == min(len(a), len(b)):
        return PrefixDiff(a, b, n_shared)
    for cause, explanation, message, changed in _differences(first, second):
        try:
            if n_common(render(changed).ids, b.ids) > n_shared:
                return PrefixDiff(a, b, n_shared, cause, explanation, message)
        except ConversationError:
            continue
    if a.text.startswith(b.text) or b.text.startswith(a.text):
        why = "The last token of the shorter text is merged with the text that follows."
        return PrefixDiff(a, b, n_shared, "tokenization", why)
    index = max(0, a.run_of(n_shared).message)
    why = f"The template writes message {index + 1} differently because of later messages."
    return PrefixDiff(a, b, n_shared, "template", why, index)


def _differences(
    a: Conversation, b: Conversation
) -> Iterator[tuple[str, str, int | None, Conversation]]:
    """Yield a cause, its explanation, its message, and `a` without this difference to `b`."""
    for key in ("tools", "functions", "documents", _VARIABLES):
        is_list = key != _VARIABLES
        old, new = (it.objects(key) if is_list else it.variables for it in (a, b))
        if old != new:
            changed = replace(a, extra={**a.extra, key: new})
            yield *_cause_beside(key, old or [], new or []), None, changed
    for index, (before, after) in enumerate(zip(a.messages, b.messages, strict=False)):
        if before != after:
            cause, what = "history", f"Message {index + 1} ({before.role}) is edited."
            if _same_but_time(before.to_json(), after.to_json()):
                cause, what = "date", f"Message {index + 1} ({before.role}) has another date."
            elif after in a.messages[index:]:
                what = f"Message {index + 1} ({before.role}) is removed."
            elif before in b.messages[index:]:
                what = f"Message {index + 1} ({after.role}) is inserted."
            messages = b.messages[: index + 1] + a.messages[index + 1 :]
            yield cause, what, index, replace(a, messages=messages)
            return


def _cause_beside(key: str, old: Any, new: Any) -> tuple[str, str]:
    if _same_but_time(old, new):
        return "date", f"The key {key!r} has another date."
    if key not in ("tools", "functions"):
        name = "documents" if key == "documents" else "variables"
        return name, f"The {name} differ."
    before, after = ({json.dumps(tool, default=str): tool for tool in it} for it in (old, new))
    changed = [
        tool for text, tool in {**before, **after}.items() if (text in before) != (text in after)
    ]
    if not changed:
        return "tool order", "The tools are in another order."
    names = dict.fromkeys(str(function_of(tool).get("name")) for tool in changed)
    return "tools", f"These tools differ: {', '.join(names)}."


def _same_but_time(old: Any, new: Any) -> bool:
    texts = (json.dumps(value, default=str, sort_keys=True) for value in (old, new))
    return len({_TIME.sub("", text) for text in texts}) == 1
