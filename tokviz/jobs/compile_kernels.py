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

    users = (compiled_counter, compiled_trainer, replay_compiled)
    waiting = [user for user in users if not user.kernels_are_compiled()]
    if waiting:
        yield {"compiling": True}
    for user in waiting:
        user.compile_kernels()
    yield {"compiling": False}
