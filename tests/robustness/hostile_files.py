"""Read files made to break a program, as the app reads them, and print the cost.

    python tests/robustness/hostile_files.py              # all of them
    python tests/robustness/hostile_files.py "bomb"       # those with this word in their name
    python tests/robustness/hostile_files.py --echo       # and how long keys wait meanwhile

Each file is read by a new process in place of the app: it must survive, must not grow by more than
four times the file (and `SLACK_MB`), and none of its children may exceed its budget. With `--echo`,
each file is opened in an app on a terminal instead, where a letter is typed every 20 ms until it is
read, and then Ctrl+Q: each must be answered within `MOST_ECHO_MS`, as without a file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]

SLACK_MB = 40
"""Additional memory for any file, because tables have a minimum size and modules are loaded."""


MOST_ECHO_MS = 100.0
KEY_SECONDS = 0.02
TYPING_SECONDS = (1.0, 10.0)
"""The shortest and the longest duration of typing."""
NOTHING = "(no file)"


class Cost(NamedTuple):
    """The cost of reading a file.

    Attributes:
        name: The defect of the file.
        file_mb: Its size.
        end: The result: a description of the object, or the error message.
        seconds: Processor time in the app and its children.
        growth_mb: The largest growth of the app's memory.
        child_mb: The peak memory of a child.
        died: True if the app's process ended or raised an unexpected error.
    """

    name: str
    file_mb: float
    end: str
    seconds: float
    growth_mb: float
    child_mb: float
    died: bool

    def faults(self, seconds: float) -> list[str]:
        """List the exceeded limits; `seconds` is the limit of processor time."""
        times = max(1.0, self.file_mb / 32)
        found = ["died"] if self.died else []
        found += ["slow"] if self.seconds > seconds * times else []
        found += ["app grew"] if self.growth_mb > 4 * self.file_mb + SLACK_MB else []
        found += ["child grew"] if self.child_mb > 512 * times else []
        return found


def cost_of(name: str, folder: Path) -> Cost:
    """Write the file with this name into a folder, and read it in a new process."""
    from tests.robustness.hostile import FILES

    hostile = FILES[name]
    path = hostile.write(folder / name)
    read = path.parent if len(hostile.files) > 2 else path
    size = sum(file.stat().st_size for file in path.parent.iterdir()) / (1 << 20)
    done = subprocess.run(
        [sys.executable, __file__, "--probe", hostile.kind, str(read)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        cwd=folder,
    )
    try:
        told = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        told = {"end": f"{done.returncode}: {last[:200]}", "seconds": 0.0, "growth_mb": 0.0}
        told |= {"child_mb": 0.0, "died": True}
    return Cost(name, size, **told)


class Echoes(NamedTuple):
    """Response times in ms while a file is opened: those of letters, and of Ctrl+Q."""

    letters: list[float]
    quit: float

    @property
    def p99(self) -> float:
        """The 99th percentile of the response times of letters."""
        return sorted(self.letters)[int(0.99 * (len(self.letters) - 1))]


def echoes_of(name: str, folder: Path) -> Echoes:
    """Open a file in the app, and type meanwhile; `NOTHING` opens none."""
    from tests.robustness.hostile import FILES
    from tests.robustness.subject import Subject
    from tokviz.formats.budget import LARGE_BYTES

    home = Path(tempfile.mkdtemp(dir=folder))
    rows, text = home / "rows.jsonl", home / "text.txt"
    rows.write_text('{"messages": [{"role": "user", "content": "a"}]}\n')
    text.write_text("")
    with Subject(home, str(text), "-t", "gpt2") as app:
        app.until("begun")
        if name != NOTHING:
            hostile = FILES[name]
            path = hostile.write(home / "hostile")
            path = path.parent if len(hostile.files) > 2 else path
            # Creating these screens takes long too, which is unrelated to the file.
            for screen in ("chat", "train"):
                app.wish("show", screen)
            app.until("train screen", "at rest")
            if hostile.kind == "corpus":
                app.wish("train", str(path))
            else:
                app.wish("ask", hostile.kind, str(path), str(rows))
            if hostile.kind == "tokenizer" and path.is_file() and path.stat().st_size > LARGE_BYTES:
                app.wait_until(lambda: app.shows("Read it?"), 30.0)
                app.type(b"y")
                app.wait_until(lambda: not app.shows("Read it?"), 30.0)
            app.wish("show", "tokens")
            app.until("tokens screen")
        app.wish("at rest")
        least, most = TYPING_SECONDS
        delays = app.type_steadily(
            KEY_SECONDS,
            lambda passed: passed < least or (passed < most and not app.has_obeyed()),
            replaced_in="│" if name != NOTHING and FILES[name].kind == "session" else "",
        )
        began = time.perf_counter()
        app.type(b"\x11")
        asked = app.wait_until(lambda: app.shows("Esc cancel"), 30.0) - began
    return Echoes([1000 * delay for delay in delays], 1000 * asked)


def measure_echoes(word: str) -> int:
    """Print a line for each file, then the worst figures; 1 if a key waited for too long."""
    from tests.robustness.hostile import FILES
    from tests.terminal import NoFrameError

    n_faulty, worst = 0, Echoes([0.0], 0.0)
    print(f"{'file':32} {'letters':>7} {'p99 ms':>7} {'max ms':>7} {'Ctrl+Q ms':>9}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name in (NOTHING, *(name for name in FILES if word in name)):
            try:
                echoes = echoes_of(name, Path(folder))
            except NoFrameError as error:
                n_faulty += 1
                print(f"{name:32} NO ANSWER {str(error)[:300]}", flush=True)
                continue
            most = max(echoes.letters)
            is_late = max(most, echoes.quit) > MOST_ECHO_MS
            print(
                f"{name:32} {len(echoes.letters):7} {echoes.p99:7.0f} {most:7.0f} "
                f"{echoes.quit:9.0f} {'LATE' if is_late else ''}",
                flush=True,
            )
            if name != NOTHING:
                n_faulty += is_late
                worst = Echoes(worst.letters + echoes.letters, max(worst.quit, echoes.quit))
    print(
        f"{len(worst.letters) - 1} letters: p99 {worst.p99:.0f} ms, at most "
        f"{max(worst.letters):.0f} ms; Ctrl+Q at most {worst.quit:.0f} ms; must be "
        f"≤ {MOST_ECHO_MS:.0f} ms: {n_faulty} files are beyond"
    )
    return int(n_faulty > 0)


def _probe(kind: str, path: str) -> dict[str, Any]:
    import tokviz
    from tokviz.process.memory import memory_bytes, peak_memory_bytes

    _READ[kind](None)
    before = memory_bytes() or 0
    used = _processor_seconds()
    died = False
    try:
        end = _READ[kind](path)
    except tokviz.TokvizError as error:
        end = str(error)
    except BaseException as error:
        end, died = f"{type(error).__name__}: {error}"[:300], True
    ended, child = time.monotonic(), 0.0
    while not child and time.monotonic() < ended + 1:
        time.sleep(0.02)
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "end": end.replace("\n", " "),
        "seconds": _processor_seconds() - used,
        "growth_mb": max(0, (peak_memory_bytes() or 0) - before) / (1 << 20),
        "child_mb": child,
        "died": died,
    }


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _tokenizer(path: str | None) -> str:
    """Load a tokenizer and encode a line; without a path, only import the modules."""
    from tokviz.formats.subprocess_loader import load

    if path is None:
        load("gpt2").tokenize("some words")
        return ""
    tokenizer = load(path)
    try:
        return f"{tokenizer!r} {len(tokenizer.encode('a <|endoftext|> bananas'))} ids"
    finally:
        tokenizer.close()


def _replay(path: str | None) -> str:
    """Open a run, or only merges, as Replay does."""
    from tokviz.compare.trainings import open_merges

    if path is None:
        open_merges("gpt2")
        return ""
    return f"{open_merges(path).n_merges} merges"


def _template(path: str | None) -> str:
    from tokviz.chat.conversation import Conversation
    from tokviz.chat.jinja_template import JinjaTemplate
    from tokviz.storage.files import read_file

    if path is None:
        return ""
    template = JinjaTemplate("t", read_file(path).decode())
    messages = {"messages": [{"role": "user", "content": "a"}]}
    try:
        return f"{len(template.marked(Conversation.from_json(messages)).text)} characters"
    finally:
        template.close()


def _rows(path: str | None) -> str:
    from tokviz.chat.dataset import Dataset

    if path is None:
        return ""
    dataset = Dataset.open(path)
    dataset.row(0)
    return f"{dataset.n_rows} rows"


def _corpus(path: str | None) -> str:
    from tokviz.training.corpus.corpus import Corpus

    if path is None:
        return ""
    return f"{sum(len(block.data) for block in Corpus(Path(path)).text_blocks())} bytes"


def _session(path: str | None) -> str:
    from tokviz.workspace.session_file import load_session, read_session
    from tokviz.workspace.settings import Settings

    if path is None:
        return ""
    found = load_session(read_session(path), Settings())
    return f"{len(found.saved.text)} characters"


_READ = {
    "session": _session,
    "tokenizer": _tokenizer,
    "replay": _replay,
    "template": _template,
    "rows": _rows,
    "corpus": _corpus,
}


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each file, then the worst figures; 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("word", nargs="?", default="", help="only files with it in their name")
    parser.add_argument("--seconds", type=float, default=5.0, help="for one file (5)")
    parser.add_argument("--echo", action="store_true", help="measure how long keys wait meanwhile")
    parser.add_argument("--probe", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.probe:
        print(json.dumps(_probe(*asked.probe)))
        return 0
    if asked.echo:
        return measure_echoes(asked.word)
    from tests.robustness.hostile import FILES

    costs = []
    print(f"{'file':32} {'MB':>5} {'s':>5} {'app +MB':>7} {'child MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            if asked.word in name:
                cost = cost_of(name, Path(folder))
                costs.append(cost)
                faults = ", ".join(cost.faults(asked.seconds)).upper()
                print(
                    f"{name:32} {cost.file_mb:5.1f} {cost.seconds:5.1f} {cost.growth_mb:7.0f} "
                    f"{cost.child_mb:8.0f} {faults} {cost.end[-110:]}",
                    flush=True,
                )
    faulty = sum(len(cost.faults(asked.seconds)) > 0 for cost in costs)
    print(
        f"{len(costs)} files, {sum(cost.died for cost in costs)} deaths, {faulty} beyond a limit; "
        f"at most {max(cost.seconds for cost in costs):.1f} s, the app "
        f"+{max(cost.growth_mb for cost in costs):.0f} MB, a child "
        f"{max(cost.child_mb for cost in costs):.0f} MB; must be 0 deaths, "
        f"≤ {asked.seconds:.0f} s, ≤ 4 x the file, ≤ 512 MB"
    )
    return int(faulty > 0)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
