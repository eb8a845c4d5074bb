"""The job `chat_template`: render conversations with an untrusted Jinja template.

The child keeps the compiled template. Requests:

- `{"do": "template", "source": text, "variables": {…}}`: set the template.
- `{"do": "render", "messages": […], "variables": {…}}`: render messages with it. The answer has
  the fields of `tokviz.chat.jinja_spans.MarkedText`, or is `{"failed": reason, "line": n,
  "message": n}`.

If a template fails, the job succeeds and its answer contains the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tokviz.chat.sandbox import Sandbox, TemplateFailure
from tokviz.process.protocol import Body


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer one request of this job."""
    match request["do"]:
        case "template":
            state.clear()
            state["variables"] = request["variables"]
            try:
                state["sandbox"] = Sandbox(request["source"])
            except TemplateFailure as failure:
                state["failure"] = failure
        case "render":
            yield _rendered(request, state)


def _rendered(request: Body, state: dict[str, Any]) -> Body:
    failure = state.get("failure")
    if failure is not None:
        return {"failed": failure.reason, "line": failure.line, "message": None}
    sandbox: Sandbox = state["sandbox"]
    variables = {**state["variables"], **request["variables"]}
    try:
        return asdict(sandbox.render_marked(request["messages"], variables))
    except TemplateFailure as failed:
        message = sandbox.blame(request["messages"], variables)
        return {"failed": failed.reason, "line": failed.line, "message": message}
