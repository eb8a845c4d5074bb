"""The job `compile_kernels`: have the compiled loops in the cache before somebody needs them.

Request: `{}`. Answers: `{"compiling": true}` if anything is to be done, so that the app can say a
word about it, and at the end `{"compiling": false}`. It takes about ten seconds, once on a machine.
Where the code cannot be kept, the last answer says why: `"problem"` is a sentence for the user.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from tokviz.child.protocol import Body


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Compile what is not in the cache."""
    from tokviz.bpe import compiled_counter, compiled_trainer
    from tokviz.encoding import bulk
    from tokviz.replay import compiled as replay_compiled

    groups = (
        bulk.KERNELS,
        compiled_counter.KERNELS,
        compiled_trainer.KERNELS,
        replay_compiled.KERNELS,
    )
    waiting = [group for group in groups if not group.are_compiled()]
    if waiting:
        yield {"compiling": True}
    with warnings.catch_warnings(record=True) as told:
        for group in waiting:
            group.compile()
    problem = {"problem": str(told[0].message)} if told else {}
    yield {"compiling": False, **problem}
