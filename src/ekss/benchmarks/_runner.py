"""The shell of all tables and figures: cells, plans, rows on disk, and the run.

A plan lists cells; every cell is computed in a fresh process and leaves one row, a JSON
file that is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ekss.benchmarks._versions import code_in, code_of, provenance
from ekss.runtime.files import write_atomically
from ekss.runtime.memory import peak_bytes

Result = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One piece of a table or figure that is computed in one go.

    Attributes
    ----------
    table : str
        Table or figure it belongs to.
    dataset, method, column : str
        Its place there.
    params : mapping
        Everything else that decides its result; JSON types only.
    seed : int
        Seed of all its random draws.
    cost : float
        Estimated seconds on one thread. Not part of the cell's identity.
    files : tuple of str
        Prepared features that it reads. Not part of its identity: ``params`` names
        the recipes.

    Examples
    --------
    >>> from ekss.benchmarks import Cell
    >>> cell = Cell("table1", "usps", "kss", "default", {"n_init": 3}, seed=0)
    >>> cell.title
    'usps kss default seed 0'
    """

    table: str
    dataset: str
    method: str
    column: str
    params: Mapping[str, Any]
    seed: int
    cost: float = field(default=1.0, compare=False)
    files: tuple[str, ...] = field(default=(), compare=False)

    def identity(self) -> Row:
        """Return what decides the result, as JSON types.

        Returns
        -------
        identity : dict
            Everything but ``cost`` and ``files``.
        """
        names = ("table", "dataset", "method", "column", "params", "seed")
        found: Row = json.loads(json.dumps({one: getattr(self, one) for one in names}))
        return found

    @property
    def key(self) -> str:
        """Hash of the identity, the name of the cell's row file."""
        return short_hash(self.identity())

    @property
    def title(self) -> str:
        """Short readable name."""
        return f"{self.dataset} {self.method} {self.column} seed {self.seed}"


Work = Callable[[Cell], Result]


@dataclass(frozen=True)
class Plan:
    """Cells, and the function that computes one.

    Attributes
    ----------
    name : str
        Name of the table or figure.
    cells : tuple of Cell
        Its cells.
    work : callable
        ``work(cell)`` returns the result as a dict of JSON types. It runs in a fresh
        process, so it must be importable: a function at the top of a module.
    missing : mapping of str to str
        Data sets that could not be loaded, and why.
    others : mapping of str to callable
        What computes cells that belong to another table, by its name.

    Examples
    --------
    >>> from ekss.benchmarks import Cell, Plan
    >>> cell = Cell("demo", "usps", "kss", "default", {}, seed=0)
    >>> plan = Plan("demo", (cell,), work=dict)
    >>> plan.work_of(cell) is dict
    True
    """

    name: str
    cells: tuple[Cell, ...]
    work: Work
    missing: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, Work] = field(default_factory=dict)

    def work_of(self, cell: Cell) -> Work:
        """Return what computes a cell.

        Parameters
        ----------
        cell : Cell
            A cell of the plan.

        Returns
        -------
        work : callable
            From the cell to its result.
        """
        return self.others.get(cell.table, self.work)

    def code_of(self, cell: Cell) -> str:
        """Return the fingerprint of the code that computes a cell.

        Parameters
        ----------
        cell : Cell
            A cell of the plan.

        Returns
        -------
        code : str
            The same until code is changed that the cell uses.
        """
        return code_of(self.work_of(cell), cell.params)

    def codes(self) -> set[str]:
        """Return the fingerprints of all code that computes cells.

        Returns
        -------
        codes : set of str
            One per method or more.
        """
        return {self.code_of(cell) for cell in self.cells}

    def finished(self, rows: Mapping[str, Row]) -> Iterator[tuple[Cell, Row]]:
        """Yield the cells that have results, with their rows.

        Parameters
        ----------
        rows : mapping
            Rows by the cells' keys.

        Yields
        ------
        cell : Cell
            A cell that did not fail.
        row : dict
            Its result.
        """
        for cell in self.cells:
            row = rows.get(cell.key)
            if row is not None and finished(row):
                yield cell, row


def short_hash(value: Any) -> str:
    """Hash JSON types independently of the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def row_path(folder: Path, cell: Cell) -> Path:
    """Return the file of a cell's row."""
    return folder / "rows" / f"{cell.key}.json"


def write_row(folder: Path, cell: Cell, content: Row) -> Row:
    """Store the row of a cell; a reader never sees half of it."""
    row = {"cell": cell.identity(), **content}
    text = json.dumps(row, indent=1, sort_keys=True)
    write_atomically(row_path(folder, cell), (text + "\n").encode())
    return row


def finished(row: Row | None) -> bool:
    """Whether the cell has a result."""
    return row is not None and "failed" not in row


def read_rows(folder: Path, cells: Iterable[Cell]) -> dict[str, Row]:
    """Return the rows there are, finished or failed, by the cells' keys.

    Parameters
    ----------
    folder : Path
        Rows are in its folder ``rows``.
    cells : iterable of Cell
        Those to look for.

    Returns
    -------
    rows : dict
        By the cells' keys.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.benchmarks import Cell, Plan, read_rows
    >>> cell = Cell("demo", "usps", "kss", "default", {}, seed=0)
    >>> plan = Plan("demo", (cell,), work=dict)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_rows(Path(folder), plan.cells)
    {}
    """
    paths = {cell.key: row_path(folder, cell) for cell in cells}
    return {
        key: json.loads(path.read_text())
        for key, path in paths.items()
        if path.exists()
    }


@dataclass(frozen=True)
class Step:
    """What happened in a run: a cell was started, or its row was written.

    Attributes
    ----------
    cell : Cell
        Which one.
    row : dict or None
        None when the cell was started.
    done, total : int
        Cells of the plan that are finished or failed, and all.
    left : float
        Estimated seconds until the run ends.

    Examples
    --------
    >>> from ekss.benchmarks import Cell, Step
    >>> cell = Cell("table1", "usps", "kss", "default", {"n_init": 3}, seed=0)
    >>> step = Step(cell, None, done=3, total=10, left=60.0)
    >>> f"{step.done} of {step.total}"
    '3 of 10'
    """

    cell: Cell
    row: Row | None
    done: int
    total: int
    left: float


def open_cells(plan: Plan, folder: Path, *, keep_old: bool = False) -> list[Cell]:
    """Return the cells that are still to be computed, costly ones first.

    Rows that other code made count as results only with ``keep_old``.

    Parameters
    ----------
    plan : Plan
        Cells, and what computes them.
    folder : Path
        Rows are in its folder ``rows``.
    keep_old : bool, default=False
        Whether rows that other code made count.

    Returns
    -------
    cells : list of Cell
        In the order in which they are computed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.benchmarks import Cell, Plan, open_cells
    >>> cell = Cell("demo", "usps", "kss", "default", {}, seed=0)
    >>> plan = Plan("demo", (cell,), work=dict)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [cell.title for cell in open_cells(plan, Path(folder))]
    ['usps kss default seed 0']
    """
    done = {cell.key for cell, _ in plan.finished(read_rows(folder, plan.cells))}
    if not keep_old:
        done -= {cell.key for cell in old_cells(plan, folder)}
    left = [cell for cell in plan.cells if cell.key not in done]
    return sorted(left, key=lambda cell: -cell.cost)


def old_cells(plan: Plan, folder: Path) -> list[Cell]:
    """Return the cells whose rows were made by other code than the present one.

    Parameters
    ----------
    plan : Plan
        Cells, and what computes them.
    folder : Path
        Rows are in its folder ``rows``.

    Returns
    -------
    cells : list of Cell
        In the order of the plan.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss.benchmarks import Cell, Plan, old_cells
    >>> cell = Cell("demo", "usps", "kss", "default", {}, seed=0)
    >>> plan = Plan("demo", (cell,), work=dict)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     old_cells(plan, Path(folder))
    []
    """
    rows = read_rows(folder, plan.cells)
    return [
        cell for cell, row in plan.finished(rows) if code_in(row) != plan.code_of(cell)
    ]


def run_plan(
    plan: Plan,
    folder: Path,
    *,
    jobs: int = 1,
    threads: int = 1,
    fresh: bool = False,
    keep_old: bool = False,
    report: Callable[[Step], None] | None = None,
) -> dict[str, Row]:
    """Compute the cells of a plan that are not on disk yet; return all rows.

    A row on disk counts only if the code that decides results is still the same
    (``code_of``); other rows are computed again.

    A cell that raises, runs out of memory or crashes gets a row with the reason under
    "failed" and is tried again in the next run; the others go on. If this process is
    killed, finished rows stay, and cells under way end by themselves.

    Parameters
    ----------
    plan : Plan
        Cells, and what computes them.
    folder : Path
        Rows are kept in its folder ``rows``.
    jobs : int, default=1
        Cells computed at the same time.
    threads : int, default=1
        Threads of BLAS and OpenMP per cell.
    fresh : bool, default=False
        Compute every cell again.
    keep_old : bool, default=False
        Let rows that other code made count, too. Pages say so in their first line.
    report : callable, default=None
        Called with a :class:`Step` when a cell starts and when it ends.

    Returns
    -------
    rows : dict
        Rows, finished or failed, by the cells' keys.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ekss.benchmarks import PROFILES, loaders, plan_table1, run_plan
    >>> from ekss.datasets import get_data_home
    >>> plan = plan_table1(
    ...     PROFILES["smoke"], get_data_home(), loaders(None), datasets=["usps"]
    ... )  # doctest: +SKIP
    >>> rows = run_plan(plan, Path("results"), jobs=2)  # doctest: +SKIP
    """
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    todo = open_cells(plan, folder, keep_old=keep_old)
    codes = {cell.key: plan.code_of(cell) for cell in plan.cells}
    made = provenance()  # before anything can be edited while cells run
    if fresh:
        todo = sorted(plan.cells, key=lambda cell: -cell.cost)
    total, done = len(plan.cells), len(plan.cells) - len(todo)
    estimated = spent = 0.0
    context = _fresh_processes()
    running: list[_Running] = []

    def tell(cell: Cell, row: Row | None) -> None:
        if report is not None:
            pace = spent / estimated if estimated else 1.0
            left = _seconds_left(todo, running, pace, jobs)
            report(Step(cell, row, done, total, left))

    try:
        while todo or running:
            while todo and len(running) < jobs:
                cell = todo.pop(0)
                running.append(_start(context, plan.work_of(cell), cell, threads))
                tell(cell, None)
            ready = wait([run.results for run in running])
            for run in [run for run in running if run.results in ready]:
                running.remove(run)
                origin = {"code": codes[run.cell.key], **made}
                row = write_row(folder, run.cell, {**_collect(run), **origin})
                done += 1
                estimated += run.cell.cost
                spent += time.monotonic() - run.started
                tell(run.cell, row)
    finally:
        for run in running:
            run.process.kill()
            run.process.join()
    return read_rows(folder, plan.cells)


# Loaded before a cell starts: limits on threads reach only what is loaded, and most
# of the time of a small cell would go into imports.
_PRELOADED = ("numba", "scipy.linalg", "sklearn.cluster", "ekss.estimators")


def _fresh_processes() -> Any:
    """Return the way to start processes that share nothing with this one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_PRELOADED, __name__])
    return context


@dataclass(frozen=True)
class _Running:
    cell: Cell
    process: Any
    results: Connection
    started: float


def _seconds_left(
    todo: list[Cell], running: list[_Running], pace: float, jobs: int
) -> float:
    """Estimate the rest of a run; the pace is how costs have come out so far."""
    now = time.monotonic()
    under_way = [
        max(pace * run.cell.cost - (now - run.started), 0.0) for run in running
    ]
    work = pace * sum(cell.cost for cell in todo) + sum(under_way)
    return max(work / jobs, max(under_way, default=0.0))


def _start(context: Any, work: Work, cell: Cell, threads: int) -> _Running:
    results, send = context.Pipe(duplex=False)
    process = context.Process(target=_in_child, args=(work, cell, threads, send))
    process.start()
    send.close()
    return _Running(cell, process, results, time.monotonic())


def _collect(run: _Running) -> Row:
    """Return the content of the row, which says what went wrong if something did."""
    try:
        content: Row = run.results.recv()
    except EOFError:
        content = {}
    run.process.join()
    run.results.close()
    if not content:
        content = {"failed": _reason(run.process.exitcode)}
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    wall = round(time.monotonic() - run.started, 2)
    return {**content, "date": stamp, "wall_seconds": wall}


def _reason(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return "the process was killed, most likely because memory ran out"
    if code is not None and code < 0:
        return f"the process crashed with signal {signal.Signals(-code).name}"
    return f"the process ended early with exit code {code}"


def _in_child(work: Work, cell: Cell, threads: int, send: Connection) -> None:
    """Compute a cell; whatever happens is told in words."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us on Ctrl-C
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        from threadpoolctl import threadpool_limits

        for module in _PRELOADED:
            import_module(module)
        with threadpool_limits(threads), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            start = time.perf_counter()
            content = dict(work(cell))
            content.setdefault("seconds", round(time.perf_counter() - start, 3))
        content["warnings"] = sorted({str(warning.message) for warning in told})
        content["threads"] = threads
    except MemoryError as error:
        content = {"failed": f"out of memory: {error}"}
    except Exception as error:
        content = {"failed": f"{type(error).__name__}: {error}"}
    content["peak_megabytes"] = round(peak_bytes() / 2**20, 1)
    send.send(content)
    send.close()


def _end_with_parent() -> None:
    """End this process when the run is killed and nobody waits for the cell."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        sys.stderr.flush()
        os._exit(1)
