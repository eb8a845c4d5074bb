"""A validator for the part of JSON Schema (draft 2020-12) that tokviz uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TYPES: dict[str, type | tuple[type, ...]] = {
    "null": type(None), "boolean": bool, "integer": int, "number": (int, float),
    "string": str, "array": list, "object": dict,
}  # fmt: skip
KEYWORDS = {
    "$schema", "$ref", "$defs", "title", "description", "default", "type", "enum", "anyOf",
    "items", "prefixItems", "properties", "required", "additionalProperties",
}  # fmt: skip


class Validator:
    """Checks values against a schema, by which keys that it does not mention are wrong."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema

    def problems(self, value: Any) -> list[str]:
        """List the problems of a value, each with its place."""
        return list(self._problems(value, self._root, "$"))

    def _problems(self, value: Any, schema: Any, at: str) -> Iterator[str]:
        if isinstance(schema, bool):
            yield from [] if schema else [f"{at} is not allowed"]
            return
        assert schema.keys() <= KEYWORDS, schema.keys() - KEYWORDS
        if "$ref" in schema:
            target: Any = self._root
            for key in schema["$ref"].removeprefix("#/").split("/"):
                target = target[key]
            yield from self._problems(value, target, at)
        if not any(has_type(value, name) for name in names_of(schema)):
            yield f"{at} is {value!r:.60}, not {schema['type']}"
            return
        if value not in schema.get("enum", [value]):
            yield f"{at} is {value!r:.60}, not one of {schema['enum']}"
        choices = [list(self._problems(value, one, at)) for one in schema.get("anyOf", ())]
        if choices and all(choices):
            yield from min(choices, key=len)
        if isinstance(value, list):
            first, others = schema.get("prefixItems", []), schema.get("items", True)
            for number, item in enumerate(value):
                own = first[number] if number < len(first) else others
                yield from self._problems(item, own, f"{at}[{number}]")
        if isinstance(value, dict):
            lacking = [key for key in schema.get("required", ()) if key not in value]
            yield from (f"{at} lacks {key!r}" for key in lacking)
            known = schema.get("properties", {})
            others = schema.get("additionalProperties", not known)
            for key, item in value.items():
                yield from self._problems(item, known.get(key, others), f"{at}.{key}")


def names_of(schema: dict[str, Any]) -> list[str]:
    """Return the names of the types that a schema allows."""
    types = schema.get("type", [*TYPES])
    return [types] if isinstance(types, str) else types


def has_type(value: Any, name: str) -> bool:
    """Return whether a value has a type of JSON; true and false are not numbers."""
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
