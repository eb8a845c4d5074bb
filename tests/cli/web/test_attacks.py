"""Only the page of the server in an admitted browser can use the server."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="needs the extra web")

from aiohttp import ClientSession, WSServerHandshakeError
from yarl import URL

from tests.cli.web.running_server import drawn, run_server
from tokviz.cli.web import server
from tokviz.cli.web.server import Options

STRANGERS = {
    "no token": "/",
    "an empty token": "/?token=",
    "a wrong token": "/?token=" + "A" * 43,
    "a token that is no text": "/?token=%ff%00",
    "the token as another name": "/?Token={token}",
    "the token elsewhere": "/page/page.js?token={token}",
    "a file of the page": "/page/page.js",
    "a file of a visitor": "/files/text.txt",
    "a terminal": "/terminal?columns=80&rows=24",
}

FOREIGN = {
    "another page": {"Origin": "http://evil.example"},
    "no page": {"Origin": ""},
    "a file": {"Origin": "null"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "another scheme": {"Origin": "https://127.0.0.1:{port}"},
    "a longer name": {"Origin": "http://127.0.0.1:{port}.evil.example"},
    "another name of this machine": {"Origin": "http://localhost:{port}"},
    "a name with a user": {"Origin": "http://evil@127.0.0.1:{port}"},
    "a rebound name": {"Host": "evil.example"},
    "a rebound name with the port": {"Host": "evil.example:{port}"},
    "a rebound name and page": {
        "Host": "evil.example:{port}",
        "Origin": "http://evil.example:{port}",
    },
    "no port": {"Host": "127.0.0.1"},
    "an unusual number": {"Host": "2130706433:{port}"},
    "another site": {"Sec-Fetch-Site": "cross-site"},
    "another port of this machine": {"Sec-Fetch-Site": "same-site"},
}

WISHES = {
    "no size": "",
    "no rows": "columns=80",
    "a huge size": "columns=100000&rows=24",
    "a size below zero": "columns=-1&rows=24",
    "a size that is no number": "columns=80&rows=x",
    "an endless number": "rows=24&columns=" + "9" * 5000,
    "a tokenizer at a path": "columns=80&rows=24&tokenizer=../../etc/passwd",
    "a tokenizer of the Hub": "columns=80&rows=24&tokenizer=hf:org/name",
    "an option": "columns=80&rows=24&tokenizer=--help",
    "another screen": "columns=80&rows=24&screen=../x",
}

PATHS = {
    "up": "/files/../../../../etc/passwd",
    "up in code": "/files/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "up in code, twice": "/files/%252e%252e%252fetc%252fpasswd",
    "up, backwards": "/files/..%5c..%5cetc%5cpasswd",
    "from the root": "/files/%2fetc%2fpasswd",
    "the settings": "/files/..%2fconfig",
    "a link": "/files/link.txt",
    "a hidden file": "/files/.hidden",
    "a NUL": "/files/text.txt%00.png",
    "the program": "/page/..%2f..%2ftokviz%2fweb%2fserver.py",
    "the fonts' folder": "/page/",
    "another file there": "/page/LICENSES.txt",
}

MESSAGES = {
    "no JSON": "resize",
    "no size": "{}",
    "one number": "[80]",
    "a huge size": "[100000, 24]",
    "too many rows": "[80, 201]",
    "no size at all": "[0, 0]",
    "halves": "[80.5, 24]",
    "words": '["80", "24"]',
    "truths": "[true, true]",
    "a deep nest": "[" * 100_000,
    "an endless number": "[" + "9" * 5000 + ", 24]",
    "too long a text": "[" + " " * 1_000_001,
    "too long a key": b"a" * 1_000_001,
}


async def asks(browser: ClientSession, path: str, **options) -> int:
    """Send a request without normalizing the path."""
    url = URL(str(browser._base_url).rstrip("/") + path, encoded=True)
    async with browser.request(options.pop("method", "GET"), url, **options) as answer:
        if answer.status >= 400:
            assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        return answer.status


async def raw(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(65_536), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("path", STRANGERS.values(), ids=STRANGERS)
async def test_strangers_get_nothing(path):
    async with run_server() as running, ClientSession(running.url) as stranger:
        token = URL(running.addresses[0]).query["token"]
        assert (
            await asks(stranger, path.format(token=token), headers={"Origin": running.url}) == 403
        )


async def test_an_address_lets_one_browser_in():
    async with run_server() as running:
        used = URL(running.addresses[-1], encoded=True).relative()
        async with running.browser() as browser:
            (cookie,) = browser.cookie_jar
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
            assert await asks(browser, "/") == 200
        async with ClientSession(running.url) as second:
            assert await asks(second, str(used)) == 403
            assert await asks(second, "/") == 403
        async with ClientSession(running.url, cookies={cookie.key: cookie.value + "A"}) as guesser:
            assert await asks(guesser, "/") == 403
        async with running.browser() as third:
            assert await asks(third, "/") == 200


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
async def test_the_cookie_is_no_use_to_other_pages(headers):
    async with run_server() as running, running.browser() as browser:
        sent = {name: value.format(port=running.port) for name, value in headers.items()}
        sent = {"Origin": running.url, **sent}
        path = "/terminal?columns=80&rows=24"
        assert await asks(browser, path, headers=sent) in (403, 421)
        assert await asks(browser, "/files/a.txt", method="POST", data=b"", headers=sent) in (
            403,
            421,
        )
        with pytest.raises(WSServerHandshakeError):
            await running.terminal(browser, **sent)


@pytest.mark.parametrize("query", WISHES.values(), ids=WISHES)
async def test_a_page_cannot_wish_for_everything(query):
    async with run_server() as running, running.browser() as browser:
        with pytest.raises(WSServerHandshakeError, match="400"):
            await running.terminal(browser, query)


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
async def test_nothing_but_the_visitors_own_files_is_given(path):
    async with run_server() as running, running.browser() as browser:
        assert await asks(browser, "/files/text.txt", method="POST", data=b"mine",
                          headers={"Origin": running.url}) == 200  # fmt: skip
        (files,) = Path(os.environ["XDG_STATE_HOME"]).glob("tokviz/web/*/files")
        (files / "link.txt").symlink_to("/etc/passwd")
        (files / ".hidden").write_text("hidden")
        assert await asks(browser, path) in (400, 403, 404)
        assert await asks(browser, "/files/text.txt") == 200


async def test_what_is_uploaded_stays_in_the_visitors_folder(monkeypatch):
    monkeypatch.setattr(server, "MAX_FILES", 2)
    async with run_server() as running, running.browser() as browser, running.browser() as other:

        async def uploaded(name: str, data: bytes = b"x") -> int:
            path = f"/files/{name}"
            return await asks(
                browser, path, method="POST", data=data, headers={"Origin": running.url}
            )

        before = {path for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*")}
        assert await uploaded("..%2f..%2fsettings.json") == 200
        (made,) = {path for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*")} - before
        assert (made.parent.name, made.name) == ("files", "_.._settings.json")
        assert await uploaded("%2e%2e") >= 400
        assert await uploaded("%E6%96%87" * 100) == 400
        assert await uploaded("large", b"x" * (server.MAX_UPLOAD_BYTES + 1)) == 413
        assert await uploaded("second") == 200
        assert await uploaded("third") == 403
        assert await asks(other, "/files/second") == 404
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
            sent = {"Origin": running.url}
            assert await asks(browser, "/files/second", method=method, headers=sent) == 405


async def test_where_the_user_names_a_folder_nothing_is_given_or_taken(tmp_path):
    named = tmp_path / "named"
    named.mkdir()
    (named / "text.txt").write_text("the user's")
    async with run_server(Options(folder=named)) as running, running.browser() as browser:
        assert await asks(browser, "/files/text.txt") == 403
        sent = {"Origin": running.url}
        assert await asks(browser, "/files/a", method="POST", data=b"", headers=sent) == 403
    assert [path.name for path in named.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
@pytest.mark.usefixtures("echo")
async def test_a_message_that_makes_no_sense_ends_the_session(message):
    async with run_server() as running, running.browser() as browser:
        async with running.terminal(browser) as terminal:
            await drawn(terminal, b"ready")
            await (terminal.send_bytes if isinstance(message, bytes) else terminal.send_str)(
                message
            )
            await terminal.receive(timeout=5)
            assert terminal.close_code in (1008, 1009)
        async with running.terminal(browser) as terminal:
            await drawn(terminal, b"ready")


@pytest.mark.parametrize(
    "frame",
    [
        b"\x81\x01a",
        b"\x81\x81\0\0\0\0\xff",
        b"\xf2\x80\0\0\0\0",
        b"\x89\xfe\x7f\xff\0\0\0\0",
        b"\x83\x80",
    ],
    ids=["unmasked", "no UTF-8", "reserved bits", "a long ping", "an unknown kind"],
)
@pytest.mark.usefixtures("echo")
async def test_a_broken_frame_ends_the_session(frame):
    async with run_server() as running, running.browser() as browser:
        terminal = await running.terminal(browser)
        async with terminal:
            await drawn(terminal, b"ready")
            terminal._response.connection.transport.write(frame)
            message = await terminal.receive(timeout=5)
            assert not isinstance(message.data, bytes) or terminal.closed


@pytest.mark.usefixtures("echo")
async def test_there_are_four_sessions_at_most():
    async with run_server() as running, running.browser() as one, running.browser() as other:
        terminals = [await running.terminal(browser) for browser in (one, one, other, other)]
        for terminal in terminals:
            await drawn(terminal, b"ready")
        fifth = await running.terminal(one)
        await fifth.receive(timeout=5)
        assert fifth.close_code == 1013
        await terminals[0].close()
        again = await running.terminal(one)
        await drawn(again, b"ready")


@pytest.mark.usefixtures("echo")
async def test_a_flood_waits_and_a_size_is_taken():
    async with run_server() as running, running.browser() as browser:
        terminal = await running.terminal(browser)
        async with terminal:
            await drawn(terminal, b"ready")
            flood = asyncio.create_task(terminal.send_bytes(b"x" * 900_000))
            for _ in range(1_000):
                await terminal.send_str("[500, 200]")
            n_bytes = 0
            while n_bytes < 900_000:
                n_bytes += len((await terminal.receive(timeout=20)).data)
            await flood
            assert await asks(browser, "/") == 200


async def test_connections_that_bring_no_request_are_dropped(monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    async with run_server() as running, running.browser() as browser:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        crowd = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(200)]
        for one, _ in crowd:
            with suppress(ConnectionError):
                assert await asyncio.wait_for(one.read(), 5) == b""
        assert await asks(browser, "/") == 200


@pytest.mark.parametrize(
    ("request_", "refused"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", b" 421 "),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nHost: evil.example\r\n\r\n", b" 4"),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", b" 403 "),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nCookie: " + b"a" * 99_000 + b"\r\n\r\n", b" 4"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b" 400 "),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nTransfer-Encoding: chunked\r\n"
         b"Content-Length: 5\r\n\r\n0\r\n\r\n", b" 4"),
    ],
    ids=["no host", "two hosts", "another server", "a long head", "TLS", "two lengths"],
)  # fmt: skip
async def test_a_strange_request_is_refused(request_, refused):
    async with run_server() as running:
        request_ = request_.replace(b"%d", b"%d" % running.port)
        answer = await raw(running.port, request_)
        assert answer.startswith(b"HTTP/1") and refused in answer.partition(b"\r\n")[0]


async def test_what_is_given_forbids_everything_from_elsewhere():
    async with run_server() as running, running.browser() as browser:
        for name in server.PAGE_FILES:
            async with browser.get(f"/page/{name}") as answer:
                headers = answer.headers
                body = await answer.read()
            policy = dict(
                part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; ")
            )
            assert policy["default-src"] == "'none'"
            assert policy["script-src"] == "'self'"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cache-Control"] == "no-store"
            assert "Access-Control-Allow-Origin" not in headers
            if name.startswith(("index", "page")):
                assert (
                    b"//" not in body.replace(b"// ", b"").replace(b"}//$", b"")
                    and b"<style" not in body
                )
                assert b"onclick=" not in body and body.count(b"<script") == body.count(
                    b"</script>"
                )
