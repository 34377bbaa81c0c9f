"""Data to cluster: ``make_*`` draws synthetic points, ``fetch_*`` loads benchmarks."""

from ekss.datasets._benchmarks import (
    fetch_coil20,
    fetch_coil100,
    fetch_eyaleb,
    fetch_hopkins155,
    fetch_mnist,
    fetch_usps,
)
from ekss.datasets._catalog import CATALOG, DataSet, named
from ekss.datasets._scenes import make_faces_under_light, make_moving_bodies
from ekss.datasets._sources import fetch, find_sources, import_source
from ekss.datasets._store import Checked, get_data_home, variant_of
from ekss.datasets._synthetic import make_subspaces_at_angle, make_union_of_subspaces

__all__ = [
    "CATALOG",
    "Checked",
    "DataSet",
    "fetch",
    "fetch_coil20",
    "fetch_coil100",
    "fetch_eyaleb",
    "fetch_hopkins155",
    "fetch_mnist",
    "fetch_usps",
    "find_sources",
    "get_data_home",
    "import_source",
    "make_faces_under_light",
    "make_moving_bodies",
    "make_subspaces_at_angle",
    "make_union_of_subspaces",
    "named",
    "variant_of",
]
