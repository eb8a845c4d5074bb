"""Run a job for a parent process: `python -m tokviz.process.jobs NAME LIMITS`."""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys

from tokviz.errors import JobError
from tokviz.process.limits import Limits
from tokviz.process.registry import JOBS


def main(argv: list[str] | None = None) -> int:
    """Serve the job named in the arguments on stdin and stdout (see `tokviz.process.protocol`)."""
    parser = argparse.ArgumentParser(
        prog="python -m tokviz.process.jobs",
        description="Serves a job to tokviz itself; not meant to be typed by people.",
    )
    parser.add_argument("job", choices=sorted(JOBS))
    parser.add_argument("limits", type=json.loads, help="the fields of `Limits`, in JSON")
    arguments = parser.parse_args(argv)
    faulthandler.enable()
    from tokviz.process.serve import serve

    try:
        serve(arguments.job, Limits(*arguments.limits))
    except JobError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
