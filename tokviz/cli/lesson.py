"""Learn how byte pair encoding works from small examples, merge by merge.

examples:
  tokviz lesson                  list the lessons
  tokviz lesson cs336            open a lesson in the app
  tokviz lesson minbpe --print   print its steps
  tokviz lesson cs336 --animate cs336.svg   save it as an animated picture for a slide
"""  # noqa: D405

from __future__ import annotations

import argparse

from tokviz.cli.options import add_flag
from tokviz.errors import TokvizError
from tokviz.guide.lessons import Lesson, lessons
from tokviz.storage.files import write_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz lesson`."""
    parser.add_argument("lesson", nargs="?", metavar="LESSON", help="the name of a lesson")
    form = parser.add_mutually_exclusive_group()
    add_flag(form, "--print", "print instead of opening the app")
    form.add_argument("--animate", metavar="FILE", help="write it as an animated SVG")


def run(arguments: argparse.Namespace) -> int:
    """List the lessons, print or animate one, or open the app on it."""
    known = lessons()
    animate: str | None = arguments.animate
    if arguments.lesson is None:
        if arguments.print or animate is not None:
            raise TokvizError(f"name a lesson: {', '.join(known)}")
        width = max(map(len, known))
        for lesson in known.values():
            print(f"{lesson.name:<{width}}  {lesson.title}\n{'':<{width}}  {lesson.about}")
        return 0
    if arguments.lesson not in known:
        names = ", ".join(known)
        raise TokvizError(f"there is no lesson {arguments.lesson!r}: choose one of {names}")
    lesson = known[arguments.lesson]
    if arguments.print or animate is not None:
        _print(lesson, animate)
        return 0
    # Listing and printing lessons do not need the app.
    from tokviz.tui.run import run as run_app
    from tokviz.workspace.session import ReplayRequest

    run_app(first=ReplayRequest(str(lesson.ready()), 0, lesson.text, lesson=lesson.name))
    return 0


def _print(lesson: Lesson, animate: str | None) -> None:
    """Print a lesson, or write it as an animation to a file."""
    # The list of lessons needs none of these.
    from tokviz.cli.replay_frames import start_lines, step_lines
    from tokviz.share.animation import animation
    from tokviz.training.replay.replay import Replay

    replay = Replay.open(str(lesson.ready()))
    text = replay.text(lesson.text) if lesson.text else None
    if animate is not None:
        write_file(animate, animation(replay, 1, replay.n_merges, text, say=lesson.say))
        return
    comments = {look.at: look.say for look in lesson.looks}
    for k in range(replay.n_merges + 1):
        lines = step_lines(replay, k, text, False) if k else start_lines(replay, text)
        print(*lines, *([f"  {comments[k]}"] if k in comments else []), sep="\n")
    print(lesson.verdict(replay.tokenizer.merges))
