r"""Export of a list of tokens with exact bytes, as CSV, JSON Lines or text.

| kind | a token |
|---|---|
| `.csv` | `id,text,bytes,length,characters,script,special`; the bytes in hexadecimal |
| `.jsonl` | `{"id", "text", "bytes", "length", "characters", "script", "special"}` |
| `.txt` | its id, a tab, and its text with `\\`, `\n`, `\t`, `\r` and `\xNN` for other bytes |

The text in CSV and JSON is for people: bytes that are not valid UTF-8 become U+FFFD.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Literal

from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.explain.vocabulary.scripts import SCRIPTS
from tokviz.text import bytetext

ExportKind = Literal["csv", "jsonl", "txt"]
EXPORT_KINDS: tuple[ExportKind, ...] = ("csv", "jsonl", "txt")
_FIELDS = ("id", "text", "bytes", "length", "characters", "script", "special")
_NO_TEXT = (*range(0x20), 0x7F, *range(0xDC80, 0xDD00))
_ESCAPES = {code: f"\\x{code & 0xFF:02x}" for code in _NO_TEXT} | str.maketrans(
    {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
)


def export(index: VocabularyIndex, rows: Iterable[int], kind: ExportKind) -> bytes:
    """Export tokens, given by row, in the given order."""
    if kind == "txt":
        lines = (f"{index.ids[row]}\t{escaped(index.tokens[row])}\n" for row in rows)
        return "".join(lines).encode()
    if kind == "jsonl":
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in _records(index, rows))
        return "".join(lines).encode()
    buffer = io.StringIO(newline="")
    # The csv module quotes a lone CR only if the line terminator contains it.
    writer = csv.DictWriter(buffer, _FIELDS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(_records(index, rows))
    return buffer.getvalue().encode()


def _records(index: VocabularyIndex, rows: Iterable[int]) -> Iterator[dict[str, object]]:
    for row in rows:
        token = index.tokens[row]
        yield {
            "id": int(index.ids[row]),
            "text": token.decode("utf-8", "replace"),
            "bytes": token.hex(),
            "length": len(token),
            "characters": int(index.n_chars[row]),
            "script": SCRIPTS[index.scripts[row]],
            "special": bool(index.special[row]),
        }


def escaped(token: bytes) -> str:
    r"""Escape a token as one line of text, from which its bytes can be restored.

    >>> escaped(b" a\n\xe4")
    ' a\\n\\xe4'
    """
    return bytetext.from_bytes(token).translate(_ESCAPES)
