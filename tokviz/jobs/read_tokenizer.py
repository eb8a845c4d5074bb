"""The job `read_tokenizer`: read a tokenizer's file, whatever it holds, at this process's cost.

The one request is `{"do": "tokenizer", "path": file or folder, "split_pattern": text, list of its
fields, or null}`, or the same with "merges" for a file that holds merges alone.
The answers are one of

- `{"head": object}` and then `{"part": packed}`…: see `tokviz.formats.shipping`; the tables' bytes
  come one behind another, in parts;
- `{"library": reason, "content": object}`: a `tokenizer.json` for Hugging Face's library, without
  its vocabulary and merges;
- `{"refused": [path, reason]}`: what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokviz.child.protocol import Body
from tokviz.errors import InputFileError
from tokviz.formats.files import load_here
from tokviz.formats.huggingface import NeedsLibraryError
from tokviz.formats.merge_files import load_merges
from tokviz.formats.shipping import messages, to_parts
from tokviz.pretokenize.patterns import SplitPattern


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer the request of this job.

    Raises:
        PatternError: If the split pattern is not a valid regex.
    """
    asked = request["split_pattern"]
    pattern = SplitPattern(*asked) if isinstance(asked, list) else asked
    try:
        read = load_merges if request["do"] == "merges" else load_here
        tokenizer = read(request["path"], pattern)
    except NeedsLibraryError as needed:
        yield {"library": needed.reason, "content": needed.content}
        return
    except InputFileError as error:
        yield {"refused": [error.path, error.reason]}
        return
    head, parts = to_parts(tokenizer)
    yield {"head": head}
    yield from messages(parts)
