"""Attacks on everything that takes input, seeded: ``make fuzz``.

Cases are drawn by kind and number from the seed. Each ends in a right answer, in one of
our errors, or in a defect: another error, a crash, a wrong answer, more than
``--patience`` seconds of the processor or 2 GB. Time of the processor is the same on a
busy machine; a case that waits without end is stopped by the clock, after ten times as
long. A defect is made again by

    python benchmarks/fuzz.py --seed SEED --kind KIND --number NUMBER
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.io import savemat

import ekss
from ekss import io as files
from ekss import preprocessing
from ekss.datasets import CATALOG, make_union_of_subspaces
from ekss.datasets._sources import Source, import_source
from ekss.runtime.memory import OverLimit

Rng = np.random.Generator
MEMORY = 2_000_000_000
ESTIMATORS = "EKSS PaperEKSS KSS CoPKSS MedianKFlats SSC SSCOMP EnSC TSC".split()
# Patience by the clock is so many times that of the processor.
BUSY = 10
# Where our errors may come from: our code, and scikit-learn's checks of data.
OURS = (str(Path(ekss.__file__).parent), "sklearn/utils", "sklearn/base")


class Wrong(Exception):
    """An answer that is not right."""


def need(condition: Any, otherwise: str) -> None:
    if not condition:
        raise Wrong(otherwise)


@contextmanager
def no_refusal(is_sound: bool) -> Iterator[None]:
    """Take an error for a wrong answer where what is given is sound."""
    try:
        yield
    except (ValueError, TypeError, OverLimit, OSError) as error:
        if is_sound:
            raise Wrong(f"refused what is sound: {error}") from error
        raise


# -- data: what estimators may be given ---------------------------------------------


def union(rng: Rng) -> np.ndarray:
    n_features = int(rng.integers(2, 12))
    made = make_union_of_subspaces(
        int(rng.integers(1, 4)),
        int(rng.integers(1, min(3, n_features) + 1)),
        n_features=n_features,
        n_per_subspace=int(rng.integers(2, 15)),
        noise=float(rng.choice([0, 0.1, 1])),
        random_state=int(rng.integers(2**31)),
    )
    return made.data


def changed(rng: Rng, value: Any) -> np.ndarray:
    X = union(rng)
    X[rng.random(X.shape) < rng.choice([0.02, 0.5])] = value
    return X


def scaled(rng: Rng, by_column: bool) -> np.ndarray:
    X = union(rng)
    sizes = rng.choice(
        [0.0, 1e-308, 1e-150, 1e-30, 1.0, 1e30, 1e150, 1e300], X.shape[1]
    )
    return X * (sizes if by_column else sizes[0])


BASES: dict[str, Callable[[Rng], Any]] = {
    "union": union,
    "noise": lambda rng: rng.standard_normal(rng.integers(1, 40, 2)),
    "zeros": lambda rng: np.zeros(rng.integers(1, 30, 2)),
    "equal": lambda rng: np.full(rng.integers(1, 30, 2), rng.standard_normal()),
    "doubles": lambda rng: np.repeat(union(rng)[:5], 6, axis=0),
    "line": lambda rng: rng.standard_normal((20, 1)) @ rng.standard_normal((1, 5)),
    "one column": lambda rng: rng.standard_normal((20, 1)),
    "one row": lambda rng: rng.standard_normal((1, 5)),
    "wide": lambda rng: rng.standard_normal((6, 300)),
    "scales": partial(scaled, by_column=True),
    "scale": partial(scaled, by_column=False),
    "NaN": partial(changed, value=np.nan),
    "infinity": partial(changed, value=np.inf),
    "outlier": partial(changed, value=1e200),
    "holes": partial(changed, value=0.0),
    "empty": lambda rng: np.empty((rng.integers(0, 3), rng.integers(0, 3))),
    "axes": lambda rng: rng.standard_normal(rng.integers(1, 5, rng.choice([0, 1, 3]))),
    "integers": lambda rng: rng.integers(-9, 9, (20, 4)),
    "bits": lambda rng: rng.random((20, 4)) < 0.5,
    "words": lambda rng: rng.choice(["a", "1", "", "nan"], (20, 4)),
}
FORMS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "columns": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, 0), 2, -1)[::2, ..., ::-2],
    "list": lambda X: X.tolist(),
    "read-only": lambda X: (X.setflags(write=False), X)[1],
    "other bytes": lambda X: X.astype(X.dtype.newbyteorder()),
    "objects": lambda X: X.astype(object),
    "masked": lambda X: np.ma.masked_array(X, X == X.ravel()[0] if X.size else False),
    "sparse": lambda X: sparse.csr_array(X) if X.ndim == 2 else X,
    "dates": lambda X: X.astype("M8[s]") if X.dtype.kind == "i" else X,
}
# Forms that no estimator takes, and rows from which on all have to take the others
# if they have at least 3 features, the default dimension of PaperEKSS.
UNFIT = ("masked", "dates", "sparse")
LEAST = 10


def data(rng: Rng) -> str:
    base, form = rng.choice(list(BASES)), rng.choice(list(FORMS))
    X = BASES[base](rng)
    with np.errstate(all="ignore"), suppress(ValueError, TypeError, IndexError):
        # Not everything has every form.
        X = FORMS[form](X)
    is_plain = base in ("union", "integers") and form not in UNFIT
    with no_refusal(is_plain and np.shape(X)[1] >= 3 and len(X) >= LEAST):
        fit(rng, X, {})
    return f"{base}, {form}"


def fit(rng: Rng, X: Any, params: dict[str, Any]) -> None:
    name = str(rng.choice(ESTIMATORS))
    chosen: dict[str, Any] = {"n_clusters": int(rng.integers(1, 4)), "random_state": 0}
    known = getattr(ekss, name)().get_params()
    if "n_members" in known:
        chosen["n_members"] = 8
    model = getattr(ekss, name)(**chosen).set_params(
        **{key: value for key, value in params.items() if key in known}
    )
    labels = model.fit(X).labels_
    n_samples = np.shape(X)[0]
    need(labels.shape == (n_samples,) and labels.dtype == np.int64, "shape of labels")
    lowest = 0 if params.get("outliers") is None else -1
    in_range = labels.min() >= lowest and labels.max() < model.n_clusters_
    need(in_range, "range of labels")
    if not hasattr(model, "bases_"):
        return
    # Clusters of smaller dimension end in columns of zeros.
    used = np.any(model.bases_ != 0, axis=1)[:, None] * np.eye(model.bases_.shape[2])
    gaps = model.bases_.swapaxes(1, 2) @ model.bases_ - used
    need(np.abs(gaps).max(initial=0) < 1e-3, "bases are not orthonormal")
    distances = model.transform(X)
    need(distances.shape == (n_samples, len(model.bases_)), "shape of distances")
    need(np.isfinite(distances).all() and distances.min() >= 0, "range of distances")


# -- parameters ---------------------------------------------------------------------

ODD: list[Any] = [
    *(
        0,
        -1,
        1,
        2,
        3,
        1.5,
        99_999,
        10**9,
        2**70,
        -(2**70),
        True,
        None,
        1j,
        b"x",
        "",
        "x",
        "auto",
    ),
    *(float("nan"), float("inf"), 1e-300, (), (1, 2), (2, 1), [1, 2, 3], {}, {"a": 1}),
    *(np.int8(2), np.uint64(3), np.float32(0.5), np.bool_(True), np.array(2), len),
    *(np.array([1, 2]), object(), type, "1GB", "/nowhere", Path("."), lambda *a: 3),
]
# Parameters that ask for an amount of work, which then is done.
AMOUNTS = ("n_members", "n_init", "max_iter")


def parameters(rng: Rng) -> str:
    names = ["n_clusters", "subspace_dim", "normalize", "affine", "tol", "random_state"]
    names += ["n_neighbors", "memory_limit", "verbose", "member", "cut", "max_samples"]
    names += [
        "whiten",
        "warm_start",
        "update",
        "alpha",
        "n_jobs",
        *AMOUNTS,
    ]
    params = {}
    for name in rng.choice(names, rng.integers(1, 3), replace=False):
        value = ODD[rng.integers(len(ODD))]
        is_huge = name in AMOUNTS and isinstance(value, int) and abs(value) > 3
        params[str(name)] = 3 if is_huge else value
    fit(rng, union(rng), params)
    return ", ".join(params)


# -- files: damaged ones of every format that is read -------------------------------


def damaged(rng: Rng, whole: bytes) -> bytes:
    """Return the bytes after a few changes, one in ten times as they were."""
    content = bytearray(whole)
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 4, 10, 30, 1, 1]))):
        at = int(rng.integers(len(content) or 1))
        if rng.random() < 0.5:
            at = min(at, int(rng.integers(600)))
        length = int(rng.integers(1, 40))
        how = rng.integers(8)
        if not content:
            break
        if how <= 2:
            content[at] ^= 1 << int(rng.integers(8))
        elif how == 3:
            content[at] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF, 10, 44]))
        elif how == 4:
            del content[at : at + length]
        elif how == 5:
            content[at:at] = content[at : at + length]
        elif how == 6:
            content[at : at + 4] = rng.bytes(4)
        else:
            content[at : at + 4] = b"\xff\xff\xff\x7f"
    return bytes(
        content[: rng.integers(len(content) + 1)] if rng.random() < 0.1 else content
    )


def written(write: Callable[[Path], object], ending: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{ending}"
        write(path)
        return path.read_bytes()


@cache
def in_files() -> np.ndarray:
    """Return the points that the files hold."""
    return np.random.default_rng(0).random((12, 5))


@cache
def formats() -> dict[str, tuple[str, bytes]]:
    """Return sound files by name: their ending and bytes."""
    import h5py
    import pandas
    from PIL import Image

    X = in_files()
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame.insert(0, "id", [f"p{i}" for i in range(12)])
    picture = Image.fromarray((255 * X).astype(np.uint8))
    cells = {"X": X, "y": np.arange(12), "t": "text", "S": sparse.csc_array(X > 0.5)}

    def hdf5(path: Path, **options: Any) -> None:
        with h5py.File(path, "w", **options) as file:
            file.create_dataset("X", data=X, chunks=(4, 5), compression="gzip")
            file.create_dataset("group/y", data=np.arange(12))
            file["text"] = ["a"] * 12

    kinds: dict[str, tuple[str, Callable[[Path], object]]] = {
        "npy": (".npy", lambda path: np.save(path, X)),
        "npz": (".npz", lambda path: np.savez(path, X=X, y=np.arange(12))),
        "packed npz": (".npz", lambda path: np.savez_compressed(path, X=X)),
        "csv": (".csv", lambda path: frame.to_csv(path, index=False)),
        "tsv": (".tsv", lambda path: frame.to_csv(path, sep="\t")),
        "parquet": (".parquet", frame.to_parquet),
        "mat 4": (".mat", lambda path: savemat(path, {"X": X}, format="4")),
        "mat 5": (".mat", lambda path: savemat(path, cells)),
        "packed mat": (".mat", lambda path: savemat(path, cells, do_compression=True)),
        "mat 7.3": (".mat", partial(hdf5, userblock_size=512)),
        "hdf5": (".h5", hdf5),
        "png": (".png", picture.save),
        "jpeg": (".jpg", picture.save),
        "pgm": (".pgm", picture.save),
    }
    return {name: (end, written(write, end)) for name, (end, write) in kinds.items()}


def damaged_files(rng: Rng) -> str:
    kind = str(rng.choice(list(formats())))
    ending, whole = formats()[kind]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"a{ending}"
        content = damaged(rng, whole)
        path.write_bytes(content)
        is_image = ending in (".png", ".jpg", ".pgm")
        if is_image or rng.random() < 0.7:
            options = {"key": "X"} if kind in ("mat 5", "packed mat") else {}
            where = path.parent if is_image else path
            with no_refusal(content == whole):
                found = files.read_points(where, least_rows=1, **options).points
            need(np.isfinite(found).all(), "points are not finite")
            if content == whole:
                # Axes are turned in some formats, and JPEG is not exact.
                scale, slack = (255, 64) if is_image else (1, 0)
                gaps = np.sort(found, None) - np.sort(scale * in_files(), None)
                need(np.abs(gaps).max() <= slack, "other points")
        else:
            labels = files.read_labels(path)
            need(labels.ndim == 1 and labels.dtype == np.int64, "labels")
    return kind


# -- models -------------------------------------------------------------------------


@cache
def models() -> list[bytes]:
    X = np.random.default_rng(0).random((30, 16))
    made = []
    for step in (
        preprocessing.PrincipalComponents(5),
        preprocessing.Scattering2D(J=1, L=2),
        preprocessing.RemoveComponents(1),
        preprocessing.WhitenedComponents(4),
    ):
        rows = step.fit_transform(X)
        model = ekss.KSS(2, 1, n_init=1, affine=True, random_state=0).fit(rows)
        write = partial(files.save_model, estimator=model, preprocessing=[step])
        made.append(written(write, ".ekss"))
    return made


def damaged_models(rng: Rng) -> str:
    whole = models()[rng.integers(len(models()))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.ekss"
        if rng.random() < 0.5:
            path.write_bytes(damaged(rng, whole))
        else:
            forge(rng, whole, path)
        with no_refusal(path.read_bytes() == whole):
            model = files.load_model(path)
        if model.n_features < 1000:
            model.predict(np.ones((2, model.n_features)))
    return "model"


def forge(rng: Rng, whole: bytes, path: Path) -> None:
    """Write the model with one place of its header, or one array, of another value."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    place: Any = header
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        if not isinstance(place[key], (dict, list)) or not place[key]:
            break
        place = place[key]
    plain = [*range(-1, 9), 500, 10**6, 2**62, 1.5, "x", True, None, [], [9, 9], {}]
    place[key] = plain[rng.integers(len(plain))]
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


# -- archives of the data sets ------------------------------------------------------


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def archives(rng: Rng) -> str:
    """Damage an archive, or a file in it before it is packed."""
    spoil = partial(damaged, rng)
    inside, outside = (spoil, bytes) if rng.random() < 0.7 else (bytes, spoil)
    tracks = {"x": np.ones((3, 9, 4)), "s": np.ones((9, 1))}
    mat = written(
        partial(savemat, mdict=tracks, do_compression=rng.random() < 0.5), ".mat"
    )
    idx = bytes([0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 2]) + bytes(20)
    text = b"6.0 -1.0 0.5 1.0\n" * 4
    png, pgm = formats()["png"][1], formats()["pgm"][1]
    contents = {
        "hopkins155": [zipped({"a_truth.mat": inside(mat)})],
        "mnist_test": [gzip.compress(inside(idx)), gzip.compress(inside(idx))],
        "usps": [gzip.compress(inside(text)), gzip.compress(inside(text))],
        "coil20": [zipped({"coil-20-proc/obj1__0.png": inside(png)})],
        "eyaleb": [zipped({"yaleB01_P00A+000E+00.pgm": inside(pgm)})],
    }
    name = str(rng.choice(list(contents)))
    dataset = next(one for one in CATALOG if one.name == name)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / archive.filename for archive in dataset.archives]
        for path, content in zip(paths, contents[name], strict=True):
            path.write_bytes(outside(content))
        # None of these is the real data set, so a refusal is right.
        import_source(Source(dataset, tuple(paths)), Path(folder) / "home")
    return name


KINDS = {
    "data": data,
    "parameters": parameters,
    "files": damaged_files,
    "models": damaged_models,
    "archives": archives,
}


# -- running ------------------------------------------------------------------------


def outcome(kind: str, number: int, seed: int) -> tuple[str, str]:
    """Run one case; return "right", "refused" or "defect", and what happened."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind), number])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "right", KINDS[kind](rng)
    except (ValueError, TypeError, OverLimit, OSError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1].filename
        told = str(error).strip()
        if told and any(part in place for part in OURS):
            return "refused", told
        return "defect", f"{type(error).__name__} from {place}: {told}"
    except BaseException as error:
        return "defect", "".join(traceback.format_exception(error)[-4:])


def work(patience: float) -> None:
    """Run the cases that are named on stdin, with limits on memory and time."""
    faulthandler.enable()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        # Some cases write into the current directory.
        os.chdir(folder)
        for line in sys.stdin:
            kind, number, seed = json.loads(line)
            # Ends this process by SIGPROF; children do not inherit it.
            signal.setitimer(signal.ITIMER_PROF, patience)
            told = json.dumps(outcome(kind, number, seed))
            signal.setitimer(signal.ITIMER_PROF, 0)
            print(told, flush=True)
        os.chdir("/")


class Worker:
    """A process that runs cases one by one, and is replaced when it ends."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.process: subprocess.Popen[str] | None = None

    def run(self, case: tuple[str, int, int]) -> tuple[str, str]:
        """Return how a case ended, and what happened."""
        if self.process is None:
            one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
            self.process = subprocess.Popen(
                [sys.executable, __file__, "--work", f"--patience={self.patience}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, **one},
            )
        timer = threading.Timer(BUSY * self.patience, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except OSError:
            answer = ""
        timer.cancel()
        if answer:
            result, told = json.loads(answer)
            return result, told
        code = self.process.wait()
        self.process = None
        if code == -signal.SIGPROF:
            return "defect", f"took more than {self.patience:.0f} s of the processor"
        if code == -signal.SIGKILL:
            return "defect", f"waited more than {BUSY * self.patience:.0f} s"
        return "defect", f"the process ended with {code}"

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def attack(options: argparse.Namespace) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Run cases of all kinds in turn until time is over or enough were run."""
    counts: Counter[tuple[str, str]] = Counter()
    defects: list[str] = []
    end = time.monotonic() + 60 * options.minutes
    waiting: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
    lock = threading.Lock()
    numbers = iter(range(options.cases or 2**60))

    def refill() -> None:
        number = next(numbers, None)
        for kind in KINDS if number is not None else ():
            waiting.put((kind, number))

    def loop() -> None:
        worker = Worker(options.patience)
        while time.monotonic() < end:
            with lock:
                if waiting.empty():
                    refill()
                if waiting.empty():
                    break
                kind, number = waiting.get()
            result, told = worker.run((kind, number, options.seed))
            with lock:
                counts[kind, result] += 1
                if result == "defect":
                    defects.append(f"--kind {kind} --number {number}: {told}")
                    print(defects[-1], file=sys.stderr, flush=True)
        worker.stop()

    threads = [threading.Thread(target=loop) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, defects


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cases", type=int, help="of each kind; all that time allows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--patience", type=float, default=30.0)
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--number", type=int)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.patience)
        return 0
    if options.kind is not None and options.number is not None:
        rng = np.random.default_rng(
            [options.seed, list(KINDS).index(options.kind), options.number]
        )
        print(KINDS[options.kind](rng))
        return 0
    counts, defects = attack(options)
    table = Table("kind", *("tried", "right", "refused", "defects"))
    for kind in (*KINDS, "all"):
        found = [
            sum(n for (k, r), n in counts.items() if kind in (k, "all") and r == result)
            for result in ("right", "refused", "defect")
        ]
        table.add_row(kind, str(sum(found)), *map(str, found))
    Console().print(table)
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
