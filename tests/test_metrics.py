from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from ekss import metrics
from ekss.metrics import (
    adjusted_rand,
    clustering_error,
    connectivity,
    false_connection_rate,
    normalized_mutual_info,
    principal_angles,
    subspace_affinities,
    subspace_affinity,
)


def brute_force_error(y_true, y_pred):
    names = sorted(set(y_true) | set(y_pred))
    best = 0
    for image in permutations(names):
        rename = dict(zip(names, image, strict=True))
        pairs = zip(y_true, y_pred, strict=True)
        best = max(best, sum(rename[p] == t for t, p in pairs))
    return 1 - best / len(y_true)


def dense_connectivity(weights):
    weights = weights - np.diag(np.diag(weights))
    scale = 1 / np.sqrt(weights.sum(axis=1))
    laplacian = np.eye(len(weights)) - scale[:, None] * weights * scale
    return np.linalg.eigvalsh(laplacian)[1]


def random_graph(n, degree, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < degree / n), 1)
    ring = np.roll(np.eye(n), 1, axis=1) * 0.1
    return upper + upper.T + ring + ring.T


def path_graph(n):
    side = np.ones(n - 1)
    return sp.diags_array([side, side], offsets=[-1, 1], format="csr")


def random_basis(rng, n_features, dim):
    return np.linalg.qr(rng.standard_normal((n_features, dim)))[0]


def bases_with_angles(angles, n_features, seed=0):
    d = len(angles)
    frame = random_basis(np.random.default_rng(seed), n_features, 2 * d)
    return frame[:, :d], frame[:, :d] * np.cos(angles) + frame[:, d:] * np.sin(angles)


@pytest.mark.parametrize("seed", range(12))
def test_clustering_error_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    n_true, n_pred = rng.integers(1, 6, size=2)
    y_true = rng.integers(n_true, size=25).tolist()
    y_pred = rng.integers(n_pred, size=25).tolist()
    expected = brute_force_error(y_true, y_pred)
    assert clustering_error(y_true, y_pred) == pytest.approx(expected, abs=1e-15)


def test_clustering_error_unchanged_by_relabelling_and_reordering():
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.integers(6, size=(2, 200))
    error = clustering_error(y_true, y_pred)
    assert 0 < error < 1
    assert clustering_error(y_true, rng.permutation(6)[y_pred]) == error
    assert clustering_error(np.array(list("uvwxyz"))[y_true], y_pred) == error
    order = rng.permutation(200)
    assert clustering_error(y_true[order], y_pred[order]) == error
    assert clustering_error(y_pred, y_true) == error


def test_clustering_error_zero_for_renamed_labels():
    assert clustering_error([2, 2, 7, 0], ["a", "a", None, ("t", 1)]) == 0.0


def test_clustering_error_counts_unmatched_clusters():
    assert clustering_error([0, 0, 0, 0], [0, 0, 1, 2]) == 0.5
    assert clustering_error([0, 0, 1, 2], [5, 5, 5, 5]) == 0.5


def test_labels_keep_number_and_text_apart():
    assert clustering_error([1, "1"], [0, 0]) == 0.5


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([0, 1], [0], "y_true has 2 labels but y_pred has 1"),
        ([], [], "y_true has 0 labels"),
        (np.zeros((2, 2)), [0, 1], "y_true holds arrays or lists"),
        ([0.0, np.nan], [0, 1], "y_true has a NaN label"),
    ],
)
@pytest.mark.parametrize(
    "score", [clustering_error, normalized_mutual_info, adjusted_rand]
)
def test_label_scores_refuse_bad_labels(score, y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        score(y_true, y_pred)


def test_information_scores_equal_sklearn_for_any_labels():
    rng = np.random.default_rng(3)
    y_true, y_pred = rng.integers(4, size=(2, 60))
    floats = y_pred + 0.5
    nmi, ari = normalized_mutual_info, adjusted_rand
    assert nmi(y_true, floats) == normalized_mutual_info_score(y_true, y_pred)
    assert ari(y_true, floats) == adjusted_rand_score(y_true, y_pred)
    assert ari(y_true, y_true) == 1.0


def test_false_connection_rate_equals_double_loop():
    rng = np.random.default_rng(5)
    affinity = rng.random((30, 30)) * (rng.random((30, 30)) < 0.3)
    y = rng.integers(3, size=30)
    pairs = [(i, j) for i in range(30) for j in range(30) if i != j and affinity[i, j]]
    false = [affinity[i, j] for i, j in pairs if y[i] != y[j]]
    total = sum(affinity[i, j] for i, j in pairs)
    count = len(false) / len(pairs)
    assert 0 < count < 1
    for convert in (
        np.asarray,
        sp.csr_array,
        sp.csc_matrix,
        sp.coo_array,
        sp.lil_array,
    ):
        given = convert(affinity)
        assert false_connection_rate(given, y) == pytest.approx(count, rel=1e-14)
        weighted = false_connection_rate(given, y, weighted=True)
        assert weighted == pytest.approx(sum(false) / total, rel=1e-12)


def test_false_connection_rate_ignores_diagonal_and_stored_zeros():
    rows, cols = [0, 0, 0, 1, 1], [0, 1, 2, 2, 2]
    stored = sp.coo_array(([9.0, 2.0, 0.0, 1.0, 1.0], (rows, cols)), shape=(3, 3))
    before = stored.toarray()
    assert false_connection_rate(stored, [0, 0, 1]) == 0.5
    assert false_connection_rate(stored, [0, 0, 1], weighted=True) == 0.5
    assert stored.nnz == 5
    np.testing.assert_array_equal(stored.toarray(), before)


def test_false_connection_rate_zero_without_edges_or_false_edges():
    assert false_connection_rate(np.eye(4), [0, 1, 2, 3]) == 0.0
    assert false_connection_rate(sp.csr_array((4, 4)), [0, 1, 2, 3]) == 0.0
    blocks = np.kron(np.eye(2), np.ones((2, 2)))
    assert false_connection_rate(blocks, [0, 0, 1, 1]) == 0.0
    assert false_connection_rate(blocks, [0, 1, 0, 1], weighted=True) == 1.0


@pytest.mark.parametrize("score", [false_connection_rate, connectivity])
def test_graph_scores_refuse_bad_affinity(score):
    with pytest.raises(ValueError, match=r"affinity has shape \(2, 3\); pass \(2, 2\)"):
        score(np.ones((2, 3)), [0, 1])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"affinity has the entry {bad}"):
            score(np.array([[0, bad], [bad, 0]]), [0, 1])


def test_connectivity_refuses_directed_graph():
    with pytest.raises(
        ValueError, match=r"transpose differ by 1, .*affinity \+ affinity.T"
    ):
        connectivity(np.array([[0, 1.0], [0, 0]]), [0, 0])


@pytest.mark.parametrize("n", [2, 3, 10, 600])
def test_connectivity_of_complete_graph(n):
    value = connectivity(np.ones((n, n)), np.zeros(n))
    np.testing.assert_allclose(value, [n / (n - 1)], rtol=1e-10)


@pytest.mark.parametrize("n", [3, 50, 501, 3000])
def test_connectivity_of_path(n):
    value = connectivity(path_graph(n), np.zeros(n))
    expected = 2 * np.sin(np.pi / (2 * (n - 1))) ** 2
    np.testing.assert_allclose(value, [expected], rtol=1e-8)


@pytest.mark.parametrize("n", [7, 501])
def test_connectivity_of_cycle_with_repeated_eigenvalue(n):
    cycle = path_graph(n).tolil()
    cycle[0, n - 1] = cycle[n - 1, 0] = 1.0
    expected = 1 - np.cos(2 * np.pi / n)
    np.testing.assert_allclose(connectivity(cycle, np.ones(n)), [expected], rtol=1e-8)


@pytest.mark.parametrize("n", [601, 1200])
def test_connectivity_of_star_with_large_repeated_eigenvalue(n):
    star = np.zeros((n, n))
    star[0, 1:] = star[1:, 0] = 2.0
    np.testing.assert_allclose(connectivity(star, np.ones(n)), [1.0], rtol=1e-10)


@pytest.mark.parametrize("n", [40, 700])
@pytest.mark.parametrize("degree", [3, 30])
def test_connectivity_equals_dense_eigenvalues(n, degree):
    graph = random_graph(n, degree, seed=n)
    expected = dense_connectivity(graph)
    for given in (graph, sp.csr_array(graph), graph + 5 * np.eye(n), 7 * graph):
        np.testing.assert_allclose(connectivity(given, [0] * n), [expected], rtol=1e-9)


@pytest.mark.parametrize("solver", ["_lanczos", "_shift_invert"])
def test_connectivity_falls_back_when_solver_fails(monkeypatch, solver):
    graph = random_graph(600, 6, seed=1)
    wrong = np.random.default_rng(0).standard_normal(600)
    monkeypatch.setattr(metrics, "_lanczos", lambda *_: wrong)
    if solver == "_shift_invert":
        monkeypatch.setattr(metrics, "_shift_invert", lambda *_: None)
    value = connectivity(graph, np.zeros(600))
    np.testing.assert_allclose(value, [dense_connectivity(graph)], rtol=1e-9)


def test_connectivity_solvers_agree_on_weak_bridge():
    n = 300
    block = random_graph(n, 20, seed=4)
    graph = np.kron(np.eye(2), block)
    graph[0, n] = graph[n, 0] = 1e-9
    degrees = graph.sum(axis=1)
    # First-order perturbation: the cut over the harmonic volume of the two halves.
    expected = 1e-9 * (1 / degrees[:n].sum() + 1 / degrees[n:].sum())
    np.testing.assert_allclose(connectivity(graph, [0] * 2 * n), [expected], rtol=1e-6)


def test_connectivity_per_cluster_in_label_order():
    y = np.array(["c", "a", "b", "a", "c", "b", "a", "d"])
    graph = np.ones((8, 8))
    isolated = y == "b"
    graph[np.ix_(isolated, isolated)] = 0
    expected = [3 / 2, 0.0, 2.0, 1.0]
    np.testing.assert_allclose(connectivity(graph, y), expected, rtol=1e-12)
    order = np.random.default_rng(0).permutation(8)
    shuffled = connectivity(graph[np.ix_(order, order)], y[order])
    np.testing.assert_allclose(shuffled, expected, rtol=1e-12)


def test_connectivity_zero_for_pieces_and_isolated_points():
    two_pairs = np.kron(np.eye(2), np.ones((2, 2)))
    assert connectivity(two_pairs, [0] * 4)[0] == 0.0
    isolated = np.ones((4, 4))
    isolated[3, :3] = isolated[:3, 3] = 0
    assert connectivity(isolated, [0] * 4)[0] == 0.0
    assert connectivity(np.zeros((2, 2)), [0, 0])[0] == 0.0


@pytest.mark.parametrize("angles", [[1e-8, 1e-8], [1e-8, 1e-3, 0.5, 1.2, np.pi / 2]])
def test_principal_angles_accurate_at_both_ends(angles):
    U, V = bases_with_angles(np.array(angles), 30)
    found = principal_angles(U, V)
    np.testing.assert_allclose(found, angles, rtol=1e-7, atol=1e-15)
    rotated = V @ random_basis(np.random.default_rng(1), len(angles), len(angles))
    np.testing.assert_allclose(principal_angles(rotated, U), angles, atol=2e-15)


def test_principal_angles_of_different_dimensions():
    U, V = bases_with_angles(np.array([0.2, 0.4, 0.6]), 12)
    found = principal_angles(U, V[:, 1:])
    np.testing.assert_allclose(found, [0.4, 0.6], rtol=1e-12)
    np.testing.assert_allclose(principal_angles(U[:, :1], U), [0.0], atol=1e-15)


def test_subspace_affinity_is_mean_square_cosine():
    U, V = bases_with_angles(np.array([0.2, 0.4, 0.6]), 12)
    expected = np.sqrt(np.mean(np.cos([0.2, 0.4, 0.6]) ** 2))
    assert subspace_affinity(U, V) == pytest.approx(expected, rel=1e-14)
    assert subspace_affinity(U, U[:, :2]) == pytest.approx(1.0, rel=1e-14)
    assert subspace_affinity(np.eye(4)[:, :2], np.eye(4)[:, 2:]) == 0.0


def test_subspace_affinities_equal_formula_for_each_pair():
    rng = np.random.default_rng(2)
    bases = [random_basis(rng, 9, dim) for dim in (1, 4, 2, 9)]
    matrix = subspace_affinities(bases)
    for k, U in enumerate(bases):
        for m, V in enumerate(bases):
            formula = np.linalg.norm(U.T @ V) / np.sqrt(min(U.shape[1], V.shape[1]))
            assert matrix[k, m] == pytest.approx(formula, rel=1e-13)
    np.testing.assert_array_equal(matrix, matrix.T)
    stacked = np.stack([random_basis(rng, 6, 2) for _ in range(3)])
    assert subspace_affinities(stacked.astype(np.float32)).shape == (3, 3)


@pytest.mark.parametrize(
    ("U", "V", "message"),
    [
        (np.eye(3)[:, :1], np.eye(4)[:, :1], r"shapes \[\(3, 1\), \(4, 1\)\]"),
        (np.ones(3), np.ones(3), r"shapes \[\(3,\), \(3,\)\]"),
        (np.eye(3)[:, :0], np.eye(3), "dim at least 1"),
        (np.eye(3), 2 * np.eye(3), "basis 1 is off orthonormal by 3"),
        (np.full((3, 1), np.nan), np.eye(3), "basis 0 is off orthonormal by nan"),
    ],
)
def test_subspace_scores_refuse_bad_bases(U, V, message):
    for score in (principal_angles, subspace_affinity):
        with pytest.raises(ValueError, match=message):
            score(U, V)


def test_subspace_affinities_refuse_no_bases():
    with pytest.raises(ValueError, match=r"shapes \[\]; pass at least 1"):
        subspace_affinities([])
