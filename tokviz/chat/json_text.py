"""Parsing of users' JSON, with errors that name the line and the column."""

from __future__ import annotations

import json
from typing import Any

from tokviz.chat.messages import ConversationError
from tokviz.storage import json_file
from tokviz.storage.json_file import in_words
from tokviz.text import bytetext

_BOM = b"\xef\xbb\xbf"


def loads(data: bytes | memoryview, first_line: int = 1) -> tuple[Any, bool]:
    """Parse JSON.

    Args:
        data: JSON in UTF-8; invalid bytes become raw bytes of byte text.
        first_line: The line of the file on which the data starts.

    Returns:
        The value, and whether its texts are byte text.

    Raises:
        ConversationError: If it is not JSON; it names the line and the column.
    """
    try:
        text, byte_text = str(data, "utf-8"), False
    except UnicodeDecodeError:
        text, byte_text = bytetext.from_bytes(data), True
    if data[: len(_BOM)] == _BOM:
        text = text[1:]
    try:
        return json_file.loads(text), byte_text
    except json.JSONDecodeError as error:
        line, why = (
            first_line + error.lineno - 1,
            in_words(error) if text.strip() else "it is empty",
        )
        raise ConversationError(
            f"line {line:,}, column {error.colno:,}: this is not JSON: {why}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ConversationError(f"line {first_line:,}: {in_words(error)}") from None
