"""``ekss doctor``: what this installation consists of, and whether it works."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ekss.cli import _options as shared
from ekss.cli import _output as out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NEEDED = (
    *("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl"),
    *("rich", "typer"),
)
_EXTRAS = {
    "files": ("pandas", "pyarrow", "h5py", "pillow"),
    "report": ("jinja2", "matplotlib"),
    "data": ("pooch",),
    "zarr": ("zarr",),
    "dask": ("dask", "distributed"),
    "umap": ("umap-learn",),
}
_THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT"),
)


def doctor(as_json: shared.Json = False, debug: shared.Debug = False) -> None:
    """Show versions, threads, BLAS, Dask and folders, and run a short self-test."""
    with out.guarded(debug):
        voice = out.Voice(quiet=False, as_json=as_json)
        found: dict[str, Any] = {
            "versions": _versions(),
            "extras": _extras(),
            "threads": _threads(),
            "blas": _blas(),
            "dask": _dask(),
            "memory": _memory(),
            "folders": _folders(),
        }
        with voice.waiting("testing"):
            found["self_test"] = _self_test()
        voice.json("doctor", found)
        voice.plan(list(_lines(found)))
        if not found["self_test"]["passed"]:
            raise out.Failure(
                "the self-test failed: labels are not those of the planted clusters; "
                "install ekss anew, and report it with: ekss doctor --json"
            )


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _versions() -> dict[str, str | None]:
    import platform

    found: dict[str, str | None] = {name: _version(name) for name in ("ekss", *_NEEDED)}
    return {"python": platform.python_version(), **found}


def _extras() -> dict[str, dict[str, str | None]]:
    return {
        extra: {name: _version(name) for name in names}
        for extra, names in _EXTRAS.items()
    }


def _threads() -> dict[str, Any]:
    has_affinity = hasattr(os, "sched_getaffinity")
    usable = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
    set_here = {
        name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ
    }
    return {"cores": os.cpu_count(), "usable": usable, "environment": set_here}


def _blas() -> list[dict[str, Any]]:
    import numpy  # noqa: F401  loads the library that is asked about
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture", "num_threads")
    return [
        {key: one.get(key) for key in keys}
        for one in threadpool_info()
        if one.get("user_api") == "blas"
    ]


def _dask() -> dict[str, Any]:
    """Say whether a cluster is connected; none is started."""
    scheduler = None
    if "distributed" in sys.modules or os.environ.get("DASK_SCHEDULER_ADDRESS"):
        from distributed import get_client

        try:
            client: Any = get_client(timeout=1)
            scheduler = client.scheduler.address
        except (ValueError, OSError):
            scheduler = None
    return {"version": _version("dask"), "scheduler": scheduler}


def _memory() -> dict[str, Any]:
    from ekss.runtime.memory import available_bytes, resident_bytes

    return {"free": available_bytes(), "held": resident_bytes()}


def _folders() -> dict[str, dict[str, Any]]:
    import tempfile

    import numba

    import ekss
    from ekss.datasets import get_data_home

    own = Path(str(ekss.__file__)).parent
    chosen = getattr(numba.config, "CACHE_DIR", "")
    kernels = Path(chosen) if chosen else own
    places = {
        "data": get_data_home(None),
        "kernels": kernels,
        "temporary": Path(tempfile.gettempdir()),
    }
    return {
        name: {
            "path": str(path),
            "exists": path.is_dir(),
            "writable": os.access(_nearest(path), os.W_OK),
        }
        for name, path in places.items()
    }


def _nearest(path: Path) -> Path:
    """Return the folder itself, or the one in which it would be made."""
    return next(one for one in (path, *path.parents) if one.exists())


def _self_test() -> dict[str, Any]:
    """Cluster planted points with one worker and with two; both must be right."""
    import numpy as np

    from ekss import EKSS
    from ekss.datasets import make_union_of_subspaces
    from ekss.metrics import clustering_error

    start = time.perf_counter()
    data = make_union_of_subspaces(
        n_subspaces=3, dims=2, n_features=20, n_per_subspace=40, random_state=0
    )
    labels = [
        EKSS(3, 2, n_members=20, n_jobs=jobs, random_state=0).fit_predict(data.data)
        for jobs in (1, 2)
    ]
    error = float(clustering_error(data.target, labels[0]))
    same = bool(np.array_equal(*labels))
    return {
        "error": error,
        "same_with_two_workers": same,
        "seconds": round(time.perf_counter() - start, 3),
        "passed": error == 0 and same,
    }


def _lines(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Write what was found, one line for each part."""
    versions = {name: shown or "missing" for name, shown in found["versions"].items()}
    yield "Package", ", ".join(f"{name} {shown}" for name, shown in versions.items())
    for extra, packages in found["extras"].items():
        missing = [name for name, shown in packages.items() if shown is None]
        have = ", ".join(f"{name} {shown}" for name, shown in packages.items() if shown)
        need = f"without {', '.join(missing)}: pip install 'ekss[{extra}]'"
        yield (
            "Extra",
            f"{extra}: {'; '.join(filter(None, (have, need * bool(missing))))}",
        )
    threads = found["threads"]
    set_here = [f"{name}={value}" for name, value in threads["environment"].items()]
    shown = f", {', '.join(set_here)}" if set_here else ""
    yield "Threads", f"{threads['usable']} of {threads['cores']} cores{shown}"
    for one in found["blas"]:
        kind = " ".join(
            str(one[key]) for key in ("internal_api", "version") if one[key]
        )
        yield "BLAS", f"{kind}, {one['architecture']}, {one['num_threads']} threads"
    dask = found["dask"]
    state = "not installed" if dask["version"] is None else dask["version"]
    yield "Dask", f"{state}, {dask['scheduler'] or 'no cluster connected'}"
    free = found["memory"]["free"]
    yield "Memory", "unknown" if free is None else f"{free / 1e9:.1f} GB free"
    for name, folder in found["folders"].items():
        there = "" if folder["exists"] else ", not there yet"
        may = "" if folder["writable"] else ", NOT WRITABLE"
        yield "Folder", f"{name}: {folder['path']}{there}{may}"
    test = found["self_test"]
    words = "passed" if test["passed"] else "FAILED"
    error = out.percent(test["error"])
    yield "Test", f"{words}: error {error} in {out.duration(test['seconds'])}"
