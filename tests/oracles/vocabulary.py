"""Searching a vocabulary token by token."""

from __future__ import annotations

import re

from tokviz.explain.vocabulary.query import (
    FlagTerm,
    RangeTerm,
    RegexTerm,
    ScriptTerm,
    Term,
    TextTerm,
)


def holds(term: Term, token_id: int, token: bytes, script: int, special: bool) -> bool:
    """Return whether a token matches a term, except terms about reachability or a text."""
    return _holds(term, token_id, token, script, special) != term.negated


def _holds(term: Term, token_id: int, token: bytes, script: int, special: bool) -> bool:
    text = token.decode("utf-8", "surrogateescape")
    match term:
        case TextTerm(data, folded, at_start, at_end):
            where = text.casefold().encode("utf-8", "surrogateescape") if folded else token
            if at_start and at_end:
                return where == data
            if at_start:
                return where.startswith(data)
            return where.endswith(data) if at_end else data in where
        case RegexTerm(pattern, ignore_case):
            return re.search(pattern, text, re.IGNORECASE if ignore_case else 0) is not None
        case RangeTerm(what, low, high):
            return low <= {"id": token_id, "len": len(token), "chars": len(text)}[what] <= high
        case ScriptTerm(scripts):
            return script in scripts
        case FlagTerm("partial"):
            return any("\udc80" <= char <= "\udcff" for char in text)
        case FlagTerm("special"):
            return special
    raise NotImplementedError(term)
