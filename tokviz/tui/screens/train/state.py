"""State of the Train screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tokviz.process.jobs.train_messages import TrainSummary

Phase = Literal["form", "running", "done"]


@dataclass
class TrainState:
    """State shared by the controllers of the Train screen.

    Attributes:
        phase: The current phase.
        summary: The summary of the last training, or None.
    """

    phase: Phase = "form"
    summary: TrainSummary | None = None


def during(*phases: Phase) -> Callable[[Any], bool]:
    """Return a condition for actions: the screen is in one of some phases."""
    return lambda controller: controller.state.phase in phases
