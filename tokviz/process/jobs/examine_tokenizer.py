"""The job `examine_tokenizer`: examinations that create Python objects of all tokens.

In the app itself, such a peak would leave its memory fragmented; see
`tokviz.tokenizer.encoding.byte_rows`.

The requests are `{"head": object}` and `{"part": packed}`…, which contain a tokenizer (see
`tokviz.formats.tokenizer_ipc`), and then one of

- `{"do": "losses"}`, answered for each format with `{"format": name, "lost": [sentence…]}`, or with
  `{"format": name, "error": text}` if the format cannot represent the tokenizer;
- `{"do": "check"}`, answered with `{"report": list}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokviz.errors import TokvizError
from tokviz.formats.save import FORMATS, what_is_lost
from tokviz.formats.tokenizer_ipc import from_parts, received
from tokviz.formats.validate import validate
from tokviz.process.protocol import Body
from tokviz.tokenizer.tokenizer import Tokenizer


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer a request of this job."""
    if "do" not in request:
        state.setdefault("sent", []).append(request)
        return
    first, *tables = state.pop("sent")
    tokenizer = from_parts(first["head"], received(first["head"]["sizes"], tables))
    if request["do"] == "check":
        yield {"report": validate(tokenizer)}
    else:
        yield from _losses(tokenizer)


def _losses(tokenizer: Tokenizer) -> Iterator[Body]:
    for name in FORMATS:
        try:
            yield {"format": name, "lost": what_is_lost(tokenizer, name)}
        except TokvizError as error:
            yield {"format": name, "error": str(error)}
