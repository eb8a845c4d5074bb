"""The app in Chromium: keyboard, mouse, clipboard, files; no requests to other hosts."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

pytest.importorskip("aiohttp", reason="needs the extra web")
pytest.importorskip("playwright", reason="needs Playwright")

from tests.cli.web import chromium
from tests.cli.web.chromium import centre, empty_page, shows, until
from tests.cli.web.running_server import run_server
from tokviz.cli.web.server import MAX_UPLOAD_BYTES

pytestmark = pytest.mark.skipif(chromium.CHROMIUM is None, reason="there is no Chromium")


async def test_a_session_in_chromium(tmp_path):
    asked: list[str] = []
    wrong: list[str] = []
    (tmp_path / "large.txt").write_bytes(b"x" * (MAX_UPLOAD_BYTES + 1))
    (tmp_path / "mine.txt").write_bytes(b"from my computer\r\nline two")
    async with (
        run_server() as running,
        empty_page(color_scheme="dark", viewport={"width": 1160, "height": 760}) as page,
    ):
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        keyboard, mouse = page.keyboard, page.mouse

        await page.goto(running.addresses[0])
        await shows(page, "lossless", "cl100k_base")
        assert "token" not in page.url
        assert await page.evaluate("document.body.style.background") == "rgb(17, 19, 24)"
        assert await page.locator("[style*='background-color: rgb(17, 19, 24)']").count() > 10
        assert await page.evaluate("document.fonts.check('16px \"tokviz mono\"')")

        await keyboard.press("Control+a")
        await keyboard.type("hello ")
        keys = await page.context.new_cdp_session(page)
        half = {"text": "せか", "selectionStart": 2, "selectionEnd": 2}
        await keys.send("Input.imeSetComposition", half)
        await keys.send("Input.insertText", {"text": "世界"})
        await shows(page, "hello·世界", "12 bytes")

        hello = ".xterm-rows span:text('hello')"
        plain = await page.get_attribute(hello, "style")

        async def pointed() -> str | None:
            await mouse.move(*await centre(page, "15339"))  # an id, whose token is highlighted
            return await page.get_attribute(hello, "style")

        await until(pointed, lambda style: style != plain)
        await mouse.click(*await centre(page, "Compare"))
        await shows(page, "o200k_base")
        await mouse.click(*await centre(page, "Tokens"))
        await shows(page, "lossless", "hello·世界")

        lines = (
            "Array.from({length: 62500}, (_, i) => String(i).padStart(14, 0) + '\\r\\n').join('')"
        )
        await page.evaluate(f"navigator.clipboard.writeText({lines})")
        await keyboard.press("Control+a")
        await keyboard.press("Control+v")
        await shows(page, "1,000,000 bytes")
        await keyboard.press("Control+Home")
        await shows(page, "00000000000000␍⏎")
        await mouse.move(300, 300)
        for _ in range(20):
            await mouse.wheel(0, 120)
        await shows(page, "00000000000040␍⏎")

        await keyboard.press("Control+z")
        await shows(page, "hello·世界")
        await keyboard.press("Control+a")
        await keyboard.press("Control+c")
        await shows(page, "Copied 8 characters")
        assert await page.evaluate("navigator.clipboard.readText()") == "hello 世界"

        async with page.expect_download() as saving:
            await keyboard.press("Control+s")
            await shows(page, "Save the text")
            await keyboard.press("Enter")
        saved = await saving.value
        assert saved.suggested_filename == "text.txt"
        assert (await saved.path()).read_text("utf-8") == "hello 世界"

        async with page.expect_file_chooser() as choosing:
            await keyboard.press("Control+o")
        await (await choosing.value).set_files(tmp_path / "large.txt")
        await page.get_by_role("button", name="Close").click()
        await keyboard.press("Escape")
        await shows(page, "hello·世界")
        async with page.expect_file_chooser() as choosing:
            await keyboard.press("Control+o")
        await (await choosing.value).set_files(tmp_path / "mine.txt")
        await shows(page, "from·my·computer␍⏎", "mine.txt")

        await page.set_viewport_size({"width": 700, "height": 500})
        await shows(page, "B/tok")

        await page.emulate_media(color_scheme="light")
        await page.goto(f"{running.url}/?tokenizer=gpt2&screen=vocabulary")
        await shows(page, "50,257 tokens", "gpt2")
        assert await page.evaluate("document.body.style.background") == "rgb(255, 255, 255)"
        assert await page.locator("[style*='background-color: rgb(255, 255, 255)']").count() > 10

        await keyboard.press("Control+q")
        await page.get_by_text("tokviz has ended.").wait_for()
        assert await page.get_by_role("button", name="Start again").is_enabled()

    assert {urlsplit(url).netloc for url in asked} - {""} == {f"127.0.0.1:{running.port}"}
    assert {urlsplit(url).scheme for url in asked} <= {"http", "ws", "data"}
    assert [text for text in wrong if "413" not in text] == []
