from __future__ import annotations

import shutil
import subprocess

import pytest

from tokviz.cli.command import COMMANDS
from tokviz.guide import PAGES, page


def test_without_a_topic_it_lists_the_pages(tokviz):
    lines = tokviz("help").text.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == list(PAGES)


def test_a_page_is_printed_as_it_is_written(tokviz):
    assert tokviz("help", "why").text == page("why")


def test_the_manual_page_has_every_command_and_nothing_that_man_stumbles_over(tokviz):
    page = tokviz("help", "--man").text
    assert page.startswith('.TH TOKVIZ 1 "" "tokviz ')
    headings = page.replace("\\-", "-")
    assert [name for name in COMMANDS if f"\n.SH TOKVIZ {name.upper()}\n" not in headings] == []
    requests = {line.split()[0] for line in page.splitlines() if line[:1] in (".", "'")}
    assert requests == {".TH", ".SH", ".PP", ".TP", ".nf", ".fi"}
    if groff := shutil.which("groff"):
        checked = subprocess.run(
            [groff, "-man", "-ww", "-Tutf8"], input=page.encode(), capture_output=True, check=True
        )
        assert checked.stderr == b""


def test_a_terminal_gets_it_set(tokviz_on_terminal):
    shown = tokviz_on_terminal("help", "why")
    assert b"\x1b[1m" in shown
    assert b"tokviz help tutorial" in shown
    assert b"\x1b]8" not in shown


def test_words_are_looked_for_in_all_pages(tokviz):
    assert tokviz("help", "set-clipboard").text.split()[0] == "troubleshooting"
    nothing = tokviz("help", "no such thing")
    assert (nothing.code, nothing.out) == (2, b"")
    assert "no page of the guide mentions 'no such thing'" in nothing.err


def test_the_help_of_a_command_comes_before_the_page_of_that_name(tokviz):
    shown = tokviz("help", "train").text
    assert shown.startswith(tokviz("train", "--help").text)
    assert shown.endswith(page("train"))
    assert tokviz("help", "count").text.startswith("usage: tokviz count")
    assert "did you mean 'tokens'?" in tokviz("help", "tokenss").err


def test_the_manual_page_has_exit_codes_variables_and_files(tokviz):
    page = tokviz("help", "--man").text
    assert ".SH EXIT STATUS\n.TP\n0\nsuccess" in page
    assert ".SH ENVIRONMENT\n.TP\nTOKVIZ_TOKENIZER\n" in page
    assert ".SH FILES\n.TP\n~/.config/tokviz/config.toml\n" in page


def test_the_api_page_has_no_addresses():
    assert " at 0x" not in page("api")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("count", "--specails", "text"), "did you mean --specials?"),
        (("count", "--specials", "txt"), "did you mean text?"),
        (("config", "shwo"), "did you mean show?"),
    ],
)
def test_an_unknown_option_or_value_gets_a_suggestion(tokviz, words, hint):
    done = tokviz(*words)
    assert done.code == 2 and hint in done.err
