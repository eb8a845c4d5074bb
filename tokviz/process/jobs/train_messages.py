"""What the job `train` is asked and what it answers, as JSON; also what `tokviz train --json` says.

Bytes of tokens are lists of integers, for they need not be text.
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
    """A training to do.

    Attributes:
        sources: Files, folders and globs; "-" is standard input (not in a child).
        run_folder: Where the run is saved.
        vocab_size: The tokens wanted, bytes and specials included.
        split_pattern: A name from `SPLIT_PATTERNS`, or a regex.
        special_tokens: Texts of special tokens.
        special_ids: Where their ids are; see `tokviz.training.settings.TrainSettings`.
        tie_break: A name from `TIE_BREAKS`.
        min_count: The lowest count at which a pair is merged.
        delimiter: The text between two documents of a plain text.
        field: The field of JSON lines, or the column of Parquet files, that holds the text.
        max_chars: The most characters to read of everything; None for all.
        max_doc_chars: The most characters to read of a document; None for all.
        compare: Keep about a hundredth of the text out of the training, at most 1 MB, and see how
            the new tokenizer and well-known ones compress it.
        advise: The width of an embedding: say besides what other vocabulary sizes would mean for
            that text; None for no advice. Only with `compare`.
        exclude: Files to leave out: paths, ends of paths, or patterns.
        workers: How many workers of a Dask cluster are started to count; None for none.
        scheduler: The address of a cluster that counts; None for none.
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
        """Make the body of a request."""
        return self._asdict()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TrainRequest:
        """Read what `to_json` wrote."""
        made = cls(**record)
        return made._replace(
            sources=tuple(made.sources),
            special_tokens=tuple(made.special_tokens),
            exclude=tuple(made.exclude),
        )


class HeldOut(NamedTuple):
    """How a new tokenizer and well-known ones compress text that it has not learned from.

    Attributes:
        n_bytes: The size of the text.
        bytes_per_token: By the name of the tokenizer; the new one is "new". Empty while they are
            being compared.
        advice: What other vocabulary sizes would mean for it; None if that was not asked.
    """

    n_bytes: int
    bytes_per_token: dict[str, float]
    advice: Advice | None = None

    def to_json(self) -> Record:
        """Make it plain values."""
        return self._asdict() | {"advice": self.advice and self.advice.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> HeldOut:
        """Read what `to_json` wrote."""
        if advice := record["advice"]:
            advice = Advice.from_json(advice)
        return cls(**{**record, "advice": advice})


class TrainSummary(NamedTuple):
    """What a training came to.

    Attributes:
        run_folder: Where it was saved.
        n_vocab: Tokens, bytes and specials included.
        n_merges: Merges learned.
        n_merges_wanted: Merges asked for.
        stopped_early: Why there are fewer; None if there are not.
        seconds_by_phase: Wall time by phase.
        n_bytes: Bytes read.
        n_chars: Characters read.
        n_documents: Documents read.
        n_invalid: Bytes that are not valid UTF-8.
        n_pre_tokens: Distinct pre-tokens.
        n_tokens: Tokens of the whole corpus, without special ones.
        longest_token: The longest token that is not special; the first of several.
        peak_memory_bytes: The most physical memory that was in use.
        held_out: The comparison; None if there was none.
        files: The files that paid for most of the merges; empty if the corpus was one file or none.
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
        """The wall time of all phases until the run is saved."""
        return sum(self.seconds_by_phase.values()) - self.seconds_by_phase.get("comparing", 0.0)

    @property
    def is_comparing(self) -> bool:
        """Whether another summary with the comparison follows."""
        return self.held_out is not None and not self.held_out.bytes_per_token

    @property
    def bytes_per_token(self) -> float | None:
        """The compression of the corpus; None if it has no token."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None

    def file_lines(self) -> list[str]:
        """Say which files paid for most of the merges, and for how many alone."""
        return [
            f"{part.share:.1%} of the merges from {safe(str(part.file))}, {part.n:,} from it alone"
            for part in self.files
        ]

    def to_json(self) -> Record:
        """Make the body of the last answer."""
        return self._asdict() | {
            "longest_token": list(self.longest_token),
            "held_out": self.held_out and self.held_out.to_json(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TrainSummary:
        """Read what `to_json` wrote."""
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
