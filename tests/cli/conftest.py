"""Small files with planted clusters, and a way to run the command in-process."""

from dataclasses import dataclass

import numpy as np
import pytest

from ekss.cli import main
from ekss.datasets import make_union_of_subspaces


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def ekss(capsys, tmp_path, monkeypatch):
    """Run ``ekss WORDS`` in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Ended(ended.value.code, out, err)

    return run


@pytest.fixture(scope="session")
def planted():
    """Return 60 points on 3 subspaces of dimension 2 in 12 dimensions."""
    return make_union_of_subspaces(
        n_subspaces=3, dims=2, n_features=12, n_per_subspace=20, random_state=0
    )


@pytest.fixture
def files(tmp_path, planted):
    """Write the planted points in several formats, with their true labels."""
    np.save(tmp_path / "points.npy", planted.data)
    np.savez(tmp_path / "both.npz", X=planted.data, Z=planted.data, y=planted.target)
    np.save(tmp_path / "truth.npy", planted.target)
    names = [f"x{i}" for i in range(12)]
    write_csv(tmp_path / "points.csv", names, planted.data.tolist())
    named = [[f"row{i}", *row] for i, row in enumerate(planted.data.tolist())]
    write_csv(tmp_path / "named.csv", ["name", *names], named)
    kinds = ["ant", "bee", "cat"]
    labelled = [
        [*row, kinds[label]]
        for row, label in zip(planted.data.tolist(), planted.target, strict=True)
    ]
    write_csv(tmp_path / "labelled.csv", [*names, "kind"], labelled)
    return tmp_path


def write_csv(path, names, rows):
    lines = [",".join(map(str, row)) for row in [names, *rows]]
    path.write_text("\n".join(lines) + "\n")
