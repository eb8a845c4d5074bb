"""The job `foreign_tokenizer`: a `tokenizer.json` in Hugging Face's own library.

The child reads the file itself, so that a hostile one costs the child's memory only. Requests:

- `{"do": "load", "path": file, "sha256": hex, "vocabulary": bool}`: answers
  `{"version": text, "specials": [[text, id]…]}` and, if asked for the vocabulary, as many
  `{"texts": [text…], "ids": packed}` as it takes.
- `{"do": "encode", "text": text, "specials": bool}`: answers `{"ids": packed, "starts": packed,
  "ends": packed, "words": packed}`: for each token its id, the characters it comes from, and the
  number of its word (pre-token), `NO_WORD` if it has none.
- `{"do": "decode", "ids": packed}`: answers `{"text": text}`.

Padding, truncation, dropout and the post-processor are taken out before the library sees the file:
the tokens of a text are asked for, not what a model is fed.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tokviz.child.protocol import Body, pack_numbers, unpack_numbers
from tokviz.errors import JobError
from tokviz.files import read_file
from tokviz.formats.library import NO_WORD
from tokviz.json_file import MAX_JSON_BYTES, parse_json

_SLICE = 20_000


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer one request of this job.

    Raises:
        JobError: If the library does not take the file, or fails on a text.
    """
    match request["do"]:
        case "load":
            state["tokenizer"] = _load(request["path"], request["sha256"])
            yield from _facts(state["tokenizer"], with_vocabulary=request["vocabulary"])
        case "encode":
            yield _encode(state["tokenizer"], request["text"], request["specials"])
        case "decode":
            ids = unpack_numbers(request["ids"]).tolist()
            yield {"text": state["tokenizer"].decode(ids, skip_special_tokens=False)}
        case unknown:
            raise JobError(f"the foreign_tokenizer job has no request {unknown!r}")


def _load(path: str, checksum: str) -> Any:
    # Its threads would each ask for memory that counts, and one text gives them nothing to do.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        import tokenizers
    except ImportError:
        raise JobError("Hugging Face's library is missing: pip install tokenizers") from None
    data = read_file(path, limit=MAX_JSON_BYTES)
    if hashlib.sha256(data).hexdigest() != checksum:
        raise JobError("the file has changed since it was loaded: load it again")
    content = parse_json(data, path)
    del data
    if not isinstance(content, dict):
        raise JobError("the file holds no JSON object")
    for key in ("padding", "truncation", "post_processor"):
        content[key] = None
    model = content.get("model")
    if isinstance(model, dict) and model.get("dropout"):
        model["dropout"] = None
    text = json.dumps(content, ensure_ascii=False)
    del content
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing more precise
        raise JobError(f"Hugging Face's library does not take it: {str(error)[:300]}") from None


def _facts(tokenizer: Any, *, with_vocabulary: bool) -> Iterator[Body]:
    import tokenizers

    added = tokenizer.get_added_tokens_decoder()
    yield {
        "version": tokenizers.__version__,
        "specials": [[token.content, token_id] for token_id, token in sorted(added.items())],
    }
    if not with_vocabulary:
        return
    entries = iter(tokenizer.get_vocab(with_added_tokens=True).items())
    while part := list(islice(entries, _SLICE)):
        ids = array("I", [token_id for _, token_id in part])
        yield {"texts": [text for text, _ in part], "ids": pack_numbers(ids)}


def _encode(tokenizer: Any, text: str, parse_specials: bool) -> Body:
    tokenizer.encode_special_tokens = not parse_specials
    try:
        encoding = tokenizer.encode(text, add_special_tokens=False)
    except Exception as error:  # the library raises nothing more precise
        raise JobError(f"Hugging Face's library cannot encode this text: {error}") from None
    words = [NO_WORD if word is None else word for word in encoding.word_ids]
    return {
        "ids": pack_numbers(array("I", encoding.ids)),
        "starts": pack_numbers(array("I", [start for start, _ in encoding.offsets])),
        "ends": pack_numbers(array("I", [end for _, end in encoding.offsets])),
        "words": pack_numbers(array("I", words)),
    }
