"""tokviz: see what a tokenizer does.

>>> import tokviz
>>> tok = tokviz.load("gpt-4")
>>> tok.encode("hello world")
[15339, 1917]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokviz.bpe.progress import TrainProgress
    from tokviz.bpe.run import TrainingRun
    from tokviz.bpe.train import train, train_bpe
    from tokviz.chat.contract import render_conversation, render_for_completion
    from tokviz.chat.conversation import Conversation, ConversationError
    from tokviz.chat.lint import Finding
    from tokviz.chat.mask import visualize_tokenization
    from tokviz.chat.render import Rendering, render
    from tokviz.compare.boundaries import Comparison, Disagreement, compare
    from tokviz.compare.report import ReportRow, compression_report
    from tokviz.errors import (
        CorpusError,
        FormatError,
        InputFileError,
        OutputFileError,
        PatternError,
        SpecialTokenError,
        TokenIdError,
        TokvizError,
        UnknownTokenizerError,
        VocabularyError,
    )
    from tokviz.formats.registry import load
    from tokviz.pretokenize.patterns import SplitPattern
    from tokviz.tokenizer import Tokenization, Tokenizer

__version__ = "0.1.0"

_HOMES = {
    "load": "tokviz.formats.registry",
    "SplitPattern": "tokviz.pretokenize.patterns",
    "Tokenization": "tokviz.tokenizer",
    "Tokenizer": "tokviz.tokenizer",
    "TrainProgress": "tokviz.bpe.progress",
    "TrainingRun": "tokviz.bpe.run",
    "train": "tokviz.bpe.train",
    "train_bpe": "tokviz.bpe.train",
    "Conversation": "tokviz.chat.conversation",
    "ConversationError": "tokviz.chat.conversation",
    "Finding": "tokviz.chat.lint",
    "Rendering": "tokviz.chat.render",
    "render": "tokviz.chat.render",
    "render_conversation": "tokviz.chat.contract",
    "render_for_completion": "tokviz.chat.contract",
    "visualize_tokenization": "tokviz.chat.mask",
    "Comparison": "tokviz.compare.boundaries",
    "Disagreement": "tokviz.compare.boundaries",
    "compare": "tokviz.compare.boundaries",
    "ReportRow": "tokviz.compare.report",
    "compression_report": "tokviz.compare.report",
    "CorpusError": "tokviz.errors",
    "FormatError": "tokviz.errors",
    "InputFileError": "tokviz.errors",
    "OutputFileError": "tokviz.errors",
    "PatternError": "tokviz.errors",
    "SpecialTokenError": "tokviz.errors",
    "TokenIdError": "tokviz.errors",
    "TokvizError": "tokviz.errors",
    "UnknownTokenizerError": "tokviz.errors",
    "VocabularyError": "tokviz.errors",
}

__all__ = [
    "Comparison",
    "Conversation",
    "ConversationError",
    "CorpusError",
    "Disagreement",
    "Finding",
    "FormatError",
    "InputFileError",
    "OutputFileError",
    "PatternError",
    "Rendering",
    "ReportRow",
    "SpecialTokenError",
    "SplitPattern",
    "TokenIdError",
    "Tokenization",
    "Tokenizer",
    "TokvizError",
    "TrainProgress",
    "TrainingRun",
    "UnknownTokenizerError",
    "VocabularyError",
    "compare",
    "compression_report",
    "load",
    "render",
    "render_conversation",
    "render_for_completion",
    "train",
    "train_bpe",
    "visualize_tokenization",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that a command loads only what it needs."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'tokviz' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names before they are imported."""
    return sorted([*globals(), *__all__])
