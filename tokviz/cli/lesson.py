"""Learn how byte pair encoding works from small examples, merge by merge.

examples:
  tokviz lesson                  list the lessons
  tokviz lesson cs336            go through one in the app
  tokviz lesson minbpe --print   print its steps
  tokviz lesson cs336 --animate cs336.svg   write it as a picture that moves, for a slide
"""  # noqa: D405

from __future__ import annotations

import argparse

from tokviz.cli.options import add_flag
from tokviz.errors import TokvizError
from tokviz.guide.lessons import lessons
from tokviz.storage.files import write_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz lesson`."""
    parser.add_argument("lesson", nargs="?", metavar="LESSON", help="its name, from the list")
    form = parser.add_mutually_exclusive_group()
    add_flag(form, "--print", "print instead of opening the app")
    form.add_argument("--animate", metavar="FILE", help="write it as an SVG that moves")


def run(arguments: argparse.Namespace) -> int:
    """List the lessons, print one, or open the app on it."""
    known = lessons()
    animated: str | None = arguments.animate
    if arguments.lesson is None and (arguments.print or animated is not None):
        raise TokvizError(f"say which lesson: {', '.join(known)}")
    if arguments.lesson is None:
        width = max(map(len, known))
        for lesson in known.values():
            print(f"{lesson.name:<{width}}  {lesson.title}\n{'':<{width}}  {lesson.about}")
        return 0
    if arguments.lesson not in known:
        names = ", ".join(known)
        raise TokvizError(f"there is no lesson {arguments.lesson!r}: choose {names}")
    lesson = known[arguments.lesson]
    folder = str(lesson.ready())
    if arguments.print or animated is not None:
        from tokviz.cli.replay_frames import start_lines, step_lines
        from tokviz.share.animation import animation
        from tokviz.training.replay.replay import Replay

        replay = Replay.open(folder)
        text = replay.text(lesson.text) if lesson.text else None
        if animated is not None:
            moving = animation(replay, 1, replay.n_merges, text, say=lesson.say)
            write_file(animated, moving)
            return 0
        said = {look.at: look.say for look in lesson.looks}
        for k in range(replay.n_merges + 1):
            lines = step_lines(replay, k, text, False) if k else start_lines(replay, text)
            print("\n".join([*lines, *([f"  {said[k]}"] if k in said else [])]))
        print(lesson.verdict(replay.tokenizer.merges))
        return 0
    from tokviz.tui.run import run as run_app
    from tokviz.workspace.session import ReplayRequest

    run_app(first=ReplayRequest(folder, 0, lesson.text, lesson=lesson.name))
    return 0
