"""Tables, targets and JSON for the benchmark scripts."""

from __future__ import annotations

import argparse
import json
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Literal


def median(values: Sequence[float]) -> float:
    """Return the middle value."""
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    """Return the value that 95 % of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * 95 // 100) - 1)]


@dataclass(frozen=True)
class Target:
    """A number that the app should reach."""

    name: str
    value: float
    relation: Literal["≤", "≥"]
    limit: float
    unit: str

    @property
    def reached(self) -> bool:
        """Whether the value is on the right side of the limit."""
        return self.value <= self.limit if self.relation == "≤" else self.value >= self.limit


@dataclass(frozen=True)
class Report:
    """Everything that a script measured."""

    benchmark: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    targets: Sequence[Target]

    def show(self, as_json: bool) -> None:
        """Print the report as a table or as one JSON object."""
        print(self._json() if as_json else self._table(), flush=True)

    def _json(self) -> str:
        return json.dumps(
            {
                "benchmark": self.benchmark,
                "python": platform.python_version(),
                "textual": version("textual"),
                "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
                "targets": [
                    {**asdict(target), "reached": target.reached} for target in self.targets
                ],
            },
            ensure_ascii=False,
        )

    def _table(self) -> str:
        cells = [list(self.columns), *([_cell(value) for value in row] for row in self.rows)]
        widths = [max(len(row[index]) for row in cells) for index in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.ljust(width) if index == 0 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        lines.append("")
        lines += [
            f"{'ok  ' if target.reached else 'over'}  {target.name}: "
            f"{_cell(target.value)} {target.unit} (target {target.relation} {target.limit:g})"
            for target in self.targets
        ]
        return "\n".join(lines)


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
