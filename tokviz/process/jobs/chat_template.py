"""The job `chat_template`: render conversations with an untrusted Jinja template.

The child keeps the compiled template. Requests:

- `{"do": "template", "source": text}`: set the template.
- `{"do": "render", "messages": […], "variables": {…}, "control_tokens": […]}`: render messages with
  it; see `Sandbox.render_marked`. The answer has the fields of
  `tokviz.chat.jinja_spans.MarkedText`, or is `{"failed": reason, "line": n, "message": n}`.
- `{"do": "starts", "messages": […], "variables": {…}}`: render each start of a conversation; see
  `Sandbox.starts`. The answer is `{"starts": […]}`, or a failure as above.
- `{"do": "variables"}`: list the variables that it reads; see `Sandbox.variables`. The answer is
  `{"variables": […]}`.
- `{"do": "literals"}`: list the texts in it; see `Sandbox.literals`. The answer is
  `{"literals": […]}`.
- `{"do": "loops"}`: list its loops over the messages; see `message_loops`. The answer is
  `{"loops": […]}`.

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
            try:
                state["sandbox"] = Sandbox(request["source"])
            except TemplateFailure as failure:
                state["failure"] = failure
        case "render" | "starts":
            yield _rendered(request, state)
        case "variables":
            yield {"variables": state["sandbox"].variables() if "sandbox" in state else []}
        case "literals":
            yield {"literals": state["sandbox"].literals() if "sandbox" in state else []}
        case "loops":
            yield {"loops": state["sandbox"].loops() if "sandbox" in state else []}


def _rendered(request: Body, state: dict[str, Any]) -> Body:
    failure = state.get("failure")
    if failure is not None:
        return {"failed": failure.reason, "line": failure.line, "message": None}
    sandbox: Sandbox = state["sandbox"]
    messages, variables = request["messages"], request["variables"]
    try:
        if request["do"] == "starts":
            return {"starts": sandbox.starts(messages, variables)}
        return asdict(sandbox.render_marked(messages, variables, request["control_tokens"]))
    except TemplateFailure as failed:
        message = sandbox.blame(messages, variables)
        return {"failed": failed.reason, "line": failed.line, "message": message}
