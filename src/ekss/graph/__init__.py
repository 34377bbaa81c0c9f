"""Graphs from votes, and their spectral cut: three stages, each usable alone."""

from ekss.graph.approximate import nearest_by_votes_approximate
from ekss.graph.coassociation import (
    Votes,
    bridge_by_votes,
    coassociation_dense,
    coassociation_topq,
    nearest_by_votes,
    prepare_votes,
    votes_outside,
)
from ekss.graph.companions import cluster_silhouettes, companion_shares, edge_shares
from ekss.graph.cuts import CUTTERS, Cut, CutPool, candidate_cuts
from ekss.graph.ncut import mean_ncut
from ekss.graph.neighbours import (
    Neighbours,
    directed_graph,
    graph_of_rows,
    symmetric_graph,
)
from ekss.graph.selection import CutScore, Evidence, score_cut, select_cut
from ekss.graph.spectral import (
    SpectralEmbedding,
    SpectralResult,
    spectral_embedding,
    spectral_labels,
)

__all__ = [
    "CUTTERS",
    "Cut",
    "CutPool",
    "CutScore",
    "Evidence",
    "Neighbours",
    "SpectralEmbedding",
    "SpectralResult",
    "Votes",
    "bridge_by_votes",
    "candidate_cuts",
    "cluster_silhouettes",
    "coassociation_dense",
    "coassociation_topq",
    "companion_shares",
    "directed_graph",
    "edge_shares",
    "graph_of_rows",
    "mean_ncut",
    "nearest_by_votes",
    "nearest_by_votes_approximate",
    "prepare_votes",
    "score_cut",
    "select_cut",
    "spectral_embedding",
    "spectral_labels",
    "symmetric_graph",
    "votes_outside",
]
