"""Every example of the gallery runs, on less data than on its page, and draws."""

import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# What is made smaller here, so that all examples together take some seconds.
SMALLER = {
    "01_faces": {"n_lights=40": "n_lights=12"},
    "03_digits": {"n_digits = 700": "n_digits = 150", "EKSS(": "EKSS(n_members=20, "},
    "04_many_cuts": {"[:600]": "[:120]", "EKSS(": "EKSS(n_members=20, "},
    "06_how_many": {
        "n_members=100": "n_members=20",
        "n_per_subspace=60": "n_per_subspace=25",
    },
    "08_many_rows": {
        "80_000": "16_000",
        "10_000": "2_000",
        "max_samples=3000": "max_samples=500",
    },
    "09_dask": {
        "per_day = 10, 1000": "per_day = 10, 100",
        "max_samples=2000": "max_samples=300",
    },
    "11_rivals": {
        "*(5, 4, 25, 40)": "*(5, 4, 25, 20)",
        "images[:300], digits[:300]": "images[:90], digits[:90]",
    },
}


@pytest.fixture
def pyplot(monkeypatch):
    """Pictures that go nowhere, closed at the end."""
    matplotlib = pytest.importorskip("matplotlib", reason="examples draw pictures")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_draws(path, pyplot, capsys):
    code = path.read_text()
    for large, small in SMALLER.get(path.stem, {}).items():
        assert large in code, f"{path.name} no longer has {large!r}"
        code = code.replace(large, small)
    with warnings.catch_warnings():
        # Older matplotlib and Dask warn of their own future.
        warnings.simplefilter("ignore", DeprecationWarning)
        exec(compile(code, path.name, "exec"), {"__name__": "__main__"})
    assert pyplot.get_fignums()
    for number in pyplot.get_fignums():
        assert pyplot.figure(number).get_axes()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_begins_with_a_title_and_some_words(path):
    title = re.match(r'"""\n(.+)\n(=+)\n\n.+', path.read_text())
    assert title, "sphinx-gallery needs a title"
    assert len(title[1]) == len(title[2])
