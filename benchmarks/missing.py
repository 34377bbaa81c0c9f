"""Missing entries: clustering and filling in against other ways, as table and picture.

    python benchmarks/missing.py [--draws 10] [--minutes 4] [--page]

Rows are added to docs/results/missing.csv; only what is missing, or was made by other
code, is run, so a run that was stopped goes on. Page and picture are then made from all
rows. Extended Yale B comes from the data home (``ekss data import``); without it its
part is left out.
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from functools import cache, partial

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.linear_model import Lasso

from ekss import EKSS, TSC
from ekss.datasets import fetch_eyaleb, make_union_of_subspaces
from ekss.graph import spectral_labels
from ekss.metrics import clustering_error
from rows import RESULTS, Study

STUDY = Study(
    "missing",
    "Missing entries",
    ("task", "method", "share", "draw"),
    ("error", "rmse", "seconds"),
)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
K, DIM, WIDTH, PER = 5, 5, 25, 50
FACES, KEPT_FACES = 0.3, 10
# Pairs of fits: the time of one varies by some 5 % on a machine that others use too.
REPEATS = 20


def zeros(rows):
    """Fill in zeros."""
    return np.where(np.isnan(rows), 0, rows)


def means(rows):
    """Fill in the means of the columns."""
    return np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)


def low_rank(rows, n_iter=200):
    """Complete by soft-thresholded singular values, warm from strong to weak.

    The threshold falls to a hundredth of the largest singular value; a tenth of the
    observed entries is held out to choose where to stop.
    """
    rng = np.random.default_rng(0)
    seen = ~np.isnan(rows)
    held = seen & (rng.random(rows.shape) < 0.1)
    steps = np.geomspace(0.5, 0.01, 10)

    def path(mask):
        values = np.where(mask, rows, 0)
        largest = np.linalg.norm(values, 2)
        filled = np.zeros(rows.shape)
        for step in steps:
            for _ in range(n_iter // len(steps)):
                left, s, right = np.linalg.svd(
                    np.where(mask, rows, filled), full_matrices=False
                )
                filled = left * np.maximum(s - step * largest, 0) @ right
            yield filled.copy()

    errors = [np.square((one - rows)[held]).sum() for one in path(seen & ~held)]
    best = list(path(seen))[int(np.argmin(errors))]
    return np.where(seen, rows, best)


def entrywise_ssc(rows, n_clusters):
    """SSC on zero-filled points, each written by the others on its own entries."""
    seen = ~np.isnan(rows)
    points = zeros(rows)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    codes = np.zeros((len(points), len(points)))
    for i, (point, mask) in enumerate(zip(points, seen, strict=True)):
        others = np.arange(len(points)) != i
        design, wanted = points[others][:, mask].T, point[mask]
        strength = np.abs(design.T @ wanted).max() / 20 / len(wanted)
        model = Lasso(strength, fit_intercept=False, max_iter=5000, tol=1e-5)
        codes[i, others] = model.fit(design, wanted).coef_
    scaled = np.abs(codes) / np.maximum(np.abs(codes).max(axis=1, keepdims=True), 1e-12)
    return spectral_labels(scaled + scaled.T, n_clusters, random_state=0).labels


def fit(rows, **options):
    return EKSS(K, random_state=0, **options).fit(rows)


METHODS = {
    "EKSS": lambda rows: fit(rows),
    "zero filling + EKSS": lambda rows: fit(rows, missing="zero"),
    "mean filling + EKSS": lambda rows: fit(means(rows)),
    "low-rank completion + EKSS": lambda rows: fit(low_rank(rows)),
    "entry-wise zero-fill SSC": lambda rows: entrywise_ssc(rows, K),
    "zero filling + TSC": lambda rows: TSC(K, missing="zero", random_state=0).fit(rows),
}
IMPUTERS = {
    "column means": means,
    "KNNImputer": lambda rows: KNNImputer().fit_transform(rows),
    "IterativeImputer": lambda rows: IterativeImputer(
        random_state=0, max_iter=5, n_nearest_features=60
    ).fit_transform(rows),
    "EKSS.impute": lambda rows: EKSS(KEPT_FACES, random_state=0).fit(rows).impute(rows),
    "low-rank completion": low_rank,
}


def planted(share, draw):
    """Return points, truth, and the points with holes, equally many in each."""
    data = make_union_of_subspaces(
        K, DIM, n_features=WIDTH, n_per_subspace=PER, random_state=draw
    )
    rng = np.random.default_rng(1000 + draw)
    order = rng.random(data.data.shape).argsort(axis=1)
    holes = order < round(share * WIDTH)
    return data.data, data.target, np.where(holes, np.nan, data.data)


def rmse(filled, whole, rows):
    """Return the error of missing entries as a share of their size."""
    holes = np.isnan(rows)
    if not holes.any():
        return 0.0
    size = np.sqrt(np.square(whole[holes]).mean())
    return float(np.sqrt(np.square((filled - whole)[holes]).mean()) / size)


def run_planted(method, share, draw):
    whole, target, rows = planted(share, draw)
    start = time.perf_counter()
    found = METHODS[method](rows)
    seconds = time.perf_counter() - start
    labels = getattr(found, "labels_", found)
    error = 100 * clustering_error(target, labels)
    filled = found.impute(rows) if method == "EKSS" and share else None
    return error, "" if filled is None else rmse(filled, whole, rows), seconds


def faces():
    """Return images of the first people, every 2 x 2 pixels one, in [0, 1]."""
    X, y = fetch_eyaleb(download_if_missing=False, return_X_y=True)
    some = y < KEPT_FACES
    images = X[some].reshape(-1, 48, 42).astype(np.float64) / 255
    small = images.reshape(-1, 24, 2, 21, 2).mean(axis=(2, 4))
    return small.reshape(len(small), -1), y[some]


def run_faces(method, share, draw):
    whole, _ = faces()
    rng = np.random.default_rng(draw)
    rows = np.where(rng.random(whole.shape) < share, np.nan, whole)
    start = time.process_time()
    filled = IMPUTERS[method](rows)
    seconds = time.process_time() - start
    return "", rmse(filled, whole, rows), seconds


def run_whole_faces(method, share, draw):
    """Time a fit to the images without holes: what is not spent on filling in."""
    whole, _ = faces()
    start = time.process_time()
    EKSS(KEPT_FACES, random_state=0).fit(whole)
    return "", "", time.process_time() - start


@cache
def without_holes():
    """Return points without holes, and the labels of a fit that refuses any."""
    data = make_union_of_subspaces(
        K, DIM, n_features=2 * WIDTH, n_per_subspace=4 * PER, noise=0.1, random_state=0
    )
    return data.data, fit(data.data, missing="error").labels_


def run_complete(method, share, draw):
    """Fit to complete rows; the error is how many labels of a strict fit differ."""
    rows, labels = without_holes()
    start = time.thread_time()
    found = fit(rows, missing=method)
    seconds = time.thread_time() - start
    return 100 * float((found.labels_ != labels).mean()), "", seconds


def large_case(share):
    data = make_union_of_subspaces(
        10, 5, n_features=100, n_per_subspace=1000, noise=0.1, random_state=0
    )
    holes = np.random.default_rng(0).random(data.data.shape) < share
    return data.target, np.where(holes, np.nan, data.data)


def run_large(method, share, draw):
    target, rows = large_case(share)
    # One thread works, and its own time does not depend on what else is running.
    start = time.thread_time()
    found = EKSS(10, random_state=draw).fit(rows)
    seconds = time.thread_time() - start
    return 100 * clustering_error(target, found.labels_), "", seconds


def tasks(draws):
    """Yield all that is to be measured: task, method, share, draw, function."""
    for draw in range(20):
        yield "planted", "EKSS", 0.2, draw, run_planted
    for draw in range(draws):
        for share in SHARES:
            for method in METHODS:
                yield "planted", method, share, draw, run_planted
    for repeat in range(REPEATS):
        # In turn and in either order, so that both meet the same load of the machine.
        for method in ("error", "observed")[:: 1 if repeat % 2 else -1]:
            yield "complete", method, 0.0, repeat, run_complete
    for share in (FACES, 0.0):
        yield "large", "EKSS", share, 0, run_large
    for method in IMPUTERS:
        yield "faces", method, FACES, 0, run_faces
    yield "faces", "EKSS", 0.0, 0, run_whole_faces


def fits(draws, only=None):
    """Return what makes each fit, by the keys of its row."""
    return {
        (task, method, str(share), str(draw)): partial(function, method, share, draw)
        for task, method, share, draw, function in tasks(draws)
        if only in (None, task)
    }


def measure(wanted, end, key):
    """Return what a fit gives, or None if the time is up or its data are not there."""
    if time.monotonic() > end:
        return None
    try:
        return dict(zip(STUDY.measured, wanted[key](), strict=True))
    except FileNotFoundError as absent:
        print(f"left out: {key[0]}: {absent}")
        return None


def mean_of(rows, field):
    """Return the mean of a field over draws, by method and share."""
    found = defaultdict(list)
    for row in rows:
        if row[field]:
            found[row["method"], float(row["share"])].append(float(row[field]))
    return {key: (float(np.mean(v)), len(v)) for key, v in found.items()}


def body(rows):
    """Draw the picture, and return the lines of the page."""
    draw(rows, RESULTS / "missing.png")
    return tables(rows)


def tables(rows):
    """Return the lines of the page."""
    planted_rows = [r for r in rows if r["task"] == "planted"]
    errors = mean_of(planted_rows, "error")
    shares = [s for s in SHARES if ("EKSS", s) in errors]
    lines = [
        f"{K} random subspaces of dimension {DIM} in {WIDTH} dimensions, {PER} points "
        "each, no noise; a share of the",
        "entries of every point is removed. Clustering error in %, mean over draws. "
        "`EKSS` is `EKSS(5)`,",
        "with nothing else given; the other lines fill in first, or are as published "
        "(entry-wise zero-fill",
        "SSC). Made by `python benchmarks/missing.py`.",
        "",
        "![Error by share of missing entries](missing.png)",
        "",
        "| missing | " + " | ".join(f"{100 * s:.0f} %" for s in shares) + " |",
        "|---|" + "---:|" * len(shares),
    ]
    for method in METHODS:
        cells = [
            f"{errors[method, s][0]:.1f}" if (method, s) in errors else "-"
            for s in shares
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    counts = [str(errors["EKSS", s][1]) for s in shares]
    others = [
        str(min(errors.get((m, s), (0, 0))[1] for m in METHODS if m != "EKSS"))
        for s in shares
    ]
    lines.append("| draws of `EKSS` | " + " | ".join(counts) + " |")
    lines.append("| draws of the others | " + " | ".join(others) + " |")
    filled = mean_of(planted_rows, "rmse")
    cells = [
        f"{100 * filled['EKSS', s][0]:.1f}" if ("EKSS", s) in filled else "-"
        for s in shares
    ]
    lines += [
        "",
        "Error of the entries that `EKSS.impute` fills in, as % of their root mean "
        "square:",
        "",
        "| missing | " + " | ".join(f"{100 * s:.0f} %" for s in shares) + " |",
        "|---|" + "---:|" * len(shares),
        "| `EKSS.impute` | " + " | ".join(cells) + " |",
    ]
    lines += large_lines([r for r in rows if r["task"] == "large"])
    lines += complete_lines([r for r in rows if r["task"] == "complete"])
    return lines + face_lines([r for r in rows if r["task"] == "faces"])


def large_lines(rows):
    by_share = {float(r["share"]): r for r in rows}
    if len(by_share) < 2:
        return []
    whole, holed = by_share[0.0], by_share[FACES]
    ratio = float(holed["seconds"]) / float(whole["seconds"])
    return [
        "",
        "## Time",
        "",
        "10,000 x 100, 10 subspaces of dimension 5, noise 0.1, `EKSS(10)`: with 30 % "
        f"missing, {ratio:.1f} times",
        f"the time of the complete fit; error {float(holed['error']):.2f} % against "
        f"{float(whole['error']):.2f} %.",
    ]


def complete_lines(rows):
    times = {
        method: {
            int(r["draw"]): float(r["seconds"]) for r in rows if r["method"] == method
        }
        for method in ("error", "observed")
    }
    pairs = sorted(set(times["error"]) & set(times["observed"]))
    if len(pairs) < REPEATS:
        return []
    ratios = [times["observed"][pair] / times["error"][pair] for pair in pairs]
    off = np.std(ratios) / np.sqrt(len(ratios))
    changed = max(float(row["error"]) for row in rows)
    return [
        "",
        f"Without missing entries ({K * 4 * PER} x {2 * WIDTH}), "
        f'`missing="observed"` takes {np.median(ratios):.2f} times the time of',
        '`missing="error"`, which refuses them (median of '
        f"{len(ratios)} pairs of fits, standard error {off:.2f}),",
        f"and {changed:.1f} % of the labels differ.",
    ]


def face_lines(rows):
    times = {row["method"]: float(row["seconds"]) for row in rows}
    if not {"EKSS", *IMPUTERS} <= set(times):
        return []
    whole = times.pop("EKSS")
    filling = times["EKSS.impute"] - whole
    rows = [row for row in rows if row["method"] in times]
    lines = [
        "",
        "## Filling in faces",
        "",
        f"Extended Yale B, the first {KEPT_FACES} people, {64 * KEPT_FACES} images of "
        "24 x 21 pixels, 30 % of the pixels removed",
        "at random. Error of the pixels filled in, as % of their root mean square, "
        "and processor time as a",
        "multiple of that of `EKSS.impute` with its fit. `IterativeImputer` has "
        "max_iter=5 and",
        "n_nearest_features=60; with all features it takes several times as long.",
        "",
        "| | error % | time |",
        "|---|---:|---:|",
    ]
    for row in sorted(rows, key=lambda r: float(r["rmse"])):
        off = 100 * float(row["rmse"])
        ratio = times[row["method"]] / times["EKSS.impute"]
        lines.append(f"| {row['method']} | {off:.1f} | {ratio:.2g} |")
    lines += [
        "",
        "A fit to the images without holes takes "
        f"{whole / times['EKSS.impute']:.2f} of the time of `EKSS.impute`. The rest,",
        "for filling in and for more members where votes on filled rows disagree, is "
        f"{filling / times['KNNImputer']:.1f} times",
        "the time of `KNNImputer` and "
        f"{filling / times['IterativeImputer']:.2f} times that of `IterativeImputer`.",
    ]
    return lines


def draw(rows, path):
    """Draw errors by share of missing entries."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    errors = mean_of([r for r in rows if r["task"] == "planted"], "error")
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for method in METHODS:
        shares = [s for s in SHARES if (method, s) in errors]
        values = [errors[method, s][0] for s in shares]
        axes.plot(
            [100 * s for s in shares],
            values,
            marker="o",
            linewidth=2.5 if method == "EKSS" else 1.2,
            label=method,
            zorder=3 if method == "EKSS" else 2,
        )
    axes.set(xlabel="missing entries, %", ylabel="clustering error, %")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main():
    parser = STUDY.arguments(__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--only", choices=("planted", "complete", "large", "faces"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = fits(given.draws, given.only)
    end = time.monotonic() + 60 * given.minutes
    STUDY.carry_out(given, wanted, partial(measure, wanted, end), body)
    if time.monotonic() > end and wanted.keys() - STUDY.file.known().keys():
        print("time is up; run again to go on")


if __name__ == "__main__":
    main()
