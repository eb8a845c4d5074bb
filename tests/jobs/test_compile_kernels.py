"""The job that compiles ahead says whether there is anything to compile, and what went wrong."""

from __future__ import annotations

import warnings

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
            module.KERNELS, "compile", lambda name=module.__name__: done.append(name)
        )
    return done


def _are_compiled(monkeypatch, yes):
    for module in MODULES:
        monkeypatch.setattr(module.KERNELS, "are_compiled", lambda: yes)


def test_nothing_is_said_where_all_is_in_the_cache(monkeypatch, compiled):
    _are_compiled(monkeypatch, True)
    assert list(answer({}, {})) == [{"compiling": False}]
    assert compiled == []


def test_it_says_so_before_it_compiles(monkeypatch, compiled):
    _are_compiled(monkeypatch, False)
    answers = answer({}, {})
    assert next(answers) == {"compiling": True}
    assert compiled == []
    assert list(answers) == [{"compiling": False}]
    assert compiled == [module.__name__ for module in MODULES]


def test_it_says_in_the_end_why_nothing_can_be_kept(monkeypatch):
    def compile_in_vain():
        warnings.warn("compiled code cannot be kept", RuntimeWarning, stacklevel=1)

    _are_compiled(monkeypatch, False)
    for module in MODULES:
        monkeypatch.setattr(module.KERNELS, "compile", compile_in_vain)
    last = {"compiling": False, "problem": "compiled code cannot be kept"}
    assert list(answer({}, {})) == [{"compiling": True}, last]
