from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import tokviz as tokviz_package
from tokviz.cli.command import COMMANDS
from tokviz.cli.completion import completion_script
from tokviz.runs import runs_folder

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture(scope="module")
def bash_script() -> str:
    return completion_script("bash")


def complete_in_bash(script: str, *words: str, folder: Path | str = ".") -> list[str]:
    """What bash offers for the last of the words."""
    quoted = " ".join(f"'{word}'" for word in words)
    code = f"""{script}
COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
_shtab_tokviz
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc"], input=code, capture_output=True, text=True, check=True, cwd=folder
    )
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_the_shell_accepts_its_script(tokviz, shell):
    script = tokviz("completion", shell)
    assert (script.code, script.err) == (0, "")
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    checked = subprocess.run([shell, "-n"], input=script.out, capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, b"")


@needs_bash
def test_bash_completes_commands(bash_script):
    assert complete_in_bash(bash_script, "tokviz", "") == list(COMMANDS)
    assert complete_in_bash(bash_script, "tokviz", "co") == [
        *("count", "compare", "config", "completion")
    ]


@needs_bash
def test_bash_completes_options(bash_script):
    assert complete_in_bash(bash_script, "tokviz", "encode", "--sp") == [
        "--split-pattern",
        "--specials",
        "--spans",
    ]
    assert complete_in_bash(bash_script, "tokviz", "--ver") == ["--version"]


@needs_bash
def test_bash_completes_values(bash_script):
    offered = complete_in_bash(bash_script, "tokviz", "count", "-t", "cl")
    assert offered == ["cl100k_base", "cl100k"]
    assert complete_in_bash(bash_script, "tokviz", "-t", "qwen2.") == ["qwen2.5"]
    assert complete_in_bash(bash_script, "tokviz", "count", "--specials", "") == [
        "parsed",
        "text",
        "huggingface",
    ]
    assert complete_in_bash(bash_script, "tokviz", "completion", "z") == ["zsh"]


@needs_bash
def test_bash_completes_files(bash_script, tmp_path):
    (tmp_path / "notes.md").touch()
    assert complete_in_bash(bash_script, "tokviz", "count", "no", folder=tmp_path) == ["notes.md"]
    # Where no command fits, bash itself offers files.
    assert complete_in_bash(bash_script, "tokviz", "no", folder=tmp_path) == []
    assert "complete -o bashdefault -o default -F _shtab_tokviz tokviz" in bash_script


def test_zsh_offers_files_beside_the_commands():
    assert "_describe command _commands; _files" in completion_script("zsh")


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("tokviz co", ["completion", "count"]),
        ("tokviz no", ["notes.md"]),
        ("tokviz count no", ["notes.md"]),
        ("tokviz count -t cl", ["cl100k", "cl100k_base"]),
        ("tokviz completion f", ["fish"]),
        ("tokviz encode --sp", ["--spans", "--specials", "--split-pattern"]),
    ],
)
def test_fish_completes_commands_files_values_and_options(tmp_path, typed, offered):
    (tmp_path / "notes.md").touch()
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source; complete -C '{typed}'"],
        input=completion_script("fish"),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert sorted(line.partition("\t")[0] for line in done.stdout.splitlines()) == offered


def test_fish_offers_files_in_place_of_a_command():
    assert completion_script("fish").endswith("complete -c tokviz -n __fish_is_first_token -F\n")


def test_files_and_folders_are_offered_where_they_can_be_given():
    zsh, fish = completion_script("zsh"), completion_script("fish")
    for option, offers in (("--template", ":NAME:_files"), ("--folder", ":DIR:_files -/")):
        assert sum(option in line and offers in line for line in zsh.splitlines()) == 1
    tokenizers = [line for line in fish.splitlines() if " -l tokenizer " in line]
    assert all(" -rFka " in line for line in tokenizers)
    assert len(tokenizers) > 9


@needs_bash
def test_the_names_of_trained_tokenizers_are_offered(tmp_path):
    tokviz_package.train(["abab" * 9], 258).save(runs_folder() / "mine")
    script = completion_script("bash")
    assert complete_in_bash(script, "tokviz", "count", "-t", "mi") == ["mine"]
