"""Chat templates in the style of common model families, and tokenizers in their formats."""

# ruff: noqa: E501  The lines of templates are long.

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import processors as post_processors
from tokenizers.trainers import BpeTrainer

SPECIALS = [
    "<s>",
    "</s>",
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "[INST]",
    "[/INST]",
    "<start_of_turn>",
    "<end_of_turn>",
]
ADDED = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
"""Added tokens without the flag `special`."""

TEMPLATES = {
    "chatml, marked": """{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}
{%- else %}{{ m.content }}<|im_end|>{% endif %}
{{- '\\n' }}{% endfor %}""",
    "llama 3": """{{- bos_token }}
{%- for m in messages %}
{{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}""",
    "llama 3, marked": """{{- bos_token }}
{%- for m in messages %}
{{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' }}
{%- if m['role'] == 'assistant' %}{% generation %}{{ m['content'] | trim + '<|eot_id|>' }}{% endgeneration %}
{%- else %}{{ m['content'] | trim + '<|eot_id|>' }}{% endif %}
{%- endfor %}""",
    "gemma": """{{ bos_token }}
{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for m in messages %}
{%- set role = 'model' if m.role == 'assistant' else m.role %}
{{- '<start_of_turn>' + role + '\\n' + m.content | trim + '<end_of_turn>\\n' }}
{%- endfor %}""",
    "mistral": """{{- bos_token }}
{%- if messages[0].role == 'system' %}
{%- set system = messages[0].content %}{% set rest = messages[1:] %}
{%- else %}{% set rest = messages %}{% endif %}
{%- for m in rest %}
{%- if m.role == 'user' %}
{%- if loop.last and system is defined %}{{ '[INST] ' + system + '\\n\\n' + m.content + ' [/INST]' }}
{%- else %}{{ '[INST] ' + m.content + ' [/INST]' }}{% endif %}
{%- elif m.role == 'assistant' %}{% generation %}{{ ' ' + m.content }}{{ eos_token }}{% endgeneration %}
{%- else %}{{ raise_exception('only user and assistant roles') }}{% endif %}
{%- endfor %}""",
    "thinking": """{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}
{%- set content = m.content %}{% set thought = m.reasoning_content or '' %}
{%- if '</think>' in content %}
{%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}
{{- '<|im_start|>assistant\\n' }}{% generation %}
{%- if loop.index0 > ns.last and thought %}{{ '<think>\\n' + thought.strip() + '\\n</think>\\n\\n' }}{% endif %}
{{- content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}
{%- else %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}
{%- endif %}""",
    "tools": """{%- if tools %}{{ '<|im_start|>system\\n# Tools\\n' }}
{%- for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endif %}
{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' %}{% generation %}{{ m.content or '' }}
{%- for call in m.tool_calls or [] %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}{{ '<|im_end|>' }}{% endgeneration %}
{%- else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}
{%- endfor %}""",
    "no special tokens": """{% for m in messages %}{{ m.role | title }}: {{ m.content }}

{% endfor %}""",
    "miscounted": """{% for m in messages %}{% set text %}{% if m.role == 'assistant' %}{% generation %}
{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}{% endset %}
<|im_start|>{{ m.role }}
{{ text }}
{% endfor %}""",
}

_CORPUS = ["Hello world, hello tokens. It is 42. " * 40, "größe 你好 été naïve\n\n  x = y\n" * 20]
_WORDS = ["Hello", " world", "\n", "  ", "42", "é", "你好", "e\u0301", "x = y", *SPECIALS[:5], "<s"]
_WORDS += ["<think>", "</think>\n", "{{", "\t", "\u00a0", "🙂", "ſ", ""]


def byte_level(*, nfc: bool = False, trim_offsets: bool = False) -> Tokenizer:
    """Train a byte-level BPE tokenizer, as of GPT-2, Llama 3 and Qwen."""
    made = Tokenizer(models.BPE())
    if nfc:
        made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = post_processors.ByteLevel(trim_offsets=trim_offsets)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return _trained(made, BpeTrainer(vocab_size=400, initial_alphabet=alphabet))


def sentencepiece_like() -> Tokenizer:
    """Train a BPE tokenizer in the style of SentencePiece, as of Llama 2 and Gemma."""
    made = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    made.normalizer = normalizers.Replace(Regex(" "), "▁")
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    return _trained(made, BpeTrainer(vocab_size=500, special_tokens=["<unk>", *pieces]))


def _trained(made: Tokenizer, trainer: BpeTrainer) -> Tokenizer:
    made.train_from_iterator(_CORPUS, trainer)
    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIALS])
    made.add_tokens([AddedToken(text, special=False, normalized=False) for text in ADDED])
    return made


def write_model(folder: Path, tokenizer: Tokenizer, template: str) -> None:
    """Write the files of a model's tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "chat_template.jinja").write_text(template)


def random_conversation(generator: random.Random) -> dict[str, Any]:
    """Generate a conversation with special tokens, reasoning and tools in places."""

    def text() -> str:
        return "".join(generator.choices(_WORDS, k=generator.randrange(7)))

    messages: list[dict[str, Any]] = []
    if generator.random() < 0.3:
        messages.append({"role": "system", "content": text()})
    for _ in range(generator.randint(1, 3)):
        messages.append({"role": "user", "content": text()})
        answer: dict[str, Any] = {"role": "assistant", "content": text()}
        kind = generator.random()
        if kind < 0.2:
            key = generator.choice(["reasoning_content", "thinking", "reasoning"])
            answer[key] = text()
        elif kind < 0.4:
            function = {"name": "add", "arguments": {"a": text(), "b": [1, None]}}
            call = {"type": "function", "function": function, "id": "abcdefghi"}
            keys = generator.choice([["type", "function"], ["id", "type", "function"], [*call]])
            answer["tool_calls"] = [{key: call[key] for key in keys}]
            if generator.random() < 0.3:
                answer["content"] = [{"type": "text", "text": answer["content"]}]
            messages += [answer, {"role": "tool", "content": text()}]
            answer = {"role": "assistant", "content": text()}
        elif kind < 0.5:
            answer["tool_calls"] = generator.choice([[], None])
        messages.append(answer)
    found: dict[str, Any] = {"messages": messages}
    if generator.random() < 0.4:
        tool = {"name": "add", "description": text(), "parameters": {"type": "object"}}
        found["tools"] = [{"type": "function", "function": tool}]
    return found
