r"""Templates that write one turn after another: ChatML, Qwen and Llama 3.

Text between two special tokens is encoded as a whole, as Hugging Face encodes rendered text, so a
token may extend from a header's newline into the content.
"""

from __future__ import annotations

import json
from typing import Any

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError, Json, Message
from tokviz.chat.spans import Reason, TemplateSpan, content, header, special, turn_end

IM_START, IM_END = "<|im_start|>", "<|im_end|>"
BEGIN_OF_TEXT, EOT = "<|begin_of_text|>", "<|eot_id|>"
HEADER_START, HEADER_END = "<|start_header_id|>", "<|end_header_id|>"
QWEN_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."


def write_chatml(conversation: Conversation) -> list[TemplateSpan]:
    r"""Write ChatML: `<|im_start|>` role `\n` content `<|im_end|>\n`.

    Sources: openai/openai-python `chatml.md`; the template of that name in the documentation of
    Hugging Face transformers ("Templates for chat models").
    """
    spans: list[TemplateSpan] = []
    for index, message in enumerate(conversation.messages):
        spans += [special(IM_START, index), header(f"{message.role}\n", index)]
        spans += _texts(message, index, "chatml")
        spans += _im_end(message, index)
    return spans


def write_llama3(conversation: Conversation) -> list[TemplateSpan]:
    r"""Write Llama 3: `<|start_header_id|>` role `<|end_header_id|>\n\n` content `<|eot_id|>`.

    White space around the content is cut off. Sources: meta-llama/llama3
    `llama/tokenizer.py` (`ChatFormat`) and the `chat_template` of Meta-Llama-3-8B-Instruct.
    """
    spans = [special(BEGIN_OF_TEXT)] if conversation.messages else []
    for index, message in enumerate(conversation.messages):
        spans += [special(HEADER_START, index), header(message.role, index)]
        spans += [special(HEADER_END, index), header("\n\n", index)]
        spans += _trimmed(_texts(message, index, "llama3"))
        spans.append(turn_end(EOT, message.role, index))
    return spans


def write_qwen(conversation: Conversation) -> list[TemplateSpan]:
    """Write Qwen2.5: ChatML with a system message always, tool calls and tool answers.

    Source: `chat_template` in the `tokenizer_config.json` of Qwen/Qwen2.5-7B-Instruct.
    """
    messages = conversation.messages
    if not messages:
        raise ConversationError("there is no message; start with one from the user")
    spans = _qwen_system(conversation)
    for index, message in enumerate(messages):
        if message.role == "system" and index == 0:
            continue
        if message.role == "tool":
            spans += _qwen_tool_output(messages, index)
        elif message.role == "assistant" and any(p.kind == "tool_call" for p in message.parts):
            spans += _qwen_tool_calls(message, index)
        elif message.role in ("system", "user", "assistant"):
            spans += [special(IM_START, index), header(f"{message.role}\n", index)]
            spans += _texts(message, index, "qwen")
            spans += _im_end(message, index)
        else:
            raise ConversationError(
                f"Qwen leaves out a message from {message.role!r}; use system, user, assistant or "
                "tool",
                index,
                "role",
            )
    return spans


def _im_end(message: Message, index: int) -> list[TemplateSpan]:
    return [turn_end(IM_END, message.role, index), header("\n", index)]


def _texts(message: Message, index: int, template: str) -> list[TemplateSpan]:
    spans = []
    for number, part in enumerate(message.parts):
        if part.kind != "text":
            writes = "qwen or gpt-oss" if part.kind == "tool_call" else "nanochat"
            raise ConversationError(
                f"{template} cannot write a part of the kind {part.kind!r} here; choose another "
                f"template, such as {writes}",
                index,
                "type",
                number,
            )
        spans.append(content(part.text, message.role, part.kind, index, number))
    return spans


def _trimmed(spans: list[TemplateSpan]) -> list[TemplateSpan]:
    """Strip white space from the ends of a message's text, as Jinja's `trim` does."""
    texts = [span.text for span in spans]
    for order, strip in ((range(len(texts)), str.lstrip), (range(len(texts))[::-1], str.rstrip)):
        for number in order:
            texts[number] = strip(texts[number])
            if texts[number]:
                break
    return [span._replace(text=text) for span, text in zip(spans, texts, strict=True)]


def _qwen_system(conversation: Conversation) -> list[TemplateSpan]:
    first = conversation.messages[0]
    own = first.role == "system"
    index = 0 if own else -1
    spans = [special(IM_START, index), header("system\n", index)]
    spans += _texts(first, 0, "qwen") if own else [header(QWEN_SYSTEM)]
    if tools := conversation.objects("tools"):
        spans.append(header(_qwen_tools(tools), index))
    return [*spans, special(IM_END, index), header("\n", index)]


def _qwen_tools(tools: list[Json]) -> str:
    listed = "".join(f"\n{_to_json(tool)}" for tool in tools)
    return (
        "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
        f"{listed}\n</tools>\n\nFor each function call, return a json object with function name "
        "and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )


def _qwen_tool_calls(message: Message, index: int) -> list[TemplateSpan]:
    # The prompt for the assistant ends with a newline; the model writes what follows.
    spans = [special(IM_START, index), header("assistant\n", index)]
    texts = [(n, part) for n, part in enumerate(message.parts) if part.kind != "tool_call"]
    newline = ""
    if any(part.text for _, part in texts):
        newline = "\n"
        for number, part in texts:
            if part.kind != "text":
                _texts(message, index, "qwen")
            spans.append(content(part.text, "assistant", "text", index, number))
    for number, part in enumerate(message.parts):
        if part.kind == "tool_call":
            call = part.call(index, number)
            written = f'{call["name"]}", "arguments": {_to_json(call.get("arguments"))}'
            # The model writes the tags too, so they are learned with the call.
            around = (f'{newline}<tool_call>\n{{"name": "', "}\n</tool_call>")
            newline = "\n"
            spans += [
                TemplateSpan(around[0], Reason.TOOL_CALL, True, False, True, index, number),
                content(written, "assistant", "tool_call", index, number),
                TemplateSpan(around[1], Reason.TOOL_CALL, True, False, True, index, number),
            ]
    return [*spans, *_im_end(message, index)]


def _qwen_tool_output(messages: tuple[Message, ...], index: int) -> list[TemplateSpan]:
    """Write a tool's answer; answers in a row share one user turn."""
    first = index == 0 or messages[index - 1].role != "tool"
    last = index + 1 == len(messages) or messages[index + 1].role != "tool"
    spans = [special(IM_START, index), header("user", index)] if first else []
    spans.append(header("\n<tool_response>\n", index))
    spans += _texts(messages[index], index, "qwen")
    spans.append(header("\n</tool_response>", index))
    return [*spans, *([special(IM_END, index), header("\n", index)] if last else [])]


def _to_json(value: Any) -> str:
    """Write JSON as the `tojson` of Hugging Face's templates does."""
    return json.dumps(value, ensure_ascii=False)
