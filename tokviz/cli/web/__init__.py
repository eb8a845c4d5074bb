"""Open the app in a browser.

Prints an address that admits one browser, once. After it is used, the address for the next browser
is printed. Only browsers on this machine can connect. Ctrl+C stops the server.
See `tokviz help web`.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import math
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.cli.options import add_flag
from tokviz.errors import InputFileError, TokvizError, missing_package
from tokviz.process.confinement import Confinement

if TYPE_CHECKING:
    from tokviz.cli.web.server import Options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz web`."""
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help="the only folder in which the app can open and save files; without it, files are "
        "uploaded and downloaded by the browser",
    )
    add_flag(parser, "--allow-training", "allow training")
    add_flag(parser, "--allow-hub", "allow loading tokenizers from the Hugging Face Hub")
    parser.add_argument(
        "--port", type=_port, default=8765, help="the port (default: 8765; 0 selects a free one)"
    )
    parser.add_argument(
        "--host",
        type=_address,
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on (default: %(default)s). With any other address, other "
        "machines can connect without encryption, and anyone who sees the traffic can take part",
    )
    parser.add_argument(
        "--idle",
        type=_minutes,
        default=30.0,
        metavar="MINUTES",
        help="end a session after this time without input (default: 30)",
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) <= 65_535):
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes above 0")
    return minutes


def _address(text: str) -> str:
    try:
        address = ipaddress.ip_address("127.0.0.1" if text == "localhost" else text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an IP address") from None
    if address.is_unspecified:
        raise argparse.ArgumentTypeError(
            f"{text} means every address: give the address by which browsers reach this machine"
        )
    return str(address)


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if sys.platform == "win32":
        raise TokvizError("tokviz web needs Linux, macOS or WSL")
    try:
        from tokviz.cli.web.server import Options  # aiohttp is an optional dependency
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise TokvizError(f"tokviz web {missing_package('aiohttp')}") from None
    # An empty name, from a variable that is not set, would be the current folder.
    folder = None if arguments.folder is None else Path(arguments.folder).resolve()
    if folder is not None and not (arguments.folder and os.path.isdir(folder)):
        raise InputFileError(arguments.folder, "is not a folder")
    allowed = Confinement(training=arguments.allow_training, hub=arguments.allow_hub)
    options = Options(arguments.host, arguments.port, folder, allowed, arguments.idle * 60)
    asyncio.run(_serve(options))
    return 0


async def _serve(options: Options) -> None:
    from tokviz.cli.web.server import Server

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    server = Server(options, lambda address: print(address, flush=True))
    async with server.running():
        if sys.stderr.isatty():
            print(
                "Open this address in a browser. Press Ctrl+C to stop tokviz web.", file=sys.stderr
            )
        await ended.wait()
