"""Print the script for completion of commands, options, names and files in a shell.

bash: add to ~/.bashrc
  eval "$(tokviz completion bash)"
zsh: add to ~/.zshrc, after compinit
  eval "$(tokviz completion zsh)"
fish: add to ~/.config/fish/config.fish
  tokviz completion fish | source
tcsh: add to ~/.tcshrc
  tokviz completion tcsh > ~/.tokviz.tcsh; source ~/.tokviz.tcsh
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from itertools import chain

from tokviz.chat.lint import RULES
from tokviz.chat.templates import TEMPLATES
from tokviz.cli.app import add_options
from tokviz.cli.command import COMMANDS, Parser, load_command
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.guide import PAGES
from tokviz.guide.lessons import lessons
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.training.run_library import list_runs
from tokviz.workspace.settings import Settings

_SHELLS = ("bash", "zsh", "fish", "tcsh")
_FILES = ("FILE", "PATH", "OUT")
_FOLDERS = ("DIR", "RUN")
_NAMES_OR_FILES = ("tokenizer", "tokenizers", "source", "diff", "template", "values")
"""Arguments whose values are names or files."""
_FILES_IN_FISH = re.compile(r'-(x?)ka "(.*?) ?\(__fish_complete_path \(commandline -ct\)\)"')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz completion`."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    print(completion_script(arguments.shell))
    return 0


def completion_script(shell: str) -> str:
    """Return the completion script for a shell."""
    import shtab  # slow to import

    script: str = shtab.complete(_whole_parser(), shell)
    # `tokviz FILE` opens a file, so offer files too: besides the commands, or in bash if none fits.
    if shell == "fish":
        # The completion of files built into fish handles quotes, unlike that of shtab.
        script = _FILES_IN_FISH.sub(_files_in_fish, script)
        first = "'_shtab_tokviz_using; and test $_shtab_tokviz_npos -eq 0'"
        return f"{script}complete -c tokviz -n {first} -F\n"
    if shell == "zsh":
        # The script of shtab completes only the first of several files, and after a command it
        # takes options for those of `tokviz` itself if they have the same name.
        script = re.sub(r'"\(\*\)::?', '"*:', script)
        for wrong, right in (
            ("_describe 'tokviz commands' _commands", "_describe command _commands; _files"),
            ("-s $_shtab_tokviz_options", '-s -A "-*" $_shtab_tokviz_options'),
            (
                "\n      esac",
                "\n        *) _arguments -s $_shtab_tokviz_options[1,-3] ;;\n      esac",
            ),
        ):
            script = script.replace(wrong, right)
        return script
    # Only the first word is a command or a file.
    return script.replace(
        "complete -o bashdefault -F", "complete -o bashdefault -o default -F"
    ).replace("_shtab_tokviz_pos_0_nargs=A...\n", "")


def _files_in_fish(match: re.Match[str]) -> str:
    is_option, names = match.groups()
    return f"-{'r' if is_option else ''}F" + (f'ka "{names}"' if names else "")


def _whole_parser() -> argparse.ArgumentParser:
    """Return a parser with all commands as subparsers, which only shtab uses."""
    parser = Parser(prog="tokviz", allow_abbrev=False)
    add_options(parser)
    _describe_for_shell(parser)
    commands = parser.add_subparsers()
    for name, summary in COMMANDS.items():
        command = load_command(name)
        subparser = commands.add_parser(name, help=summary, allow_abbrev=False)
        command.add_arguments(subparser)
        _describe_for_shell(subparser)
    return parser


def _describe_for_shell(parser: argparse.ArgumentParser) -> None:
    """Set the completion of each argument for shtab."""
    import shtab  # slow to import

    for action in parser._actions:
        names = list(_names(action.dest))
        complete: Mapping[str, object] | None = None
        if action.dest in _NAMES_OR_FILES:
            complete = _name_or_file(action.dest, " ".join(names))
        elif names:
            action.choices = names
        elif action.metavar in _FOLDERS:
            complete = shtab.DIRECTORY
        elif action.metavar in _FILES:
            complete = shtab.FILE
        if complete:
            setattr(action, "complete", complete)  # noqa: B010 (no attribute of the type)


def _names(dest: str) -> Iterable[str]:
    """Return the names that an argument accepts; none if it has other values."""
    if dest in ("tokenizer", "tokenizers", "source", "diff"):
        trained = [run.name for run in list_runs() if re.fullmatch(r"[\w.-]+", run.name)]
        return [
            *trained,
            *chain.from_iterable((known.name, *known.aliases) for known in BUILTIN_TOKENIZERS),
        ]
    names: dict[str, Iterable[str]] = {
        "split_pattern": SPLIT_PATTERNS,
        "template": TEMPLATES,
        "ignore": RULES,
        "lesson": lessons(),
        "topic": PAGES,
        "values": [name for name in Settings._fields if name != "profile"],
    }
    return names.get(dest, ())


def _name_or_file(dest: str, names: str) -> dict[str, object]:
    """Return the completion of names and files for each shell."""
    import shtab  # slow to import

    function = f"_tokviz_file_or_{dest}"
    bash = f'{function}() {{ compgen -W "{names}" -- "$1"; compgen -f -- "$1"; }}'
    zsh = f"{function}() {{ _alternative 'names:name:({names})' 'files:file:_files'; }}"
    return {
        "bash": function,
        "zsh": function,
        "fish": f"{names} {shtab.FILE['fish']}",
        "tcsh": f"({names})",
        "preamble": {"bash": bash, "zsh": zsh},
    }
