"""What is noticed about a tokenizer: findings, each with its place and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first."""


@dataclass(frozen=True, slots=True)
class FileFinding:
    """One thing that was noticed.

    Attributes:
        severity: "error" if the tokenizer cannot be used, "warning" if it will surprise, "note" if
            it is worth knowing.
        code: A stable short name, such as "duplicate-id".
        where: The place: a line, a key, a token; empty if it is the whole.
        message: What is the matter.
        remedy: What to do about it; empty if nothing is to be done.
    """

    severity: Severity
    code: str
    where: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Make one sentence of it."""
        place = f"{self.where}: " if self.where else ""
        remedy = f": {self.remedy}" if self.remedy else ""
        return f"{place}{self.message}{remedy}"


@dataclass(frozen=True, slots=True)
class Report:
    """All that was noticed about a tokenizer, and what was found to be in order.

    Attributes:
        subject: The file or the tokenizer's name.
        findings: The findings, the worst first.
        checks: What was checked and holds, a sentence each.
    """

    subject: str
    findings: tuple[FileFinding, ...] = ()
    checks: tuple[str, ...] = ()

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Report:
        """Put a report together again from what `dataclasses.asdict` made of one, or JSON of it."""
        findings = tuple(FileFinding(**finding) for finding in fields["findings"])
        return cls(fields["subject"], findings, tuple(fields["checks"]))

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding, None if there is none."""
        return self.findings[0].severity if self.findings else None

    def joined(self, findings: list[FileFinding], checks: tuple[str, ...] = ()) -> Report:
        """Add findings and checks."""
        everything = sorted(
            (*self.findings, *findings), key=lambda finding: SEVERITIES.index(finding.severity)
        )
        return Report(self.subject, tuple(everything), (*self.checks, *checks))
