"""tokviz: see how a tokenizer works.

>>> import tokviz
>>> tok = tokviz.load("gpt-4")
>>> tok.encode("hello world")
[15339, 1917]
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokviz.chat.conversation import Conversation as Conversation
    from tokviz.chat.lint import Finding as Finding
    from tokviz.chat.mask import visualize_tokenization as visualize_tokenization
    from tokviz.chat.messages import ConversationError as ConversationError
    from tokviz.chat.render import render as render
    from tokviz.chat.render import render_conversation as render_conversation
    from tokviz.chat.render import render_for_completion as render_for_completion
    from tokviz.chat.rendering import Rendering as Rendering
    from tokviz.compare.boundaries import Comparison as Comparison
    from tokviz.compare.boundaries import Disagreement as Disagreement
    from tokviz.compare.boundaries import compare as compare
    from tokviz.compare.check_bpe.check import BpeCheck as BpeCheck
    from tokviz.compare.check_bpe.check import check_bpe as check_bpe
    from tokviz.compare.difference import TokenizerDiff as TokenizerDiff
    from tokviz.compare.difference import diff as diff
    from tokviz.compare.report import ReportRow as ReportRow
    from tokviz.compare.report import compression_report as compression_report
    from tokviz.errors import ArgumentTypeError as ArgumentTypeError
    from tokviz.errors import CorpusError as CorpusError
    from tokviz.errors import FormatError as FormatError
    from tokviz.errors import InputFileError as InputFileError
    from tokviz.errors import OutputFileError as OutputFileError
    from tokviz.errors import PatternError as PatternError
    from tokviz.errors import SpecialTokenError as SpecialTokenError
    from tokviz.errors import TokenIdError as TokenIdError
    from tokviz.errors import TokvizError as TokvizError
    from tokviz.errors import UnknownTokenizerError as UnknownTokenizerError
    from tokviz.errors import VocabularyError as VocabularyError
    from tokviz.formats.loader import load as load
    from tokviz.formats.save import what_is_lost as what_is_lost
    from tokviz.tokenizer.encoding.tokenization import Tokenization as Tokenization
    from tokviz.tokenizer.pretokenize.patterns import SplitPattern as SplitPattern
    from tokviz.tokenizer.tokenizer import Tokenizer as Tokenizer
    from tokviz.training.progress import TrainProgress as TrainProgress
    from tokviz.training.run import TrainingRun as TrainingRun
    from tokviz.training.train import train as train
    from tokviz.training.train import train_bpe as train_bpe

from tokviz.storage.version import __version__ as __version__

_NAMES = {
    "tokviz.formats.loader": "load",
    "tokviz.formats.save": "what_is_lost",
    "tokviz.tokenizer.pretokenize.patterns": "SplitPattern",
    "tokviz.tokenizer.encoding.tokenization": "Tokenization",
    "tokviz.tokenizer.tokenizer": "Tokenizer",
    "tokviz.training.progress": "TrainProgress",
    "tokviz.training.run": "TrainingRun",
    "tokviz.training.train": "train train_bpe",
    "tokviz.chat.conversation": "Conversation",
    "tokviz.chat.messages": "ConversationError",
    "tokviz.chat.lint": "Finding",
    "tokviz.chat.render": "render render_conversation render_for_completion",
    "tokviz.chat.rendering": "Rendering",
    "tokviz.chat.mask": "visualize_tokenization",
    "tokviz.compare.boundaries": "Comparison Disagreement compare",
    "tokviz.compare.difference": "TokenizerDiff diff",
    "tokviz.compare.check_bpe.check": "BpeCheck check_bpe",
    "tokviz.compare.report": "ReportRow compression_report",
    "tokviz.errors": "ArgumentTypeError CorpusError FormatError InputFileError OutputFileError "
    "PatternError SpecialTokenError TokenIdError TokvizError UnknownTokenizerError VocabularyError",
}
"""The public names by module."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> Any:
        """Import a public name on first use, so that a command loads only the modules it needs."""
        if name not in _MODULES:
            raise AttributeError(f"module 'tokviz' has no attribute {name!r}")
        value = getattr(importlib.import_module(_MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, including those not imported yet."""
    return sorted([*globals(), *__all__])


if "TOKVIZ_CONFINED" in os.environ:
    from tokviz.process import confinement

    confinement.start()
