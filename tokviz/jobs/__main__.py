"""Run a job for a parent process: `python -m tokviz.jobs NAME LIMITS`."""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys

from tokviz.child.limits import Limits
from tokviz.child.registry import JOBS
from tokviz.errors import JobError


def main(argv: list[str] | None = None) -> int:
    """Serve the job named in the arguments on stdin and stdout (see `tokviz.child.protocol`)."""
    parser = argparse.ArgumentParser(
        prog="python -m tokviz.jobs",
        description="Serves a job to tokviz itself; not meant to be typed by people.",
    )
    parser.add_argument("job", choices=sorted(JOBS))
    parser.add_argument("limits", type=json.loads, help="the fields of `Limits`, in JSON")
    arguments = parser.parse_args(argv)
    faulthandler.enable()
    from tokviz.child.serve import serve

    try:
        serve(arguments.job, Limits(*arguments.limits))
    except JobError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
