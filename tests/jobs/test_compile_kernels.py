"""The job that compiles ahead says whether there is anything to compile."""

from __future__ import annotations

import pytest

from tokviz.bpe import compiled_counter, compiled_trainer
from tokviz.jobs.compile_kernels import answer
from tokviz.replay import compiled as replay_compiled

MODULES = (compiled_counter, compiled_trainer, replay_compiled)


@pytest.fixture
def compiled(monkeypatch):
    """What the job has had compiled, in order."""
    done: list[str] = []
    for module in MODULES:
        monkeypatch.setattr(
            module, "compile_kernels", lambda name=module.__name__: done.append(name)
        )
    return done


def _are_compiled(monkeypatch, yes):
    for module in MODULES:
        monkeypatch.setattr(module, "kernels_are_compiled", lambda: yes)


def test_nothing_is_said_where_all_is_in_the_cache(monkeypatch, compiled):
    _are_compiled(monkeypatch, True)
    assert list(answer({}, {})) == [{"compiling": False}]
    assert compiled == []


def test_it_says_so_before_it_compiles(monkeypatch, compiled):
    _are_compiled(monkeypatch, False)
    answers = answer({}, {})
    assert next(answers) == {"compiling": True}
    assert compiled == []
    assert list(answers)[-1] == {"compiling": False}
    assert compiled == [module.__name__ for module in MODULES]
