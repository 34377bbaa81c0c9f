"""Graphs from votes, and their spectral cut: three stages, each usable alone."""

from ekss.graph.coassociation import (
    Votes,
    coassociation_dense,
    coassociation_topq,
    nearest_by_votes,
    prepare_votes,
    votes_outside,
)
from ekss.graph.neighbours import (
    Neighbours,
    directed_graph,
    graph_of_rows,
    symmetric_graph,
)
from ekss.graph.spectral import (
    SpectralEmbedding,
    SpectralResult,
    spectral_embedding,
    spectral_labels,
)

__all__ = [
    "Neighbours",
    "SpectralEmbedding",
    "SpectralResult",
    "Votes",
    "coassociation_dense",
    "coassociation_topq",
    "directed_graph",
    "graph_of_rows",
    "nearest_by_votes",
    "prepare_votes",
    "spectral_embedding",
    "spectral_labels",
    "symmetric_graph",
    "votes_outside",
]
