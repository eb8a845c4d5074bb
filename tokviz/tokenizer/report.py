"""Reports on loading a tokenizer: findings, each with its location and a remedy."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The severities, worst first."""


class FileFinding(NamedTuple):
    """A problem or a note about a tokenizer file.

    Attributes:
        severity: "error" if the tokenizer cannot be used, "warning" if it behaves unexpectedly,
            "note" for information.
        code: A stable short name, such as "duplicate-id".
        where: The location: a line, a key or a token; empty for the whole file.
        message: A description of the problem.
        remedy: A suggested fix, or empty.
    """

    severity: Severity
    code: str
    where: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the finding as one sentence."""
        place = f"{self.where}: " if self.where else ""
        remedy = f": {self.remedy}" if self.remedy else ""
        return f"{place}{self.message}{remedy}"


class Report(NamedTuple):
    """All findings about a tokenizer, and the checks it passed.

    Attributes:
        subject: The file or the tokenizer's name.
        findings: The findings, worst first.
        checks: The checks it passed, one sentence each.
    """

    subject: str
    findings: tuple[FileFinding, ...] = ()
    checks: tuple[str, ...] = ()

    @classmethod
    def of(cls, fields: list[Any]) -> Report:
        """Create a report from one that was sent as JSON."""
        subject, findings, checks = fields
        return cls(subject, tuple(FileFinding(*finding) for finding in findings), tuple(checks))

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding, None if there is none."""
        return self.findings[0].severity if self.findings else None

    def joined(self, findings: list[FileFinding], checks: tuple[str, ...] = ()) -> Report:
        """Return a report with more findings and checks."""
        everything = sorted(
            (*self.findings, *findings), key=lambda finding: SEVERITIES.index(finding.severity)
        )
        return Report(self.subject, tuple(everything), (*self.checks, *checks))
