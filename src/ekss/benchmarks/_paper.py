"""What the paper prints: Table I, the tables of its appendix; and why ours differ.

J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using Ensembles of
K-Subspaces", Information and Inference, 2021.
"""

from __future__ import annotations

from typing import Any

_DATASETS = ("hopkins155", "eyaleb", "coil20", "coil100", "usps", "mnist_test")

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
    for dataset, error in zip(_DATASETS, errors, strict=True)
}

# Points, clusters, dimension; text where the paper gives a range.
SIZES: dict[str, tuple[Any, Any, Any]] = {
    "hopkins155": ("39-556", "2-3", "30-200"),
    "eyaleb": (2432, 38, 2016),
    "coil20": (1440, 20, 1024),
    "coil100": (7200, 100, 1024),
    "usps": (9298, 10, 256),
    "mnist_test": (10000, 10, 500),
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


def parameters(dataset: str, method: str) -> dict[str, Any] | None:
    """Return the paper's parameters of a method on a data set; None if it has none.

    Examples
    --------
    >>> parameters("coil20", "ensc")
    {'l1_ratio': 0.99, 'gamma': 3.0}
    >>> parameters("coil20", "lrr") is None
    True
    """
    if (dataset, method) not in ERRORS:
        return None
    place = _DATASETS.index(dataset)
    if method == "ekss":
        dim, n_neighbors = _EKSS[place]
        return {
            "subspace_dim": dim,
            "n_neighbors": n_neighbors,
            "max_iter": 30 if dataset == "mnist_test" else 3,
            "update": "cop" if dataset in ("usps", "mnist_test") else "pca",
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


# Why a figure differs from the paper's by more than 5 points, where we know it. A
# sentence is shown only where the difference is there.
NOT_EXPLAINED = "not explained yet."

_ONE_FOR_ALL = (
    "the paper's parameters are the most common ones of 155 sequences that were each "
    "tuned by the labels, and here they serve all sequences; "
)
_FEWER_TRIALS = "the best of 20 trials, where the paper took the best of 1000."
_MKF_LOWER = (
    "ours is lower; the paper gives neither the step size nor the number of passes."
)
_WHITENED_ONLY = (
    "the paper says it did not whiten for this method; its figure comes out on "
    "whitened data only, which are in the label-tuned sweep."
)

NOTES: dict[tuple[str, str], str] = {
    ("hopkins155", "ekss"): _ONE_FOR_ALL
    + "tuned for each sequence the error is below the paper's.",
    ("hopkins155", "tsc"): (
        "not established; on the 4 K leading left singular vectors of the tracks "
        "instead of the tracks, q tuned for each sequence gives 5.1, but the "
        "paper says it did no preprocessing."
    ),
    ("hopkins155", "ssc"): _ONE_FOR_ALL
    + "tuned for each sequence the error is near the paper's.",
    ("hopkins155", "sscomp"): (
        "not established; on the 4 K leading left singular vectors of the tracks "
        "instead of the tracks k = 2 gives 22.9, but the paper says it did no "
        "preprocessing."
    ),
    ("hopkins155", "ensc"): _ONE_FOR_ALL
    + (
        "tuned for each sequence it is still above the paper's, for a reason we did "
        "not find."
    ),
    ("eyaleb", "ekss"): (
        "d = 2, as printed, does not reproduce with PCA members; members of "
        "dimension 5 to 25 come to the published figure, and with three components "
        "removed instead of two the error is lower."
    ),
    ("eyaleb", "copkss"): _FEWER_TRIALS,
    ("eyaleb", "mkf"): (
        "d = 17, as printed, does not reproduce; with the dimension that the "
        "estimator finds itself the error is 43."
    ),
    ("eyaleb", "ssc"): (
        "with the paper's alpha = 670 and rho = 0.1 the error is about 11 after "
        "one or two iterations and rises to 69 at convergence, so the published "
        "figure seems to come from coefficients that had not converged."
    ),
    ("eyaleb", "sscomp"): _WHITENED_ONLY,
    ("eyaleb", "ensc"): _WHITENED_ONLY,
    ("coil20", "ekss"): (
        "d = 2, as printed, does not reproduce with PCA members; d = 9 with twice "
        "as many candidates as classes does far better, also on pixels that are "
        "not whitened."
    ),
    ("coil20", "copkss"): _FEWER_TRIALS,
    ("coil20", "tsc"): (
        "q = 3 does better than the paper's q = 4, and gives 28 to 35 with an "
        "eigensolver that misses copies of repeated eigenvalues, which may be why "
        "it was not chosen."
    ),
    ("coil20", "ssc"): (
        "the error is lower on pixels that are not whitened; on whitened ones it is 15."
    ),
    ("coil100", "ekss"): (
        "the sweep has twice as many candidates as classes; at the paper's "
        "parameters the figures agree."
    ),
    ("coil100", "kss"): (
        "d = 1 does better than the paper's d = 5, at which the figures agree."
    ),
    ("coil100", "mkf"): _MKF_LOWER,
    ("usps", "mkf"): _MKF_LOWER,
    ("mnist_test", "mkf"): _MKF_LOWER,
    ("coil100", "tsc"): (
        "ours is lower, not only at q = 3: 25 at the paper's q = 4; why was not "
        "established, but colours were turned to grey and reduced to 300 "
        "components by us."
    ),
    ("coil100", "ssc"): (
        "ours is lower although it stops before convergence; stopping early "
        "lowers the error on Yale B too."
    ),
    ("coil100", "sscomp"): (
        "not established; the scaling of coefficients matters (unit rows 50, all "
        "weights equal 65), and the paper does not give its own."
    ),
    ("coil100", "ensc"): (
        "ours is lower; why was not established, but colours were turned to grey "
        "and reduced to 300 components by us."
    ),
    ("usps", "ekss"): (
        "40 members by Coherence Pursuit, where the paper has 1000; members by "
        "warm power steps with d = 9 and 15 eigenvectors do better than the "
        "paper."
    ),
    ("usps", "kss"): _FEWER_TRIALS,
    ("usps", "copkss"): (
        "the best of 10 trials, where the paper took the best of 1000, of which "
        "it says that 17 were below 15.84."
    ),
    ("usps", "tsc"): (
        "ours is lower; why was not established, but the paper's USPS is a "
        "variant of the same digits."
    ),
    ("usps", "ssc"): (
        "SSC stops at 50 iterations, before convergence, and the paper's USPS is "
        "a variant of the same digits."
    ),
    ("usps", "sscomp"): (
        "two nonzeros do better than the paper's 29, at which the figures agree."
    ),
    ("usps", "ensc"): (
        "gamma = 50, as printed, does not reproduce; gamma = 2 does better than "
        "the paper. The paper's USPS is a variant of the same digits."
    ),
    ("mnist_test", "ekss"): (
        "40 members by Coherence Pursuit with 10 iterations, where the paper has "
        "1000 with 30; members by warm power steps come below the published "
        "figure at the same d."
    ),
    ("mnist_test", "copkss"): (
        "the best of 10 trials of at most 20 iterations, where the paper took the "
        "best of 1000."
    ),
    ("mnist_test", "ssc"): ("SSC stops at 50 iterations, before convergence."),
    ("mnist_test", "sscomp"): (
        "the scaling of coefficients decides: with all weights equal we saw 16 at "
        "the paper's k = 17, and the paper does not give its own."
    ),
}
