import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from ekss.core import linalg as eigen
from ekss.core.linalg import top_eigenpairs


def clique(n):
    """Normalised, its eigenvalue 1 moved below all others, which are equal."""
    return (np.ones((n, n)) - np.eye(n)) / (n - 1) - 3 * np.full((n, n), 1 / n)


def blocks(n):
    return np.kron(np.eye(4), np.ones((n // 4, n // 4)))


def ordinary(n):
    rows = np.random.default_rng(n).standard_normal((2 * n, n))
    return rows.T @ rows


def low_rank(n):
    rows = np.random.default_rng(n).standard_normal((3, n))
    return rows.T @ rows


MATRICES = {
    "clique": clique,
    "blocks": blocks,
    "ordinary": ordinary,
    "low rank": low_rank,
    "zero": lambda n: np.zeros((n, n)),
    "identity": np.eye,
}


def assert_top(matrix, values, vectors, count, expected=None):
    assert values.shape == (count,)
    assert vectors.shape == (len(matrix), count)
    expected = np.linalg.eigvalsh(matrix) if expected is None else expected
    size = max(np.abs(expected).max(), 1e-300)
    assert_allclose(values, expected[::-1][:count], atol=1e-12 * size, rtol=0)
    assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-10)
    assert_allclose(matrix @ vectors, vectors * values, atol=1e-10 * size, rtol=0)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("n", [4, 12, 28, 100, 260, 300])
def test_pairs_are_the_largest_of_any_symmetric_matrix(name, n):
    matrix = MATRICES[name](n)
    expected = np.linalg.eigvalsh(matrix)
    for count in (1, 2, 4):
        found = top_eigenpairs(matrix.copy(), count)
        assert_top(matrix, *found, count, expected)


def test_all_pairs_and_none_can_be_had():
    matrix = ordinary(20)
    assert_top(matrix, *top_eigenpairs(matrix, 20), 20)
    values, vectors = top_eigenpairs(matrix, 0)
    assert (values.shape, vectors.shape) == ((0,), (20, 0))


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_of_the_matrix_plays_no_role(scale):
    matrix = ordinary(280)
    plain = top_eigenpairs(matrix, 3)
    scaled = top_eigenpairs(scale * matrix, 3)
    assert_allclose(scaled[0] / scale, plain[0], rtol=1e-10)
    assert_allclose(np.abs(plain[1].T @ scaled[1]), np.eye(3), atol=1e-8)


def raises(*args, **kwargs):
    raise scipy.linalg.LinAlgError("Internal Error.")


def finds_none(matrix, **kwargs):
    return np.empty(0), np.empty((len(matrix), 0))


def finds_wrong_ones(matrix, **kwargs):
    return np.ones(2), np.eye(len(matrix))[:, :2]


def repeats_one(matrix, **kwargs):
    values, vectors = np.linalg.eigh(matrix)
    return values[[-1, -1]], vectors[:, [-1, -1]]


@pytest.mark.parametrize("broken", [raises, finds_none, finds_wrong_ones, repeats_one])
def test_failure_of_the_fast_driver_is_seen(monkeypatch, broken):
    matrix = ordinary(300)
    monkeypatch.setattr(eigen, "eigh", broken)
    assert_top(matrix, *top_eigenpairs(matrix, 2), 2)


IDEAL_GRAPHS = """
import numpy as np
from scipy.sparse import csr_array
from ekss.graph import spectral_labels
from ekss.graph.spectral import component_eigenpairs
from ekss.metrics import connectivity

for n in range(2, 60):
    adjacency = csr_array((np.ones((n, n)) - np.eye(n)) / (n - 1))
    for count in {1, n // 2, n - 1}:
        pairs = component_eigenpairs(
            adjacency, np.full(n, n**-0.5), count, np.random.default_rng(0)
        )
        assert pairs.values.shape == (count,)
        assert pairs.residual < 1e-8
    graph = np.kron(np.eye(2), np.ones((n, n)))
    labels = spectral_labels(graph, 2, random_state=0).labels
    assert (labels == np.repeat([0, 1], n)).all()
    assert connectivity(graph, labels).min() > 1
"""


def can_run(core):
    """Tell whether the processor has the instructions of a core type of OpenBLAS."""
    about = Path("/proc/cpuinfo")
    needed = {"Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512f"}.get(core, "")
    return about.exists() and needed in about.read_text()


@pytest.mark.parametrize("core", ["Nehalem", "Haswell", "Zen", "SkylakeX"])
def test_ideal_graphs_are_cut_with_every_kernel_of_the_linear_algebra(core):
    if not can_run(core):
        pytest.skip(f"the processor cannot run kernels for {core}")
    environment = {**os.environ, "OPENBLAS_CORETYPE": core}
    command = [sys.executable, "-W", "error", "-c", IDEAL_GRAPHS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
