"""Run a job for a parent process: `python -m tokviz.process.jobs NAME LIMITS`.

The limits are the fields of `tokviz.process.limits.Limits`, in JSON. Only tokviz itself starts it.
"""

from __future__ import annotations

import faulthandler
import json
import sys

from tokviz.errors import JobError
from tokviz.process.limits import Limits
from tokviz.process.serve import serve


def main() -> int:
    """Serve the job named in the arguments on stdin and stdout (see `tokviz.process.protocol`)."""
    faulthandler.enable()
    name, limits = sys.argv[1:]
    try:
        serve(name, Limits(*json.loads(limits)))
    except JobError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
