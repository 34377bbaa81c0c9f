"""Figures and parameters of the paper: its Table I and the two tables of its appendix.

J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using Ensembles of
K-Subspaces", Information and Inference, 2021.
"""

from __future__ import annotations

from typing import Any

DATASETS = {
    "hopkins": "Hopkins",
    "yaleb": "Yale B",
    "coil20": "COIL-20",
    "coil100": "COIL-100",
    "usps": "USPS",
    "mnist": "MNIST-10k",
}

METHODS = {
    "ekss": "EKSS",
    "kss": "KSS",
    "copkss": "CoP-KSS",
    "mkf": "MKF",
    "tsc": "TSC",
    "ssc": "SSC-ADMM",
    "sscomp": "SSC-OMP",
    "ensc": "EnSC",
}

# Clustering errors in percent, data sets in the order above.
_ERRORS = {
    "ekss": (0.26, 14.31, 13.47, 28.57, 15.84, 2.39),
    "kss": (0.35, 54.28, 33.12, 66.04, 18.31, 2.60),
    "copkss": (0.69, 52.59, 29.10, 51.38, 7.73, 2.57),
    "mkf": (0.24, 41.32, 35.69, 59.50, 28.49, 28.17),
    "tsc": (2.07, 22.20, 15.28, 29.82, 31.57, 15.98),
    "ssc": (1.07, 9.83, 13.19, 44.06, 56.61, 19.17),
    "sscomp": (25.25, 13.28, 27.29, 34.79, 77.94, 19.19),
    "ensc": (9.75, 18.87, 8.26, 28.75, 33.66, 17.97),
}

ERRORS = {
    (dataset, method): error
    for method, errors in _ERRORS.items()
    for dataset, error in zip(DATASETS, errors, strict=True)
}

# Points, clusters, dimension; text where the paper gives a range.
SIZES: dict[str, tuple[Any, Any, Any]] = {
    "hopkins": ("39-556", "2-3", "30-200"),
    "yaleb": (2432, 38, 2016),
    "coil20": (1440, 20, 1024),
    "coil100": (7200, 100, 1024),
    "usps": (9298, 10, 256),
    "mnist": (10000, 10, 500),
}

# The names are those of our estimators: the paper's q is n_neighbors, its rho keep, its
# lambda l1_ratio, the alpha of EnSC gamma.
_SUBSPACE_DIMS = {
    "kss": (3, 3, 1, 5, 9, 13),
    "copkss": (4, 6, 9, 1, 7, 18),
    "mkf": (3, 17, 19, 18, 20, 20),
}
_EKSS = ((3, 2), (2, 6), (2, 6), (8, 7), (13, 3), (13, 72))
_TSC = (3, 3, 4, 4, 3, 3)
_SSC = ((0.1, 226.67), (0.1, 670.0), (0.8, 5.0), (1.0, 20.0), (1.0, 20.0), (1.0, 20.0))
_SSCOMP = (2, 2, 2, 2, 29, 17)
_ENSC = ((0.01, 98.0), (0.88, 3.0), (0.99, 3.0), (0.95, 3.0), (0.95, 50.0), (0.95, 3.0))


def parameters(dataset: str, method: str) -> dict[str, Any]:
    """Return the paper's parameters of a method on a data set.

    Examples
    --------
    >>> parameters("coil20", "ensc")
    {'l1_ratio': 0.99, 'gamma': 3.0}
    """
    place = list(DATASETS).index(dataset)
    if method == "ekss":
        dim, n_neighbors = _EKSS[place]
        return {
            "subspace_dim": dim,
            "n_neighbors": n_neighbors,
            "max_iter": 30 if dataset == "mnist" else 3,
            "base": "cop" if dataset in ("usps", "mnist") else "pca",
        }
    if method in _SUBSPACE_DIMS:
        return {"subspace_dim": _SUBSPACE_DIMS[method][place]}
    if method == "tsc":
        return {"n_neighbors": _TSC[place]}
    if method == "ssc":
        keep, alpha = _SSC[place]
        return {"keep": keep, "alpha": alpha}
    if method == "sscomp":
        return {"n_nonzero": _SSCOMP[place], "tol": 2.0**-52}
    ratio, gamma = _ENSC[place]
    return {"l1_ratio": ratio, "gamma": gamma}
