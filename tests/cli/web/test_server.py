"""Sessions of the web server: start, end, and separation of visitors."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="needs the extra web")

from tests.cli.web.running_server import RunningServer, Shown, drawn, run_server
from tests.terminal import ROOT
from tokviz.cli.web import server, terminal
from tokviz.cli.web.server import Options
from tokviz.errors import missing_package

STUBBORN = "import signal, os\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
STUBBORN += "os.write(1, b'ready %d.' % os.getpid())\nwhile True: signal.pause()"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]


def below(pid: int) -> set[int]:
    """Return all descendants of a process."""
    found = {pid}
    while True:
        more = set(found)
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if parent in found:
                more.add(int(stat.parent.name))
        if more == found:
            return found - {pid}
        found = more


async def gone(pids: set[int], seconds: float = 15.0) -> None:
    ends = time.monotonic() + seconds
    while any(map(alive, pids)):
        assert time.monotonic() < ends
        await asyncio.sleep(0.05)


@pytest.fixture
def command(tmp_path):
    """Start `tokviz web` as a process."""
    arguments = [sys.executable, "-P", "-m", "tokviz", "web", "--port", "0"]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


async def test_the_app_begins_keeps_a_text_for_its_visitor_and_dies_with_the_server(command):
    address = (await asyncio.to_thread(command.stdout.readline)).decode().strip()
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=[\w-]{43}", address)
    assert found
    running = RunningServer(int(found[1]), [address])
    async with running.browser() as browser:
        async with running.terminal(browser) as page:
            shown = Shown(page)
            await shown("cl100k_base", "lossless")
            await page.send_bytes(b"\x1b[200~never saved\x1b[201~")
            await shown("never·saved")
        async with running.terminal(browser) as page:
            await Shown(page)("Unsaved text", "11 B", "lossless")
        running.addresses.append(
            (await asyncio.to_thread(command.stdout.readline)).decode().strip()
        )
        async with running.browser() as stranger, running.terminal(stranger) as page:
            assert "Unsaved" not in await Shown(page)("lossless")
            apps = below(command.pid)
            assert apps
            command.kill()
            await gone(apps)


@pytest.mark.usefixtures("echo")
async def test_an_app_ends_with_its_page(monkeypatch):
    others = below(os.getpid())
    async with run_server() as running, running.browser() as browser:
        page = await running.terminal(browser)
        await drawn(page, b"ready")
        apps = below(os.getpid()) - others
        assert apps
        page._response.connection.transport.abort()  # without closing the WebSocket
        await gone(apps)

        monkeypatch.setattr(server, "APP", (sys.executable, "-c", STUBBORN))
        monkeypatch.setattr(terminal, "END_SECONDS", 0.2)
        page = await running.terminal(browser)
        seen = await drawn(page, b".")
        await page.close()
        await gone({int(seen.partition(b"ready ")[2].partition(b".")[0])})


@pytest.mark.usefixtures("echo")
async def test_a_session_that_is_idle_ends():
    async with run_server(Options(idle_seconds=0.3)) as running, running.browser() as browser:
        page = await running.terminal(browser)
        await drawn(page, b"ready")
        message = await page.receive(timeout=5)
        assert (page.close_code, "nothing was typed" in message.extra) == (1001, True)


@pytest.mark.usefixtures("echo")
async def test_the_server_ends_its_sessions():
    others = below(os.getpid())
    async with AsyncExitStack() as outside, AsyncExitStack() as inside:
        running = await inside.enter_async_context(run_server())
        browser = await outside.enter_async_context(running.browser())
        page = await running.terminal(browser)
        await drawn(page, b"ready")
        command = [sys.executable, "-m", "tokviz", "web", "--port", str(running.port)]
        taken = await asyncio.to_thread(subprocess.run, command, capture_output=True, cwd=ROOT)
        assert taken.returncode == 2
        assert b"cannot listen on 127.0.0.1" in taken.stderr
        apps, end = below(os.getpid()) - others, asyncio.create_task(page.receive(timeout=15))
        await inside.aclose()
        await gone(apps)
        await end
        assert page.close_code == 1001


def test_ctrl_c_ends_the_command(command):
    command.stdout.readline()
    command.send_signal(signal.SIGINT)
    assert command.wait(timeout=15) == 0


@pytest.mark.usefixtures("echo")
async def test_an_app_gets_a_large_paste_whole_and_its_size():
    pasted = os.urandom(500_000).hex().encode()
    async with run_server() as running, running.browser() as browser:
        page = await running.terminal(browser)
        await drawn(page, b"ready")
        for at in range(0, len(pasted), 1 << 18):
            await page.send_bytes(pasted[at : at + (1 << 18)])
        seen = b""
        while len(seen) < len(pasted):
            seen += (await page.receive(timeout=20)).data
        assert seen == pasted


async def test_an_app_is_told_what_the_page_wishes_and_nothing_of_the_user(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    show = "import os, shutil, sys; print(sys.argv, dict(os.environ), shutil.get_terminal_size())"
    monkeypatch.setattr(server, "APP", (sys.executable, "-c", show))
    async with run_server() as running, running.browser() as browser:
        page = await running.terminal(
            browser, "columns=77&rows=33&light=1&tokenizer=gpt2&screen=chat"
        )
        seen = (await drawn(page, b"\n")).decode()
    assert "secret" not in seen
    assert "'--light', '--tokenizer', 'gpt2', '--screen', 'chat'" in seen
    assert "columns=77, lines=33" in seen
    assert re.search(r"'HOME': '[^']*/tokviz/web/[0-9a-f]{64}/home'", seen)


def test_what_may_be_asked_of_the_command():
    from tokviz.cli.main import main

    for wrong in (["--host", "0.0.0.0"], ["--host", "::"], ["--host", "name"], ["--port", "70000"]):
        assert main(["web", *wrong]) == 2
    for wrong_folder in ("/nowhere", "/"):
        assert main(["web", "--port", "0", "--folder", wrong_folder]) == 2


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "aiohttp.py").write_text("raise ModuleNotFoundError(name='aiohttp')")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tokviz", "web"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == f"tokviz: tokviz web {missing_package('aiohttp')}\n"
