"""The job `compile_kernels`: have the compiled loops in the cache before somebody needs them.

Request: `{}`. Answers: `{"compiling": true}` if anything is to be done, so that the app can say a
word about it, and at the end `{"compiling": false}`. It takes about ten seconds, once on a machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokviz.child.protocol import Body


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Compile what is not in the cache."""
    from tokviz.bpe import compiled_counter, compiled_trainer
    from tokviz.replay import compiled as replay_compiled

    can_count = compiled_counter.kernels_are_compiled()
    can_train = compiled_trainer.kernels_are_compiled()
    can_replay = replay_compiled.kernels_are_compiled()
    if not (can_count and can_train and can_replay):
        yield {"compiling": True}
    if not can_count:
        compiled_counter.compile_kernels()
    if not can_train:
        compiled_trainer.compile_kernels()
    if not can_replay:
        replay_compiled.compile_kernels()
    yield {"compiling": False}
