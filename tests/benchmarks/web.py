"""Key to paint in a browser: from the key event in Chromium until its token is painted there.

All of the way counts: the page, the server, the app and back.
"""

from __future__ import annotations

import asyncio
import os

from _report import Report, Target, arguments, median, p95
from _terminal import temporary_folder

from tests.cli.web.chromium import empty_page, shows
from tests.cli.web.running_server import open_house

MEASURE = """
() => {
  window.times = [];
  let pressed, since;
  document.addEventListener("keydown", () => { pressed = performance.now(); }, true);
  // xterm.js changes its rows as a frame begins; a message that is sent then comes when the frame
  // has been laid out and painted.
  const painted = new MessageChannel();
  painted.port1.onmessage = () => times.push(performance.now() - since);
  new MutationObserver(() => {
    if (pressed === undefined) return;
    since = pressed;
    pressed = undefined;
    painted.port2.postMessage(0);
  }).observe(document.querySelector(".xterm-rows"),
             { childList: true, subtree: true, characterData: true });
}
"""


async def measure(n_keys: int) -> list[float]:
    """Type some letters into the sample text, and tell the milliseconds of each."""
    async with open_house() as house, empty_page() as page:
        await page.goto(house.addresses[0])
        await shows(page, "lossless")
        await page.evaluate(MEASURE)
        for number in range(n_keys):
            await page.keyboard.press("etaoinshrdlu "[number % 13])
            # To ask at every frame, as is usual, would keep the browser drawing.
            await page.wait_for_function("n => times.length > n", arg=number, polling=100)
            await asyncio.sleep(0.1)  # as fast as people type
        times: list[float] = await page.evaluate("times")
        return times


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--keys", type=int, default=200)
    options = parser.parse_args()
    with temporary_folder() as folder:
        os.environ["XDG_STATE_HOME"] = str(folder)
        times = asyncio.run(measure(options.keys))
    rows = [("sample", median(times), p95(times), max(times))]
    target = Target("key in a browser, p95", p95(times), "≤", 50, "ms")
    Report("web", ("document", "p50 ms", "p95 ms", "max ms"), rows, [target]).show(options.json)


if __name__ == "__main__":
    main()
