"""Print a script that lets the shell complete commands, options, names and files.

bash: add to ~/.bashrc
  eval "$(tokviz completion bash)"
zsh: add to ~/.zshrc, behind compinit
  eval "$(tokviz completion zsh)"
fish: add to ~/.config/fish/config.fish
  tokviz completion fish | source
tcsh: add to ~/.tcshrc
  tokviz completion tcsh > ~/.tokviz.tcsh; source ~/.tokviz.tcsh
"""

from __future__ import annotations

import argparse
import re

from tokviz.cli.command import COMMANDS, Parser, load_command

_SHELLS = ("bash", "zsh", "fish", "tcsh")
_FILES = ("FILE", "PATH", "RUN", "OTHER", "DIR")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz completion`."""
    parser.add_argument("shell", choices=_SHELLS, help="whose script to print")


def run(arguments: argparse.Namespace) -> int:
    """Print the script for a shell."""
    print(completion_script(arguments.shell))
    return 0


def completion_script(shell: str) -> str:
    """Make the completion script for one of the shells."""
    import shtab

    script: str = shtab.complete(_whole_parser(), shell)
    # `tokviz FILE` opens a file: files are offered where no command fits (bash) or besides.
    if shell == "fish":
        # A tokenizer is a name or a file.
        script = script.replace("-l tokenizer -xka", "-l tokenizer -rFka")
        return f"{script}complete -c tokviz -n __fish_is_first_token -F\n"
    return script.replace(
        "complete -o bashdefault -F", "complete -o bashdefault -o default -F"
    ).replace("_describe 'tokviz commands' _commands", "_describe command _commands; _files")


def _whole_parser() -> argparse.ArgumentParser:
    """One parser with every command below it, for the shell only: `tokviz` itself never runs it."""
    from tokviz.cli.app import add_options

    parser = Parser(prog="tokviz", allow_abbrev=False)
    add_options(parser)
    _describe_for_shell(parser)
    commands = parser.add_subparsers()
    for name, summary in COMMANDS.items():
        command = load_command(name)
        below = commands.add_parser(name, help=summary, allow_abbrev=False)
        command.add_arguments(below)
        _describe_for_shell(below)
    return parser


def _describe_for_shell(parser: argparse.ArgumentParser) -> None:
    """Tell shtab what the values of the arguments are."""
    import shtab

    from tokviz.formats.registry import BUILTIN_TOKENIZERS
    from tokviz.runs import list_runs

    trained = [run.name for run in list_runs() if re.fullmatch(r"[\w.-]+", run.name)]
    for action in parser._actions:
        if "--tokenizer" in action.option_strings:
            names = [name for known in BUILTIN_TOKENIZERS for name in (known.name, *known.aliases)]
            action.choices = [*trained, *names]
        elif action.metavar in _FILES or action.dest == "template":
            place = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
            setattr(action, "complete", place)  # noqa: B010 (shtab's way, unknown to types)
