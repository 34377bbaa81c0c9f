"""Data to cluster: ``make_*`` draws synthetic points."""

from ekss.datasets._synthetic import make_subspaces_at_angle, make_union_of_subspaces

__all__ = ["make_subspaces_at_angle", "make_union_of_subspaces"]
