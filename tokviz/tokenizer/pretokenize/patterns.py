r"""The named split patterns, as data.

| name | regex | source |
|---|---|---|
| `gpt2` | `'s\|'t\|'re\|'ve\|'m\|'ll\|'d\| ?\p{L}+\| ?\p{N}+\| ?[^\s\p{L}\p{N}]+\|\s+(?!\S)\|\s+` | openai/gpt-2 `src/encoder.py` |
| `gpt4` | `(?i:'s\|'t\|'re\|'ve\|'m\|'ll\|'d)\|[^\r\n\p{L}\p{N}]?\p{L}+\|\p{N}{1,3}\| ?[^\s\p{L}\p{N}]+[\r\n]*\|\s*[\r\n]+\|\s+(?!\S)\|\s+` | openai/tiktoken `tiktoken_ext/openai_public.py`, `cl100k_base` in its first form |
| `gpt4o` | see `_GPT4O` below | the same file, `o200k_base` |
| `llama3` | the same text as `gpt4` | meta-llama/llama3 `llama/tokenizer.py` |
| `qwen2` | `gpt4` with `\p{N}` for `\p{N}{1,3}` | Qwen2 `tokenizer.json` |
| `deepseek3` | three in sequence, see `_DEEPSEEK3` below | DeepSeek-V3 `tokenizer.json` |
| `nanochat` | `gpt4` with `\p{N}{1,2}` for `\p{N}{1,3}` | karpathy/nanochat `nanochat/tokenizer.py` |
| `cs336` | `'(?:[sdmt]\|ll\|ve\|re)\| ?\p{L}+\| ?\p{N}+\| ?[^\s\p{L}\p{N}]+\|\s+(?!\S)\|\s+` | Stanford CS336 assignment 1, after tiktoken's `r50k_base` |
| `whitespace` | `\S+\|\s+` | Sennrich et al. 2016 (words between white space); here lossless: the white space is a pre-token too |
| `none` | `[\s\S]+` | the whole text is one pre-token |

To add a pattern, add one entry to `SPLIT_PATTERNS`.
"""  # noqa: E501

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import PatternError

if TYPE_CHECKING:
    from regex import Pattern


CUT_CONTEXT = 2
"""How many characters on either side of a cut a `SplitPattern.safe_cut` may look at."""


class SplitPattern(NamedTuple):
    r"""A regex that cuts text into pre-tokens (pre-tokens); no merge crosses a pre-token boundary.

    Attributes:
        name: The registered name, or "custom".
        regex: The regex in the syntax of the `regex` package.
        source: Where the regex comes from.
        safe_cut: A regex that matches (with no width) between two characters that alone force a
            pre-token boundary there, whatever stands elsewhere in the text; None if no such rule is
            known. It may look at most two characters back and one ahead.
        gapless: True if the regex is known to match every text without gaps. It then captures no
            group.
        unicode_of_tiktoken: True if its character classes follow tiktoken's Unicode version;
            a custom regex follows the `regex` package's.
        guarded: True if nobody knows what the regex does to a text: it then runs in a child process
            only, with a limit to every step (see `tokviz.tokenizer.pretokenize.guard`). So it is
            with every regex from a file, the command line or the app. Those of this package, and
            one that a Python program gives to its own `Tokenizer` or `train`, run where they are.
        title: What to call it in no more than 8 columns, where that is not its name.
        about: A sentence on what is special about it.
        steps: The regexes as they were published, where each of several cuts what the one before
            has cut and `regex` does the same in one go.
    """

    name: str
    regex: str
    source: str
    safe_cut: str | None = None
    gapless: bool = False
    unicode_of_tiktoken: bool = False
    guarded: bool = False
    title: str = ""
    about: str = ""
    steps: tuple[str, ...] = ()

    def compile(self) -> Pattern[str]:
        """Compile the regex, once for every text.

        Raises:
            PatternError: If it is no valid regex.
        """
        return compiled_regex(self.regex)


_MOST_MATCHED = 1 << 20
"""Characters that are passed over at a time: no other thread runs meanwhile."""


def first_cut(safe_cut: str, text: str, start: int, end: int) -> int | None:
    """Find the first place from `start` on and before `end` where a safe cut matches."""
    cut = compiled_cut(safe_cut)
    if safe_cut not in _CUTS:
        found = cut.search(text, start, end + CUT_CONTEXT)
        return found.start() if found is not None and found.start() < end else None
    runs, at = compiled_cut(_UNCUT), start
    while at < end and cut.match(text, at) is None:
        run = runs.match(text, at, min(end, at + _MOST_MATCHED))
        at = at + 1 if run is None else run.end()
    return at if at < end else None


@lru_cache(maxsize=32)
def compiled_cut(safe_cut: str) -> re.Pattern[str]:
    """Compile a safe cut when it is first needed: that takes longer than searching short text."""
    return re.compile(safe_cut)


@lru_cache(maxsize=64)
def compiled_regex(text: str, flags: int = 0) -> Pattern[str]:
    """Compile a regex that matches from left to right, here and now.

    Raises:
        PatternError: If it is no such regex.
    """
    import regex

    try:
        compiled = regex.compile(text, flags)
    except regex.error as error:
        raise PatternError(
            text, getattr(error, "msg", str(error)), getattr(error, "pos", None)
        ) from None
    except (RecursionError, OverflowError, ValueError) as error:
        raise PatternError(text, str(error) or type(error).__name__) from None
    regex.purge()  # the library would keep 500 more of them, of 10 KB and more each
    reason, position = why_not_forward(compiled)
    if reason:
        raise PatternError(text, reason, position)
    return compiled


_MOVED_START = re.compile(r"(?<!\\)(?:\\\\)*(?=\\K)")


def why_not_forward(pattern: Pattern[str]) -> tuple[str, int | None]:
    r"""Say why a regex does not match from left to right, each match behind the one before.

    `(?r)` searches from the end. `\K` moves the start of a match; in a lookaround it moves it
    behind the match's end, and the search finds the same place for ever.

    Returns:
        The reason, empty if it does, and the character offset in the regex if known.
    """
    import regex

    if pattern.flags & regex.REVERSE:
        return "(?r) matches from right to left, text is read from left to right", None
    moved = _MOVED_START.search(pattern.pattern)
    if moved:
        return r"use a lookbehind instead of \K, which moves the start of a match,", moved.end()
    return "", None


_GPT2 = (
    r"'s|'t|'re|'ve|'m|'ll|'d"
    r"| ?\p{L}+"
    r"| ?\p{N}+"
    r"| ?[^\s\p{L}\p{N}]+"
    r"|\s+(?!\S)"
    r"|\s+"
)
_CS336 = _GPT2.replace("'s|'t|'re|'ve|'m|'ll|'d", "'(?:[sdmt]|ll|ve|re)")
_GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    r"|[^\r\n\p{L}\p{N}]?\p{L}+"
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)
_GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)
_DEEPSEEK3 = (
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+",
)
CHINESE_OR_JAPANESE = r"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]"
"""What a step of DeepSeek's takes for that."""
# What is Chinese or Japanese and what is not share no pre-token; the last alternatives on either
# side take what the third step leaves over.
_DEEPSEEK3_IN_ONE = (
    r"\p{N}{1,3}"
    r"|(?:(?=@)[^\p{L}\p{P}\p{S}])?(?:(?=@)[\p{L}\p{M}])+"
    r"|(?:(?=@)[\p{P}\p{S}])+"
    r"|(?:(?=@)[^\p{L}\p{M}\p{P}\p{S}])+(?!(?=@)[\p{L}\p{M}])"
    r"""|[!"#$%&'()*+,\-./:;<=>?\x40\[\\\]^_`{|}~][A-Za-z]+"""
    r"|(?:(?!@)[^\r\n\p{L}\p{N}\p{P}\p{S}])?(?:(?!@)[\p{L}\p{M}])+"
    r"| ?(?:(?!@)[\p{P}\p{S}])+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!(?!@)[^\s\p{N}])"
    r"|\s+"
    r"|(?:(?!@)[^\s\p{L}\p{M}\p{N}\p{P}\p{S}])+(?!(?!@)[\p{L}\p{M}])"
).replace("@", CHINESE_OR_JAPANESE)

# Characters whose class no Unicode version has ever changed.
_LETTERS = "A-Za-z\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_VISIBLE = _LETTERS + "!-@[-`{-~"
_PUNCTUATION = r"!-/:-@\[-`{-~"
_CUT_GPT = (
    # Never matches where the rest would, but says so in a fifth of the time: long words, long
    # rules and long white space hold no cut.
    rf"(?<! |[{_LETTERS}](?=[{_LETTERS}])|[{_PUNCTUATION}](?=[{_PUNCTUATION}])|[0-9](?=[0-9]))"
    "(?:"
    # A space goes with what follows it, never with a visible character before it.
    rf"(?<=[{_VISIBLE}])(?= )"
    # A line break directly behind a visible character ends a pre-token, unless o200k's `[\r\n/]*`
    # takes the `/` behind it. (Behind white space it is no cut: the run's end decides there.)
    rf"|(?<=[{_VISIBLE}]\n)(?=[{_LETTERS}!-.0-@\[-`{{-~])"
    # Letters and digits never share a pre-token with punctuation *behind* them but for
    # contractions.
    rf"|(?<=[{_LETTERS}0-9])(?=[!-&(-/:-@\[-`{{-~、。，！？：；（「『《])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
    ")"
)
_UNCUT = rf"[{_LETTERS}]++|[0-9]++|[{_PUNCTUATION}]++|[^{_LETTERS}!-~]++"
"""Matches any character and those behind it between which no safe cut is, in little time."""
_CUT_WHITESPACE = rf"(?<=[{_VISIBLE}])(?=[ \n])|(?<=[ \n])(?=[{_VISIBLE}])"
_CUTS = (_CUT_GPT, _CUT_WHITESPACE)


def _gpt_like(
    name: str, title: str, regex_text: str, source: str, about: str, *steps: str
) -> SplitPattern:
    return SplitPattern(
        name, regex_text, source, _CUT_GPT, True, True, title=title, about=about, steps=steps
    )


SPLIT_PATTERNS: dict[str, SplitPattern] = {
    pattern.name: pattern
    for pattern in (
        _gpt_like(
            "gpt2", "GPT-2", _GPT2, "openai/gpt-2 src/encoder.py",
            "Words, numbers and punctuation take the space before them; numbers have any length.",
        ),
        _gpt_like(
            "gpt4", "GPT-4", _GPT4, "openai/tiktoken tiktoken_ext/openai_public.py (cl100k_base)",
            "Three digits at most; contractions in capitals too; line ends go with punctuation.",
        ),
        _gpt_like(
            "gpt4o", "GPT-4o", _GPT4O, "openai/tiktoken tiktoken_ext/openai_public.py (o200k_base)",
            "As GPT-4, but camelCase is cut at its capitals, and marks belong to words.",
        ),
        _gpt_like(
            "llama3", "Llama 3", _GPT4, "meta-llama/llama3 llama/tokenizer.py",
            "The same regex as GPT-4's.",
        ),
        _gpt_like(
            "qwen2", "Qwen2", _GPT4.replace("{1,3}", ""), "Qwen2 tokenizer.json",
            "As GPT-4, but every digit is a pre-token of its own.",
        ),
        _gpt_like(
            "deepseek3", "DeepSeek", _DEEPSEEK3_IN_ONE, "DeepSeek-V3 tokenizer.json",
            "Cuts out digits by threes, then Chinese and Japanese, then the words in between.",
            *_DEEPSEEK3,
        ),
        _gpt_like(
            "nanochat", "", _GPT4.replace("{1,3}", "{1,2}"), "karpathy/nanochat",
            "As GPT-4, but two digits at most: that saves tokens in a small vocabulary.",
        ),
        _gpt_like(
            "cs336", "CS336", _CS336, "Stanford CS336 assignment 1",
            "As GPT-2, with its contractions written as one group.",
        ),
        SplitPattern(
            "whitespace", r"\S+|\s+", "Sennrich et al. 2016, https://arxiv.org/abs/1508.07909",
            _CUT_WHITESPACE, gapless=True, unicode_of_tiktoken=True, title="words",
            about="Each run of non-space characters or of white space is a pre-token.",
        ),
        SplitPattern(
            "none", r"[\s\S]+", "no split at all", gapless=True, unicode_of_tiktoken=True,
            about="The whole text is one pre-token: merges go across words.",
        ),
    )
}  # fmt: skip
"""Every named split pattern by name."""

STARTERS = (
    (r"\w+|\s+|[^\w\s]+", "Words, white space and punctuation, each by itself."),
    (r" ?\w+|\s+|[^\w\s]", "Words with the space before them; every sign by itself."),
    (r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+", "As GPT-2, but digits one by one."),
    (
        r" ?\p{L}+|\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))| ?[^\s\p{L}\p{N}]+|\s+",
        "Digits by threes from the right, as one says numbers: 1 234 567.",
    ),
    (
        r" ?\p{Lu}?\p{Ll}+| ?\p{Lu}+(?!\p{Ll})|\p{L}|\p{N}+|_+| ?[^\w\s]+|\s+",
        "The parts of camelCase and snake_case names.",
    ),
    (r"\n+|[ \t]+(?=\S)|[^\n]+?(?=\n|$|[ \t])|\s", "For code: indentation and blanks apart."),
    (r"[^\n]*\n|[^\n]+", "Whole lines."),
    (r"[^.!?]*[.!?]+\s*|[^.!?]+", "Sentences, as far as a full stop tells."),
    (r"\X", "Every character as a reader sees it: marks and emoji stay together."),
)
"""Regexes to begin one's own with, each with a sentence about it."""

_ALIASES = {"cl100k": "gpt4", "cl100k_base": "gpt4", "o200k": "gpt4o", "o200k_base": "gpt4o"}


def get_split_pattern(pattern: str | SplitPattern, *, guarded: bool = True) -> SplitPattern:
    """Find a split pattern by name; any other text is taken as a custom regex.

    Args:
        pattern: The name, the regex, or what was found before.
        guarded: Whether a regex that is not a named pattern's is guarded. Only what is sure to
            come from the program itself need not be.

    Raises:
        PatternError: If the text is neither a known name nor a valid regex.
    """
    if isinstance(pattern, SplitPattern):
        return pattern
    known = SPLIT_PATTERNS.get(_ALIASES.get(pattern, pattern))
    if known is not None:
        return known
    custom = SplitPattern("custom", pattern, "custom")
    if guarded and all(named.regex != pattern for named in SPLIT_PATTERNS.values()):
        from tokviz.tokenizer.pretokenize.guard import check

        check(pattern)
        return custom._replace(guarded=True)
    custom.compile()
    return custom
