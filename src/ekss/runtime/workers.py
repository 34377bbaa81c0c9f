"""Workers: a parallel map over numbered, independent pieces of work, and its progress.

Observers, progress bars and timers alike, can never change a result.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from time import perf_counter
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import SequentialBackend, ThreadingBackend, get_active_backend
from threadpoolctl import OpenBLASController, ThreadpoolController

Result = TypeVar("Result")

_LARGEST_BATCH = 8

# Seconds by stage, while somebody listens and no stage is under way.
_stages: ContextVar[dict[str, float] | None] = ContextVar("stages", default=None)


@dataclass(frozen=True)
class Workers:
    """How much is done at once, and whether its progress is shown.

    Attributes
    ----------
    n_jobs : int or None
        Parallel workers, as in joblib.
    show : bool
        Whether progress bars are shown on stderr.
    """

    n_jobs: int | None = None
    show: bool = False

    def map(
        self, function: Callable[[int], Result], count: int, description: str
    ) -> Iterator[Result]:
        """Yield function(0), function(1), ... in that order, computed in parallel."""
        with same_warning_filters():
            yield from map_numbers(
                function,
                count,
                n_jobs=self.n_jobs,
                description=description,
                show=self.show,
            )

    def stage(
        self, description: str, total: int | None = None
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Return a context that is told of finished steps and shows them."""
        return progress(description, total, show=self.show)

    def say(self, text: str) -> None:
        """Show a line on stderr."""
        say(text, show=self.show)

    def quiet(self) -> Workers:
        """Return the same workers, whose progress is not shown."""
        return replace(self, show=False)


def map_numbers(
    function: Callable[[int], Result],
    count: int,
    *,
    n_jobs: int | None,
    description: str,
    show: bool,
    shared: bool = False,
) -> Iterator[Result]:
    """Yield function(0), function(1), ... in that order, computed in parallel.

    Threads are preferred because the work is done in BLAS and compiled code;
    ``joblib.parallel_config`` chooses another backend, unless the work is ``shared``:
    bound to this process, as open files are. BLAS is limited to one thread inside
    every worker, which keeps results independent of ``n_jobs``.
    """
    n_workers = effective_n_jobs(n_jobs)
    batch = max(1, min(_LARGEST_BATCH, count // (4 * n_workers)))
    batches = [
        range(first, min(first + batch, count)) for first in range(0, count, batch)
    ]
    with progress(description, count, show=show) as advance:
        for results in _run_batches(function, batches, n_jobs, n_workers, shared):
            advance(len(results))
            yield from results


def _run_batches(
    function: Callable[[int], Result],
    batches: Sequence[range],
    n_jobs: int | None,
    n_workers: int,
    shared: bool,
) -> Iterator[list[Result]]:
    """Yield the results of batches in order, from threads or from joblib's backend."""
    backend, _ = get_active_backend(prefer="threads")
    in_threads = isinstance(backend, ThreadingBackend | SequentialBackend)
    if n_workers == 1 and (in_threads or shared):
        for numbers in batches:
            yield _run_batch(function, numbers)
    elif in_threads:
        yield from _run_in_threads(function, batches, n_workers)
    else:
        parallel = _streaming_parallel(n_jobs, "sharedmem" if shared else None)
        function = _on_workers(function, parallel)
        yield from parallel(
            delayed(_run_batch)(function, numbers) for numbers in batches
        )


def _run_in_threads(
    function: Callable[[int], Result], batches: Sequence[range], n_workers: int
) -> Iterator[list[Result]]:
    """Yield the results of batches in order, with few of them under way.

    joblib's threads do the same, but take milliseconds to start.
    """
    with ThreadPoolExecutor(n_workers) as pool:
        waiting: deque[Future[list[Result]]] = deque()
        try:
            for numbers in batches:
                waiting.append(pool.submit(_run_batch, function, numbers))
                if len(waiting) > 2 * n_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _streaming_parallel(n_jobs: int | None, need: str | None) -> Parallel:
    """Return results as they come where the backend can, else all at the end."""
    try:
        return Parallel(n_jobs, prefer="threads", require=need, return_as="generator")
    except ValueError:
        return Parallel(n_jobs, prefer="threads", require=need)


def _on_workers(
    function: Callable[[int], Result], parallel: Parallel
) -> Callable[[int], Result]:
    """Return what joblib's backend for Dask is to be given as the function.

    The function holds the data, and that backend would send it with every batch.
    """
    client: Any = getattr(getattr(parallel, "_backend", None), "client", None)
    if type(client).__module__ != "distributed.client":
        return function
    with large_graphs():
        return client.submit(unpacked, packed(function), pure=False)


def packed(function: Callable[..., Result]) -> bytes:
    """Return any function as bytes, also one that was defined in a session.

    A task that makes it a function again brings it to a worker once, wherever more
    tasks need it; and unlike data that is scattered to workers, a task can be run
    again if the worker with its result dies.
    """
    import cloudpickle

    return cloudpickle.dumps(function)


def unpacked(function: bytes) -> Callable[..., Any]:
    """Return the function of these bytes."""
    return pickle.loads(function)


@contextmanager
def large_graphs() -> Iterator[None]:
    """Silence the warning of Dask about what is sent to it, beyond 10 MB."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
        yield


def _run_batch(
    function: Callable[[int], Result], numbers: Sequence[int]
) -> list[Result]:
    """Run a batch in a worker, which may be another process with its own BLAS.

    Where one worker is left, joblib runs batches here and does not ask Dask for the
    function that was sent to it.
    """
    if not callable(function):
        function = function.result()
    with one_blas_thread():
        return [function(number) for number in numbers]


@contextmanager
def same_warning_filters() -> Iterator[None]:
    """Put the warning filters of the process back, whatever threads make of them.

    For code that is not ours and may run in several threads. Where it uses
    ``warnings.catch_warnings``, as scikit-learn does whenever it checks data, threads
    may put the filters back in the wrong order and so change them for good.
    """
    with warnings.catch_warnings():
        yield


class _BlasLimit:
    """How many blocks of code want BLAS limited, and the limit that serves them all."""

    lock = Lock()
    holders = 0
    libraries: ThreadpoolController | None = None
    limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread; blocks in several threads may overlap.

    The first to enter sets the limit and the last to leave lifts it, so a fit that
    ends early neither unleashes BLAS in another nor leaves it limited for good.
    """
    with _BlasLimit.lock:
        if _BlasLimit.holders == 0 or _BlasLimit.libraries is None:
            _take_control_of_blas()
            _BlasLimit.libraries = _threaded_libraries(len(sys.modules))
            _BlasLimit.limits = _BlasLimit.libraries.limit(limits=1, user_api="blas")
        _BlasLimit.holders += 1
        openmp = _BlasLimit.libraries.select(user_api="openmp")
    try:
        # Of OpenMP every thread has a limit of its own.
        with openmp.limit(limits=1):
            yield
    finally:
        with _BlasLimit.lock:
            _BlasLimit.holders -= 1
            if _BlasLimit.holders == 0 and _BlasLimit.limits is not None:
                _take_control_of_blas()
                _BlasLimit.limits.restore_original_limits()
                _BlasLimit.limits = None


@lru_cache(1)
def _threaded_libraries(n_modules: int) -> ThreadpoolController:
    """Find the libraries that have threads: again only after further imports.

    It takes milliseconds.
    """
    return ThreadpoolController()


def _take_control_of_blas() -> None:
    """Let this thread set the limit of OpenBLAS, whichever thread did so before.

    Since version 3.8 threadpoolctl heeds only the first thread that set a limit, as
    long as it lives; but the first to enter may not be the thread that was first to
    enter last time, nor the last to leave.
    """
    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


@contextmanager
def progress(
    description: str, total: int | None, *, show: bool
) -> Iterator[Callable[[int], None]]:
    """Yield a function that reports finished steps; a bar on stderr shows them.

    Parameters
    ----------
    description : str
        What is being done.
    total : int or None
        Number of steps; None where it is not known beforehand.
    show : bool
        Without it nothing is shown and rich is not imported. Without rich a line is
        shown when the work starts.
    """
    with _timed(description), _bar(description, total, show=show) as advance:
        yield advance


@contextmanager
def stage_seconds() -> Iterator[dict[str, float]]:
    """Yield a dict that gets the seconds of all stages, by their descriptions.

    A stage is what :func:`progress` shows; one inside another is a part of it and has
    no entry. Stages that come again add up.

    Examples
    --------
    >>> from ekss.runtime.workers import progress, stage_seconds
    >>> with stage_seconds() as seconds:
    ...     with progress("members", 3, show=False):
    ...         pass
    >>> list(seconds)
    ['members']
    """
    seconds: dict[str, float] = {}
    before = _stages.get()
    _stages.set(seconds)
    try:
        yield seconds
    finally:
        _stages.set(before)


@contextmanager
def _timed(description: str) -> Iterator[None]:
    """Add the time of a stage to the dict of whoever listens."""
    seconds = _stages.get()
    if seconds is None:
        yield
        return
    _stages.set(None)
    start = perf_counter()
    try:
        yield
    finally:
        _stages.set(seconds)
        spent = perf_counter() - start
        seconds[description] = seconds.get(description, 0.0) + spent


def say(text: str, *, show: bool) -> None:
    """Show a line on stderr, as :func:`progress` shows its bars."""
    if show and find_spec("rich") is None:
        print(text, file=sys.stderr)  # noqa: T201
    elif show:
        from rich.console import Console

        console = Console(stderr=True)
        console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _bar(
    description: str, total: int | None, *, show: bool
) -> Iterator[Callable[[int], None]]:
    """Yield what advances a bar on stderr; without ``show`` there is none."""
    if not show:
        yield lambda steps: None
        return
    if find_spec("rich") is None:
        say(f"{description} ...", show=True)
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description:<14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(description, total=total)
        yield lambda steps: bar.advance(task, steps)
        if total is None:
            bar.update(task, total=1, completed=1)
