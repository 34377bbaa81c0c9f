"""Make every picture and number of the README and the docs again: ``make publish``.

What takes minutes is run here; what takes hours is read from docs/results, where
``--take FOLDER`` puts the results of ``ekss bench``. Without names all parts are run,
which takes about ten minutes on two cores; ``text`` alone takes a second.

    python benchmarks/publish.py                  # all parts
    python benchmarks/publish.py digits text      # some
    python benchmarks/publish.py --take ekss-results text
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import choice
import idea as pictured
import methods as rivals
import reproduction
import scale_dask
from ekss.benchmarks import FIGURE_PROFILES, FIGURES, merge_table1, run_plan
from ekss.benchmarks._pages import csv_text
from ekss.benchmarks._versions import code_of, libraries_in, provenance
from ekss.cli._demo import report_digits, save_votes, votes_of_members
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error
from published import DOCS, RESULTS, write_pages

IMAGES = DOCS / "images"
SEEDS = range(5)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# CSS pixels of a page, of which what is empty at the end is cut off.
WIDTH, HEIGHT, MARGIN = 1140, 2500, 20


def digits(folder: Path) -> None:
    """Digits of scikit-learn: errors, the report, and the votes of few members."""
    from sklearn.cluster import SpectralClustering
    from sklearn.datasets import load_digits

    lines = []
    for seed in SEEDS:
        report = report_digits(seed, -1)
        error = report.summary["scores"]["error"]
        lines.append({"method": "ekss", "seed": seed, "error": 100 * error})
        print(lines[-1], f"{report.summary['seconds']:.0f} s", flush=True)
        if seed == 0:
            report.save(folder / "digits.html")
    data = load_digits()
    spectral = SpectralClustering(10, affinity="nearest_neighbors", random_state=0)
    error = clustering_error(data.target, spectral.fit_predict(data.data))
    lines.append({"method": "spectral", "seed": 0, "error": 100 * error})
    write_lines(RESULTS / "digits.csv", lines)
    page = (folder / "digits.html").read_text()
    after = "section:has(.clusters) ~ *, .reading"
    shoot(page, folder, IMAGES / "report.png", hide=after)
    other = "main > :not(section:has(#map)), h2, .grid > :not(#map, #matrix)"
    shoot(page, folder, IMAGES / "report-pictures.png", hide=other)
    save_votes(votes_of_members(0, -1), IMAGES / "votes.png")


def theory(folder: Path) -> None:
    """The page of guarantees of three noisy planes, and what the command says."""
    data = make_union_of_subspaces(3, 2, n_features=60, noise=0.1, random_state=0)
    np.save(folder / "points.npy", data.data)
    np.save(folder / "labels.npy", data.target)
    asked = "-m ekss theory points.npy --labels labels.npy --output page.html"
    command = [sys.executable, *asked.split()]
    told = subprocess.check_output(command, cwd=folder, text=True)
    (RESULTS / "theory.txt").write_text(told)
    page = (folder / "page.html").read_text()
    after = "section:has(#findings) ~ *"
    shoot(page, folder, IMAGES / "theory.png", hide=after, scale=1)


def chosen(folder: Path) -> None:
    """Cuts of USPS among which the default chooses."""
    choice.main(IMAGES / "choice.png")


def idea(folder: Path) -> None:
    """The picture of the first page: faces, votes, faces by person."""
    pictured.main(IMAGES / "idea.png")


def figure(name: str, folder: Path) -> None:
    """One of the paper's figures that take minutes."""
    profile = FIGURE_PROFILES["quick"]
    plan = FIGURES[name].plan(profile)
    rows = run_plan(plan, folder, jobs=2)
    print(FIGURES[name].write(plan, rows, RESULTS, profile).text)


def dask(folder: Path) -> None:
    """Two million rows on two Dask workers."""
    write_lines(RESULTS / "dask.csv", [scale_dask.run()])


def methods(folder: Path) -> None:
    """All methods, and those of scikit-learn, on sets that anybody can make."""
    write_lines(RESULTS / "methods.csv", list(rivals.run(list(rivals.SETS))))


def text(folder: Path) -> None:
    """Texts and tables of the README and the docs, from docs/results."""
    for page in write_pages():
        print(f"changed: {page}")
    reproduction.PAGE.write_text(reproduction.page_text())


PARTS = {
    "digits": digits,
    "theory": theory,
    "choice": chosen,
    "idea": idea,
    "figure1": partial(figure, "figure1"),
    "figure2": partial(figure, "figure2"),
    "dask": dask,
    "methods": methods,
    "text": text,
}


def write_lines(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    """Write measurements, each with the versions that it was made by."""
    made = provenance()
    origin = [code_of(), made["commit"], libraries_in(made)]
    shown = [
        [round(one, 4) if isinstance(one, float) else one for one in line.values()]
        for line in lines
    ]
    head = [*lines[0], "code", "commit", "libraries"]
    path.write_text(csv_text([head, *([*line, *origin] for line in shown)]))


def take(source: Path) -> None:
    """Put the results of ``ekss bench`` into docs/results."""
    if (source / "table1.csv").exists():
        merge_table1(source, RESULTS)
    for path in sorted(source.iterdir()):
        known = path.stem.startswith(
            ("figure", "scale", "ablation", "alternatives", "hopkins", "table2")
        )
        if known and path.suffix in (".md", ".csv", ".png"):
            shutil.copy(path, RESULTS / path.name)
            print(f"taken: {path}")


def shoot(
    page: str, folder: Path, picture: Path, *, hide: str, scale: float = 1.5
) -> None:
    """Take a picture of a page without the elements that a selector names."""
    from PIL import Image

    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise FileNotFoundError(
            f"pictures of pages need a browser, and none of {', '.join(BROWSERS)} is "
            "there; install one, or leave the parts digits and theory out"
        )
    source = folder / f"{picture.stem}-shown.html"
    source.write_text(
        page.replace("</style>", f"{hide} {{display: none !important}}</style>", 1)
    )
    command = [
        browser,
        *"--headless --no-sandbox --disable-gpu --disable-dev-shm-usage".split(),
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'browser'}",
        f"--force-device-scale-factor={scale}",
        f"--window-size={WIDTH},{HEIGHT}",
        f"--screenshot={picture.resolve()}",
        source.resolve().as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    # Cut off the lines at the end that are like the last one.
    image = Image.open(picture).convert("RGB")
    pixels = np.asarray(image)
    used = np.flatnonzero((pixels != pixels[-1]).any(axis=(1, 2)))
    height = min(len(pixels), int(used[-1]) + 1 + round(scale * MARGIN))
    image.crop((0, 0, image.width, height)).save(picture, optimize=True)


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all"
    )
    parser.add_argument("--take", type=Path, help="folder of results of ekss bench")
    asked = parser.parse_args()
    for name in asked.parts:
        if name not in PARTS:
            parser.error(f"no part is called {name!r}; there are {', '.join(PARTS)}")
    provenance(), code_of()  # before anything can be edited while parts run
    if asked.take:
        take(asked.take)
    failed = [name for name in asked.parts or PARTS if not done(name)]
    if failed:
        sys.exit(f"not made again: {', '.join(failed)}; the reasons are above")


def done(name: str) -> bool:
    """Run a part; say what went wrong, so that the others are made all the same."""
    start = time.monotonic()
    print(f"{name} ...", flush=True)
    try:
        with tempfile.TemporaryDirectory(
            prefix="ekss-publish-", ignore_cleanup_errors=True
        ) as folder:
            PARTS[name](Path(folder))
    except (OSError, ImportError, subprocess.SubprocessError) as error:
        print(f"{name} failed: {type(error).__name__}: {error}", flush=True)
        return False
    print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    main()
