"""The job `read_tokenizer`: read an untrusted tokenizer file within the limits of this process.

The one request is `{"kind": text, "path": text, "other": text or null, "name": text,
"split_pattern": text, list of its fields, or null}`: the fields of
`tokviz.formats.recognize.RecognizedFile`, and the other arguments of `tokviz.formats.files.read`.
The answers are one of

- `{"head": object}` and then `{"part": packed}`…: see `tokviz.formats.tokenizer_ipc`; the bytes of
  the tables come one after another, in parts;
- `{"library": [path, content, reason]}`: the fields of `tokviz.formats.hf_native.NeedsLibrary`;
- `{"refused": [path, reason]}`: what is wrong with the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokviz.errors import InputFileError
from tokviz.formats.files import read
from tokviz.formats.hf_native import NeedsLibrary
from tokviz.formats.recognize import RecognizedFile
from tokviz.formats.tokenizer_ipc import messages, to_parts
from tokviz.process.protocol import Body
from tokviz.tokenizer.pretokenize.patterns import SplitPattern


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer the request of this job.

    Raises:
        PatternError: If the split pattern is not a valid regex.
    """
    asked, other = request["split_pattern"], request["other"]
    pattern = SplitPattern(*asked) if isinstance(asked, list) else asked
    found = RecognizedFile(
        request["kind"], Path(request["path"]), None if other is None else Path(other)
    )
    try:
        tokenizer = read(found, pattern, request["name"])
    except InputFileError as error:
        yield {"refused": [error.path, error.reason]}
        return
    if isinstance(tokenizer, NeedsLibrary):
        path, content, reason = tokenizer
        yield {"library": [os.fspath(path), content, reason]}
        return
    head, parts = to_parts(tokenizer)
    yield {"head": head}
    yield from messages(parts)
