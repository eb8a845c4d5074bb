from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tokviz as tokviz_package
from tokviz.cli.command import COMMANDS
from tokviz.cli.completion import completion_script
from tokviz.training.run_library import runs_folder

_TIES = ["first", "lexicographic", "smallest_id"]
OFFERED = {
    "tokviz co": ["compare", "completion", "config", "convert", "count"],
    "tokviz no": ["notes.md"],
    "tokviz --ver": ["--version"],
    "tokviz -t qwen2.": ["qwen2.5"],
    "tokviz -t cl100k_base no": ["notes.md"],
    "tokviz -t cl100k_base cou": ["count"],
    "tokviz notes.md -t qwen2.": ["qwen2.5"],
    "tokviz encode --sp": ["--spans", "--specials", "--split-pattern"],
    "tokviz encode --split-pattern gp": ["gpt2", "gpt4", "gpt4o"],
    "tokviz count no": ["notes.md"],
    "tokviz count notes.md no": ["notes.md"],
    'tokviz count "my': ["my text.md"],
    "tokviz count -t cl": ["cl100k", "cl100k_base"],
    "tokviz count -t davi": ["davi.json", "davinci"],
    "tokviz count -t mine": ["mine"],
    "tokviz count --specials ": ["huggingface", "parsed", "text"],
    "tokviz compare -t gpt2 -t o200k_b": ["o200k_base"],
    "tokviz chat --template ch": ["chatml"],
    "tokviz chat --template ow": ["own.jinja"],
    "tokviz chat notes.md --ignore ro": ["roles-out-of-order"],
    "tokviz train notes.md --pattern na": ["nanochat"],
    "tokviz train notes.md --ties ": _TIES,
    "tokviz train notes.md -o ": ["runs"],
    "tokviz replay mine": ["mine"],
    "tokviz replay no": ["notes.md"],
    "tokviz replay mine --diff davi": ["davi.json", "davinci"],
    "tokviz tokenizers --check davi": ["davi.json"],
    "tokviz convert davi": ["davi.json", "davinci"],
    "tokviz convert gpt2 --format g": ["gpt2"],
    "tokviz lesson mi": ["minbpe"],
    "tokviz help to": ["tokenizers", "tokens"],
    "tokviz help tokens we": ["web"],
    "tokviz config che": ["check"],
    "tokviz config set pri": ["price_model"],
    "tokviz config check no": ["notes.md"],
    "tokviz completion z": ["zsh"],
}
"""Typed text → completions of its last word in every shell, in any order."""

_BASH = """
source "$SCRIPT"
while IFS= read -r line; do
  echo "> $line"
  # Quotes start words too; text that ends in a blank has an empty last word.
  COMP_WORDS=(${line//\\"/}); [[ $line == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
  _shtab_tokviz 2>/dev/null
  # `complete -o default`, which only works in an interactive shell.
  (( ${#COMPREPLY[@]} )) || mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
  printf '%s\\n' "${COMPREPLY[@]}"
done < "$TYPED" > "$OFFERED"
"""
_FISH = """
source $SCRIPT
while read -L -l typed
  echo "> $typed"
  complete -C $typed | string replace -r '\\t.*' '' | string trim -r -c /
end < $TYPED > $OFFERED
true
"""
_ZSH = """
autoload -Uz compinit; compinit -u -D
eval "$(<$SCRIPT)"
compadd() {
  local -a hits
  [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]] || {
    builtin compadd -A hits "$@"
    (( $#hits )) && print -rl -- ${(Q)hits} >> $OFFERED
  }
  builtin compadd "$@"
}
zle -C offer list-choices _main_complete
zle-line-init() {
  for BUFFER in "${(@f)$(<$TYPED)}"; do
    print -r -- "> $BUFFER" >> $OFFERED
    CURSOR=$#BUFFER
    zle offer
  done
  BUFFER=exit
  zle accept-line
}
zle -N zle-line-init
"""


def in_bash(script: Path) -> list[str]:
    return ["bash", "--norc", str(script)]


def in_fish(script: Path) -> list[str]:
    return ["fish", "--no-config", str(script)]


def in_zsh(script: Path) -> list[str]:
    script.rename(script.with_name(".zshrc"))
    # It completes only in a terminal.
    return [sys.executable, "-c", "import pty; pty.spawn(['zsh', '-i'])"]


SHELLS = {"bash": (_BASH, in_bash), "fish": (_FISH, in_fish), "zsh": (_ZSH, in_zsh)}


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_offer_commands_options_names_and_files(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    tokviz_package.train(["abab" * 9], 258).save(runs_folder() / "mine")
    folder = tmp_path / "work"
    (folder / "runs").mkdir(parents=True)
    for name in ("notes.md", "my text.md", "davi.json", "own.jinja"):
        (folder / name).touch()
    asking, command = SHELLS[shell]
    for name, text in (
        ("completion", completion_script(shell)),
        ("typed", "\n".join(OFFERED) + "\n"),
        ("asking", asking),
    ):
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        command(tmp_path / "asking"),
        cwd=folder,
        env={
            **os.environ,
            "SCRIPT": str(tmp_path / "completion"),
            "TYPED": str(tmp_path / "typed"),
            "OFFERED": str(tmp_path / "offered"),
            "ZDOTDIR": str(tmp_path),
            "TERM": "xterm",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    answers = (tmp_path / "offered").read_text().split("> ")[1:]
    lines = [answer.splitlines() for answer in answers]
    assert {typed: sorted({*offered} - {""}) for typed, *offered in lines} == OFFERED


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_the_shell_accepts_its_script(tokviz, shell):
    script = tokviz("completion", shell)
    assert (script.code, script.err) == (0, "")
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    checked = subprocess.run([shell, "-n"], input=script.out, capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_every_script_has_the_commands_and_the_names(shell):
    words = completion_script(shell).replace("'", " ").replace("(", " ").replace(")", " ").split()
    names = {
        "cl100k_base",
        "nanochat",
        "gpt-oss",
        "cs336",
        "minbpe",
        "lexicographic",
        "tutorial-mask",
        "tutorial-template",
    }
    assert {*COMMANDS, *names} <= {word.strip('"') for word in words}


def test_files_and_folders_are_offered_where_they_can_be_given():
    bash, zsh, fish = map(completion_script, ("bash", "zsh", "fish"))
    assert "complete -o bashdefault -o default -F _shtab_tokviz tokviz" in bash
    assert "_describe command _commands; _files" in zsh
    folders = [line for line in zsh.splitlines() if line.endswith(':_files -/"')]
    assert [line.partition("[")[0].strip() for line in folders] == ['{-o,--output}"', '"--folder']
    # A positional argument, and an option with a value.
    assert fish.count(" -F -d 'the texts to count:") == 1
    assert all(" -rFka " in line for line in fish.splitlines() if " -l tokenizer " in line)
