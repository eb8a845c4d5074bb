"""Look for input that kills the app, makes it spin, or keeps it from ending.

    python tests/robustness/hostile_input.py --rounds 10
    python tests/robustness/hostile_input.py --only "random bytes" --seed 7

The app runs on a pseudo-terminal: with bytes that no keyboard sends, with a broken standard input
and environment, on a terminal that stalls and on a slow one. Every time it must survive, be idle
without input, end after Ctrl+Q (and `y` for unsaved work) with code 0, and restore the terminal.
The figures at the end are faults, starts and the slowest end.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.robustness.monkey import apart  # noqa: E402
from tests.terminal import Terminal  # noqa: E402
from tokviz.tui.terminal.paste import PASTE_START  # noqa: E402

START_SECONDS = 60.0
QUIT_SECONDS = 20.0
"""Time limit, far more than needed, for busy machines."""
STALL_SECONDS = 10.0
REST_SECONDS = 1.0
MOST_BUSY = 0.5
"""The share of a second that the idle app may be active."""
_LOOKS = 20

CTRL_Q = b"\x11"
_ENDS = b"\x11\x1a"
"""Bytes that legitimately end or suspend the app: Ctrl+Q and Ctrl+Z."""

EDITOR = {"VISUAL": "true"}
"""An editor that ends at once, because our bytes would not end vi."""

RUN = """
import os, runpy, sys
os.environ.update({variables!r})
sys.argv[1:] = {arguments!r}
runpy.run_module("tokviz", run_name="__main__")
"""


class Case(NamedTuple):
    """A kind of hostile input.

    Attributes:
        typed: The typed bytes, each part in a separate write.
        redirect: Redirections in the shell's syntax.
        variables: Environment variables.
        pace: Seconds between two bytes in both directions, 0 for none.
        stall: Seconds during which the terminal reads nothing.
    """

    typed: tuple[bytes, ...] = (b"hello",)
    redirect: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    pace: float = 0.0
    stall: float = 0.0


def _random_bytes(chance: random.Random, n_bytes: int = 0) -> bytes:
    data = chance.randbytes(n_bytes or chance.choice((1, 10, 100)))
    return bytes(byte for byte in data if byte not in _ENDS)


def _sequences(chance: random.Random) -> bytes:
    """Make a terminal's escape sequence with impossible numbers."""
    numbers = [chance.choice((0, 1, 5, 95, 999, 70_000, 2**31, 2**63)) for _ in range(4)]
    form = chance.choice(
        ("\x1b[<{};{};{}M", "\x1b[{};{}R", "\x1b[?{};{}c", "\x1b[{};{}u", "\x1b[{};{}~",
         "\x1b[?{};{}$y", "\x1b]11;rgb:{}/{}/{}\x07", "\x1bP{}|{}\x1b\\", "\x1b[{}", "\x1b]{}",
         "\x1b[{};{};{};{}z", "\x1bO{}", "\x1b_{}", "\x1b[I\x1b[O{}", "\x1b[27;{};{}~")
    )  # fmt: skip
    return form.format(*numbers).encode()


def cases(chance: random.Random) -> Iterator[tuple[str, Case]]:
    """Return every case, with new random content."""
    many = range(chance.randint(1, 12))
    yield "random bytes", Case(tuple(_random_bytes(chance) for _ in many))
    yield "a burst of random bytes", Case((_random_bytes(chance, 6_000),))
    yield "sequences", Case(tuple(_sequences(chance) for _ in range(40)))
    yield "0xFF", Case((b"\xff", b"a\xff\xfeb", b"\xff" * 3000))
    broken = "é你😀".encode()
    yield (
        "broken UTF-8",
        Case(
            (
                *(broken[chance.randrange(9) :][: chance.randint(1, 4)] for _ in range(30)),
                b"\xed\xa0\x80\xc0\xaf\xf8\x88\x80\x80\x80",
            )
        ),
    )
    reports = (b"\x1b[M" + bytes(chance.choices(range(32, 256), k=3)) for _ in range(60))
    yield "X10 reports", Case(tuple(reports))
    yield "X10 report cut off", Case((b"\x1b[M", b"\x1b[M!"))
    yield "unterminated paste", Case((PASTE_START + b"never ended \x1b[31m\0" * 50,))
    yield "pastes in a paste", Case((PASTE_START * 20 + b"x" + b"\x1b[201~" * 3,))
    yield "sizes", Case(
        tuple(f"\x1b[48;{rows};{columns};0;0t".encode()
              for rows, columns in ((0, 0), (1, 1), (99999, 99999), (24, 80)))
    )  # fmt: skip
    for redirect in ("</dev/null", "<&-", "2>&-", "2>/dev/null", "<&- 2>&-"):
        yield redirect, Case(redirect=redirect)
    for name, value in (("TERM", "dumb"), ("TERM", ""), ("TERM", "no-such-terminal"),
                        ("LANG", "C"), ("LC_ALL", "C"), ("LC_ALL", "xx_YY.nothing"),
                        ("COLUMNS", "0"), ("LINES", "-1"), ("COLORTERM", "\x1b[31m")):  # fmt: skip
        yield f"{name}={value!a}", Case(variables=((name, value),))
    keys = tuple(chance.choice((b"x", b"\r", b"\x1b[A", b"\x10", b"\x1b", b"1")) for _ in range(99))
    yield "a terminal that stalls", Case(keys, stall=STALL_SECONDS)
    yield "a slow link", Case((b"hello \x1b[A\x1b[B\x1b[<0;5;5M\x1b[<0;5;5mabc",), pace=0.02)


class Started(Terminal):
    """The app, once it has drawn something."""

    def __init__(self, case: Case) -> None:
        """Start it."""
        program = RUN.format(variables=dict(case.variables), arguments=["-t", "gpt2"])
        super().__init__("-c", program, redirect=case.redirect, variables=EDITOR)
        self.case = case
        self.until(lambda: self.output.count(b"Tokens") > 0, START_SECONDS)

    def until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Read until a condition holds or the app has ended."""
        self.comes_true(lambda: holds() or self.has_ended(), seconds)

    def be_hostile(self) -> None:
        """Type the case's input at its pace."""
        for data in self.case.typed:
            if self.has_ended():
                return
            if self.case.stall:
                os.write(self.master, data)
            elif self.case.pace:
                for byte in data:
                    os.write(self.master, bytes((byte,)))
                    time.sleep(self.case.pace)
                    self.pump(0)
            else:
                self.type(data)
        if self.case.stall:
            time.sleep(self.case.stall)

    def comes_to_rest(self) -> bool:
        """Wait until the app is idle; False if it never is.

        What counts is whether a thread could run, not how long one did: that holds on a busy
        machine too.
        """
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and not self.has_ended():
            n_busy = 0
            for _ in range(_LOOKS):
                self.until(lambda: False, REST_SECONDS / _LOOKS)
                n_busy += self._can_run()
            if n_busy <= MOST_BUSY * _LOOKS:
                return True
        return self.has_ended()

    def _can_run(self) -> bool:
        with suppress(OSError):
            return any(
                stat.read_text().rpartition(")")[2].split()[0] == "R"
                for stat in Path(f"/proc/{self.pid}/task").glob("*/stat")
            )
        return False

    def quit(self) -> float:
        """End the app as users do, and return the seconds that this took."""
        began = time.monotonic()
        while not self.has_ended() and time.monotonic() < began + QUIT_SECONDS:
            for key in (CTRL_Q, b"y"):
                with suppress(OSError):
                    os.write(self.master, key)
                if self.comes_true(self.has_ended, 0.7):
                    break
        return time.monotonic() - began


def faults_of(case: Case) -> tuple[list[str], float]:
    """Start the app with a case; return the faults and the seconds of its end."""
    faults = []
    with Started(case) as app:
        if app.has_ended():
            return [f"did not start: {app.output[-600:]!r}"], 0.0
        app.be_hostile()
        rests = app.comes_to_rest()
        if app.has_ended():
            faults.append(f"ended by itself: {os.waitstatus_to_exitcode(app.status or 0)}"
                          f" {app.output[-1500:]!r}")  # fmt: skip
        elif not rests:
            faults.append(f"did not come to rest in {START_SECONDS:.0f} s")
        seconds = app.quit()
        if not app.has_ended():
            faults.append(f"did not end in {QUIT_SECONDS:.0f} s: {app.output[-300:]!r}")
            os.kill(app.pid, signal.SIGKILL)
            app.until(lambda: False, START_SECONDS)
        elif (code := os.waitstatus_to_exitcode(app.status or 0)) != 0 and not faults:
            faults.append(f"exit code {code}: {app.output[-1500:]!r}")
        elif not faults and not app.is_restored():
            faults.append(f"left the terminal with {app.modes_left_on()}")
    return faults, seconds


def search(seed: int, rounds: int, only: str = "") -> tuple[int, list[str], float]:
    """Try every case several times; return the number of starts, the faults and the slowest end."""
    n_starts, wrong, slowest = 0, list[str](), 0.0
    for number in range(rounds):
        for name, case in cases(random.Random(f"{seed} {number}")):
            if only and only not in name:
                continue
            with apart():
                faults, seconds = faults_of(case)
            n_starts += 1
            slowest = max(slowest, seconds)
            for fault in faults:
                wrong.append(f"{name}: {fault}")
                print(f"FAULT  seed {seed}, round {number}, {name}: {fault}", flush=True)
    return n_starts, wrong, slowest


def main(arguments: list[str] | None = None) -> int:
    """Search, print the figures, and return 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=1, help="how often every case is tried")
    parser.add_argument("--seed", type=int, help="the same one tries the same (random)")
    parser.add_argument("--only", default="", metavar="NAME", help="cases whose name holds this")
    asked = parser.parse_args(arguments)
    seed = random.randrange(2**32) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    n_starts, wrong, slowest = search(seed, asked.rounds, asked.only)
    print(
        f"hostile input: {len(wrong)} faults in {n_starts} starts, slowest end {slowest:.1f} s; "
        f"must be 0, ≤ {QUIT_SECONDS:.0f} s"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
