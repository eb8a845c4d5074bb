"""How far the Train screen is: the form, a training, or what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tokviz.process.jobs.train_messages import TrainSummary

Phase = Literal["form", "running", "done"]


@dataclass
class TrainState:
    """What the parts of the screen share.

    Attributes:
        phase: What is shown.
        summary: What the last training came to, None before it.
    """

    phase: Phase = "form"
    summary: TrainSummary | None = None


def during(*phases: Phase) -> Callable[[Any], bool]:
    """Tell of a controller with a `state` whether the screen is in one of some phases."""
    return lambda controller: controller.state.phase in phases
