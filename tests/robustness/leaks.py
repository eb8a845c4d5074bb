"""Look for text that reaches the terminal unfiltered: payloads x places x command line and app.

    python tests/robustness/leaks.py --minutes 30
    python tests/robustness/leaks.py --seed 7 --payload 12

Every payload (`payloads.py`) is placed wherever tokviz accepts text: names of files, texts, tokens,
special tokens, patterns, roles, errors, the environment, pastes, corpora, names of trainings. With
each payload, every command runs on a terminal, and every action of every screen of the app is
performed, with a paste and Enter in the dialogs that it opens. The output to the terminal is
searched. Without `--minutes`, each payload is tried once. The figures at the end are leaks and
crashes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import pkgutil
import pty
import random
import re
import select
import signal
import sys
import tempfile
import time
import traceback
import tty
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import tokviz  # noqa: E402
from tests.forks import Forks, forked_jobs  # noqa: E402
from tests.robustness.monkey import apart  # noqa: E402
from tests.robustness.payloads import PAYLOADS, leaks  # noqa: E402
from tests.tui.waiting import until  # noqa: E402

DEADLINE_SECONDS = 120.0
EVERYTHING = len(PAYLOADS)
"""The number of the payload that combines all others."""
WAIT_SECONDS = 0.3
"""Seconds for the background work of an action before the next one."""
SIZE = (120, 40)
_CRASHED = 70


class Found(NamedTuple):
    """A leak or a crash: the payload's number, the place, and the evidence."""

    payload: int
    place: str
    what: str


class Kit:
    """Files whose names and contents contain a payload."""

    def __init__(self, folder: Path, payload: str) -> None:
        """Write the files into a folder."""
        import tokviz

        self.folder, self.payload = folder, payload
        self.text = payload.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        # Arguments and names cannot contain NUL; names also have no slash and a limited length.
        self.name = "n" + payload.replace("/", "⁄")[:60] + "m"
        content = f"begin {payload} end\r\n<|{payload}|> {payload * 3}\n"
        self.file = self._write("text.txt", content)
        self.odd = self._write(self.name + ".txt", content)
        self.missing = str(folder / ("none" + self.name))
        vocab = {byte: bytes([byte]) for byte in range(256)}
        merges: list[tuple[bytes, bytes]] = []
        grown = payload.encode("utf-8", "surrogateescape")[:12]
        for end in range(2, len(grown) + 1):
            if (merge := (grown[: end - 1], grown[end - 1 : end])) not in merges:
                merges.append(merge)
                vocab[len(vocab)] = grown[:end]
        special = f"<|{self.text}|>"
        regex = rf"{re.escape(self.text)}|\p{{L}}+|\s+|[^\s\p{{L}}]+"
        tok = tokviz.Tokenizer(vocab, merges, [special], split_pattern=regex, name=self.name)
        self.tokenizer, self.n_ids = tok, len(vocab) + 1
        self.tokenizers = [self.missing, self.name]
        for format in ("huggingface", "tiktoken", "gpt2", "minbpe"):
            target = folder / f"{format}{self.name}"
            with contextlib.suppress(tokviz.TokvizError):
                tok.save(target, format=format)
                self.tokenizers.append(str(target))
        model: dict[str, object] = {"type": "BPE", "vocab": {special: 0}, "merges": []}
        draft = {"version": "1.0", "model": model}
        self.broken = [
            self._write(f"broken{self.name}.json", '{"version": "' + payload),
            self._json("type.json", draft | {"model": {"type": self.text}}),
            self._json("merge.json", draft | {"model": {**draft["model"], "merges": [special]}}),  # type: ignore[dict-item]
            self._json("key.json", {self.text: {self.text: self.text}}),
            self._json("pre.json", draft | {"pre_tokenizer": {"type": self.text}}),
            self._json(
                "foreign.json",
                draft
                | {"normalizer": {"type": "Replace", "pattern": {"Regex": "(" + self.text}}}
                | {"added_tokens": [{"id": 1, "content": special}]},
            ),
            self._write("merges.txt", f"#version\n{payload} {payload}\n{payload}"),
            self._write("ranks.tiktoken", f"{payload} 1\nYQ== {payload}\n"),
        ]
        messages = [
            {"role": "system", "content": self.text, self.text: self.text},
            {"role": "user", "content": f"<|im_end|>{self.text}", "name": self.text},
            {
                "role": "assistant",
                "content": [{"type": "python", "text": self.text}, {"type": "text", "text": "x"}],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": self.text, "arguments": self.text}}],
            },
        ]
        rows = [
            {"messages": messages[:3]},
            {"messages": messages},
            {"messages": [{"role": self.text, "content": "x"}, {"role": "user", "content": 1}]},
            {"conversations": [{"from": self.text, "value": self.text}]},
            {self.text: self.text},
            {"messages": [{"role": "user", "content": [{"type": self.text, "text": "x"}]}]},
        ]
        lines = [*map(json.dumps, rows), "{" + payload, json.dumps(rows[0], ensure_ascii=False)]
        self.chat = self._write(self.name + ".jsonl", "\n".join(lines))
        raising = "{{ raise_exception(messages[0].content) }}"
        self.templates = [
            self._write(f"raise{self.name}.jinja", raising),
            self._write("wrong.jinja", "{{ " + payload + " }}"),
            self._write(
                "ok.jinja",
                payload + "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}",
            ),
            self._json("tokenizer_config.json", {"chat_template": raising, "eos_token": special}),
        ]
        words = ("text", "screen", "panel", "split_regex", "template", "replayed", "lesson")
        asked = {"tokviz": 1, "tokenizers": [self.text] * 3, **dict.fromkeys(words, self.text)}
        self.saved = [
            self._json(f"{number}{self.name}.tokviz.json", one)
            for number, one in enumerate((asked, {**asked, "tokviz": self.text}, {self.text: 1}))
        ]
        self.config = self._write("config.toml", f'theme = "{payload}"\n{payload} = "{payload}"\n')
        self.ids = self._write("ids.txt", " ".join(map(str, range(self.n_ids))))
        self.run = str(folder / f"run{self.name}")
        with contextlib.suppress(tokviz.TokvizError):
            trained = tokviz.train([f"the theme {self.text} " * 9], 262, special_tokens=[special])
            trained.save(self.run)

    def _write(self, name: str, content: str) -> str:
        path = self.folder / name
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        return str(path)

    def _json(self, name: str, content: object) -> str:
        return self._write(name, json.dumps(content, ensure_ascii=False))


# -- the command line


class Way(NamedTuple):
    """A command line: its place, its arguments, its input and its environment."""

    place: str
    arguments: Sequence[str]
    stdin: str = ""
    environment: tuple[tuple[str, str], ...] = ()


def ways(kit: Kit) -> Iterator[Way]:
    """List every command line that can receive a payload."""
    text, name = kit.payload, kit.name
    for command in ("encode", "count", "decode", "chat"):
        for path in (kit.file, kit.odd, kit.missing, kit.ids, kit.chat, kit.run):
            yield Way(f"{command} of a file", [command, path])
        yield Way(f"{command} of standard input", [command, "-"], stdin=f"{text}\n{text}")
        yield Way(f"{command} by a tokenizer", [command, kit.file, "-t", name])
    for path in (kit.config, kit.odd, kit.missing):
        yield Way("config check", ["config", "check", path])
    for arguments in ([text], ["set", text], ["set", "theme", text], ["set", f"keys.{name}", text]):
        yield Way("config", ["config", *arguments])
    for path in kit.saved:
        yield Way("a session", [path])
        yield Way("a session as text", ["count", path])
    for command in ("show", "eval", "drift"):
        yield Way(f"{command} of a file", [command, kit.odd])
    for option in ("--html", "--svg", "--markdown", "--table", "--ansi"):
        yield Way(f"show {option}", ["show", kit.odd, option, "-t", kit.run])
    for option in ("--host", "--folder", "--port"):
        yield Way(f"web {option}", ["web", option, kit.missing + text])
    for options in (["--spans"], ["--json"], ["--specials", "text"], ["--json", "--spans"]):
        yield Way(f"encode {options[0]}", ["encode", kit.odd, *options])
        yield Way(f"encode {options[0]} tokens", ["encode", kit.odd, *options, "-t", kit.run])
    for option in ("--cost", "--json"):
        yield Way(f"count {option}", ["count", kit.odd, option])
    for path in (*kit.tokenizers, *kit.broken, kit.run):
        yield Way("encode by a tokenizer file", ["encode", kit.file, "-t", path])
        yield Way("decode by a tokenizer file", ["decode", kit.ids, "-t", path])
        yield Way("tokenizers --check", ["tokenizers", "--check", path])
        yield Way("replay of a tokenizer file", ["replay", "--print", "-t", path])
    for path in kit.tokenizers[2:]:
        yield Way("decode --json", ["decode", kit.ids, "-t", path, "--json"])
        yield Way("chat by a tokenizer", ["chat", kit.chat, "--mask", "-t", path])
    replay = (["--text", text], ["--at", "3"], ["--json"], ["--diff", kit.file], ["--at", text],
              ["--diff", kit.run], ["--diff", "gpt2"], ["--steps", text])  # fmt: skip
    for options in replay:
        yield Way(f"replay {options[0]}", ["replay", kit.run, "--print", *options])
        yield Way(f"the app by replay {options[0]}", ["replay", kit.run, *options])
    for options in (["--mask"], ["--json"], ["--lint"], ["--lint", "--json"], ["--row", text],
                    ["--ignore", text], ["--max-tokens", text], ["--template", name]):  # fmt: skip
        yield Way(f"chat {options[0]}", ["chat", kit.chat, *options])
    for template in (*kit.templates, kit.broken[0], "chatml"):
        yield Way("chat --template", ["chat", kit.chat, "--mask", "--template", template])
        yield Way("chat --template --lint", ["chat", kit.chat, "--lint", "--template", template])
    run = str(kit.folder / f"new{name}")
    train = ["train", kit.odd, "--force", "-o", run, "--vocab-size", "260"]
    yield Way("train", train)
    for option in ("--pattern", "--special", "--special-ids", "--ties", "--delimiter", "--field",
                   "--min-count", "--max-chars", "--vocab-size", "-o"):  # fmt: skip
        value = kit.text if option == "--special" else text
        yield Way(f"train {option}", [*train, option, value])
    yield Way("train on what is missing", ["train", kit.missing, *train[2:]])
    yield Way("train on rows", ["train", kit.chat, *train[2:], "--field", name])
    yield Way("train --compare", [*train, "--compare"])
    for arguments in ([text], [kit.missing], ["--" + text], ["completion", text], [name, text],
                      ["encode", "--" + text], ["count", "x", "--specials", text],
                      ["encode", kit.file, "--split-pattern", text],
                      ["encode", kit.file, "--split-pattern", "(" + text],
                      ["tokenizers", "--check", kit.missing], ["tokenizers", "--check", kit.odd],
                      ["tokenizers", "--check", kit.broken[0], "--split-pattern", text],
                      ["train", text], ["replay", text], ["replay", kit.missing]):  # fmt: skip
        yield Way("arguments", arguments)
    for variable in ("TOKVIZ_TOKENIZER", "LANG", "LC_ALL", "TERM", "COLUMNS", "HF_ENDPOINT"):
        yield Way(f"${variable}", ["count", kit.file], environment=((variable, text),))
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        yield Way(f"${variable}", ["tokenizers"], environment=((variable, kit.odd),))
        yield Way(f"${variable}", [*train], environment=((variable, kit.odd),))


def run_command(way: Way) -> tuple[int, str]:
    """Run a command line in a fork with a new terminal, and return exit code and output.

    A fork has already imported everything, and otherwise equals a new process.
    """
    master, slave = pty.openpty()
    tty.setraw(slave)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(way.stdin.encode("utf-8", "surrogateescape"))
        stdin.seek(0)
        pid = os.fork()
        if pid == 0:
            _be_command(way, stdin.fileno(), slave)
    os.close(slave)
    output = bytearray()
    deadline = time.monotonic() + DEADLINE_SECONDS
    with contextlib.suppress(OSError):  # Linux reports this when the other side is closed
        while True:
            if not select.select((master,), (), (), max(0.0, deadline - time.monotonic()))[0]:
                os.kill(pid, signal.SIGKILL)
                break
            if not (block := os.read(master, 65536)):
                break
            output += block
    os.close(master)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, output.decode("utf-8", "surrogateescape")


def _be_command(way: Way, stdin: int, terminal: int) -> None:
    code = _CRASHED
    try:
        os.setsid()
        for target, source in enumerate((stdin, terminal, terminal)):
            os.dup2(source, target)
        os.environ.update({name: value for name, value in way.environment if "\0" not in value})
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        from tokviz.cli.main import main
        from tokviz.errors import TokvizError
        from tokviz.tui.terminal import stdin as app_stdin

        def no_app() -> None:
            raise TokvizError("the app would begin")

        app_stdin.reopen_terminal = no_app
        code = main([argument.replace("\0", "") for argument in way.arguments])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def try_command_line(
    number: int, kit: Kit, chosen: Callable[[Way], bool]
) -> Iterator[Found | None]:
    """Try a payload on the command line: one result for every command."""
    for way in filter(chosen, ways(kit)):
        code, output = run_command(way)
        told = f"{way.place}: {[ascii(one) for one in way.arguments]}"
        if code not in (0, 1, 2) or "Traceback" in output:
            yield Found(number, told, f"crash, exit code {code}: {output[-1500:]!a}")
        found = leaks(output, kit.payload)
        yield Found(number, told, f"leak: {found!a}") if found else None


# -- the app


_WHOLE = re.compile(r"\x07|\x1b\]52;c;[A-Za-z0-9+/=]*\x07|\x1b\]22;[a-z]*\x07|\x1b\[\?2026[hl]")
"""What Textual writes by itself and alone: a bell, a copy, the mouse's shape, a frame's ends."""


class Tour:
    """One run of the app that performs every action of every screen."""

    def __init__(self, kit: Kit, screens: Collection[str]) -> None:
        """Create a run with the files, on these screens; None for all."""
        self.kit, self.screens = kit, screens
        self.written = list[tuple[str, str]]()
        self.place = "start"

    def write(self, driver: object, data: str) -> None:
        """Collect the output for the terminal."""
        if not _WHOLE.fullmatch(data):
            self.written.append((self.place, data))

    async def run(self, chosen: Callable[[str], bool]) -> str:
        """Run the app; return the traceback of a crash, "" for none."""
        from textual.drivers.headless_driver import HeadlessDriver

        from tokviz.tui.app import TokvizApp
        from tokviz.workspace.error_log import ErrorLog
        from tokviz.workspace.session import Opened, Session
        from tokviz.workspace.settings import Settings

        kit = self.kit
        raised: list[BaseException] = []
        note = ErrorLog.note

        def noted(log: ErrorLog, error: BaseException) -> Any:
            if kit.payload not in str(error):
                raised.append(error)
            return note(log, error)

        settings = Settings(tokenizer=kit.name, folder=str(kit.folder), price_model=kit.text)
        settings = settings._replace(recent_tokenizers=tuple(kit.tokenizers))
        text = Path(kit.file).read_text("utf-8", errors="surrogateescape")
        opened = Opened(text, Path(kit.odd), notes=(f"A note: {kit.payload}.",))
        app: Any = TokvizApp(Session(opened, kit.tokenizer, settings), errors=ErrorLog())
        app.exit = lambda *arguments, **options: None
        with (
            mock.patch.object(HeadlessDriver, "is_headless", False),
            mock.patch.object(HeadlessDriver, "write", lambda *data: self.write(*data)),
            mock.patch.object(ErrorLog, "note", noted),
        ):
            try:
                async with app.run_test(size=SIZE, notifications=True) as pilot:
                    await self._go_round(app, pilot, chosen)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                raised.append(error)
        return "".join("".join(traceback.format_exception(error)) for error in raised)

    async def _go_round(self, app: Any, pilot: Any, chosen: Callable[[str], bool]) -> None:
        from tokviz.chat.dataset import ChatRequest
        from tokviz.tui.app import actions_on
        from tokviz.tui.screens.registry import SCREENS
        from tokviz.workspace.session import ReplayRequest

        kit, session = self.kit, app.session

        def fail() -> None:
            raise ValueError(kit.payload)

        await self._settle(app, pilot)
        app.call_later(fail)
        app.notify(f"Said: {kit.payload}", markup=False)
        await self._settle(app, pilot)
        for kind in SCREENS:
            if self.screens and kind.id not in self.screens:
                continue
            self.place = kind.id
            await self._rest(app, pilot)
            await self._show(app, pilot, kind.id)
            if kind.id == "chat":
                session.ask(ChatRequest(kit.chat, kit.templates[2], 2048))
            elif kind.id == "replay":
                session.ask(ReplayRequest(kit.run))
            elif kind.id == "train":
                app.screen.form.add_sources([kit.odd, kit.missing, str(kit.folder)])
            await self._settle(app, pilot)
            for action in actions_on(kind.id):
                if action.id == "quit" or not chosen(f"{kind.id} {action.id}"):
                    continue
                self.place = f"{kind.id}, {action.id}"
                await self._rest(app, pilot)
                await self._show(app, pilot, kind.id)
                found, node = next(
                    ((one, owner) for one, owner in _doable(app) if one.id == action.id),
                    (None, None),
                )
                if found is not None:
                    before = app.focused
                    app.call_later(app.run_action, found.call, node)
                    await self._settle(app, pilot)
                    if app.focused is not before and app.focused is not None:
                        await self._answer(app, pilot)

    async def _show(self, app: Any, pilot: Any, screen: str) -> None:
        """Switch to a screen, which takes some frames the first time."""
        if app.current_mode != screen:
            app.action_show_screen(screen)
            await until(pilot, lambda: app.current_mode == screen)
            await self._settle(app, pilot)

    async def _answer(self, app: Any, pilot: Any) -> None:
        """Paste the payload into the focused widget, then the name of a file, and press Enter."""
        from textual import events

        for text in (self.kit.payload, self.kit.missing, self.kit.odd):
            if len(app.screen_stack) > 1:
                app.post_message(events.Key("ctrl+u", None))
            app.post_message(events.Paste(text))
            await self._settle(app, pilot)
            if len(app.screen_stack) < 2:
                break
            app.post_message(events.Key("enter", "\r"))
            await self._settle(app, pilot)

    async def _rest(self, app: Any, pilot: Any) -> None:
        for _ in range(9):
            if len(app.screen_stack) < 2:
                break
            app.post_message(events_key("escape"))
            await self._settle(app, pilot)
        while len(app.screen_stack) > 1:
            app.screen.dismiss(None)
            await self._settle(app, pilot)

    async def _settle(self, app: Any, pilot: Any) -> None:
        """Let the app draw, without waiting for background work."""
        from textual.worker import WorkerCancelled, WorkerFailed

        for _ in range(2):
            await pilot.pause(0)
            if len(app.workers):
                with contextlib.suppress(WorkerCancelled, WorkerFailed, TimeoutError):
                    await asyncio.wait_for(app.workers.wait_for_complete(), WAIT_SECONDS)


def events_key(key: str) -> Any:
    """Make a key press."""
    from textual import events

    return events.Key(key, None)


def _doable(app: Any) -> Iterator[tuple[Any, Any]]:
    from tokviz.tui.actions import doable

    yield from doable(app, app.screen)


def try_app(
    number: int, kit: Kit, chosen: Callable[[str], bool], screens: Collection[str] = ()
) -> Iterator[Found | None]:
    """Try a payload in the app: one result for every frame."""
    tour = Tour(kit, screens)
    crash = asyncio.run(tour.run(chosen))
    if crash:
        yield Found(number, f"app: {tour.place}", f"crash: {crash}")
    for place, data in tour.written:
        found = leaks(data, kit.payload, SIZE)
        yield Found(number, f"app: {place}", f"leak: {found!a}") if found else None


# -- both


def try_payload(number: int, chance: random.Random, share: float) -> tuple[int, list[Found]]:
    """Try a payload everywhere, or in a random share of the places; return count and faults."""
    chosen = lambda _: chance.random() < share  # noqa: E731
    on_one = one_screen_each(chance)
    in_app = lambda where: chosen(where) and (number == EVERYTHING or where in on_one)  # noqa: E731
    n_done, wrong = 0, list[Found]()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        payload = "".join(PAYLOADS) if number == EVERYTHING else PAYLOADS[number]
        kit = Kit(Path(folder), payload)
        keep_run(kit)
        for results in (try_command_line(number, kit, chosen), try_app(number, kit, in_app)):
            for found in results:
                n_done += 1
                if found is not None:
                    wrong.append(found)
                    print(f"FOUND  payload {number} {payload[:40]!a}, {found.place}")
                    print(f"    {found.what}", flush=True)
    return n_done, wrong


def one_screen_each(chance: random.Random) -> set[str]:
    """Choose one of its screens for every action."""
    from tokviz.tui.app import actions_on
    from tokviz.tui.screens.registry import SCREENS

    places = [(action.id, kind.id) for kind in SCREENS for action in actions_on(kind.id)]
    chance.shuffle(places)
    return {f"{screen} {action}" for action, screen in dict(places).items()}


def keep_run(kit: Kit) -> None:
    """Add the training to the user's runs, for every list of trainings."""
    import shutil

    from tokviz.training.run_library import runs_folder

    if os.path.isdir(kit.run):
        shutil.copytree(kit.run, runs_folder() / Path(kit.run).name, dirs_exist_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """Search, print the figures, and return 1 if there was a leak or a crash."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--minutes", type=float, help="go on for so long (all payloads once)")
    parser.add_argument("--seed", type=int, help="the same one tries the same order (random)")
    parser.add_argument("--share", type=float, default=1.0, help="of the places, for each payload")
    parser.add_argument("--payload", type=int, help="only the payload of this number")
    asked = parser.parse_args(arguments)
    seed = random.randrange(2**32) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    chance, began = random.Random(seed), time.monotonic()
    order = [asked.payload] if asked.payload is not None else [*range(len(PAYLOADS))]
    chance.shuffle(order)
    if asked.payload is None:
        order.insert(0, EVERYTHING)
    for module in pkgutil.walk_packages(tokviz.__path__, "tokviz."):  # so that no fork has to
        if not module.name.endswith("__main__"):
            import_module(module.name)
    forks = Forks()
    forks.start()
    n_done, tried, wrong = 0, 0, list[Found]()
    for number in order:
        with forked_jobs(forks), apart():
            done, found = try_payload(number, chance, asked.share)
        n_done, tried, wrong = n_done + done, tried + 1, wrong + found
        print(f"{tried} payloads, {n_done:,} outputs, {len(wrong)} wrong", flush=True)
        if asked.minutes is not None and time.monotonic() - began > asked.minutes * 60:
            break
    forks.close()
    n_leaks = sum(found.what.startswith("leak") for found in wrong)
    print(f"leaks: {n_leaks} leaks and {len(wrong) - n_leaks} crashes in {n_done:,} outputs"
          f" of {tried} payloads; must be 0 and 0")  # fmt: skip
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
