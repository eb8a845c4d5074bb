"""A visitor cannot make Python run code that the visitor has uploaded or saved."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="needs the extra web")

from tests.cli.web.running_server import RunningServer, Shown, drawn, run_server
from tests.terminal import ROOT
from tokviz.cli.web import server
from tokviz.cli.web.server import Options

SCRIPT = """
import ctypes, _ctypes, json, os, posix, shutil, sqlite3, sys
import tokviz
from pathlib import Path
from tokviz.storage.files import write_file
files, home, prefix = os.getcwd(), os.path.expanduser("~"), sys.prefix
site = f"{home}/.local/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
def save(folder):
    tokviz.train(["a b"], 258).tokenizer.save(folder, format="huggingface")
found = {}
for name, attempt in json.loads(sys.argv[1]).items():
    try:
        found[name] = f"done: {eval(attempt)}"
    except (OSError, tokviz.TokvizError) as error:
        found[name] = str(error)
print(json.dumps(found) + "END")
"""

NATIVE = {
    "make a named pipe": "os.mkfifo('pipe')",
    "make a named pipe by posix": "posix.mkfifo('pipe')",
    "make a device file": "os.mknod('device')",
    "open a database": "sqlite3.connect('database')",
    "attach a database": "sqlite3.connect(':memory:').execute('ATTACH ? AS x', [home + '/x'])",
    "call a C function": "ctypes.CDLL(None).system",
    "call renameat2": "ctypes.CDLL(None).renameat2",
    "call Python's C API": "ctypes.pythonapi.PyRun_SimpleString",
    "find a C function by handle": "_ctypes.dlsym(ctypes.CDLL(None)._handle, 'system')",
    "load a library": "ctypes.CDLL(files + '/library.so')",
    "load a library by name": "ctypes.CDLL('libm.so.6')",
}

HOME = {
    "save a tokenizer to the user site": "save(site)",
    "make the user site": "os.makedirs(site)",
    "write to the home": "write_file(home + '/x.pth', b'import x')",
    "make the home writable": "os.chmod(home, 0o700)",
    "replace the home": "os.rename(home, files + '/home')",
    "write beside the files": "write_file(files + '/../sitecustomize.py', b'')",
}

VIRTUAL_ENVIRONMENT = {
    "replace python": "write_file(prefix + '/bin/python', b'')",
    "add a program": "write_file(prefix + '/bin/new', b'')",
    "change pyvenv.cfg": "write_file(prefix + '/pyvenv.cfg', b'')",
    "add a folder": "os.mkdir(prefix + '/new')",
    "save a tokenizer": "save(prefix + '/share')",
    "change permissions": "os.chmod(prefix + '/pyvenv.cfg', 0o666)",
    "move it": "os.rename(prefix, files + '/other')",
    "move its parent": "os.rename(os.path.dirname(prefix), files + '/other')",
    "take its place": "os.rename(files, os.path.dirname(prefix))",
    "remove it": "shutil.rmtree(prefix)",
    "remove its parent": "shutil.rmtree(os.path.dirname(prefix))",
    "write to PYTHONPATH": "write_file(files + '/library/sitecustomize.py', b'')",
    "write below PYTHONPATH": "write_file(files + '/library/package/x.py', b'')",
}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Make a virtual environment that has the packages of this one and uses the user site."""
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    made = tmp_path / "shared" / "project" / "venv"
    packages = made / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    for folder in (made / "bin", packages.parent, tmp_path / "shared" / "library" / "package"):
        folder.mkdir(parents=True)
    packages.symlink_to(Path(sysconfig.get_path("purelib")).resolve())
    (made / "bin" / "python").symlink_to(python)
    (made / "pyvenv.cfg").write_text(
        f"home = {python.parent}\ninclude-system-site-packages = true\n"
    )
    return made


def own_folder() -> Path:
    """Return the folder of the only visitor."""
    (files,) = Path(os.environ["XDG_STATE_HOME"]).glob("tokviz/web/*/files")
    return files.parent


async def attempted(running: RunningServer, attempts: dict[str, str]) -> dict[str, str]:
    """Run attempts instead of the app, and return the results."""
    async with running.browser() as browser, running.terminal(browser) as page:
        seen = (await drawn(page, b"END\r\n")).decode()
    found: dict[str, str] = json.loads(seen[seen.index("{") :].partition("END")[0])
    assert found.keys() == attempts.keys()
    return found


def refused(found: dict[str, str]) -> set[str]:
    return {name for name, result in found.items() if "this session may not" in result}


def run_attempts(
    monkeypatch: pytest.MonkeyPatch, attempts: dict[str, str], python: str = sys.executable
) -> None:
    program = (python, *server.APP[1 : server.APP.index("-m")], "-c", SCRIPT, json.dumps(attempts))
    monkeypatch.setattr(server, "APP", program)


async def test_code_cannot_be_saved_or_loaded_from_a_private_folder(monkeypatch):
    attempts = NATIVE | HOME
    run_attempts(monkeypatch, attempts)
    async with run_server() as running:
        found = await attempted(running, attempts)
    assert refused(found) == set(found), found


async def test_a_virtual_environment_in_the_shared_folder_cannot_be_changed(
    monkeypatch, environment
):
    shared = environment.parents[1]
    before = sorted(shared.rglob("*"))
    monkeypatch.setenv("PYTHONPATH", str(shared / "library"))
    run_attempts(monkeypatch, VIRTUAL_ENVIRONMENT, str(environment / "bin" / "python"))
    async with run_server(Options(folder=shared)) as running:
        found = await attempted(running, VIRTUAL_ENVIRONMENT)
    assert refused(found) == set(found), found
    assert sorted(shared.rglob("*")) == before


async def test_an_uploaded_module_does_not_run(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("", "relative", ".", str(ROOT))))
    async with run_server() as running, running.browser() as browser:
        for name in ("sitecustomize.py", "usercustomize.py", "textual.py"):
            sent = {"Origin": running.url}
            code = b"open('ran', 'w').close()"
            async with browser.post(f"/files/{name}", data=code, headers=sent) as answer:
                assert answer.status == 200
        async with running.terminal(browser) as page:
            await Shown(page)("cl100k_base", "lossless")
    assert (own_folder() / "files" / "sitecustomize.py").exists()
    assert not (own_folder() / "files" / "ran").exists()


async def test_the_user_site_is_not_used(monkeypatch, environment):
    monkeypatch.setattr(server, "APP", (str(environment / "bin" / "python"), *server.APP[1:]))
    async with run_server() as running, running.browser() as browser:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        for home in (own_folder(), own_folder() / "home"):
            home.mkdir(exist_ok=True)
            home.chmod(0o700)
            site = home / ".local" / "lib" / version / "site-packages"
            site.mkdir(parents=True)
            (site / "x.pth").write_text("import os; open('ran', 'w').close()\n")
        async with running.terminal(browser) as page:
            await Shown(page)("cl100k_base", "lossless")
    assert not (own_folder() / "files" / "ran").exists()


async def test_the_app_saves_in_the_folder_for_files_and_nowhere_else():
    async with (
        run_server() as running,
        running.browser() as browser,
        running.terminal(browser) as page,
    ):
        shown = Shown(page)
        await shown("cl100k_base", "lossless")
        await page.send_bytes(b"\x1b[200~import os\x1b[201~")
        await shown("import·os")
        for path in ("../state/x.pth", "~/x.pth", "../x.pth", "/tmp/x.pth"):
            await page.send_bytes(b"\x13")
            await shown("Save the text as")
            await page.send_bytes(b"\x1b[200~" + path.encode() + b"\x1b[201~\r")
            await shown(f"› {path}", "Esc cancel")
            await page.send_bytes(b"\x1b")
            await shown("2 tokens")
        await page.send_bytes(b"\x13")
        await shown("Save the text as")
        await page.send_bytes(b"\x1b[200~x.txt\x1b[201~\r")
        await shown("Saved 9 bytes to", "x.txt")
    assert [path.name for path in own_folder().rglob("x.*")] == ["x.txt"]
