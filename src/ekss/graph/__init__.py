"""Graphs from votes, and their spectral cuts: parts that can be used on their own."""

from ekss.graph.approximate import nearest_by_votes_approximate
from ekss.graph.spectral import (
    SpectralEmbedding,
    SpectralResult,
    mean_ncut,
    spectral_embedding,
    spectral_labels,
)
from ekss.graph.stochastic import DoublyStochastic, doubly_stochastic
from ekss.graph.votes import (
    Neighbours,
    Votes,
    bridge_by_votes,
    cluster_silhouettes,
    coassociation_dense,
    coassociation_topq,
    companion_shares,
    directed_graph,
    edge_shares,
    graph_of_rows,
    nearest_by_votes,
    prepare_votes,
    shared_information,
    symmetric_graph,
    votes_outside,
)

__all__ = [
    "DoublyStochastic",
    "Neighbours",
    "SpectralEmbedding",
    "SpectralResult",
    "Votes",
    "bridge_by_votes",
    "cluster_silhouettes",
    "coassociation_dense",
    "coassociation_topq",
    "companion_shares",
    "directed_graph",
    "doubly_stochastic",
    "edge_shares",
    "graph_of_rows",
    "mean_ncut",
    "nearest_by_votes",
    "nearest_by_votes_approximate",
    "prepare_votes",
    "shared_information",
    "spectral_embedding",
    "spectral_labels",
    "symmetric_graph",
    "votes_outside",
]
