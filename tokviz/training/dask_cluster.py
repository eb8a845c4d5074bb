"""A Dask cluster, started here or already running, and tasks for it.

Dask distributes the tasks, restarts a worker that dies, and gives its tasks to other workers.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from tokviz.errors import JobError, TokvizError
from tokviz.process.child import package_environment
from tokviz.training.progress import ClusterState
from tokviz.training.settings import why_no_workers

try:
    import dask
    import distributed
    import psutil
    from distributed.utils import silence_logging_cmgr
except ModuleNotFoundError:
    raise TokvizError(why_no_workers()) from None

if TYPE_CHECKING:
    from distributed import Client, Future

Item = TypeVar("Item")
Result = TypeVar("Result")

_SECONDS_BETWEEN_LOOKS = 0.02
_SECONDS_TO_CONNECT = 30
_SECONDS_TO_START = 120
_DEATHS_OF_A_TASK = 10
"""Number of workers that may die with a task before it fails."""
_CHILDREN = {
    "DASK_LOGGING__DISTRIBUTED": "error",
    # Workers end after this time without a scheduler.
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    # By default Dask returns large blocks of memory at once; allocating them again is slow.
    "DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON": str(
        {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
    ),
}


@contextmanager
def local_cluster(
    n_workers: int, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Client]:
    """Start workers on this machine, which end with the block or with this process.

    Once `should_stop` returns True, it no longer waits for them to start.

    Raises:
        JobError: If no worker can be started.
    """
    with TemporaryDirectory(prefix="tokviz-", ignore_cleanup_errors=True) as folder:
        file = os.path.join(folder, "scheduler.json")
        options = {
            "scheduler-file": file,
            "nworkers": n_workers,
            "nthreads": 1,
            "death-timeout": _SECONDS_TO_CONNECT,
            "local-directory": folder,
        }
        # Workers are started by a command, because those of `multiprocessing` would run the
        # caller's program again.
        command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", "--no-dashboard"]
        command += [f"--{name}={value}" for name, value in options.items()]
        # Their output goes to a file, because it would disturb the terminal.
        log = Path(folder, "log")
        with (
            log.open("wb") as output,
            psutil.Popen(command, env=_CHILDREN | package_environment(), stderr=output) as workers,
        ):
            try:
                with _scheduler(file) as client:
                    _wait_for(client, n_workers, workers, log, should_stop)
                    Thread(target=_give_up, args=(workers, client), daemon=True).start()
                    yield client
            finally:
                _kill(workers)


def _give_up(workers: Any, client: Client) -> None:
    """Close the client when the process that restarts workers has ended, so that waiting ends."""
    workers.wait()
    client.close()  # type: ignore[no-untyped-call]


def _kill(process: Any) -> None:
    with suppress(psutil.NoSuchProcess):
        for child in process.children():
            _kill(child)
        process.kill()


@contextmanager
def _scheduler(file: str) -> Iterator[Client]:
    """Run a scheduler in this process, whose address is written to a file."""
    options = {
        "host": "127.0.0.1",
        "dashboard": _has_dashboard(),
        "dashboard_address": ":0",
        "scheduler_file": file,
    }
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS_OF_A_TASK}),
        _silence(),
        distributed.SpecCluster(  # type: ignore[no-untyped-call]
            scheduler={"cls": distributed.Scheduler, "options": options}, silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


def _wait_for(
    client: Client, n_workers: int, workers: Any, log: Path, should_stop: Callable[[], bool]
) -> None:
    until = time.monotonic() + _SECONDS_TO_START
    while len(client.nthreads()) < n_workers and not should_stop():  # type: ignore[no-untyped-call]
        if workers.poll() is not None or time.monotonic() > until:
            lines = log.read_text(errors="replace").strip().splitlines()
            raise JobError(": ".join(["the workers do not start", *lines[-1:]]))
        time.sleep(_SECONDS_BETWEEN_LOOKS)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler.

    Raises:
        TokvizError: If no scheduler answers at the address.
    """
    with _silence():
        client = distributed.Client.__new__(distributed.Client)
        try:
            client.__init__(address, timeout=_SECONDS_TO_CONNECT)  # type: ignore[misc]
        except (OSError, ValueError, TypeError) as error:
            # A TypeError is raised for a TLS address without a configured certificate.
            _end(client)
            raise TokvizError(f"no scheduler answers at {address}: {error}") from None
        with client:
            yield client


def _end(client: Client) -> None:
    """Stop the threads of a client that could not connect.

    Otherwise the garbage collector would stop them in an arbitrary thread. In the thread of a
    client that is starting, both would wait for each other until Dask's timeout.
    """
    if client.status != "newly-created":
        client.close()  # type: ignore[no-untyped-call]
        client._loop_runner.stop()  # type: ignore[no-untyped-call]


def _silence() -> AbstractContextManager[None]:
    """Silence Dask's logging, which would disturb the terminal, until its thread has ended.

    A cluster's own `silence_logs` ends earlier.
    """
    return silence_logging_cmgr("CRITICAL")


def _has_dashboard() -> bool:
    return find_spec("bokeh") is not None


def cluster_state(client: Client) -> ClusterState:
    """Return the state of a cluster from its scheduler."""
    info = client.scheduler_info(n_workers=-1)
    metrics = [worker["metrics"] for worker in info["workers"].values()]
    tasks = client.processing()  # type: ignore[no-untyped-call]
    # Without Bokeh, the dashboard of our own cluster only reports that Bokeh is missing.
    has_page = "dashboard" in info["services"] and (client.cluster is None or _has_dashboard())
    return ClusterState(
        len(metrics),
        sum(map(len, tasks.values())),
        sum(int(each["memory"]) for each in metrics),
        str(client.dashboard_link) if has_page else "",
    )


@contextmanager
def open_cluster(
    workers: int | None,
    client: Client | str | None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[Client]:
    """Open the requested cluster: a number of workers, an address, or a client.

    Raises:
        TokvizError: If the request is invalid or the cluster cannot be reached.
    """
    if workers is not None and client is not None:
        raise TokvizError("give a number of workers or a running cluster, not both")
    if workers is not None:
        if workers < 1:
            raise TokvizError(f"{workers} workers cannot count anything: give at least 1")
        with local_cluster(workers, should_stop) as local:
            yield local
    elif isinstance(client, str):
        with connected(client) as remote:
            yield remote
    else:
        assert client is not None
        yield client


def run_tasks(
    client: Client,
    work: Callable[[Item], Result],
    items: Iterable[Item],
    should_stop: Callable[[], bool],
) -> Iterator[tuple[int, Result]]:
    """Run a function for each item on the workers, and yield the results as they complete.

    Args:
        client: The cluster.
        work: The function; it may run twice for an item if a worker dies.
        items: The items; the first ones have priority.
        should_stop: Called often; True cancels the remaining items.

    Yields:
        The number of an item, and its result.

    Raises:
        TokvizError: If the function raises it.
        JobError: If workers die repeatedly.
    """
    pending = dict(enumerate(submit_tasks(client, work, items)))
    try:
        while pending:
            done = [number for number, future in pending.items() if future.status != "pending"]
            for number in done:
                yield number, task_result(pending.pop(number))
            if should_stop():
                return
            if not done:
                time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
        if client.status == "running":
            client.cancel(list(pending.values()), force=True)  # type: ignore[no-untyped-call]


def submit_tasks(
    client: Client, work: Callable[[Item], Result], items: Iterable[Item]
) -> list[Future[Any]]:
    """Submit a task for each item; the first ones have priority."""
    return [
        client.submit(work, item, pure=False, priority=-number) for number, item in enumerate(items)
    ]


def task_result(future: Future[Any]) -> Any:
    """Wait for the result of a task.

    Raises:
        TokvizError: If the task raises it.
        JobError: If workers die with it repeatedly.
    """
    try:
        return future.client.gather(future)
    except TokvizError:
        raise
    except Exception as error:  # a cluster can fail in many ways
        raise JobError(f"the workers failed: {type(error).__name__}: {error}") from None
