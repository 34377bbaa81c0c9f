"""Use ekss as it was installed, without extras: import, fit, command, messages.

Run by ``make wheel-test`` with the Python of a fresh environment that has the wheel and
its dependencies only.
"""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import ekss
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error

# Each belongs to an extra.
EXTRAS = ("matplotlib", "pandas", "pooch", "pyarrow", "h5py", "jinja2", "dask", "zarr")


def main() -> None:
    """Run every check; the first that fails ends the run."""
    present = [name for name in EXTRAS if find_spec(name)]
    check("no extra is installed", not present, str(present))
    check("the package is the installed one", "site-packages" in ekss.__file__)
    data = make_union_of_subspaces(
        n_subspaces=3, dims=2, n_features=20, n_per_subspace=40, random_state=0
    )
    model = ekss.EKSS(3, random_state=0).fit(data.data)
    error = clustering_error(data.target, model.labels_)
    check("a fit finds the planted clusters", error == 0, f"error {error}")
    with tempfile.TemporaryDirectory() as folder:
        try_command(Path(folder), data.data, data.target)


def try_command(folder: Path, points: np.ndarray, target: np.ndarray) -> None:
    """Use the command in a folder of its own."""
    shown = run(folder, "--version")
    check("ekss --version", ekss.__version__ in shown.stdout, shown.stdout)
    names = ",".join(f"x{number}" for number in range(points.shape[1]))
    np.savetxt(folder / "data.csv", points, delimiter=",", header=names, comments="")
    run(folder, "cluster", "data.csv", "-k", "3", "--seed", "0", "-o", "labels.csv")
    labels = np.loadtxt(folder / "labels.csv", delimiter=",", skiprows=1, usecols=-1)
    error = clustering_error(target, labels.astype(int))
    check("ekss cluster on a csv", error == 0, f"error {error}")
    (folder / "data.parquet").write_bytes(b"PAR1" + bytes(60) + b"PAR1")
    asked = ["cluster", "data.csv", "-k", "3", "--report", "report.html"]
    for extra, arguments in {
        "report": asked,
        "files": ["cluster", "data.parquet", "-k", "3"],
        "data": ["data", "fetch", "usps", "--data-home", str(folder)],
    }.items():
        refused = run(folder, *arguments, fails=True)
        told = f"ekss[{extra}]" in " ".join(refused.stderr.split())
        check(f"without the extra {extra} it is named", told, refused.stderr)
        check("without a traceback", "Traceback" not in refused.stderr, refused.stderr)


def run(
    folder: Path, *arguments: str, fails: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run the command with the arguments and return what it wrote."""
    done = subprocess.run(
        [sys.executable, "-m", "ekss", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    ended = bool(done.returncode) == fails
    check(f"ekss {arguments[0]} ends as it should", ended, str(done))
    return done


def check(what: str, holds: bool, found: str = "") -> None:
    """Print what was checked, or end with what was found."""
    if not holds:
        sys.exit(f"FAILED: {what}: {found}")
    print(f"ok: {what}")


if __name__ == "__main__":
    main()
