from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import block_diag, coo_array, coo_matrix, csr_array
from sklearn.exceptions import ConvergenceWarning

from ekss.graph import spectral as eigenpairs
from ekss.graph.spectral import spectral_embedding


def random_graph(n_points, density, rng):
    upper = np.triu(rng.random((n_points, n_points)) < density, 1)
    weights = upper * (0.1 + rng.random((n_points, n_points)))
    return weights + weights.T


def connected_graph(n_points, density, rng):
    graph = random_graph(n_points, density, rng)
    for left, right in pairwise(range(n_points)):
        graph[left, right] = graph[right, left] = 0.5
    return graph


def ring_of_cliques(n_cliques, clique_size, link):
    """One component whose leading eigenvalues come in exact pairs."""
    n_points = n_cliques * clique_size
    graph = np.kron(np.eye(n_cliques), np.ones((clique_size, clique_size)))
    for clique in range(n_cliques):
        one, other = clique * clique_size, ((clique + 1) * clique_size) % n_points
        graph[one : one + clique_size, other : other + clique_size] = link
        graph[other : other + clique_size, one : one + clique_size] = link
    np.fill_diagonal(graph, 0.0)
    return graph


def dense_adjacency(graph):
    degrees = graph.sum(axis=1)
    scaling = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
    return scaling[:, None] * graph * scaling


def dense_pairs(graph):
    """Reference: all eigenpairs of the points with an edge, in descending order."""
    has_edge = graph.sum(axis=1) > 0
    values, inner = np.linalg.eigh(dense_adjacency(graph)[has_edge][:, has_edge])
    vectors = np.zeros((len(graph), len(values)))
    vectors[has_edge] = inner
    return values[::-1], vectors[:, ::-1]


def assert_same_pairs(found, graph):
    """Same eigenvalues, true and orthonormal eigenvectors, same invariant subspace."""
    values, vectors = dense_pairs(graph)
    n_pairs = len(found.values)
    assert_allclose(found.values, values[:n_pairs], atol=1e-9)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(n_pairs), atol=1e-9)
    image = dense_adjacency(graph) @ found.vectors
    assert_allclose(image, found.vectors * found.values, atol=1e-8)
    assert found.residual <= 1e-8
    # The subspace is determined only up to the last gap between eigenvalues.
    gaps = np.flatnonzero(values[:n_pairs] - np.append(values, -9)[1:][:n_pairs] > 1e-3)
    n_sure = gaps[-1] + 1 if gaps.size else 0
    mine, reference = found.vectors[:, :n_sure], vectors[:, :n_sure]
    assert_allclose(mine @ mine.T, reference @ reference.T, atol=1e-5)


@pytest.fixture
def iterative(monkeypatch):
    """Send every component of more than 20 points to the iterative solvers."""
    monkeypatch.setattr(eigenpairs, "DENSE_SIZE", 20)


def disjoint(*graphs):
    return block_diag(graphs, format="csr").toarray()


def graph_zoo():
    rng = np.random.default_rng(3)
    copy = connected_graph(60, 0.1, rng)
    return {
        "connected": connected_graph(150, 0.05, rng),
        "sparse with isolated points": random_graph(120, 0.02, rng),
        "three copies": disjoint(copy, copy, copy),
        "copies and strangers": disjoint(
            copy, np.zeros((3, 3)), copy, connected_graph(45, 0.2, rng), np.eye(1)
        )
        * (1 - np.eye(169)),
        "ring of cliques": ring_of_cliques(12, 10, 0.05),
        "complete": np.ones((90, 90)) - np.eye(90),
        "complete bipartite": np.kron([[0, 1], [1, 0]], np.ones((50, 50))),
        "path": np.eye(150, k=1) + np.eye(150, k=-1),
    }


@pytest.mark.parametrize("name", graph_zoo())
@pytest.mark.parametrize("n_components", [1, 4, 11])
def test_embedding_equals_dense_reference(name, n_components):
    graph = graph_zoo()[name]
    assert_same_pairs(spectral_embedding(graph, n_components), graph)


@pytest.mark.parametrize("name", graph_zoo())
@pytest.mark.parametrize("n_components", [4, 11])
def test_embedding_equals_dense_reference_when_iterative(iterative, name, n_components):
    graph = graph_zoo()[name]
    found = spectral_embedding(graph, n_components, random_state=1)
    assert_same_pairs(found, graph)


def test_embedding_input_forms_agree_and_stay_unchanged(rng_graph):
    dense = rng_graph
    kept = dense.copy()
    expected = spectral_embedding(dense, 4, random_state=0)
    forms = (
        coo_matrix(dense),
        csr_array(dense),
        coo_array(dense).tocsc(),
        dense.astype(np.float32),
        dense + np.diag(np.arange(len(dense))),
    )
    for form in forms:
        found = spectral_embedding(form, 4, random_state=0)
        assert_allclose(found.values, expected.values, atol=1e-6)
    assert_array_equal(dense, kept)


@pytest.fixture
def rng_graph():
    return connected_graph(50, 0.2, np.random.default_rng(0))


def test_embedding_isolated_rows_are_zero():
    graph = disjoint(np.ones((3, 3)), np.zeros((2, 2)))
    found = spectral_embedding(graph, 5)
    assert found.vectors.shape == (5, 3)
    assert not found.vectors[3:].any()
    assert_array_equal(found.components, [0, 0, 0, 1, 2])


def test_embedding_prefers_large_components_when_ones_exceed_request():
    graph = disjoint(np.ones((2, 2)), np.ones((5, 5)), np.ones((3, 3)))
    found = spectral_embedding(graph, 2)
    assert_array_equal(found.values, [1, 1])
    assert_array_equal(np.flatnonzero(found.vectors.any(axis=1)), np.arange(2, 10))


def forgetful(lanczos, blind_to):
    """First run as in exact arithmetic from a start with no part in `blind_to`."""
    n_wanted = []

    def run(operator, n_pairs, *options):
        n_wanted.append(n_pairs)
        if len(n_wanted) > 1:
            return lanczos(operator, n_pairs, *options)
        dense = operator @ np.eye(operator.shape[0])
        dense -= blind_to @ (blind_to.T @ dense)
        values, vectors = np.linalg.eigh((dense + dense.T) / 2)
        return values[-n_pairs:], vectors[:, -n_pairs:]

    return run, n_wanted


def largest_vectors_of(graph, n_pairs):
    adjacency = csr_array(dense_adjacency(graph))
    return eigenpairs.largest_vectors(
        eigenpairs._Operator(lambda x: adjacency @ x + x, lambda value: 2 - value),
        dense_pairs(graph)[1][:, 0],
        n_pairs,
        eigenpairs._Budget(40, 100),
        np.random.default_rng(0),
    )


def test_missed_copies_are_found_after_a_blind_start(monkeypatch):
    graph = ring_of_cliques(12, 10, 0.05)
    values, vectors = dense_pairs(graph)
    run, n_wanted = forgetful(eigenpairs._lanczos, vectors[:, [1, 3]])
    monkeypatch.setattr(eigenpairs, "_lanczos", run)
    found = largest_vectors_of(graph, 4)
    # Solve, a probe that finds a missed copy, solve for more, a probe that does not.
    assert n_wanted == [4, 1, 2, 1]
    ritz = np.linalg.eigvalsh(found.T @ dense_adjacency(graph) @ found)
    assert_allclose(ritz[::-1], values[1:5], atol=1e-9)


def test_stalled_probe_counts_as_failure(monkeypatch, rng_graph):
    lanczos = eigenpairs._lanczos

    def stall_probe(operator, n_pairs, *options):
        return None if n_pairs == 1 else lanczos(operator, n_pairs, *options)

    assert largest_vectors_of(rng_graph, 3) is not None
    monkeypatch.setattr(eigenpairs, "_lanczos", stall_probe)
    assert largest_vectors_of(rng_graph, 3) is None


def stalled(*args):
    return None


@pytest.mark.parametrize("survivor", ["inverse", "many", "dense", "block"])
def test_fallback_gives_right_pairs_when_earlier_solvers_stall(
    monkeypatch, iterative, survivor
):
    graph = ring_of_cliques(12, 10, 0.05)
    lanczos = eigenpairs.largest_vectors
    n_calls = {"inverse": 1, "many": 1, "dense": 9, "block": 9}[survivor]
    calls = []

    def stall_first(*args):
        calls.append(1)
        return lanczos(*args) if len(calls) > n_calls else None

    monkeypatch.setattr(eigenpairs, "largest_vectors", stall_first)
    if survivor != "inverse":
        monkeypatch.setattr(eigenpairs, "MAX_BAND_ENTRIES", 0)
    if survivor == "block":
        monkeypatch.setattr(eigenpairs, "LAST_DENSE_SIZE", 0)
    assert_same_pairs(spectral_embedding(graph, 5, random_state=0), graph)


def test_thin_large_graph_that_stalls_lanczos_is_solved():
    n_points = 8000
    path = coo_array(
        (np.ones(n_points - 1), (np.arange(n_points - 1), np.arange(1, n_points))),
        shape=(n_points, n_points),
    )
    found = spectral_embedding(path + path.T, 5, random_state=0)
    assert found.residual <= 1e-8
    expected = np.cos(np.pi * np.arange(5) / (n_points - 1))
    assert_allclose(1 - found.values, 1 - expected, rtol=1e-5, atol=1e-14)


@pytest.mark.parametrize("clique_size", [20, 60])
def test_large_component_is_solved_to_the_loose_residual(
    monkeypatch, iterative, clique_size
):
    graph = ring_of_cliques(12, clique_size, link=0.05)
    precise = spectral_embedding(graph, 9, random_state=0)
    monkeypatch.setattr(eigenpairs, "MAX_PRECISE_SIZE", 0)
    loose = spectral_embedding(graph, 9, random_state=0)
    assert loose.residual <= eigenpairs.MAX_LOOSE_RESIDUAL
    # repeated values, all copies of which must be found
    assert_allclose(loose.values, precise.values, atol=1e-6)
    overlap = np.linalg.svd(loose.vectors.T @ precise.vectors)[1]
    assert_allclose(overlap, 1, atol=1e-6)


def test_large_component_takes_fewer_products(monkeypatch, iterative):
    graph = connected_graph(700, 0.005, np.random.default_rng(0))
    products = []
    deflate = eigenpairs._deflate

    def counted(operator, found):
        def apply(x):
            products[-1] += 1
            return operator.apply(x)

        return deflate(eigenpairs._Operator(apply, operator.resolution), found)

    monkeypatch.setattr(eigenpairs, "_deflate", counted)
    for size in (eigenpairs.MAX_PRECISE_SIZE, 0):
        products.append(0)
        monkeypatch.setattr(eigenpairs, "MAX_PRECISE_SIZE", size)
        spectral_embedding(graph, 6, random_state=0)
    assert 0 < products[1] < products[0]


def test_block_iteration_stops_at_the_loose_residual(monkeypatch, iterative):
    graph = connected_graph(700, 0.005, np.random.default_rng(0))
    monkeypatch.setattr(eigenpairs, "largest_vectors", stalled)
    monkeypatch.setattr(eigenpairs, "LAST_DENSE_SIZE", 0)
    monkeypatch.setattr(eigenpairs, "MAX_PRECISE_SIZE", 0)
    found = spectral_embedding(graph, 5, random_state=0)
    assert 1e-12 < found.residual <= eigenpairs.MAX_LOOSE_RESIDUAL
    assert_allclose(found.values, dense_pairs(graph)[0][:5], atol=1e-6)


def test_failure_of_all_solvers_warns_with_residual(monkeypatch, iterative, rng_graph):
    monkeypatch.setattr(eigenpairs, "largest_vectors", stalled)
    monkeypatch.setattr(eigenpairs, "MAX_RESIDUAL", 1e-30)
    with pytest.warns(ConvergenceWarning, match="have residual"):
        found = spectral_embedding(rng_graph, 3, random_state=0)
    assert_allclose(found.values, dense_pairs(rng_graph)[0][:3], atol=1e-9)


def test_failure_without_any_vectors_raises(monkeypatch, iterative, rng_graph):
    monkeypatch.setattr(eigenpairs, "largest_vectors", stalled)
    monkeypatch.setattr(eigenpairs, "_dense_vectors", stalled)
    with pytest.raises(RuntimeError, match="fewer eigenvectors"):
        spectral_embedding(rng_graph, 3)
