"""Where and with what a row was computed."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ekss.benchmarks._versions import UNKNOWN

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "ekss")


@cache
def provenance() -> dict[str, Any]:
    """Return versions, machine and commit; the same for all rows of a run."""
    return {
        "versions": {"python": platform.python_version(), **_versions()},
        "blas": blas(),
        "machine": {
            "cpu": _cpu_name(),
            "cores": os.cpu_count(),
            "platform": platform.platform(),
        },
        "commit": commit(),
    }


@cache
def blas() -> str:
    """Return library, version and kind of processor of the linear algebra.

    OpenBLAS has kernels for each kind of processor, which round differently.
    """
    import scipy.linalg as _  # noqa: F401, has a BLAS of its own
    from threadpoolctl import threadpool_info

    found = {
        " ".join(
            str(one.get(key) or UNKNOWN)
            for key in ("internal_api", "version", "architecture")
        )
        for one in threadpool_info()
        if one["user_api"] == "blas"
    }
    return " and ".join(sorted(found)) or UNKNOWN


@cache
def commit() -> str:
    """Return the git commit of the package, marked if dirty, else its version."""
    folder = Path(__file__).parents[1]
    # An installed package may lie inside somebody else's checkout.
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return f"version {_versions()['ekss']}"
    head = _git(folder, "rev-parse", "--short=12", "HEAD") or "unknown"
    changed = _git(folder, "status", "--porcelain", "--", str(folder))
    return f"{head} (changed since)" if changed else head


def peak_megabytes() -> float:
    """Return the largest memory this process has had."""
    try:
        # Unlike ru_maxrss this does not count the process that started us.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    except OSError:
        pass
    import resource  # not on every system

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 1024), 1)


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says, or None where there is no git or no checkout."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
