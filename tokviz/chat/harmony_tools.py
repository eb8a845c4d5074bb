"""Function tools as gpt-oss reads them: TypeScript types made of JSON schemas.

Source: `template_tools_section` and `json_schema_to_typescript` in openai/harmony
`src/encoding.rs`; every newline and comment is the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tokviz.chat.messages import ConversationError

_TYPES = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}
_COMPACT: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}


def tools_section(tools: object) -> str:
    r"""Write the part of the developer's message that declares the functions.

    Args:
        tools: The `tools` of a conversation in OpenAI's shape: a list of functions, each by itself
            or under the key `function`.

    Raises:
        ConversationError: If a tool is not a function with a name; it names the tool, from 1.

    >>> print(tools_section([{"type": "function", "function": {"name": "now"}}]))
    # Tools
    <BLANKLINE>
    ## functions
    <BLANKLINE>
    namespace functions {
    <BLANKLINE>
    type now = () => any;
    <BLANKLINE>
    } // namespace functions
    """
    if not isinstance(tools, list):
        raise ConversationError("must be a list of functions", key="tools")
    lines = ["# Tools\n", "## functions\n", "namespace functions {\n"]
    for number, tool in enumerate(tools, 1):
        function = _fields(_fields(tool).get("function", tool))
        name, description = function.get("name"), function.get("description")
        if not isinstance(name, str):
            raise ConversationError(f"tool {number} is not a function with a 'name'", key="tools")
        if isinstance(description, str):
            lines += [f"// {line}" for line in _lines(description)]
        parameters = function.get("parameters")
        try:
            taken = "" if parameters is None else f"_: {_type_of(parameters, '')}"
        except RecursionError:
            raise ConversationError(f"tool {number} nests too deeply", key="tools") from None
        lines.append(f"type {name} = ({taken}) => any;\n")
    return "\n".join([*lines, "} // namespace functions"])


def _type_of(value: object, indent: str) -> str:
    schema = _fields(value)
    variants, kind = schema.get("oneOf"), schema.get("type")
    if isinstance(variants, list):
        return "".join(
            f"\n{indent} | {_variant(variant, indent)}"
            + _trailing([*_described(variant), *_default(variant, bare_enum=False)])
            for variant in variants
        )
    if isinstance(kind, list):
        names = [{"integer": "number"}.get(name, name) for name in kind if isinstance(name, str)]
        return " | ".join(names) or "any"
    if kind == "object":
        return _object(schema, indent)
    if kind == "array":
        return f"{_type_of(schema['items'], indent)}[]" if "items" in schema else "Array<any>"
    if kind == "string" and isinstance(schema.get("enum"), list):
        named = [f'"{name}"' for name in schema["enum"] if isinstance(name, str)]
        return " | ".join(named) or "string"
    return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _object(schema: Mapping[str, Any], indent: str) -> str:
    written = "".join(f"{indent}// {text}\n" for text in _described(schema)) + "{\n"
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    for key, value in _fields(schema.get("properties")).items():
        mark = "" if key in required else "?"
        written += _property(f"{key}{mark}:", _fields(value), value, indent)
    return f"{written}{indent}}}"


def _property(name: str, schema: Mapping[str, Any], value: object, indent: str) -> str:
    """Write a property with its comments; the schema is empty if the value is not an object."""
    title, examples, variants = (schema.get(key) for key in ("title", "examples", "oneOf"))
    comments: list[str] = []
    if isinstance(title, str):
        comments += [f"{indent}// {title}\n", f"{indent}//\n"]
    if "oneOf" not in schema:
        comments += [f"{indent}// {text}\n" for text in _described(schema)]
    if isinstance(examples, list) and examples:
        comments.append(f"{indent}// Examples:\n")
        comments += [f'{indent}// - "{text}"\n' for text in examples if isinstance(text, str)]
    if isinstance(variants, list):
        return "".join(comments) + _union(name, schema, variants, indent)
    default = _default(schema, bare_enum=True) if "oneOf" not in schema else []
    written = f"{indent}{name} {_variant(value, indent, 4)},{_trailing(default)}\n"
    return "".join(comments) + written


def _union(name: str, schema: Mapping[str, Any], variants: list[Any], indent: str) -> str:
    """Write a property of several types, one per line, without repeating a description."""
    about = _described(schema)
    above = [] if variants and about == _described(variants[0]) else about
    comments = [*above, *_default(schema, bare_enum=True)]
    written = "".join(f"{indent}// {text}\n" for text in comments) + f"{indent}{name}\n"
    for number, variant in enumerate(variants):
        described = _described(variant)
        beside = [] if described == about or (number == 0 and above) else described
        beside += _default(variant, bare_enum=True)
        written += f"{indent} | {_variant(variant, indent)}{_trailing(beside)}\n"
    return f"{written}{indent},\n"


def _variant(value: object, indent: str, deeper: int = 3) -> str:
    """Write a type, with `| null` if it is nullable."""
    written = _type_of(value, indent + " " * deeper)
    is_nullable = _fields(value).get("nullable") is True and "null" not in written
    return f"{written} | null" if is_nullable else written


def _default(value: object, *, bare_enum: bool) -> list[str]:
    """Return a comment with the default; `bare_enum` leaves an enumeration's unquoted."""
    schema = _fields(value)
    if "default" not in schema:
        return []
    default = schema["default"]
    if isinstance(default, str):
        is_bare = bare_enum and isinstance(schema.get("enum"), list) and schema["enum"]
        return [f"default: {default}" if is_bare else f'default: "{default}"']
    is_float = isinstance(default, float)
    dumped = _number(default) if is_float else json.dumps(default, **_COMPACT)
    return [f"default: {dumped}"]


def _number(value: float) -> str:
    """Write a number as Rust does: `1e-05` is 0.00001, `1e-06` is 1e-6, and `1e+16` is 1e16."""
    mantissa, _, exponent = repr(value).partition("e")
    if exponent == "-05":
        return f"{value:.{len(mantissa.replace('.', '').lstrip('-')) + 4}f}"
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def _described(value: object) -> list[str]:
    description = _fields(value).get("description")
    return [description] if isinstance(description, str) else []


def _trailing(comments: list[str]) -> str:
    return f" // {' '.join(comments)}" if comments else ""


def _fields(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]
