"""Communities of a graph, by Louvain's method."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from ekss.graph.communities import communities


def ring(n):
    """Edges of a ring, twice as heavy as those to the points after the next."""
    eye = np.eye(n)
    one, two = (np.roll(eye, step, axis=1) for step in (1, 2))
    return one + one.T + (two + two.T) / 2


def blocks(*parts, link=0.0):
    """A graph whose parts are joined, one to the next, by a single edge."""
    graph = sparse.block_diag(parts, format="lil")
    ends = np.cumsum([len(part) for part in parts])[:-1]
    for end in ends:
        graph[end - 1, end] = graph[end, end - 1] = link
    return sparse.csr_array(graph)


def complete(n):
    return np.ones((n, n)) - np.eye(n)


@pytest.mark.parametrize("link", [0.0, 1.0])
def test_complete_parts_with_few_edges_between_are_communities(link):
    sizes = [4, 5, 6, 7]
    graph = blocks(*map(complete, sizes), link=link)
    assert np.array_equal(communities(graph, 0), np.repeat(range(4), sizes))


@pytest.mark.parametrize("seed", range(3))
def test_order_of_points_and_scale_of_edges_change_nothing(seed):
    graph = blocks(*map(complete, [4, 5, 6]), link=1.0)
    order = np.random.default_rng(seed).permutation(15)
    shuffled = sparse.csr_array(graph[order][:, order])
    found = communities(shuffled, seed)
    before = communities(graph, seed)[order]
    pairs = set(zip(before.tolist(), found.tolist(), strict=True))
    assert len(pairs) == 3
    scaled = sparse.csr_array(shuffled * 1e-3)
    assert np.array_equal(communities(scaled, seed), found)


def test_points_without_edges_are_communities_of_their_own():
    graph = blocks(complete(3), np.zeros((2, 2)))
    assert communities(graph, 0).tolist() == [0, 0, 0, 1, 2]
    assert communities(sparse.csr_array((3, 3)), 0).tolist() == [0, 1, 2]


def test_modularity_is_no_lower_than_that_of_the_planted_parts():
    rng = np.random.default_rng(0)
    planted = np.repeat(range(5), 20)
    chances = np.where(planted[:, None] == planted, 0.4, 0.03)
    upper = np.triu(rng.random((100, 100)) < chances, 1)
    graph = sparse.csr_array((upper | upper.T).astype(float))
    network = nx.from_scipy_sparse_array(graph)

    def modularity(labels):
        parts = [set(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels)]
        return nx.community.modularity(network, parts)

    assert modularity(communities(graph, 0)) >= modularity(planted)


def test_ties_end():
    """NetworkX 3.6 never returns for these, if edges are all alike."""
    once = "01 02 05 06 12 14 23 25 26 34".split()
    graph = np.zeros((7, 7))
    for one, other in once:
        graph[int(one), int(other)] = graph[int(other), int(one)] = 1
    command = "import numpy as np; from scipy.sparse import csr_array; "
    command += "from ekss.graph.communities import communities; "
    command += f"graph = csr_array(np.array({graph.tolist()})); "
    command += "print([len(communities(graph, seed)) for seed in range(20)])"
    done = subprocess.run(
        [sys.executable, "-c", command],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == str([7] * 20)


def test_a_long_ring_is_divided_into_arcs():
    """The reason why the number of communities is not taken as it is."""
    assert 3 <= len(set(communities(blocks(ring(60), ring(60)), 0).tolist())) <= 20
