"""Data to cluster: ``make_*`` draws synthetic points, ``fetch_*`` loads benchmarks."""

from ekss.datasets._benchmarks import (
    fetch_coil20,
    fetch_coil100,
    fetch_eyaleb,
    fetch_hopkins155,
    fetch_mnist,
    fetch_usps,
)
from ekss.datasets._home import get_data_home
from ekss.datasets._synthetic import make_subspaces_at_angle, make_union_of_subspaces

__all__ = [
    "fetch_coil20",
    "fetch_coil100",
    "fetch_eyaleb",
    "fetch_hopkins155",
    "fetch_mnist",
    "fetch_usps",
    "get_data_home",
    "make_subspaces_at_angle",
    "make_union_of_subspaces",
]
