"""The built-in templates, against the originals that models ship."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat import originals
from tests.chat.conversations import plain_conversations, turns
from tests.profiles import examples
from tokviz.chat.conversation import Conversation
from tokviz.chat.lint import lint
from tokviz.chat.messages import REASONING_KEYS, ConversationError
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering, rendering_to_json
from tokviz.chat.templates import TEMPLATES, UnknownTemplateError, get_template
from tokviz.formats.loader import load
from tokviz.storage.assets import asset_path
from tokviz.tokenizer.encoding.packed import PackedRanks
from tokviz.tokenizer.tokenizer import Tokenizer

QWEN = load("qwen2")
LLAMA3 = Tokenizer.of(
    PackedRanks(asset_path("vocab/cl100k_base.ranks")),
    {"<|begin_of_text|>": 100300, "<|start_header_id|>": 100301, "<|end_header_id|>": 100302}
    | {"<|eot_id|>": 100303},
    split_pattern="llama3",
)
HARMONY = Tokenizer.of(
    PackedRanks(asset_path("vocab/o200k_base.ranks")),
    {"<|return|>": 200002, "<|constrain|>": 200003, "<|channel|>": 200005, "<|start|>": 200006}
    | {"<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012},
    split_pattern="gpt4o",
)
ADD = {"name": "add", "arguments": {"a": 1, "ü": "{"}}
CALLS: list[dict[str, Any]] = [
    {"role": "user", "content": "1+1?"},
    {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": ADD}]},
    {"role": "tool", "content": "2", "name": "add"},
    {"role": "tool", "content": "two"},
    {"role": "assistant", "content": "I ask again", "tool_calls": [ADD, {"function": ADD}]},
    {"role": "tool", "content": "2"},
    {"role": "assistant", "content": "2"},
]


def rendering(tokenizer: Tokenizer, messages: list[dict[str, Any]], template: str, **extra: Any):
    conversation = Conversation.from_json({"messages": messages, **extra})
    return render(tokenizer, conversation, template, 10_000)


def learned(rendering: Rendering) -> bytes:
    """Return the learned tokens, with a bar for each gap."""
    parts = []
    for i in range(len(rendering)):
        parts.append(rendering.token_bytes(i) if rendering.mask[i] else b"|")
    return b"".join(parts)


def in_short(data: bytes) -> bytes:
    while b"||" in data:
        data = data.replace(b"||", b"|")
    return data


@examples(80)
@given(messages=plain_conversations())
def test_chatml_is_the_original(messages):
    text = originals.rendered(originals.CHATML, messages)
    assert rendering(QWEN, messages, "chatml").ids.tolist() == QWEN.encode(text)


@examples(80)
@given(messages=plain_conversations())
def test_qwen_is_the_original(messages):
    text = originals.rendered(originals.QWEN, messages)
    assert rendering(QWEN, messages, "qwen").ids.tolist() == QWEN.encode(text)


@pytest.mark.parametrize("tools", [None, [{"type": "function", "function": {"name": "ädd"}}]])
@pytest.mark.parametrize("messages", [CALLS, CALLS[1:], CALLS[2:], [*turns("a"), *CALLS[:4]]])
def test_qwen_with_tools_is_the_original(messages, tools):
    text = originals.rendered(originals.QWEN, messages, tools=tools)
    assert rendering(QWEN, messages, "qwen", tools=tools).ids.tolist() == QWEN.encode(text)


@examples(80)
@given(messages=plain_conversations())
def test_llama3_is_the_original(messages):
    text = originals.rendered(originals.LLAMA3, messages, bos_token="<|begin_of_text|>")
    assert rendering(LLAMA3, messages, "llama3").ids.tolist() == LLAMA3.encode(text)


def test_transformers_renders_the_originals_so_too():
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    for template in (originals.CHATML, originals.QWEN):
        (text,), _ = utils.render_jinja_template(
            conversations=[turns("Hi", "Hello")], chat_template=template
        )
        assert text == originals.rendered(template, turns("Hi", "Hello"))


# -- gpt-oss


@pytest.fixture(scope="module")
def harmony(tmp_path_factory: pytest.TempPathFactory):
    """Load openai-harmony with the vocabulary that it would download."""
    package = pytest.importorskip("openai_harmony")
    folder = tmp_path_factory.mktemp("encodings")
    tokenizer = load("o200k_base")
    with open(folder / "o200k_base.tiktoken", "wb") as file:
        for rank in range(199_998):
            token = base64.b64encode(tokenizer.token_bytes(rank)).decode()
            file.write(f"{token} {rank}\n".encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_ENCODINGS_BASE", str(folder))
        encoding = package.load_harmony_encoding(package.HarmonyEncodingName.HARMONY_GPT_OSS)
    return package, encoding


def harmony_ids(
    harmony: Any, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None
) -> list[int]:
    """Return openai-harmony's ids for training."""
    package, encoding = harmony
    message, role = package.Message, package.Role
    written = [message.from_role_and_content(role.SYSTEM, package.SystemContent.new())]
    called, ids = "", dict[Any, str]()
    descriptions = [
        package.ToolDescription.new(tool["name"], tool.get("description", ""), tool["parameters"])
        for tool in (item.get("function", item) for item in tools or ())
    ]
    told = package.DeveloperContent.new()
    if tools:
        told = told.with_function_tools(descriptions)
        if not messages or messages[0]["role"] not in ("system", "developer"):
            written.append(message.from_role_and_content(role.DEVELOPER, told))

    def answered(name: str, text: str) -> None:
        channel = "analysis" if name == "python" else "commentary"
        author = package.Author.new(role.TOOL, name)
        answer = message.from_author_and_content(author, text)
        written.append(answer.with_channel(channel).with_recipient("assistant"))

    for given_message in messages:
        content = given_message["content"]
        if given_message["role"] == "user":
            written.append(message.from_role_and_content(role.USER, content))
        elif given_message["role"] in ("system", "developer"):
            here = told if given_message is messages[0] else package.DeveloperContent.new()
            instructions = here.with_instructions(content)
            written.append(message.from_role_and_content(role.DEVELOPER, instructions))
        elif given_message["role"] == "tool":
            called = f"functions.{given_message['name']}" if "name" in given_message else called
            called = ids.get(given_message.get("tool_call_id"), called)
            answered(called, content)
        else:
            for key in REASONING_KEYS:
                if key in given_message:
                    thought = message.from_role_and_content(role.ASSISTANT, given_message[key])
                    written.append(thought.with_channel("analysis"))
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            calls = given_message.get("tool_calls", [])
            kinds = [part["type"] for part in parts]
            for number, part in enumerate([] if content == "" and calls else parts):
                said = message.from_role_and_content(role.ASSISTANT, part["text"])
                if part["type"] == "text":
                    is_preamble = calls or "python" in kinds[number:]
                    written.append(said.with_channel("commentary" if is_preamble else "final"))
                elif part["type"] == "python":
                    call = said.with_channel("analysis").with_recipient("python")
                    written.append(call.with_content_type("code"))
                else:
                    answered("python", part["text"])
            for call in calls:
                function = call.get("function", call)
                called = ids[call.get("id")] = f"functions.{function['name']}"
                arguments = '{"a": 1, "ü": "{"}'
                said = message.from_role_and_content(role.ASSISTANT, arguments)
                said = said.with_channel("commentary").with_recipient(called)
                written.append(said.with_content_type("json"))
    config = package.RenderConversationConfig(auto_drop_analysis=False)
    conversation = package.Conversation.from_messages(written)
    return list(encoding.render_conversation_for_training(conversation, config))


TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds numbers.\nAll of them.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "The first.", "default": 1},
                    "how": {"type": "string", "enum": ["exact", "fast"], "default": "fast"},
                    "rest": {"type": "array", "items": {"type": "number"}},
                },
                "required": ["a"],
            },
        },
    },
    {"name": "now", "parameters": None},
]
PYTHON = [
    {"type": "text", "text": "Let me see."},
    {"type": "python", "text": "print(1)\n"},
    {"type": "python_output", "text": "1\n"},
    {"type": "text", "text": "One."},
]


@pytest.mark.parametrize(
    "messages",
    [
        turns("Hi"),
        turns("Hi", "Hello", "\nWhat?", "That. "),
        [{"role": "system", "content": "\nBe nice."}, *turns("Hi", "Hello")],
        [*turns("Hi"), {"role": "assistant", "content": PYTHON}],
        [*turns("Hi"), {"role": "assistant", "content": PYTHON}, *turns("So?", "Yes.")],
        [CALLS[0], {**CALLS[1], "content": None}, *CALLS[2:]],
        [*turns("Hi"), {"role": "assistant", "content": "Hello", "thinking": " A <|end|>.\n"}],
        [
            *turns("Hi"),
            {"role": "assistant", "content": "Hello", "reasoning_content": "One."},
            *turns("So?"),
            {"role": "assistant", "content": PYTHON, "reasoning": "Two.", "thinking": "Three."},
        ],
        [CALLS[0], {**CALLS[1], "content": None, "thinking": "I add."}, *CALLS[2:]],
        [{"role": "developer", "content": "Be nice."}, *CALLS],
    ],
)
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["no tools", "tools"])
def test_gpt_oss_is_what_openai_harmony_writes(harmony, messages, tools):
    ours = rendering(HARMONY, messages, "gpt-oss", tools=tools).ids.tolist()
    for message in messages:
        message["content"] = "" if message["content"] is None else message["content"]
    assert ours == harmony_ids(harmony, messages, tools)


def schemas() -> st.SearchStrategy[Any]:
    """Generate valid and invalid JSON schemas with every key that Harmony writes."""
    texts = st.sampled_from(["one", "two\nlines", "ü", 'q"t'])
    numbers = st.sampled_from([1, -2, 2.5, 1e-5, -1.25e-5, 2e-7, 1e16, 1.5e17, 123456789.5])
    beside = {
        "description": st.sampled_from(["one", "two\nlines", 3]),
        "title": texts,
        "default": st.one_of(texts, numbers, st.sampled_from([None, True, ["a", 1], {"b": "c"}])),
        "nullable": st.sampled_from([True, False, "x"]),
        "examples": st.sampled_from([[], ["a", 1, "b"], "none"]),
    }

    def kind(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(keys, optional=beside)

    simple = st.one_of(
        kind(type=st.sampled_from(["string", "number", "integer", "boolean", "null", "array"])),
        kind(type=st.sampled_from([["string", "null"], ["integer"], [], [1]])),
        kind(type=st.just("string"), enum=st.sampled_from([["x", "y"], [], [1], ["x", 1]])),
        kind(type=st.just("string"), oneOf=st.just("x")),
        kind(),
    )

    def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        properties = st.dictionaries(st.sampled_from(["z", "a", "loc", "é"]), inner)
        required = st.sampled_from([["a", "loc"], [], ["z", 1], "a"])
        return st.one_of(
            kind(type=st.just("object"), properties=properties, required=required),
            kind(type=st.just("array"), items=inner),
            kind(oneOf=st.lists(inner, max_size=3)),
        )

    return st.recursive(simple | st.sampled_from([True, "x", None]), nested, max_leaves=8)


@examples(200)
@given(parameters=st.one_of(st.none(), schemas()), about=st.sampled_from(["", "a\r\nb\n", "d"]))
def test_any_tool_is_written_as_openai_harmony_writes_it(harmony, parameters, about):
    parameters = parameters if isinstance(parameters, dict) else None
    tools = [{"name": "f", "description": about, "parameters": parameters}, *TOOLS]
    ours = rendering(HARMONY, turns("Hi"), "gpt-oss", tools=tools).ids.tolist()
    assert ours == harmony_ids(harmony, turns("Hi"), tools)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ({"a": 1}, "must be a list of objects, not an object"),
        (["add"], "number 1 is a text, not an object"),
        ([{"name": "add"}, {"type": "web_search"}], "tool 2 is not a function with a 'name'"),
    ],
)
def test_gpt_oss_refuses_tools_that_are_not_functions_by_their_number(tools, message):
    with pytest.raises(ConversationError) as error:
        rendering(HARMONY, turns("Hi"), "gpt-oss", tools=tools)
    assert str(error.value) == f"key 'tools': {message}"


def test_an_answer_goes_to_the_call_of_its_id():
    """OpenAI's format of parallel calls; the tool called last is not the one that answers."""
    calls: list[dict[str, Any]] = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": {}}}
        for name in ("first", "second")
    ]
    messages = [
        *turns("Hi"),
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "1", "tool_call_id": "first"},
        {"role": "tool", "content": "2", "tool_call_id": "second"},
    ]
    text = HARMONY.decode(rendering(HARMONY, messages, "gpt-oss").ids.tolist())
    assert "<|start|>functions.first to=assistant<|channel|>commentary<|message|>1<|end|>" in text
    assert "final" not in text.rpartition("user")[2]


# -- masks


def test_the_assistants_text_and_end_token_are_learned():
    messages = [{"role": "system", "content": "S"}, *turns("Hi", "Hello", "Oh", "Yes")]
    chatml = rendering(QWEN, messages, "chatml")
    assert in_short(learned(chatml)) == b"|Hello<|im_end|>|Yes<|im_end|>|"
    llama3 = rendering(LLAMA3, messages, "llama3")
    assert in_short(learned(llama3)) == b"|Hello<|eot_id|>|Yes<|eot_id|>"
    qwen = rendering(QWEN, messages, "qwen")
    assert qwen.ids == chatml.ids
    assert qwen.mask == chatml.mask


def test_qwen_learns_tool_calls_and_not_their_answers():
    shown = in_short(learned(rendering(QWEN, CALLS, "qwen"))).decode()
    assert '<tool_call>\n{"name": "add", "arguments": {"a": 1, "ü": "{"}}\n</tool_call>' in shown
    assert "two" not in shown


def test_gpt_oss_learns_all_that_the_model_writes():
    messages = [*turns("Hi"), {"role": "assistant", "content": PYTHON}]
    shown = in_short(learned(rendering(HARMONY, messages, "gpt-oss"))).decode()
    assert shown == (
        "|<|channel|>commentary<|message|>Let me see.<|end|>"
        "<|start|>assistant to=python<|channel|>analysis code<|message|>print(1)\n<|call|>"
        "|<|channel|>final<|message|>One.<|return|>"
    )


def test_reasoning_is_learned_once_in_the_analysis_channel():
    said = {"role": "assistant", "content": "Hello", "thinking": "Hm.", "reasoning": "Hm."}
    result = rendering(HARMONY, [*turns("Hi"), said], "gpt-oss")
    assert in_short(learned(result)).decode() == (
        "|<|channel|>analysis<|message|>Hm.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Hello<|return|>"
    )
    assert result.left_out == ()


@pytest.mark.parametrize("template", ["chatml", "llama3", "qwen", "nanochat"])
@pytest.mark.parametrize("key", REASONING_KEYS)
def test_reasoning_that_a_template_leaves_out_is_said(template, key):
    messages = [*turns("Hi"), {"role": "assistant", "content": "Hello", key: "Hm."}]
    conversation = Conversation.from_json(messages)
    result = render(QWEN, conversation, template)
    assert result.notes == (f"{template} leaves out a part of the conversation: '{key}'.",)
    assert rendering_to_json(result)["notes"] == list(result.notes)
    findings = [f for f in lint(conversation, result) if f.code == "left-out"]
    assert [(f.message, f.message_index) for f in findings] == [
        (f"message 2: {template} leaves out '{key}'", 1)
    ]


@pytest.mark.parametrize(
    ("template", "values"),
    [("gpt-oss", {"thinking": ["a list"]}), ("chatml", {"thinking": 1, "reasoning": "a"})],
)
def test_what_cannot_be_written_as_reasoning_is_said(template, values):
    messages = [*turns("Hi"), {"role": "assistant", "content": "Hello", **values}]
    result = rendering(QWEN, messages, template)
    assert [aside.key for aside in result.left_out] == list(values)


@pytest.mark.parametrize("template", list(TEMPLATES))
@pytest.mark.parametrize(
    ("key", "value"),
    [("channel", "analysis"), ("recipient", "python"), ("images", ["a.png"]),
     ("audio", {"id": "a"}), ("tool_plan", "Ask.")],
)  # fmt: skip
def test_what_other_programs_keep_in_a_message_is_said_to_be_left_out(template, key, value):
    messages = [*turns("Hi"), {"role": "assistant", "content": "Hello", key: value}]
    assert [aside.key for aside in rendering(QWEN, messages, template).left_out] == [key]


def test_a_picture_beside_the_messages_is_said_to_be_left_out():
    result = rendering(QWEN, turns("Hi", "Hello"), "chatml", image="a.png")
    assert [aside.key for aside in result.left_out] == ["image"]


def test_nothing_is_said_of_the_channel_of_an_answer():
    usual = {"channel": "final", "recipient": "all"}
    messages = [*turns("Hi"), {"role": "assistant", "content": "Hello", **usual}]
    assert rendering(QWEN, messages, "gpt-oss").left_out == ()


def test_nothing_is_said_of_reasoning_that_is_empty():
    said = {"role": "assistant", "content": "Hello", "thinking": "", "reasoning": None}
    assert rendering(QWEN, [*turns("Hi"), said], "chatml").notes == ()


def test_tools_that_a_template_leaves_out_are_said():
    tools = [{"type": "function", "function": {"name": "add"}}]
    messages = turns("Hi", "Hello")
    assert rendering(QWEN, messages, "qwen", tools=tools).left_out == ()
    assert "'tools'" in rendering(QWEN, messages, "chatml", tools=tools).notes[0]


def test_a_token_over_the_border_is_learned_if_any_of_it_is():
    chatml = rendering(QWEN, turns("a", "\n\nb"), "chatml")
    index = chatml.ids.tolist().index(QWEN.encode("\n\n\n")[0])
    assert chatml.token_bytes(index) == b"\n\n\n"
    assert chatml.mask[index] == 1
    assert chatml.from_structure[index] == 1


@pytest.mark.parametrize("name", list(TEMPLATES))
def test_the_tokens_are_the_templates_text(name):
    conversation = Conversation.from_json([*turns("Hi", "Hello", "<|im_end|>", "é")])
    spans = TEMPLATES[name].write(conversation)
    result = render(load("gpt2"), conversation, name)
    text = b"".join(result.token_bytes(i) for i in range(len(result)))
    assert text.decode() == "".join(span.text for span in spans)
    assert all(span.text in TEMPLATES[name].special_tokens for span in spans if span.special)


@pytest.mark.parametrize("name", ["chatml", "llama3", "qwen"])
def test_python_parts_are_refused_where_a_template_has_none(name):
    messages = [*turns("Hi"), {"role": "assistant", "content": PYTHON}]
    with pytest.raises(ConversationError, match="message 2, part 2"):
        rendering(QWEN, messages, name)


def test_a_tool_call_that_is_no_json_is_named():
    part = {"type": "tool_call", "text": "{"}
    messages = [*turns("Hi"), {"role": "assistant", "content": [part]}]
    for name in ("qwen", "gpt-oss"):
        with pytest.raises(ConversationError, match="message 2, part 1: a tool call is JSON"):
            rendering(QWEN, messages, name)


def test_an_unknown_template_gets_a_suggestion():
    with pytest.raises(UnknownTemplateError, match="did you mean chatml"):
        get_template("chatlm")
