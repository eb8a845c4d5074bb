"""A Dask cluster: one that is started here, or one that is there already; and work for it.

Dask distributes the work, gives it to others when a worker dies, and starts another one.
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
"""How many workers may die with a task before it is given up."""
_CHILDREN = {
    "DASK_LOGGING__DISTRIBUTED": "error",
    # How long they look for a scheduler that has ended before they do, too.
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    # Dask has every large block of memory given back at once; to get it again takes a third longer.
    "DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON": str(
        {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
    ),
}


@contextmanager
def local_cluster(
    n_workers: int, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Client]:
    """Start workers on this machine, which end with the block or with this process.

    Nobody waits for them to begin any longer once `should_stop` says yes.

    Raises:
        TokvizError: If Dask is not installed.
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
        # Workers by a command of their own: those of `multiprocessing` run the caller's program
        # again. They load what they need while this process does.
        command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", "--no-dashboard"]
        command += [f"--{name}={value}" for name, value in options.items()]
        # What they say goes to a file: here it would stand in the middle of something.
        log = Path(folder, "log")
        with (
            log.open("wb") as said,
            psutil.Popen(command, env=_CHILDREN | package_environment(), stderr=said) as workers,
        ):
            try:
                with _scheduler(file) as client:
                    _wait_for(client, n_workers, workers, log, should_stop)
                    Thread(target=_give_up, args=(workers, client), daemon=True).start()
                    yield client
            finally:
                _kill(workers)


def _give_up(workers: Any, client: Client) -> None:
    """Let nobody wait once that has ended which would start other workers."""
    workers.wait()
    client.close()  # type: ignore[no-untyped-call]


def _kill(process: Any) -> None:
    with suppress(psutil.NoSuchProcess):
        for child in process.children():
            _kill(child)
        process.kill()


@contextmanager
def _scheduler(file: str) -> Iterator[Client]:
    """Schedule in this process; a file says where."""
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
            said = log.read_text(errors="replace").strip().splitlines()
            raise JobError(": ".join(["the workers do not start", *said[-1:]]))
        time.sleep(_SECONDS_BETWEEN_LOOKS)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler.

    Raises:
        TokvizError: If Dask is not installed or nobody answers there.
    """
    with _silence():
        client = distributed.Client.__new__(distributed.Client)
        try:
            client.__init__(address, timeout=_SECONDS_TO_CONNECT)  # type: ignore[misc]
        except (OSError, ValueError, TypeError) as error:
            # The last one is said where an address asks for TLS and no certificate is configured.
            _end(client)
            raise TokvizError(f"no scheduler answers at {address}: {error}") from None
        with client:
            yield client


def _end(client: Client) -> None:
    """End what a client began that never was connected.

    Left to Python's collector it would end in whatever thread that runs in: in that of another
    client which is just beginning, the two would wait for each other until Dask gives up.
    """
    if client.status != "newly-created":
        client.close()  # type: ignore[no-untyped-call]
        client._loop_runner.stop()  # type: ignore[no-untyped-call]


def _silence() -> AbstractContextManager[None]:
    """Let Dask say nothing here, also while its thread ends: it would stand in a page.

    A cluster's own `silence_logs` is over before that.
    """
    return silence_logging_cmgr("CRITICAL")


def _has_dashboard() -> bool:
    return find_spec("bokeh") is not None


def state_of(client: Client) -> ClusterState:
    """Ask the scheduler what goes on."""
    info = client.scheduler_info(n_workers=-1)
    metrics = [worker["metrics"] for worker in info["workers"].values()]
    tasks = client.processing()  # type: ignore[no-untyped-call]
    # Without that package the page of a cluster of our own only says that it is not there.
    has_page = "dashboard" in info["services"] and (client.cluster is None or _has_dashboard())
    return ClusterState(
        len(metrics),
        sum(map(len, tasks.values())),
        sum(int(each["memory"]) for each in metrics),
        str(client.dashboard_link) if has_page else "",
    )


@contextmanager
def at_cluster(
    workers: int | None,
    client: Client | str | None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[Client]:
    """Reach the cluster that a caller named: so many workers, an address, or a client.

    Raises:
        TokvizError: If that is impossible.
    """
    if workers is not None and client is not None:
        raise TokvizError("give a number of workers or a cluster that is there, not both")
    if workers is not None:
        if workers < 1:
            raise TokvizError(f"{workers} workers cannot count anything: give at least 1")
        with local_cluster(workers, should_stop) as made:
            yield made
    elif isinstance(client, str):
        with connected(client) as reached:
            yield reached
    else:
        assert client is not None
        yield client


def finished(
    client: Client,
    work: Callable[[Item], Result],
    items: Iterable[Item],
    should_stop: Callable[[], bool],
) -> Iterator[tuple[int, Result]]:
    """Let workers do the work for each item, the first ones first.

    Args:
        client: The cluster.
        work: What is to be done; it may be done twice where a worker dies.
        items: For what.
        should_stop: Asked often; once it says yes, the rest is not done.

    Yields:
        The number of an item, and what came of it, as they end.

    Raises:
        TokvizError: If the work does.
        JobError: If workers die again and again.
    """
    pending = dict(enumerate(submitted(client, work, items)))
    try:
        while pending:
            done = [number for number, future in pending.items() if future.status != "pending"]
            for number in done:
                yield number, result_of(pending.pop(number))
            if should_stop():
                return
            if not done:
                time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
        if client.status == "running":
            client.cancel(list(pending.values()), force=True)  # type: ignore[no-untyped-call]


def submitted(
    client: Client, work: Callable[[Item], Result], items: Iterable[Item]
) -> list[Future[Any]]:
    """Hand out the work for each item, the first ones first."""
    return [
        client.submit(work, item, pure=False, priority=-number) for number, item in enumerate(items)
    ]


def result_of(future: Future[Any]) -> Any:
    """Wait for what comes of a task.

    Raises:
        TokvizError: If the task does.
        JobError: If workers die with it again and again.
    """
    try:
        return future.client.gather(future)
    except TokvizError:
        raise
    except Exception as error:  # every way in which a cluster can fail
        raise JobError(f"the workers failed: {type(error).__name__}: {error}") from None
