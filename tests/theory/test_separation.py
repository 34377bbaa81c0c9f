"""Definitions 1 and 2, Theorem 1: against loops, and sound on random instances."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from ekss.theory import _separation
from ekss.theory._separation import (
    angular_separation,
    cluster_components,
    deviation,
    monotone_fit,
    nfc_certificate,
)


def planted(rng, n_clusters=3, n_each=12, dim=2, n_features=8, noise=0.0):
    bases = np.linalg.qr(rng.standard_normal((n_clusters, n_features, dim)))[0]
    X = rng.standard_normal((n_clusters, n_each, dim)) @ bases.transpose(0, 2, 1)
    X = X.reshape(-1, n_features)
    X += noise * rng.standard_normal(X.shape)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.repeat(np.arange(n_clusters), n_each)


def slow_gaps(X, labels, q, f):
    gaps = []
    for i in range(len(X)):
        inner = [abs(X[i] @ x) for x in X]
        own = [inner[j] for j in range(len(X)) if labels[j] == labels[i] and j != i]
        other = [inner[j] for j in range(len(X)) if labels[j] != labels[i]]
        gaps.append((f(sorted(own)[-q]) - f(max(other))) / 2)
    return np.array(gaps)


def has_false_connection(affinity, labels, q):
    """Whether some q-nearest-neighbour list may leave its cluster, ties included."""
    for i, row in enumerate(affinity):
        own = labels == labels[i]
        strongest = np.sort(row[own & (np.arange(len(row)) != i)])[-q]
        if row[~own].max() >= strongest:
            return True
    return False


@pytest.mark.parametrize("f", [None, np.square, np.exp])
@pytest.mark.parametrize("q", [1, 3, 11])
def test_separation_equals_the_definition(f, q):
    X, labels = planted(np.random.default_rng(0))
    found = angular_separation(X, labels + 5, q, f)
    expected = slow_gaps(X, labels, q, f or float)
    assert np.allclose(found.gaps, expected, atol=1e-14)
    assert found.phi == found.gaps.min()
    assert np.array_equal(found.worst, np.argsort(expected)[:10])


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    X, labels = planted(rng)
    A = np.abs(X @ X.T) + 0.1 * rng.random((len(X), len(X)))
    whole = nfc_certificate(X, labels, A, 2), deviation(X, A, np.square)
    monkeypatch.setattr(_separation, "_BLOCK_ENTRIES", 5 * len(X))
    assert len(list(_separation._blocks(X))) > 5
    pieces = nfc_certificate(X, labels, A, 2), deviation(X, A, np.square)
    assert pieces[0].margin == pytest.approx(whole[0].margin, abs=1e-12)
    assert pieces[1] == pytest.approx(whole[1], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_last_bits_of_products_change_nothing(monkeypatch, seed):
    """A product of another shape, or of another CPU, rounds differently."""
    rng = np.random.default_rng(seed)
    X, labels = planted(rng)
    A = np.abs(X @ X.T) + 0.1 * rng.random((len(X), len(X)))
    fit, certificate = monotone_fit(X, A), nfc_certificate(X, labels, A, 2)
    exact = _separation._blocks

    def rounded(points, rows=None):
        for part, own, inner in exact(points, rows):
            noise = rng.integers(-4, 5, inner.shape) * np.finfo(np.float64).eps
            yield part, own, np.abs(inner + noise)

    monkeypatch.setattr(_separation, "_blocks", rounded)
    other = nfc_certificate(X, labels, A, 2)
    assert monotone_fit(X, A).tau == pytest.approx(fit.tau, abs=1e-12)
    assert deviation(X, A, fit) == pytest.approx(fit.tau, abs=1e-12)
    assert other.phi == pytest.approx(certificate.phi, abs=1e-12)
    assert other.tau == pytest.approx(certificate.tau, abs=1e-12)


def test_separation_ignores_signs_and_order_of_points():
    rng = np.random.default_rng(2)
    X, labels = planted(rng)
    order = rng.permutation(len(X))
    signs = rng.choice([-1.0, 1.0], (len(X), 1))
    moved = angular_separation((X * signs)[order], labels[order], 3)
    assert moved.phi == pytest.approx(angular_separation(X, labels, 3).phi)


def test_deviation_is_the_planted_one_and_ignores_the_diagonal():
    rng = np.random.default_rng(3)
    X, _ = planted(rng)
    A = np.abs(X @ X.T) ** 3
    A[4, 20] += 0.25
    np.fill_diagonal(A, 99)

    def cube(z):
        return z**3

    assert deviation(X, A, cube) == pytest.approx(0.25)
    assert deviation(X, csr_array(A), cube) == pytest.approx(0.25)


def test_fit_recovers_any_increasing_function_of_the_angle():
    X, _ = planted(np.random.default_rng(4))
    inner = np.abs(X @ X.T)
    inner = np.maximum(inner, inner.T)
    assert deviation(X, np.log1p(inner) - 3) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_fit_is_the_best_monotone_one(seed):
    """The linear program: minimise tau, f non-decreasing, |A - f| <= tau."""
    rng = np.random.default_rng(seed)
    X, _ = planted(rng, n_each=3)
    A = np.abs(X @ X.T) + 0.3 * rng.random((len(X), len(X)))
    A = (A + A.T) / 2  # or the program would have to tie f at (i, j) and (j, i)
    off = ~np.eye(len(X), dtype=bool)
    z, a = np.abs(X @ X.T)[off], A[off]
    a = a[np.argsort(z)]
    n = a.size
    rises = np.eye(n) - np.eye(n, k=1)
    column = np.ones((n, 1))
    rows = np.block(
        [
            [np.eye(n), -column],
            [-np.eye(n), -column],
            [rises[:-1], np.zeros((n - 1, 1))],
        ]
    )
    limits = np.concatenate([a, -a, np.zeros(n - 1)])
    cost = np.append(np.zeros(n), 1.0)
    best = linprog(cost, rows, limits, bounds=(None, None)).fun
    fit = monotone_fit(X, A)
    assert fit.tau == pytest.approx(best, abs=1e-7)
    assert np.all(np.diff(fit.values) >= 0)
    assert deviation(X, A, fit) == pytest.approx(fit.tau, abs=1e-14)


def test_fit_gives_equal_angles_equal_values():
    X = np.eye(4)
    A = np.arange(16.0).reshape(4, 4)
    fit = monotone_fit(X, A)
    assert np.array_equal(fit.knots, [0.0])
    assert fit.tau == (14 - 1) / 2
    assert fit(np.array([-1.0, 0.0, 5.0])).tolist() == [7.5] * 3


def test_certificates_are_sound_on_random_instances():
    rng = np.random.default_rng(5)
    held = failed_rightly = 0
    for trial in range(200):
        X, labels = planted(rng, n_each=10, noise=rng.choice([0.0, 0.05]))
        q = int(rng.integers(1, 4))
        A = np.abs(X @ X.T) ** int(rng.integers(1, 4))
        A += rng.choice([0, 0.02, 0.1, 0.3]) * rng.random(A.shape)
        if trial % 2:
            A = np.round(A, 1)  # many ties, as in a co-association of few members
        f = [None, np.square, np.asarray][trial % 3]
        certificate = nfc_certificate(X, labels, A, q, f)
        bad = has_false_connection(A, labels, q)
        assert not (certificate.holds and bad)
        held += certificate.holds
        failed_rightly += bad and not certificate.holds
    assert held >= 10
    assert failed_rightly >= 10


def test_certificate_needs_a_strict_inequality():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    A = np.full((4, 4), 0.5)
    certificate = nfc_certificate(X, [0, 0, 1, 1], A, 1, np.asarray)
    assert certificate.phi == certificate.tau == 0.5
    assert not certificate.holds
    assert has_false_connection(A, np.array([0, 0, 1, 1]), 1)


def test_certificate_names_the_worst_point():
    X, labels = planted(np.random.default_rng(6), n_features=60)
    X[7] = (X[7] + 2 * X[20]) / np.linalg.norm(X[7] + 2 * X[20])
    certificate = nfc_certificate(X, labels, np.abs(X @ X.T), 3)
    assert 7 in certificate.worst[:2]
    assert not certificate.holds
    assert certificate.margin == certificate.phi - certificate.tau


def test_certificate_of_a_sparse_affinity_is_that_of_the_dense_one():
    X, labels = planted(np.random.default_rng(12), n_features=60)
    A = np.abs(X @ X.T)
    dense = nfc_certificate(X, labels, A, 3)
    sparse = nfc_certificate(X, labels, csr_array(A), 3)
    assert dense.holds
    assert sparse.holds
    assert sparse.margin == dense.margin


def test_decreasing_f_is_refused():
    X, labels = planted(np.random.default_rng(7))
    with pytest.raises(ValueError, match="non-decreasing"):
        nfc_certificate(X, labels, np.abs(X @ X.T), 2, np.negative)


@pytest.mark.parametrize("q", [0, 12])
def test_impossible_q_is_refused(q):
    X, labels = planted(np.random.default_rng(8))
    with pytest.raises(ValueError, match=f"q={q} is not between 1 and 11"):
        angular_separation(X, labels, q)


def test_bad_shapes_and_values_are_refused():
    X, labels = planted(np.random.default_rng(9))
    with pytest.raises(ValueError, match="1 cluster"):
        angular_separation(X, np.zeros(len(X)), 1)
    with pytest.raises(ValueError, match="labels has 35 entries"):
        angular_separation(X, labels[:-1], 1)
    with pytest.raises(ValueError, match="one row per point"):
        angular_separation(X[0], labels, 1)
    with pytest.raises(ValueError, match="X contains NaN"):
        angular_separation(np.full_like(X, np.nan), labels, 1)
    with pytest.raises(ValueError, match=r"give \(36, 36\)"):
        deviation(X, np.eye(3))
    with pytest.raises(ValueError, match="matrix contains NaN"):
        deviation(X, np.full((36, 36), np.nan))


def test_fit_of_too_many_points_is_refused():
    with pytest.raises(ValueError, match="n_samples=4001"):
        deviation(np.ones((4001, 1)), np.eye(1))


def test_components_are_counted_inside_clusters():
    labels = np.array(["b", "a", "b", "a", "b", "a"])
    graph = np.zeros((6, 6))
    graph[0, 2] = graph[1, 3] = graph[5, 3] = 1
    graph[2, 1] = graph[1, 4] = 1  # between clusters: joins 4 to 2, but outside
    assert cluster_components(graph, labels).tolist() == [1, 2]
    stored_zero = csr_array(([1.0, 0.0], ([0, 2], [2, 4])), shape=(6, 6))
    assert cluster_components(stored_zero, labels).tolist() == [3, 2]


def test_components_merge_as_q_grows():
    rng = np.random.default_rng(10)
    X, labels = planted(rng, n_each=30)
    inner = np.abs(X @ X.T) - 2 * np.eye(len(X))
    inner[labels[:, None] != labels] = -1
    counts = []
    for q in (1, 3, 29):
        graph = np.zeros_like(inner)
        np.put_along_axis(graph, np.argsort(-inner, axis=1)[:, :q], 1.0, axis=1)
        counts.append(cluster_components(graph, labels))
    assert np.all(counts[0] > 1)
    assert np.all(counts[0] >= counts[1])
    assert counts[2].tolist() == [1, 1, 1]
