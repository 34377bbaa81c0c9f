"""Picture how the label-free choice tells a good cut of USPS from a bad one.

Run: python benchmarks/publish.py choice, after ekss data fetch usps.
True labels name the clusters in the picture; nothing else sees them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ekss import EKSS
from ekss.datasets import fetch_usps
from ekss.metrics import clustering_error
from ekss.preprocessing import UnitRows

TERMS = ("residual", "overlap", "dissent")
COLOURS = ("#a63603", "#08519c")


def pool_of_cuts(points: np.ndarray) -> list:
    """Every cut of the votes that the default considers, best first."""
    model = EKSS(10, random_state=0, n_jobs=-1, verbose=1).fit(points)
    return [
        (cut.labels, cut.judged) for cut in model.candidates_ if cut.graph == "votes"
    ]


def name_of(digits: np.ndarray) -> str:
    """Digits that make more than a sixth of a cluster."""
    shares = np.bincount(digits, minlength=10) / len(digits)
    order = [digit for digit in np.argsort(-shares) if shares[digit] > 1 / 6]
    return " + ".join(str(digit) for digit in sorted(order))


def draw_clusters(axes, images, labels, digits) -> None:
    names = [name_of(digits[labels == k]) for k in range(10)]
    counts = {name: names.count(name) for name in names}
    for axis, k in zip(axes, np.argsort(names), strict=True):
        axis.imshow(images[labels == k].mean(axis=0), cmap="gray_r")
        wrong = "+" in names[k] or counts[names[k]] > 1
        part = "part of " if counts[names[k]] > 1 else ""
        colour = COLOURS[0] if wrong else "#333333"
        axis.set_title(part + names[k], fontsize=10, color=colour)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.spines[:].set_color(colour)
        axis.spines[:].set_linewidth(2 if wrong else 0.5)


def merges(labels: np.ndarray, digits: np.ndarray, pair: str) -> bool:
    """Tell whether two digits share a cluster."""
    return any(pair == name_of(digits[labels == k]) for k in range(10))


def draw_terms(axis, bads: dict, good) -> None:
    names = [*TERMS, "residual x overlap² x dissent²"]
    height = 0.8 / len(bads)
    for number, (title, bad) in enumerate(bads.items()):
        ratios = [getattr(bad, term) / getattr(good, term) for term in TERMS]
        ratios.append(np.exp(bad.total - good.total))
        places = np.arange(4)[::-1] - (number - (len(bads) - 1) / 2) * height
        axis.barh(
            places,
            np.array(ratios) - 1,
            left=1,
            color=COLOURS[number],
            height=0.9 * height,
            label=title,
        )
        for place, ratio in zip(places, ratios, strict=True):
            axis.annotate(
                f"{ratio:.3f}",
                (ratio, place),
                xytext=(4 if ratio > 1 else -4, 0),
                textcoords="offset points",
                va="center",
                ha="left" if ratio > 1 else "right",
                fontsize=9,
            )
    axis.axvline(1, color="#333333", linewidth=1)
    axis.set_yticks(np.arange(4)[::-1], names, fontsize=10)
    axis.margins(x=0.12)
    axis.set_xlabel(
        "bad cut divided by chosen cut: above 1 speaks for the chosen one", fontsize=10
    )
    axis.legend(
        frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2
    )
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(left=False)


def main(path: Path) -> None:
    data = fetch_usps(download_if_missing=False)
    images = data.data.reshape(-1, 16, 16)
    points = UnitRows().fit_transform(data.data.astype(np.float32))
    pool = pool_of_cuts(points)
    good = min(pool, key=lambda one: one[1].total)
    shown = {"what the votes alone prefer": min(pool, key=lambda one: one[1].dissent)}
    both = [one for one in pool if merges(one[0], data.target, "4 + 9")]
    if both:
        shown["another cut"] = min(both, key=lambda one: one[1].total)
    rows = {**shown, "what is chosen": good}
    figure = Figure(figsize=(11, 2.3 + 1.6 * len(rows)), layout="constrained")
    *parts, bottom = figure.subfigures(
        len(rows) + 1, 1, height_ratios=(*(1 for _ in rows), 1.5)
    )
    for part, (title, cut) in zip(parts, rows.items(), strict=True):
        error = 100 * clustering_error(data.target, cut[0])
        part.suptitle(f"{title}: error {error:.1f} %", fontsize=11, x=0.01, ha="left")
        draw_clusters(part.subplots(1, 10), images, cut[0], data.target)
        print(title, error, cut[1])
    bads = {title: cut[1] for title, cut in shown.items()}
    draw_terms(bottom.subplots(), bads, good[1])
    figure.savefig(path, dpi=130)
