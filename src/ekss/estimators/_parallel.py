"""A parallel map over numbered, independent pieces of work, and its progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

Result = TypeVar("Result")

_LARGEST_BATCH = 8


def map_numbers(
    function: Callable[[int], Result],
    count: int,
    *,
    n_jobs: int | None,
    description: str,
    show: bool,
) -> Iterator[Result]:
    """Yield function(0), function(1), ... in that order, computed in parallel.

    Threads are preferred because the work is done in BLAS and compiled code;
    ``joblib.parallel_config`` chooses another backend. BLAS is limited to one thread
    inside every worker, which keeps results independent of ``n_jobs``.
    """
    batch = max(1, min(_LARGEST_BATCH, count // (4 * effective_n_jobs(n_jobs))))
    batches = [
        range(first, min(first + batch, count)) for first in range(0, count, batch)
    ]
    parallel = Parallel(n_jobs, prefer="threads", return_as="generator")
    with progress(description, count, show=show) as advance:
        for results in parallel(
            delayed(_run_batch)(function, numbers) for numbers in batches
        ):
            advance(len(results))
            yield from results


def _run_batch(
    function: Callable[[int], Result], numbers: Sequence[int]
) -> list[Result]:
    """Run a batch in a worker, which may be another process with its own BLAS."""
    with threadpool_limits(1):
        return [function(number) for number in numbers]


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
        Without it nothing is shown and rich is not imported.
    """
    if not show:
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
