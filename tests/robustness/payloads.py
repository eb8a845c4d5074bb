"""Payloads that an attacker might send to a terminal, and the check that none of them arrives.

The check is independent of `tokviz.text.glyphs`: the sequences that the programs themselves write
are removed from the output, and the rest must not contain control or invisible characters. Payloads
that resemble tokviz's own sequences have numbers that tokviz does not use.
"""

from __future__ import annotations

import re

from tests.text.test_glyphs import is_forbidden

_CSI = (
    *("931m", "5;947m", "2J", "3J", "999;998H", "999A", "6n", "c", ">c", "=c", "!p", "5i", "4i"),
    *("21t", "8;999;999t", "1;999r", "999b", "20h", "s", "u", ">4;2m", ">1u", "<u", "?1049l"),
    *("?1000h", "?2004l", "?25h", "?5h", "?7l", "?2026h", "?69h"),
)
_OSC = (
    *("0;owned\x07", "2;owned\x1b\\", "0;never ended", "4;1;?\x07", "10;?\x07", "11;#ff0000\x07"),
    *("7;file://h/\x07", "8;;http://h.example\x1b\\x\x1b]8;;\x1b\\", "8;;file:///etc\x07x"),
    *("9;owned\x07", "50;font\x07", "52;c;b3duZWQ=\x07", "52;p;?\x07", "99;;owned\x1b\\"),
    *("133;A\x07", "777;notify;a;b\x07", "1337;File=inline=1:AAAA\x07"),
)
_OTHER = (
    *("\x1bP$qm\x1b\\", "\x1bPq#0;2;0;0;0~\x1b\\", "\x1bP+q544e\x1b\\", "\x1bPnever ended"),
    *("\x1b_Gi=1,a=T;AAAA\x1b\\", "\x1b^owned\x1b\\", "\x1bXowned\x1b\\", "\x1bktitle\x1b\\"),
    *("\x1bc", "\x1b#8", "\x1b(0", "\x1b7", "\x1b8", "\x1bM", "\x1b=", "\x1b\x1b[931m", "\x1b"),
    *("\x07", "\x08\x08\x08", "\x0b", "\x0c", "\x0e", "\x05", "\x7f", "a\rb", "\x1a"),
)
_C1 = ("\x9b931m", "\x9d0;owned\x9c", "\x90q\x9c", "\x9f_\x9c", "\x9eowned\x9c", "\x85", "\x84")
_RAW_C1 = tuple(chr(0xDC00 + byte) + "931m" for byte in (0x9B, 0x9D, 0x90, 0x9F))
_INVISIBLE = (
    *("\u202etxt.exe\u202c", "\u2066x\u2069", "\u200fx", "\u200b", "\ufeff", "\u2028", "\u00ad"),
    *("\U000e0041\U000e0042\U000e007f", "\ufe0f", "\u3164"),
)
PAYLOADS = (
    *("\x1b[" + end for end in _CSI),
    *("\x1b]" + end for end in _OSC),
    *_OTHER,
    *_C1,
    *_RAW_C1,
    *_INVISIBLE,
)
"""Byte text; U+DC80 to U+DCFF are raw bytes."""

_OWN = re.compile(
    r"\x1b\[(?:\d{1,3}(?:[;:]\d{0,3})*)?m|\x1b\[(\d+);(\d+)H|\x1b\[K|\r?\n|\r(?=[^\r])"
)


def _take_out(size: tuple[int, int]) -> object:
    def replace(found: re.Match[str]) -> str:
        if found[1] is not None:
            inside = int(found[1]) <= size[1] and int(found[2]) <= size[0]
        else:
            inside = all(int(number) < 256 for number in re.findall(r"\d+", found[0]))
        return "" if inside else found[0]

    return replace


def leaks(output: str, payload: str, size: tuple[int, int] = (1000, 300)) -> list[str]:
    """Find leaks in the output to a terminal.

    Args:
        output: The output to the terminal, as byte text.
        payload: The payload.
        size: The columns and rows of the terminal.

    Returns:
        The context of each leak.
    """
    # A single character may be the start of one of our own sequences.
    is_told = len(payload) > 1 and any(map(is_forbidden, payload))
    bad = [output.find(payload)] if is_told and payload in output else []
    rest = _OWN.sub(_take_out(size), output)  # type: ignore[call-overload]
    found = [output[max(0, at - 40) : at + 60] for at in bad]
    if forbidden := list(filter(is_forbidden, set(rest))):
        at = min(map(rest.index, forbidden))
        found.append(rest[max(0, at - 40) : at + 60])
    return found
