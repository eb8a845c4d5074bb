"""A corpus in object storage gives the same result as the same files on this machine.

    pip install s3fs 'moto[server]'
    python tests/robustness/object_storage.py

A server on this machine simulates S3. Trainings on the command line read from it, alone and with
two workers; then objects are missing, truncated, forbidden, and changed between two runs.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUCKET = "s3://texts"
N_FILES = 6
_WITH_WORKERS = ("--workers", "2")


def tokviz(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Train on a corpus with the command line."""
    command = [sys.executable, "-m", "tokviz", "train", *words, "--vocab-size", "600"]
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), **environment}
    return subprocess.run(command, env=there, capture_output=True, text=True)


def merges(folder: Path) -> bytes:
    """Return the values that must be equal."""
    return (folder / "history.npz").read_bytes()


def main() -> int:
    """Compare, and return 1 if there was a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    if lacking := [name for name in ("moto", "s3fs") if find_spec(name) is None]:
        print(f"not run: {' and '.join(lacking)} is not installed; see --help")
        return 0
    asks_for_key = import_module("moto.core").set_initial_no_auth_action_count(0)
    server = import_module("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    faults: list[str] = []

    def check(what: str, holds: object) -> None:
        print("ok   " if holds else "WRONG", what, flush=True)
        if not holds:
            faults.append(what)

    with tempfile.TemporaryDirectory() as name:
        here, storage = Path(name), import_module("s3fs").S3FileSystem()
        (here / "texts").mkdir()
        storage.mkdir(BUCKET)
        for number in range(N_FILES):
            file = here / "texts" / f"{number}.txt{'.gz' * (number % 2)}"
            text = "".join(f"the {n * number % 97} theory of {n % 31}\n" for n in range(20_000))
            file.write_bytes(gzip.compress(text.encode()) if number % 2 else text.encode())
            storage.put_file(str(file), f"{BUCKET}/{file.name}")
        done = tokviz(str(here / "texts"), "-o", str(here / "local"))
        check("trained on this machine", not done.returncode)
        for label, options in {"alone": (), "with workers": _WITH_WORKERS}.items():
            for corpus in (BUCKET, f"{BUCKET}/*.txt*"):
                run = here / "stored"
                done = tokviz(corpus, "--force", "-o", str(run), *options)
                same = not done.returncode and merges(run) == merges(here / "local")
                check(f"{corpus} {label}: the same merges {done.stderr[-200:]}", same)
        etag = storage.info(f"{BUCKET}/0.txt")["ETag"].strip('"')
        check(
            "the run knows the objects' ETags", etag in (here / "stored" / "run.json").read_text()
        )
        for label, options in {"alone": (), "with workers": _WITH_WORKERS}.items():
            done = tokviz(f"{BUCKET}/7.txt", "-o", str(here / "none"), *options)
            named = f"{BUCKET}/7.txt" in done.stderr and "Traceback" not in done.stderr
            check(f"a missing object, {label}: {done.stderr.strip()}", done.returncode and named)
        for label, options in {"alone": (), "with workers": _WITH_WORKERS}.items():
            # Meanwhile the server requires a key, which the client does not have.
            done = asks_for_key(tokviz)(f"{BUCKET}/0.txt", "-o", str(here / "none"), *options)
            named = f"{BUCKET}/0.txt" in done.stderr and "Traceback" not in done.stderr
            check(f"a forbidden object, {label}: {done.stderr.strip()}", done.returncode and named)
        storage.pipe_file(f"{BUCKET}/1.txt.gz", storage.cat_file(f"{BUCKET}/1.txt.gz")[:900])
        done = tokviz(BUCKET, "-o", str(here / "none"), *_WITH_WORKERS)
        check(f"an object that is cut off: {done.stderr.strip()}", "1.txt.gz" in done.stderr)
        left = tokviz(BUCKET, "-o", str(here / "left"), *_WITH_WORKERS, "--skip-unreadable")
        said = next((line for line in left.stdout.splitlines() if "1.txt.gz" in line), "")
        check(f"the others, if asked: {said}", not left.returncode and said)
        before = merges(here / "left")
        storage.pipe_file(f"{BUCKET}/1.txt.gz", gzip.compress(b"other words " * 9_000))
        done = tokviz(BUCKET, "-o", str(here / "changed"), *_WITH_WORKERS)
        check("an object that changed is read anew", merges(here / "changed") != before)
    server.stop()
    print(f"{len(faults)} wrong; must be 0")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
