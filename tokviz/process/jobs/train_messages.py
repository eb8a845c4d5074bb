"""Messages of the job `train` as JSON, also printed by `tokviz train --json`.

Bytes of tokens are lists of integers, because they may not be valid text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tokviz.text.glyphs import safe
from tokviz.training.attribution import FileShare
from tokviz.training.replay.advice import Advice
from tokviz.training.settings import SpecialIds

Record = dict[str, Any]


class TrainRequest(NamedTuple):
    """A requested training.

    Attributes:
        sources: Files, folders and globs; "-" is standard input (not in a child).
        run_folder: The folder for the run.
        vocab_size: The requested number of tokens, including bytes and special tokens.
        split_pattern: A name from `SPLIT_PATTERNS`, or a regex.
        special_tokens: Texts of special tokens.
        special_ids: The position of their ids; see `tokviz.training.settings.TrainSettings`.
        tie_break: A name from `TIE_BREAKS`.
        min_count: The lowest count at which a pair is merged.
        delimiter: The text between two documents of a plain text.
        field: The field of JSON lines, or the column of Parquet files, that contains the text.
        max_chars: Limit of characters in total; None for no limit.
        max_doc_chars: Limit of characters per document; None for no limit.
        compare: Hold out about a hundredth of the text, at most 1 MB, and measure how the new
            tokenizer and well-known ones compress it.
        advise: The width of an embedding: with `compare`, also estimate the effect of other
            vocabulary sizes on that text; None for no advice.
        exclude: Files to leave out: paths, ends of paths, or globs.
        workers: Number of workers of a new Dask cluster that counts; None for none.
        scheduler: The address of a running cluster that counts; None for none.
        skip_unreadable: With workers, leave out files that cannot be read.
    """

    sources: tuple[str, ...]
    run_folder: str
    vocab_size: int
    split_pattern: str = "gpt4"
    special_tokens: tuple[str, ...] = ()
    special_ids: SpecialIds = "last"
    tie_break: str = "first"
    min_count: int = 1
    delimiter: str = "<|endoftext|>"
    field: str = "text"
    max_chars: int | None = None
    max_doc_chars: int | None = None
    compare: bool = False
    advise: int | None = None
    exclude: tuple[str, ...] = ()
    workers: int | None = None
    scheduler: str | None = None
    skip_unreadable: bool = False

    def to_json(self) -> Record:
        """Return the body of a request."""
        return self._asdict()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TrainRequest:
        """Read the output of `to_json`."""
        made = cls(**record)
        return made._replace(
            sources=tuple(made.sources),
            special_tokens=tuple(made.special_tokens),
            exclude=tuple(made.exclude),
        )


class HeldOut(NamedTuple):
    """Compression of held-out text by the new tokenizer and well-known ones.

    Attributes:
        n_bytes: The size of the text.
        bytes_per_token: By the name of the tokenizer; the new one is "new". Empty while they are
            being compared.
        advice: The effect of other vocabulary sizes; None if not requested.
    """

    n_bytes: int
    bytes_per_token: dict[str, float]
    advice: Advice | None = None

    def to_json(self) -> Record:
        """Return the result as plain values."""
        return self._asdict() | {"advice": self.advice and self.advice.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> HeldOut:
        """Read the output of `to_json`."""
        if advice := record["advice"]:
            advice = Advice.from_json(advice)
        return cls(**{**record, "advice": advice})


class TrainSummary(NamedTuple):
    """Summary of a training.

    Attributes:
        run_folder: The folder of the run.
        n_vocab: Number of tokens, including bytes and special tokens.
        n_merges: Number of merges learned.
        n_merges_wanted: Number of merges requested.
        stopped_early: The reason why there are fewer; None if there are not.
        seconds_by_phase: Wall time by phase.
        n_bytes: Bytes read.
        n_chars: Characters read.
        n_documents: Documents read.
        n_invalid: Bytes that are not valid UTF-8.
        n_pre_tokens: Distinct pre-tokens.
        n_tokens: Tokens of the whole corpus, without special tokens.
        longest_token: The longest token that is not special; the first of several.
        peak_memory_bytes: Peak physical memory.
        held_out: The comparison; None if there was none.
        files: The files with the largest shares of the merges; empty for a single file or none.
        left_out: The files that could not be read and were left out, each with the reason.
    """

    run_folder: str
    n_vocab: int
    n_merges: int
    n_merges_wanted: int
    stopped_early: str | None
    seconds_by_phase: dict[str, float]
    n_bytes: int
    n_chars: int
    n_documents: int
    n_invalid: int
    n_pre_tokens: int
    n_tokens: int
    longest_token: bytes
    peak_memory_bytes: int | None
    held_out: HeldOut | None = None
    files: tuple[FileShare, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def seconds(self) -> float:
        """Wall time of all phases until the run is saved."""
        return sum(self.seconds_by_phase.values()) - self.seconds_by_phase.get("comparing", 0.0)

    @property
    def is_comparing(self) -> bool:
        """True if another summary with the comparison follows."""
        return self.held_out is not None and not self.held_out.bytes_per_token

    @property
    def bytes_per_token(self) -> float | None:
        """The compression of the corpus; None if it has no token."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None

    def file_lines(self) -> list[str]:
        """Describe the files with the largest shares of the merges."""
        return [
            f"{part.share:.1%} of the merges from {safe(str(part.file))}, {part.n:,} from it alone"
            for part in self.files
        ]

    def to_json(self) -> Record:
        """Return the body of an answer."""
        return self._asdict() | {
            "longest_token": list(self.longest_token),
            "held_out": self.held_out and self.held_out.to_json(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TrainSummary:
        """Read the output of `to_json`."""
        held_out = record["held_out"]
        return cls(
            **{
                **record,
                "longest_token": bytes(record["longest_token"]),
                "held_out": held_out and HeldOut.from_json(held_out),
                "files": tuple(FileShare(*part) for part in record["files"]),
                "left_out": tuple(map(tuple, record["left_out"])),
            }
        )
