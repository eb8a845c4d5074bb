"""Tests of the hooks in `tests/conftest.py`."""

from __future__ import annotations

import json

import pytest


def test_reports_with_lone_surrogates_can_be_sent_between_processes(
    request: pytest.FixtureRequest,
) -> None:
    report = pytest.TestReport(
        nodeid="test_x.py::test_x",
        location=("test_x.py", 1, "test_x"),
        keywords={"test_x": 1},
        outcome="failed",
        longrepr="assert '\udcff' == 'ÿ'",
        when="call",
        sections=[("Captured stdout call", "\ud800")],
    )
    hook = request.config.hook.pytest_report_to_serializable
    data = hook(config=request.config, report=report)
    json.dumps(data, ensure_ascii=False).encode()  # raises an error for lone surrogates
    assert data["longrepr"] == "assert '\\udcff' == 'ÿ'"
    assert data["sections"] == [("Captured stdout call", "\\ud800")]
