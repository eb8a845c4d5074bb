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
from collections.abc import Mapping
from itertools import chain

from tokviz.cli.command import COMMANDS, Parser, load_command

_SHELLS = ("bash", "zsh", "fish", "tcsh")
_FILES = ("FILE", "PATH", "OUT")
_FOLDERS = ("DIR", "RUN")
_OR_A_FILE = ("tokenizer", "tokenizers", "source", "diff", "template", "given")
"""Arguments that take a name or a file."""
_FILES_IN_FISH = re.compile(r'-(x?)ka "(.*?) ?\(__fish_complete_path \(commandline -ct\)\)"')


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
        # What fish itself does for files knows quotes.
        script = _FILES_IN_FISH.sub(_files_in_fish, script)
        first = "'_shtab_tokviz_using; and test $_shtab_tokviz_npos -eq 0'"
        return f"{script}complete -c tokviz -n {first} -F\n"
    if shell == "zsh":
        # What shtab writes for several files offers none after the first, and takes an option
        # behind a command for one of `tokviz` itself if that has one of this name.
        script = re.sub(r'"\(\*\)::?', '"*:', script)
        for written, meant in (
            ("_describe 'tokviz commands' _commands", "_describe command _commands; _files"),
            ("-s $_shtab_tokviz_options", '-s -A "-*" $_shtab_tokviz_options'),
            (
                "\n      esac",
                "\n        *) _arguments -s $_shtab_tokviz_options[1,-3] ;;\n      esac",
            ),
        ):
            script = script.replace(written, meant)
        return script
    # Only the first word is a command or a file.
    return script.replace(
        "complete -o bashdefault -F", "complete -o bashdefault -o default -F"
    ).replace("_shtab_tokviz_pos_0_nargs=A...\n", "")


def _files_in_fish(found: re.Match[str]) -> str:
    is_option, names = found.groups()
    return f"-{'r' if is_option else ''}F" + (f'ka "{names}"' if names else "")


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

    for action in parser._actions:
        names = _names(action.dest)
        place: Mapping[str, object] | None = None
        if action.dest in _OR_A_FILE:
            place = _name_or_file(action.dest, " ".join(names))
        elif names:
            action.choices = names
        elif action.metavar in _FOLDERS:
            place = shtab.DIRECTORY
        elif action.metavar in _FILES:
            place = shtab.FILE
        if place:
            setattr(action, "complete", place)  # noqa: B010 (shtab's way, unknown to types)


def _names(dest: str) -> list[str]:
    """Give the names that an argument may take, none where it takes others."""
    match dest:
        case "tokenizer" | "tokenizers" | "source" | "diff":
            from tokviz.formats.registry import BUILTIN_TOKENIZERS
            from tokviz.training.run_library import list_runs

            trained = [run.name for run in list_runs() if re.fullmatch(r"[\w.-]+", run.name)]
            builtin = [(known.name, *known.aliases) for known in BUILTIN_TOKENIZERS]
            return [*trained, *chain.from_iterable(builtin)]
        case "split_pattern":
            from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS

            return list(SPLIT_PATTERNS)
        case "template":
            from tokviz.chat.templates import TEMPLATES

            return list(TEMPLATES)
        case "ignore":
            from tokviz.chat.lint import RULES

            return list(RULES)
        case "lesson":
            from tokviz.guide.lessons import lessons

            return list(lessons())
        case "topic":
            from tokviz.guide import PAGES

            return list(PAGES)
        case "given":
            from tokviz.workspace.settings import Settings

            return [name for name in Settings._fields if name != "profile"]
    return []


def _name_or_file(what: str, names: str) -> dict[str, object]:
    """Say in the words of each shell that a name or a file is wanted."""
    import shtab

    function = f"_tokviz_file_or_{what}"
    bash = f'{function}() {{ compgen -W "{names}" -- "$1"; compgen -f -- "$1"; }}'
    zsh = f"{function}() {{ _alternative 'names:name:({names})' 'files:file:_files'; }}"
    return {
        "bash": function,
        "zsh": function,
        "fish": f"{names} {shtab.FILE['fish']}",
        "tcsh": f"({names})",
        "preamble": {"bash": bash, "zsh": zsh},
    }
