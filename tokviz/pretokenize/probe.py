r"""Make the table of tiktoken's character classes: `python -m tokviz.pretokenize.probe`.

Make that of the scanners from it then: `python -m tokviz.pretokenize.scan_table`.

tiktoken keeps only what its split pattern matches, so an encoder of single bytes with the pattern
`\p{L}` returns exactly the letters among all code points.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby

from tokviz.assets import asset_path
from tokviz.pretokenize.unicode_classes import CLASSES, N_CODE_POINTS, TABLE


@cache
def code_points_of(class_name: str) -> list[int]:
    """List the code points that tiktoken puts into a Unicode class, ascending."""
    import tiktoken

    encoding = tiktoken.Encoding(
        "probe",
        pat_str=rf"\p{{{class_name}}}",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={},
    )
    everything = "".join(chr(code) for code in range(N_CODE_POINTS) if not 0xD800 <= code <= 0xDFFF)
    return [ord(char) for char in bytes(encoding.encode_ordinary(everything)).decode()]


def _ranges(codes: list[int]) -> Iterator[tuple[int, int]]:
    for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
        members = [code for _, code in run]
        yield members[0], members[-1]


def render_table() -> str:
    """Render the table: a line `first-last class` for every run of code points, in hex."""
    rows = [
        (first, last, name) for name in CLASSES for first, last in _ranges(code_points_of(name))
    ]
    lines = [
        f"{first:X} {name}" if first == last else f"{first:X}-{last:X} {name}"
        for first, last, name in sorted(rows)
    ]
    head = "# Character classes as tiktoken sees them: python -m tokviz.pretokenize.probe"
    return "\n".join([head, *lines, ""])


if __name__ == "__main__":
    path = asset_path(TABLE)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_table(), "ascii")
